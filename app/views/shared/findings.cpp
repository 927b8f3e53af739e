#include "app/views/shared/findings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/numbers.h"

namespace locus::views {

namespace {

constexpr double kLeastShare = 0.3;
constexpr double kLeastTimes = 2;         // uniform
constexpr double kLeastTimesOfWords = 3;  // there are many words
constexpr double kLeastErrors = 4;        // standard errors above uniform
constexpr std::int64_t kLeastQueries = 8;
constexpr std::int64_t kLeastQueriesOfPeak = 16;
constexpr double kRunnerUp = 0.9;  // of a peak: another distance that comes so near makes it none
constexpr double kAlike = 1e-4;    // of a map's range
constexpr std::size_t kMaxShares = 2;

// The weight on a place, query by query, beside that of a uniform row.
class Tested {
 public:
  void add(double share, double uniform) {
    share_ += share;
    uniform_ += uniform;
    const double excess = share - uniform;
    excess_ += excess;
    squares_ += excess * excess;
    ++queries_;
  }
  double share(std::int64_t of_queries) const { return share_ / static_cast<double>(of_queries); }
  double times() const { return uniform_ > 0 ? share_ / uniform_ : 0; }
  bool passes(double least_times, std::int64_t least_queries) const {
    if (queries_ < least_queries || times() < least_times) {
      return false;
    }
    const auto n = static_cast<double>(queries_);
    const double mean = excess_ / n;
    const double variance = std::max(0.0, squares_ / n - mean * mean) * n / (n - 1);
    return mean > kLeastErrors * std::sqrt(variance / n);
  }

 private:
  double share_ = 0;
  double uniform_ = 0;
  double excess_ = 0;
  double squares_ = 0;
  std::int64_t queries_ = 0;
};

// Every place of a map of weights.
struct Places {
  Tested self;
  Tested previous;
  Tested next;
  Tested first;
  std::map<std::string, Tested> words;  // of tokens that occur at least twice behind the first
  std::vector<Tested> distances;        // without the first token: i − j = n + nearest
  std::int64_t nearest = 0;
  std::int64_t queries = 0;
};

// The number of the word of each key, −1 for the first token and for words that stand alone.
std::vector<std::ptrdiff_t> numbered_words(const std::vector<std::string>& labels, std::vector<std::string>& words) {
  std::map<std::string, std::int64_t> count;
  for (std::size_t key = 1; key < labels.size(); ++key) {
    ++count[labels[key]];
  }
  std::vector<std::ptrdiff_t> numbers(labels.size(), -1);
  std::map<std::string, std::ptrdiff_t> known;
  for (std::size_t key = 1; key < labels.size(); ++key) {
    if (count[labels[key]] < 2) {
      continue;
    }
    const auto [at, added] = known.try_emplace(labels[key], static_cast<std::ptrdiff_t>(words.size()));
    if (added) {
      words.push_back(labels[key]);
    }
    numbers[key] = at->second;
  }
  return numbers;
}

Places places_of(const Field& weights, const std::vector<std::string>& labels) {
  Places places;
  places.nearest = 1 - weights.columns;
  places.distances.resize(static_cast<std::size_t>(std::max<std::int64_t>(weights.rows + weights.columns - 1, 0)));
  std::vector<std::string> words;
  std::vector<std::ptrdiff_t> word_of = numbered_words(labels, words);
  word_of.resize(static_cast<std::size_t>(weights.columns), -1);
  std::vector<Tested> tested(words.size());
  std::vector<double> share(words.size());
  std::vector<std::int64_t> count(words.size());
  for (std::int64_t query = 1; query < weights.rows; ++query) {
    const auto visible = [&](std::int64_t key) {
      return key >= 0 && key < weights.columns && std::isfinite(weights.at(query, key));
    };
    std::int64_t keys = 0;
    for (std::int64_t key = 0; key < weights.columns; ++key) {
      keys += visible(key) ? 1 : 0;
    }
    if (keys < 2) {
      continue;
    }
    const double uniform = 1 / static_cast<double>(keys);
    ++places.queries;
    std::ranges::fill(share, 0);
    std::ranges::fill(count, 0);
    for (std::int64_t key = 0; key < weights.columns; ++key) {
      if (!visible(key)) {
        continue;
      }
      const auto weight = static_cast<double>(weights.at(query, key));
      if (key > 0) {
        places.distances[static_cast<std::size_t>(query - key - places.nearest)].add(weight, uniform);
      }
      if (const std::ptrdiff_t word = word_of[static_cast<std::size_t>(key)]; word >= 0) {
        share[static_cast<std::size_t>(word)] += weight;
        ++count[static_cast<std::size_t>(word)];
      }
    }
    for (std::size_t word = 0; word < words.size(); ++word) {
      if (count[word] > 0) {
        tested[word].add(share[word], static_cast<double>(count[word]) * uniform);
      }
    }
    const auto add = [&](Tested& place, std::int64_t key) {
      if (visible(key)) {
        place.add(static_cast<double>(weights.at(query, key)), uniform);
      }
    };
    add(places.self, query);
    add(places.previous, query - 1);
    add(places.next, query + 1);
    add(places.first, 0);
  }
  for (std::size_t word = 0; word < words.size(); ++word) {
    places.words.emplace(words[word], tested[word]);
  }
  return places;
}

std::optional<Finding> peak_of(const Places& places) {
  const Tested* best = nullptr;
  double second = 0;
  for (const Tested& each : places.distances) {
    if (!each.passes(0, kLeastQueriesOfPeak)) {
      continue;
    }
    if (best == nullptr || each.times() > best->times()) {
      second = best == nullptr ? 0 : best->times();
      best = &each;
    } else {
      second = std::max(second, each.times());
    }
  }
  if (best == nullptr || best->times() < kLeastTimes || second > kRunnerUp * best->times()) {
    return std::nullopt;
  }
  Finding peak;
  peak.kind = Finding::Kind::kPeak;
  peak.times = best->times();
  peak.distance = places.nearest + (best - places.distances.data());
  return peak;
}

std::string percent(double share) {
  return fixed_text(100 * share, 0) + " % of its weight";
}

// "line feeds" and the like, else the token itself.
std::string plural(const std::string& label) {
  static const std::map<std::string, std::string> kNames{
      {"⏎", "line feeds"}, {"·", "spaces"}, {".", "full stops"}, {",", "commas"}};
  const auto found = kNames.find(label);
  return found == kNames.end() ? "“" + label + "”" : found->second;
}

bool is_same_place(const Finding& share, const Finding& peak) {
  using Kind = Finding::Kind;
  return (share.kind == Kind::kSelf && peak.distance == 0) || (share.kind == Kind::kPrevious && peak.distance == 1) ||
         (share.kind == Kind::kNext && peak.distance == -1);
}

bool of_tokens(const Field& field) {
  const auto single = [](const FieldAxis& axis) { return axis.unit == "token" && axis.step == 1; };
  return single(field.row_axis) && single(field.column_axis);
}

// The smallest and largest value at an i − j.
struct Spread {
  std::int64_t distance = 0;
  float low = 0;
  float high = 0;
  std::int64_t cells = 0;
};
// Spreads of the distances with a finite value, the smallest first.
std::vector<Spread> spreads_of(const Field& field) {
  const auto offset = static_cast<std::int64_t>(field.row_axis.first - field.column_axis.first);
  std::vector<Spread> spreads(static_cast<std::size_t>(std::max<std::int64_t>(field.rows + field.columns - 1, 0)));
  for (std::int64_t row = 0; row < field.rows; ++row) {
    for (std::int64_t column = 0; column < field.columns; ++column) {
      const float value = field.at(row, column);
      if (!std::isfinite(value)) {
        continue;
      }
      Spread& at = spreads[static_cast<std::size_t>(row - column + field.columns - 1)];
      at = at.cells == 0 ? Spread{row - column + offset, value, value, 1}
                         : Spread{at.distance, std::min(at.low, value), std::max(at.high, value), at.cells + 1};
    }
  }
  std::erase_if(spreads, [](const Spread& each) { return each.cells == 0; });
  return spreads;
}

}  // namespace

std::vector<Finding> findings_of(const Field& weights, const std::vector<std::string>& labels) {
  using Kind = Finding::Kind;
  const Places places = places_of(weights, labels);
  std::vector<Finding> found;
  const auto add = [&](Kind kind, const Tested& place, double least_times, const std::string& word = {}) {
    const double share = places.queries > 0 ? place.share(places.queries) : 0;
    if (share >= kLeastShare && place.passes(least_times, kLeastQueries)) {
      Finding finding;
      finding.kind = kind;
      finding.share = share;
      finding.times = place.times();
      finding.word = word;
      found.push_back(finding);
    }
  };
  add(Kind::kSelf, places.self, kLeastTimes);
  add(Kind::kPrevious, places.previous, kLeastTimes);
  add(Kind::kNext, places.next, kLeastTimes);
  add(Kind::kFirst, places.first, kLeastTimes);
  for (const auto& [word, place] : places.words) {
    add(Kind::kWord, place, kLeastTimesOfWords, word);
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &Finding::share);
  if (const auto peak = peak_of(places)) {
    found.push_back(*peak);
  }
  return found;
}

std::vector<Finding> findings_of(const Fingerprint& head) {
  using Kind = Finding::Kind;
  std::vector<Finding> found;
  const auto add = [&](Kind kind, double share) {
    if (share >= kLeastShare) {  // not of NaN
      Finding finding;
      finding.kind = kind;
      finding.share = share;
      found.push_back(finding);
    }
  };
  add(Kind::kInduction, head.induction);
  add(Kind::kSelf, head.self);
  add(Kind::kPrevious, head.previous);
  add(Kind::kFirst, head.first);
  std::ranges::stable_sort(found, std::ranges::greater(), &Finding::share);
  return found;
}

std::string words_of(const Finding& finding, bool one_head) {
  using Kind = Finding::Kind;
  switch (finding.kind) {
    case Kind::kSelf:
      return "reads the token itself: " + percent(finding.share);
    case Kind::kPrevious:
      return (one_head ? "is a previous-token head: " : "reads the token before: ") + percent(finding.share);
    case Kind::kNext:
      return (one_head ? "is a next-token head: " : "reads the token after: ") + percent(finding.share);
    case Kind::kFirst:
      return "reads the first token: " + percent(finding.share);
    case Kind::kWord:
      return "reads " + plural(finding.word) + ": " + percent(finding.share);
    case Kind::kInduction:
      return "is an induction head: " + percent(finding.share) + " on random tokens given twice";
    case Kind::kPeak:
      break;
  }
  return "peaks at distance " + std::to_string(std::abs(finding.distance)) + (finding.distance < 0 ? " ahead" : "") +
         ": " + fixed_text(finding.times, 1) + " × uniform";
}

std::string words_of(const std::vector<Finding>& findings, bool one_head) {
  std::string words;
  std::vector<Finding> said;
  for (const Finding& each : findings) {
    const bool is_peak = each.kind == Finding::Kind::kPeak;
    const bool known = std::ranges::any_of(said, [&](const Finding& other) { return is_same_place(other, each); });
    if (is_peak ? !known : said.size() < kMaxShares) {
      words += (words.empty() ? "" : ", ") + words_of(each, one_head);
      said.push_back(each);
    }
  }
  return words;
}

bool depends_on_distance(const Field& field) {
  if (!of_tokens(field)) {
    return false;
  }
  const auto spreads = spreads_of(field);
  float low = 0;
  float high = 0;
  float widest = 0;
  std::int64_t compared = 0;  // distances of two cells or more
  bool first = true;
  for (const Spread& each : spreads) {
    low = first ? each.low : std::min(low, each.low);
    high = first ? each.high : std::max(high, each.high);
    widest = std::max(widest, each.high - each.low);
    compared += each.cells > 1 ? 1 : 0;
    first = false;
  }
  constexpr std::int64_t kLeastCompared = 4;
  return compared >= kLeastCompared && high > low &&
         static_cast<double>(widest) <= kAlike * static_cast<double>(high - low);
}

std::optional<std::int64_t> largest_distance(const Field& field) {
  const auto spreads = spreads_of(field);
  const auto best = std::ranges::max_element(spreads, {}, &Spread::high);
  if (best == spreads.end()) {
    return std::nullopt;
  }
  const bool tied = std::ranges::any_of(
      spreads, [&](const Spread& each) { return each.distance != best->distance && each.high >= best->low; });
  return tied ? std::nullopt : std::optional(best->distance);
}

std::optional<RowMaxima> row_maxima(const Field& field) {
  if (!of_tokens(field)) {
    return std::nullopt;
  }
  const auto offset = static_cast<std::int64_t>(field.row_axis.first - field.column_axis.first);
  std::map<std::int64_t, std::int64_t> rows_at;
  RowMaxima maxima;
  for (std::int64_t row = 0; row < field.rows; ++row) {
    std::int64_t keys = 0;
    std::int64_t best = -1;
    for (std::int64_t column = 0; column < field.columns; ++column) {
      if (std::isfinite(field.at(row, column))) {
        ++keys;
        best = best < 0 || field.at(row, column) > field.at(row, best) ? column : best;
      }
    }
    if (keys > 0 && field.at(row, best) != 1) {
      return std::nullopt;
    }
    if (keys > 1) {
      ++rows_at[row - best + offset];
      ++maxima.all;
    }
  }
  constexpr std::int64_t kLeastRows = 4;
  if (maxima.all < kLeastRows) {
    return std::nullopt;
  }
  const auto most = std::ranges::max_element(rows_at, {}, [](const auto& each) { return each.second; });
  maxima.distance = most->first;
  maxima.rows = most->second;
  return maxima;
}

}  // namespace locus::views
