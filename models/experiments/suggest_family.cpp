// suggest_family(): drafts of a family file, compared with what the authors' code computed.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "core/base/guarded.h"
#include "core/base/numbers.h"
#include "models/api/families.h"
#include "models/api/local.h"
#include "models/engine/read_checkpoint.h"
#include "models/families/files/suggest.h"

namespace locus::models {

namespace {

namespace fs = std::filesystem;
using families::FileDraft;
using families::Suggestion;

constexpr int kMaxTrials = 600;

// How far a draft agrees with the expected values: the layers before the first that differs, and by how much that does.
struct Agreement {
  std::size_t rows = 0;
  double difference = std::numeric_limits<double>::infinity();
  std::string first_wrong;
  bool passed = false;

  bool better_than(const Agreement& other) const {
    return rows != other.rows ? rows > other.rows : difference < other.difference;
  }
};

// The rows layer by layer, the outcome last.
Agreement agreement_of(const VerifyReport& report) {
  std::vector<VerifyRow> rows = report.rows;
  std::stable_partition(rows.begin(), rows.end(),
                        [](const VerifyRow& row) { return row.name.find("layers.") != std::string::npos; });
  Agreement agreement{0, 0, "", report.passed};
  for (const VerifyRow& row : rows) {
    if (!row.passed) {
      agreement.difference = row.difference;
      agreement.first_wrong = row.name;
      return agreement;
    }
    ++agreement.rows;
    agreement.difference = std::max(agreement.difference, row.difference);
  }
  return agreement;
}

class Trials {
 public:
  Trials(fs::path path, fs::path expected, StopToken stop, Progress progress)
      : path_(std::move(path)),
        expected_(std::move(expected)),
        stop_(std::move(stop)),
        progress_(std::move(progress)) {}

  int count() const { return count_; }
  bool stopped() const { return stop_.stop_requested() || count_ >= kMaxTrials; }

  // Errors: of the expected values, which no draft can mend.
  Result<Agreement> tried(const FileDraft& draft) {
    ++count_;
    report(progress_, -1, "draft " + std::to_string(count_));
    LOCUS_TRY(const families::CheckpointFiles checkpoint, read_checkpoint(path_));
    const Result<families::Family> family = draft.family();
    if (!family.ok()) {
      return Agreement();
    }
    const auto model = open_as(*family, checkpoint, {});
    if (!model.ok()) {
      return Agreement();
    }
    LOCUS_TRY(const VerifyReport report, local::verify_expected(**model, expected_, stop_));
    return agreement_of(report);
  }

 private:
  fs::path path_;
  fs::path expected_;
  StopToken stop_;
  Progress progress_;
  int count_ = 0;
};

struct Compared {
  Suggestion suggestion;
  Agreement agreement;
};

// Changes a draft step by step, each time in what improves it most.
Status descend(const families::CheckpointFiles& checkpoint, Trials& trials, Compared& best) {
  for (bool improved = true; improved && !best.agreement.passed;) {
    improved = false;
    for (const FileDraft& draft : families::hidden_changes(checkpoint, FileDraft(best.suggestion.draft))) {
      if (trials.stopped()) {
        return {};
      }
      LOCUS_TRY(const Agreement agreement, trials.tried(draft));
      if (agreement.better_than(best.agreement)) {
        best.agreement = agreement;
        best.suggestion.draft = draft;
        improved = true;
      }
      if (agreement.passed) {
        return {};
      }
    }
  }
  return {};
}

// Compares all drafts that open, then changes them, the best first.
Result<std::optional<Compared>> best_of(const families::CheckpointFiles& checkpoint,
                                        const std::vector<Suggestion>& suggestions, Trials& trials) {
  std::vector<Compared> compared;
  for (const Suggestion& suggestion : suggestions) {
    if (suggestion.opens()) {
      LOCUS_TRY(const Agreement agreement, trials.tried(suggestion.draft));
      compared.push_back({suggestion, agreement});
      if (agreement.passed) {
        break;
      }
    }
  }
  const auto better = [](const Compared& a, const Compared& b) { return a.agreement.better_than(b.agreement); };
  std::stable_sort(compared.begin(), compared.end(), better);
  for (Compared& each : compared) {
    LOCUS_CHECK(descend(checkpoint, trials, each));
    if (each.agreement.passed) {
      return std::optional(each);
    }
  }
  std::stable_sort(compared.begin(), compared.end(), better);
  return compared.empty() ? std::optional<Compared>() : std::optional(compared.front());
}

Result<FamilyDraft> drafted(const fs::path& path, const std::optional<fs::path>& expected, const StopToken& stop,
                            const Progress& progress) {
  LOCUS_TRY(const families::CheckpointFiles checkpoint, read_checkpoint(path));
  LOCUS_TRY(const std::vector<Suggestion> suggestions, families::suggest(checkpoint, stop));
  FamilyDraft result;
  Suggestion best = suggestions.front();
  if (expected) {
    Trials trials(path, *expected, stop, progress);
    LOCUS_TRY(const std::optional<Compared> compared, best_of(checkpoint, suggestions, trials));
    if (stop.stop_requested()) {
      return cancelled();
    }
    result.compared = trials.count();
    if (compared) {
      best = compared->suggestion;
      result.agrees = compared->agreement.passed;
      result.difference = compared->agreement.difference;
      result.first_wrong = compared->agreement.first_wrong;
    }
  }
  result.name = best.draft.name;
  result.inherits = best.draft.inherits;
  result.text = best.draft.text();
  result.absent = best.absent;
  result.leftover = best.leftover;
  result.unread = best.unread;
  result.guessed = best.guessed;
  return result;
}

}  // namespace

Result<FamilyDraft> local::suggest_family(const fs::path& path, const std::optional<fs::path>& expected, StopToken stop,
                                          const Progress& progress) {
  return guarded([&] { return drafted(path, expected, stop, progress); });
}

}  // namespace locus::models
