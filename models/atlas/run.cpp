// make_atlas(): blocks of windows distributed over the processes, their sums added in the order of the blocks.
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "core/base/guarded.h"
#include "core/base/numbers.h"
#include "core/base/version.h"
#include "models/api/analyses.h"
#include "models/api/atlas_run.h"
#include "models/api/local.h"
#include "models/api/process_group.h"
#include "models/atlas/checkpoint_facts.h"
#include "models/atlas/measure.h"
#include "models/atlas/plan.h"

namespace locus::models {

namespace {

using namespace atlas;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kLongestUnasked = 1024;  // tokens of a window
constexpr std::int64_t kUnknownLength = 512;
constexpr std::size_t kProbe = 8;  // tokens of the run that shows a model's layers

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Run {
 public:
  Run(const Model& model, const AtlasOptions& options, const Windows& windows, Measure& measure, AtlasInfo info)
      : model_(model),
        options_(options),
        windows_(windows),
        measure_(measure),
        group_(options.group.get()),
        sums_(measure.slots(), static_cast<std::size_t>(options.replicates), options.seed),
        block_(block_size(options.windows)),
        part_(measure.slots(), static_cast<std::size_t>(block_)) {
    contents_.info = std::move(info);
    contents_.axes = measure.axes();
    if (contents_.info.examples) {
      examples_.emplace(measure.example_plan());
    }
  }

  // Checks the file that exists already, and resumes it where requested. Rank 0 only. True: the atlas is finished.
  // Errors: kBadInput for an existing file without resume or overwrite, and for another atlas.
  Result<bool> begin() {
    double finished = 0;
    if (leads()) {
      LOCUS_TRY(finished, look_at_file());
    }
    auto done = static_cast<double>(contents_.info.done);
    std::array<double, 2> state{finished, done};
    if (group_ != nullptr) {
      LOCUS_CHECK(group_->broadcast(state));
    }
    contents_.info.done = static_cast<std::int64_t>(state[1]);
    return state[0] > 0;
  }

  // Whether begin() found a finished atlas and wrote intervals in the place of its replicates.
  bool made_compact() const { return made_compact_; }

  Result<AtlasSummary> run(const OnAtlasProgress& on_progress, const StopToken& stop) {
    started_ = saved_ = Clock::now();
    first_ = contents_.info.done;
    while (contents_.info.done < options_.windows) {
      LOCUS_TRY(const bool stopped, round(stop));
      if (stopped) {
        return finish(true);
      }
      report(on_progress);
      if (leads() && seconds_since(saved_) >= options_.save_seconds && contents_.info.done < options_.windows) {
        LOCUS_CHECK(save(false));
        saved_ = Clock::now();
      }
    }
    return finish(false);
  }

 private:
  // 1 where it is finished.
  Result<double> look_at_file() {
    std::error_code code;
    if (!std::filesystem::exists(options_.out, code) || options_.overwrite) {
      return 0.0;
    }
    if (!options_.resume) {
      return bad_input("the file exists; --resume continues it, --overwrite replaces it", options_.out.string());
    }
    LOCUS_TRY(const auto there, open_atlas(options_.out));
    if (const std::string other = difference(there->info(), contents_.info); !other.empty()) {
      return bad_input("cannot resume this atlas: " + other, options_.out.string());
    }
    contents_.info.done = there->info().done;
    const bool finished = contents_.info.done == options_.windows;
    if (finished && (!options_.compact || is_compact(options_.out))) {
      return 1.0;
    }
    LOCUS_TRY(const Contents before, read_contents(options_.out));
    if (finished) {
      LOCUS_CHECK(write_atlas(options_.out, before, true));
      made_compact_ = true;
      return 1.0;
    }
    LOCUS_CHECK(sums_.read_from(before, options_.out.string()));
    if (examples_) {
      examples_->read_from(before.examples);
    }
    return 0.0;
  }

  bool leads() const { return group_ == nullptr || group_->rank() == 0; }
  std::int64_t processes() const { return group_ == nullptr ? 1 : group_->size(); }

  // Runs one block on each process. True when the run was stopped: then nothing of this round is in the sums.
  Result<bool> round(const StopToken& stop) {
    const std::int64_t rank = group_ == nullptr ? 0 : group_->rank();
    const Range mine = Range{contents_.info.done + rank * block_, contents_.info.done + (rank + 1) * block_}.clamped(
        {0, options_.windows});
    part_.clear();
    bool stopped = stop.stop_requested();
    for (std::int64_t index = mine.begin; index < mine.end && !stopped; ++index) {
      const Status added = measure_.add(windows_, index, part_, stop);
      stopped = !added.ok() && added.error().code == ErrorCode::kCancelled;
      if (!added.ok() && !stopped) {
        return failed(added.error().within("window " + std::to_string(index)));
      }
    }
    LOCUS_TRY(const std::size_t longest, longest_part(stopped));
    if (longest == 0) {
      return true;
    }
    if (group_ == nullptr) {
      add(part_.numbers());
    } else {
      LOCUS_CHECK(group_->gather(part_.numbers(longest), parts_));
      for (const std::vector<double>& part : parts_) {  // in the order of the blocks
        add(part);
      }
    }
    contents_.info.done = std::min(contents_.info.done + processes() * block_, options_.windows);
    if (examples_ && leads()) {
      examples_->settle(contents_.info.done);
    }
    return false;
  }

  void add(std::span<const double> block) {
    const std::span<const double> examples = sums_.add(block);
    if (examples_) {
      examples_->add(examples);
    }
  }

  // How the model shows tokens.
  Result<std::vector<std::string>> labels_of(const std::vector<std::int64_t>& ids) const {
    std::vector<std::string> labels;
    if (ids.empty()) {
      return labels;
    }
    LOCUS_TRY(const std::vector<TokenInfo> tokens, model_.tokenize({.ids = ids}));
    for (const TokenInfo& token : tokens) {
      labels.push_back(token.label);
    }
    return labels;
  }

  // Numbers in the longest block of this round; 0 where one of the processes was stopped.
  Result<std::size_t> longest_part(bool stopped) const {
    std::vector<double> sizes(static_cast<std::size_t>(processes()));
    sizes[group_ == nullptr ? 0 : static_cast<std::size_t>(group_->rank())] =
        stopped ? 0 : static_cast<double>(part_.size());
    if (group_ != nullptr) {
      LOCUS_CHECK(group_->add_up(sizes));
    }
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    return static_cast<std::size_t>(*least > 0 ? *most : 0);
  }

  // Ends at a window that cannot be measured; earlier results are kept.
  Error failed(Error error) {
    if (leads() && contents_.info.done > first_) {
      const Status saved = save(false);
      error.message += saved.ok() ? "; the windows before it are in the file" : "; " + saved.error().describe();
    }
    return error;
  }

  Status save(bool finished) {
    contents_.samples = sums_.samples();
    if (examples_) {
      const auto labels = [this](const std::vector<std::int64_t>& ids) { return labels_of(ids); };
      LOCUS_CHECK(examples_->write_to(contents_.examples, labels));
    }
    const Status written = write_atlas(options_.out, contents_, sums_.tables(), finished && options_.compact);
    contents_.examples = {};
    return written;
  }

  void report(const OnAtlasProgress& on_progress) const {
    if (on_progress) {
      const auto done = static_cast<double>(contents_.info.done - first_);
      const double rate = done / std::max(seconds_since(started_), 1e-9);
      on_progress({contents_.info.done,
                   options_.windows,
                   rate,
                   static_cast<double>(options_.windows - contents_.info.done) / rate,
                   {}});
    }
  }

  Result<AtlasSummary> finish(bool stopped) {
    AtlasSummary summary{contents_.info.done, options_.windows, 0, stopped};
    summary.windows_per_second =
        static_cast<double>(contents_.info.done - first_) / std::max(seconds_since(started_), 1e-9);
    if (leads() && (contents_.info.done > first_ || !stopped)) {
      LOCUS_CHECK(save(!stopped));
    }
    return summary;
  }

  const Model& model_;
  const AtlasOptions& options_;
  const Windows& windows_;
  Measure& measure_;
  ProcessGroup* group_;
  Sums sums_;
  std::optional<Examples> examples_;
  std::int64_t block_;  // windows
  Block part_;
  std::vector<std::vector<double>> parts_;  // blocks of every process, on rank 0
  Contents contents_;
  std::int64_t first_ = 0;  // windows done before this call
  bool made_compact_ = false;
  Clock::time_point started_;
  Clock::time_point saved_;
};

// All processes must read the same texts.
Status check_same(const Corpus& corpus, ProcessGroup* group) {
  std::array<double, 2> sizes{static_cast<double>(corpus.files()), static_cast<double>(corpus.bytes())};
  const std::array<double, 2> own = sizes;
  LOCUS_CHECK(group == nullptr ? Status() : group->broadcast(sizes));
  if (own != sizes) {
    return bad_input("corpus: expected " + number_text(sizes[1]) + " bytes in " + number_text(sizes[0]) +
                     " files, as rank 0 has, found " + number_text(own[1]) + " in " + number_text(own[0]));
  }
  return {};
}

// Runs the model over the first tokens of a window.
Result<TracePointer> probe_of(const Model& model, const Windows& windows) {
  LOCUS_TRY(Window window, windows.at(0));
  window.ids.resize(std::min<std::size_t>(window.ids.size(), kProbe));
  return model.run({.ids = std::move(window.ids)}, {.keep = {}});
}

Result<AtlasSummary> make_checked(const Model& model, const std::filesystem::path& path, AtlasOptions options,
                                  const OnAtlasProgress& on_progress, const StopToken& stop) {
  LOCUS_CHECK(check_model(model));
  const ModelInfo& info = model.info();
  if (options.length == 0) {
    options.length = info.trained_length > 0 ? std::min(info.trained_length, kLongestUnasked) : kUnknownLength;
  }
  AtlasInfo facts;
  LOCUS_TRY(facts.what, chosen(model, options.what));
  if (std::ranges::find(facts.what, "examples") != facts.what.end()) {
    facts.examples = options.examples;
    LOCUS_CHECK(check_plan({options.examples, info.layers, info.heads, options.windows, options.length, options.seed}));
  }
  LOCUS_TRY(const Corpus corpus, Corpus::open(options.corpus));
  const Encode encode = [&](const std::string& text) { return model.tokenize({.text = text}); };
  LOCUS_TRY(const Windows windows, Windows::make(corpus, encode, {options.windows, options.length, options.seed}));
  LOCUS_CHECK(check_same(corpus, options.group.get()));
  auto needles = Needles::make(model, windows, encode, facts.what);
  if (!needles.ok() && needles.error().code == ErrorCode::kUnsupported && options.what.empty()) {
    std::erase_if(facts.what, [](const std::string& name) { return name == "retrieval" || name == "spans"; });
    needles = Needles::make(model, windows, encode, {});
  }
  LOCUS_CHECK(needles);
  const Progress hashing = [&](const ProgressReport& report) {
    if (on_progress && report.fraction == 0) {
      AtlasProgress said{0, options.windows, 0, 0, report.what};
      on_progress(said);
    }
  };
  if (options.group == nullptr || options.group->rank() == 0) {
    LOCUS_TRY(facts.corpus, corpus.hashed(stop, hashing));
  }
  LOCUS_TRY(const CheckpointFacts checkpoint, facts_of(path));
  facts.checkpoint = info.name;
  facts.sha256 = checkpoint.sha256;
  facts.step = checkpoint.step;
  facts.family = info.family;
  facts.encoding = info.first_encoding().name;
  facts.layers = info.layers;
  facts.heads = info.heads;
  facts.windows = options.windows;
  facts.length = options.length;
  facts.map_size = std::min(options.map_size, options.length);
  facts.replicates = options.replicates;
  facts.seed = options.seed;
  facts.version = std::string(program_version());

  LOCUS_TRY(const TracePointer probe, probe_of(model, windows));
  Measure measure(model,
                  {facts.what, options.length, options.map_size, options.seed, options.windows, options.examples},
                  *probe, *std::move(needles));
  facts.mixer_heads = measure.mixer_heads();
  if (!measure.has_activation()) {
    return unsupported("examples: --activation content: the logits of this model cannot be split (addressing)",
                       info.name);
  }
  Run run(model, options, windows, measure, facts);
  LOCUS_TRY(const bool finished, run.begin());
  if (finished) {
    return AtlasSummary{options.windows, options.windows, 0, false, true, run.made_compact()};
  }
  return run.run(on_progress, stop);
}

}  // namespace

Result<AtlasSummary> local::make_atlas(const Model& model, const std::filesystem::path& path,
                                       const AtlasOptions& options, const OnAtlasProgress& on_progress,
                                       StopToken stop) {
  Result<AtlasSummary> made = guarded([&] { return make_checked(model, path, options, on_progress, stop); });
  if (!made.ok() && options.group != nullptr) {
    options.group->fail(made.error().describe());
  }
  return made;
}

}  // namespace locus::models
