#include "models/atlas/measure.h"
#include "models/api/local.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/analysis/head_statistics.h"
#include "core/attention/score_field.h"
#include "core/base/guarded.h"
#include "core/base/numbers.h"
#include "models/api/addressing.h"
#include "models/api/pairs.h"
#include "models/experiments/fields.h"
#include "models/experiments/outputs.h"
#include "models/formats/atlas/contents.h"
#include "models/training/random.h"

namespace locus::models::atlas {

namespace {

constexpr std::uint64_t kRepeatStream = 0x72657065;  // random numbers of repeated tokens
constexpr std::int64_t kLongestPeriod = 32;          // tokens that are repeated, as in the view `heads`

// Repeats the second half in another order.
void shuffle_half(std::vector<std::int64_t>& ids, training::Random& random) {
  const auto half = static_cast<std::int64_t>(ids.size() / 2);
  for (std::int64_t n = half; n > 1; --n) {
    std::swap(ids[static_cast<std::size_t>(half + n - 1)], ids[static_cast<std::size_t>(half + random.below(n))]);
  }
}

// Halvings of a state that leave nothing in float32.
constexpr double kMaxHalvings = 1000;

// How often a token halves the state: 1 / its half-life, of the median token, as in the view `memory`.
double median_decay(const Field& lives, std::int64_t head) {
  const auto begin = lives.values.begin() + head * lives.columns;
  std::vector<float> sorted(begin, begin + lives.columns);
  const auto middle = sorted.begin() + (lives.columns - 1) / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return std::min(1 / static_cast<double>(*middle), kMaxHalvings);
}

constexpr std::array<std::pair<const char*, analysis::PairNorm>, 3> kPairNorms{
    {{"pairs.query", analysis::PairNorm::kQuery},
     {"pairs.key", analysis::PairNorm::kKey},
     {"pairs.product", analysis::PairNorm::kProduct}}};

// One axis per encoding, in the order of first use by a layer, and for every layer the number of its axis.
std::map<std::string, std::vector<double>> wavelength_axes(
    const std::vector<std::optional<analysis::PairList>>& pairs) {
  std::map<std::string, std::vector<double>> axes;
  std::vector<std::vector<double>> encodings;
  std::vector<double> of_layers;
  for (const std::optional<analysis::PairList>& list : pairs) {
    if (!list) {
      of_layers.push_back(kNothingTurns);
      continue;
    }
    std::vector<double> own;
    for (const analysis::PairRow& row : list->rows) {
      own.push_back(row.wavelength);
    }
    const auto alike = [&](const std::vector<double>& other) {
      return std::ranges::equal(own, other,
                                [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); });
    };
    auto found = std::ranges::find_if(encodings, alike);
    if (found == encodings.end()) {
      axes[wavelength_axis(encodings.size())] = own;
      encodings.push_back(std::move(own));
      found = encodings.end() - 1;
    }
    of_layers.push_back(static_cast<double>(found - encodings.begin()));
  }
  if (!encodings.empty()) {
    axes[kEncodingOfLayers] = std::move(of_layers);
  }
  return axes;
}

constexpr std::int64_t kActivationBins = 50;  // of 0 to 1

// What the option --activation calls so.
double activation_of(const std::string& name, const analysis::CellMeans& means) {
  return name == "previous"    ? means.statistics.previous_token
         : name == "far"       ? means.far
         : name == "induction" ? means.marked
                               : means.largest;
}

constexpr std::array<const char*, 3> kShares{"heads.place", "heads.word", "heads.both"};
constexpr analysis::AddressingOptions kSplitQueries{.queries = 16, .cells = 1 << 16};  // of each window

// Euclidean norms of the first keys' values.
class ValueNorms {
 public:
  ValueNorms(const TraceLayer& layer, std::size_t heads) : heads_(heads) {
    if (layer.value.defined()) {
      norms_ = layer.value.select(0, 0).slice(1, 0, analysis::kSinkKeys).to(at::kCPU, at::kDouble);
      norms_ = norms_.square().sum(-1).sqrt().contiguous();  // (Hkv, keys)
    }
  }

  // NaN where the trace keeps no values, and after the last key.
  double at(std::size_t head, std::size_t key) const {
    if (!norms_.defined() || static_cast<std::int64_t>(key) >= norms_.size(1)) {
      return kNaN;
    }
    const std::size_t own = head * static_cast<std::size_t>(norms_.size(0)) / heads_;
    return norms_.data_ptr<double>()[own * static_cast<std::size_t>(norms_.size(1)) + key];
  }

 private:
  at::Tensor norms_;
  std::size_t heads_;
};

// The pairs of a layer. Errors: those of pair_list(); kUnsupported where heads turn differently, since an atlas has one
// axis of wavelengths for all of them. Heads that do not turn are the last ones.
Result<analysis::PairList> shared_pairs(const Trace& probe, std::int64_t layer) {
  LOCUS_TRY(analysis::PairList first, local::pair_list(probe, layer, 0));
  LOCUS_TRY(const analysis::PairList last, local::pair_list(probe, layer, probe.model().heads - 1));
  const auto same = [](const analysis::PairRow& a, const analysis::PairRow& b) {
    return a.wavelength == b.wavelength || (std::isnan(a.wavelength) && std::isnan(b.wavelength));
  };
  if (!std::ranges::equal(first.rows, last.rows, same)) {
    return unsupported("pairs: the heads of layer " + std::to_string(layer) + " turn differently");
  }
  return first;
}

}  // namespace

Measure::Measure(const Model& model, const MeasureOptions& options, const Trace& probe, Needles needles)
    : model_(model), options_(options), needles_(std::move(needles)) {
  if (wants("examples")) {
    finder_.emplace(example_plan());
  }
  const bool splits = finder_ && options_.examples.activation == "content";
  addressed_ = (wants("heads") || splits) && local::addressing(probe, kSplitQueries, {}, {}).ok();
  for (std::int64_t layer = 0; layer < model.info().layers; ++layer) {
    auto pairs = wants("pairs") ? shared_pairs(probe, layer) : Result<analysis::PairList>(unsupported(""));
    pairs_.push_back(pairs.ok() ? std::optional(*std::move(pairs)) : std::nullopt);
    const auto field = scores_of(probe, layer);
    map_cells_.push_back(field.ok() ? cells_of((*field)->mask()) : std::make_shared<std::vector<std::uint32_t>>());
  }
  if (const auto mixers = wants("mixers") ? probe.side(Side::kMixer) : nullptr) {
    mixer_heads_ = mixers->model().heads;
    for (std::int64_t layer = 0; layer < mixers->model().layers; ++layer) {
      if (mixers->model().layer_info[static_cast<std::size_t>(layer)].attends) {
        mixing_.push_back(layer);
      }
    }
  }
  plan_windows(Kind::kWindow);
  plan_windows(Kind::kShuffledWindow);
  plan_repeats(Kind::kRepeats);
  plan_repeats(Kind::kShuffledRepeats);
  needles_.plan(slots_);
  for (std::size_t n = 0; n < kKinds; ++n) {
    const Kind kind{static_cast<int>(n)};
    for (const Slot& slot : slots_.of(kind)) {
      places_[{kind, {slot.statistic, slot.layer}}] = &slot;
    }
  }
}

bool Measure::wants(const std::string& name) const {
  return std::find(options_.what.begin(), options_.what.end(), name) != options_.what.end();
}

ExamplePlan Measure::example_plan() const {
  return {options_.examples, model_.info().layers, model_.info().heads,
          options_.windows,  options_.length,      options_.seed};
}

void Measure::plan_windows(Kind kind) {
  const std::int64_t heads = model_.info().heads;
  const auto bins = static_cast<std::int64_t>(analysis::distance_edges(options_.length).size()) - 1;
  for (std::int64_t layer = 0; layer < model_.info().layers; ++layer) {
    const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
      slots_.add(kind, name, layer, std::move(shape));
    };
    if (wants("profile")) {
      add("profile.weight", {heads, bins});
      add("profile.logit", {heads, bins});
    }
    if (wants("heads")) {
      for (const char* name :
           {"heads.entropy", "heads.relative-entropy", "heads.distance", "heads.previous", "heads.first", "heads.self",
            "heads.sink", "heads.sink-first", "heads.bias-mean", "heads.bias-deviation"}) {
        add(name, {heads});
      }
      for (const char* name : kShares) {
        if (addressed_) {
          add(name, {heads});
        }
      }
    }
    if (wants("sinks")) {
      for (const char* name : {"sinks.queries", "sinks.windows", "sinks.weight", "sinks.value-norm"}) {
        add(name, {heads, analysis::kSinkKeys});
      }
    }
    if (finder_) {
      add("examples.activation", {heads});
      add("examples.histogram", {heads, kActivationBins});
    }
    if (const auto& pairs = pairs_[static_cast<std::size_t>(layer)]; pairs) {
      for (const auto& [name, norm] : kPairNorms) {
        add(name, {heads, static_cast<std::int64_t>(pairs->rows.size())});
      }
      add("pairs.fastest", {heads});
      add("pairs.slowest", {heads});
    }
  }
  for (const std::int64_t layer : mixing_) {
    slots_.add(kind, "mixer.profile.weight", layer, {mixer_heads_, bins});
    for (const char* name : {"mixer.heads.entropy", "mixer.heads.relative-entropy", "mixer.heads.distance",
                             "mixer.heads.previous", "mixer.heads.first", "mixer.heads.self", "mixer.heads.decay"}) {
      slots_.add(kind, name, layer, {mixer_heads_});
    }
  }
  if (wants("loss")) {
    slots_.add(kind, "loss", kAtlasOfModel, {options_.length - 1});
  }
  for (std::int64_t layer = 0; layer < (wants("mean-map") ? model_.info().layers : 0); ++layer) {
    const std::int64_t size = std::min(options_.map_size, options_.length);
    slots_.add_map(kind, "mean-map", layer, {heads, size, size}, map_cells_[static_cast<std::size_t>(layer)]);
  }
}

void Measure::plan_repeats(Kind kind) {
  for (std::int64_t layer = 0; layer < (wants("heads") ? model_.info().layers : 0); ++layer) {
    slots_.add(kind, "heads.induction", layer, {model_.info().heads});
  }
  for (const std::int64_t layer : mixing_) {
    slots_.add(kind, "mixer.heads.induction", layer, {mixer_heads_});
  }
}

std::map<std::string, std::vector<double>> Measure::axes() const {
  std::map<std::string, std::vector<double>> axes;
  if (wants("profile") || !mixing_.empty()) {
    const std::vector<std::int64_t> edges = analysis::distance_edges(options_.length);
    axes["profile.edges"] = {edges.begin(), edges.end()};
  }
  if (wants("sinks")) {
    axes["sinks.epsilon"] = {analysis::kSinkThreshold};
  }
  for (std::int64_t edge = 0; edge <= (finder_ ? kActivationBins : -1); ++edge) {
    axes["examples.edges"].push_back(static_cast<double>(edge) / kActivationBins);
  }
  axes.merge(wavelength_axes(pairs_));
  axes.merge(needles_.axes());
  return axes;
}

std::int64_t Measure::shuffle_every(std::int64_t windows) {
  return std::clamp<std::int64_t>(windows / 64, 1, 16);
}

const analysis::CellGrid& Measure::grid_of(const attention::Mask& mask, bool map) {
  const std::tuple key{mask.causal, mask.window, mask.chunk, map};
  const auto found = grids_.find(key);
  if (found != grids_.end()) {
    return found->second;
  }
  const std::int64_t size = map ? options_.map_size : 0;
  return grids_.emplace(key, analysis::CellGrid(mask, options_.length, size)).first->second;
}

MapCells Measure::cells_of(const attention::Mask& mask) {
  if (!wants("mean-map")) {
    return std::make_shared<std::vector<std::uint32_t>>();
  }
  std::vector<std::uint32_t> cells;
  const std::vector<double>& shares = grid_of(mask, true).pixel_shares();
  for (std::size_t cell = 0; cell < shares.size(); ++cell) {
    if (!std::isnan(shares[cell])) {
      cells.push_back(static_cast<std::uint32_t>(cell));
    }
  }
  return std::make_shared<std::vector<std::uint32_t>>(std::move(cells));
}

void Measure::put(Kind kind, const std::string& statistic, std::int64_t layer, std::size_t head,
                  std::span<const double> values, std::vector<double>& numbers) const {
  const auto found = places_.find({kind, {statistic, layer}});
  if (found != places_.end()) {
    const std::size_t begin = found->second->begin + head * values.size();
    std::copy(values.begin(), values.end(), numbers.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

Status Measure::measure_cells(const Trace& trace, std::int64_t layer, Sample& sample) {
  if (!wants("profile") && !wants("heads") && !wants("sinks") && !wants("mean-map") && !finder_) {
    return {};
  }
  LOCUS_TRY(const TraceData* data, data_of(trace));
  LOCUS_TRY(const attention::ScoreField* field, scores_of(trace, layer));
  const std::string& activation = options_.examples.activation;
  const auto map = places_.find({sample.kind, {"mean-map", layer}});
  const bool has_map = map != places_.end();
  const auto add_map = [&](std::size_t head, std::span<const double> values) {
    sample.block.add_map(sample.kind, *map->second, head, values);
  };
  LOCUS_TRY(const auto heads, analysis::cell_means(*field, grid_of(field->mask(), has_map), add_map, sample.stop,
                                                   sample.marks ? &*sample.marks : nullptr));
  const ValueNorms norms(data->layers[static_cast<std::size_t>(layer)], heads.size());
  for (std::size_t head = 0; head < heads.size(); ++head) {
    const analysis::CellMeans& means = heads[head];
    const analysis::HeadStatistics& habits = means.statistics;
    if (finder_ && activation != "content") {
      activation_at(layer, head) = activation_of(activation, means);
    }
    const auto several = [&](const char* name, std::span<const double> values) {
      put(sample.kind, name, layer, head, values, sample.numbers);
    };
    const auto one = [&](const char* name, double value) { several(name, std::span(&value, 1)); };
    several("profile.weight", means.weight);
    several("profile.logit", means.logit);
    one("heads.entropy", habits.entropy);
    one("heads.relative-entropy", habits.relative_entropy);
    one("heads.distance", habits.mean_distance);
    one("heads.previous", habits.previous_token);
    one("heads.first", habits.first_token);
    one("heads.self", habits.self);
    one("heads.sink", habits.sink.weight);
    one("heads.sink-first", habits.sink.key < 0 ? kNaN : habits.sink.key == 0 ? 1 : 0);
    one("heads.bias-mean", means.bias_mean);
    one("heads.bias-deviation", means.bias_deviation);
    std::array<double, analysis::kSinkKeys> over{};
    std::array<double, analysis::kSinkKeys> norm{};
    for (std::size_t key = 0; key < over.size(); ++key) {
      const double weight = means.sink_weight[key];
      over[key] = std::isnan(weight) ? kNaN : weight > analysis::kSinkThreshold ? 1 : 0;
      norm[key] = norms.at(head, key);
    }
    several("sinks.queries", means.sink_share);
    several("sinks.weight", means.sink_weight);
    several("sinks.windows", over);
    several("sinks.value-norm", norm);
  }
  return {};
}

Status Measure::measure_addressing(const Trace& trace, std::int64_t layer, Sample& sample) {
  if (!addressed_) {
    return {};
  }
  const auto layers = local::addressing(trace, kSplitQueries, sample.stop, {});
  if (!layers.ok() && layers.error().code != ErrorCode::kUnsupported) {
    return layers.error();
  }
  const auto heads = static_cast<std::size_t>(model_.info().heads);
  const std::vector<analysis::Addressing> own =
      layers.ok() ? (*layers)[static_cast<std::size_t>(layer)].heads : std::vector<analysis::Addressing>();
  for (std::size_t head = 0; head < heads; ++head) {
    const analysis::Addressing shares =
        head < own.size() ? own[head] : analysis::Addressing{.place = kNaN, .word = kNaN, .both = kNaN};
    const std::array<double, kShares.size()> values{shares.place, shares.word, shares.both};
    if (finder_ && options_.examples.activation == "content") {
      activation_at(layer, head) = shares.word;
    }
    for (std::size_t n = 0; n < kShares.size(); ++n) {
      put(sample.kind, kShares[n], layer, head, std::span(&values[n], 1), sample.numbers);
    }
  }
  return {};
}

Status Measure::measure_mixers(const Trace& trace, Sample& sample) {
  const auto mixers = mixing_.empty() ? nullptr : trace.side(Side::kMixer);
  for (const std::int64_t layer : mixing_) {
    LOCUS_TRY(const attention::ScoreField* field, scores_of(*mixers, layer));
    LOCUS_TRY(const auto heads, analysis::cell_means(*field, grid_of(field->mask(), false), nullptr, sample.stop));
    const Result<Field> lives = mixers->state_numbers(layer, StateNumber::kHalfLife, sample.stop);
    if (!lives.ok() && lives.error().code != ErrorCode::kUnsupported) {  // what does not decay has none
      return lives.error();
    }
    for (std::int64_t head = 0; head < mixer_heads_; ++head) {
      const auto at = static_cast<std::size_t>(head);
      const bool own = at < heads.size();  // others have fewer
      const analysis::CellMeans means = own ? heads[at] : analysis::CellMeans{};
      const auto one = [&](const char* name, double value) {
        const double shown = own ? value : kNaN;
        put(sample.kind, std::string(name).insert(0, "mixer.heads."), layer, at, std::span(&shown, 1), sample.numbers);
      };
      const std::vector<double> nothing(own ? 0 : heads.front().weight.size(), kNaN);
      put(sample.kind, "mixer.profile.weight", layer, at, own ? means.weight : nothing, sample.numbers);
      one("entropy", means.statistics.entropy);
      one("relative-entropy", means.statistics.relative_entropy);
      one("distance", means.statistics.mean_distance);
      one("previous", means.statistics.previous_token);
      one("first", means.statistics.first_token);
      one("self", means.statistics.self);
      one("decay", lives.ok() && head < lives->rows ? median_decay(*lives, head) : kNaN);
    }
  }
  return {};
}

Status Measure::measure_pairs(const Trace& trace, std::int64_t layer, Sample& sample) const {
  const std::optional<analysis::PairList>& pairs = pairs_[static_cast<std::size_t>(layer)];
  if (!pairs) {
    return {};
  }
  LOCUS_TRY(const TraceData* data, data_of(trace));
  LOCUS_TRY(const attention::ScoreField* field, scores_of(trace, layer));
  const attention::ComputedScores& scores = *data->layers[static_cast<std::size_t>(layer)].computed;
  LOCUS_TRY(const analysis::PairEnergies energies, analysis::pair_energies({scores, field->mask()}, sample.stop));
  for (const auto& [name, norm] : kPairNorms) {
    const Field& energy = energies[static_cast<std::size_t>(norm)];
    const std::vector<double> values(energy.values.begin(), energy.values.end());
    put(sample.kind, name, layer, 0, values, sample.numbers);
  }
  const Field& energy = energies[static_cast<std::size_t>(analysis::PairNorm::kProduct)];
  for (std::int64_t head = 0; head < energy.rows; ++head) {
    const analysis::PairQuarters quarters = analysis::pair_quarters(*pairs, energy, head);
    const auto at = static_cast<std::size_t>(head);
    put(sample.kind, "pairs.fastest", layer, at, std::span(&quarters.fastest, 1), sample.numbers);
    put(sample.kind, "pairs.slowest", layer, at, std::span(&quarters.slowest, 1), sample.numbers);
  }
  return {};
}

Status Measure::measure_loss(const Trace& trace, Sample& sample) const {
  if (wants("loss")) {
    const std::vector<std::int64_t> next(sample.window.ids.begin() + 1, sample.window.ids.end());
    LOCUS_TRY(const std::vector<double> nats, next_token_losses(model_, trace, 0, next, "loss", sample.stop));
    put(sample.kind, "loss", kAtlasOfModel, 0, nats, sample.numbers);
  }
  return {};
}

Status Measure::add_repeats(std::int64_t index, Block& block, const StopToken& stop) const {
  const std::int64_t period = std::min(kLongestPeriod, options_.length / 2);
  training::Random random{options_.seed, kRepeatStream, static_cast<std::uint64_t>(index)};
  std::vector<std::int64_t> ids(static_cast<std::size_t>(period));
  std::generate(ids.begin(), ids.end(), [&] { return random.below(model_.info().vocabulary); });
  ids.resize(static_cast<std::size_t>(2 * period));
  std::copy_n(ids.begin(), period, ids.begin() + period);
  for (const Kind kind : {Kind::kRepeats, Kind::kShuffledRepeats}) {
    if (kind == Kind::kShuffledRepeats) {
      shuffle_half(ids, random);
    }
    std::vector<double> numbers(slots_.size(kind));
    LOCUS_TRY(const TracePointer trace, model_.run({.ids = ids}, {.keep = {}}, stop));
    for (std::int64_t layer = 0; layer < model_.info().layers; ++layer) {
      LOCUS_TRY(const attention::ScoreField* field, scores_of(*trace, layer));
      LOCUS_TRY(const std::vector<double> scores, analysis::induction_scores(*field, period, stop));
      for (std::size_t head = 0; head < scores.size(); ++head) {
        put(kind, "heads.induction", layer, head, std::span(&scores[head], 1), numbers);
      }
    }
    const auto mixers = mixing_.empty() ? nullptr : trace->side(Side::kMixer);
    for (const std::int64_t layer : mixing_) {
      LOCUS_TRY(const attention::ScoreField* field, scores_of(*mixers, layer));
      LOCUS_TRY(std::vector<double> scores, analysis::induction_scores(*field, period, stop));
      scores.resize(static_cast<std::size_t>(mixer_heads_), kNaN);
      put(kind, "mixer.heads.induction", layer, 0, scores, numbers);
    }
    block.add(kind, index, numbers);
  }
  return {};
}

void Measure::put_activations(Sample& sample) const {
  const std::int64_t heads = model_.info().heads;
  for (std::size_t n = 0; n < activations_.size(); ++n) {
    const double activation = activations_[n];
    const bool known = !std::isnan(activation);
    std::array<double, kActivationBins> bins{};
    bins.fill(known ? 0 : kNaN);
    if (known) {
      const auto bin = static_cast<std::int64_t>(activation * kActivationBins);
      bins[static_cast<std::size_t>(std::clamp<std::int64_t>(bin, 0, kActivationBins - 1))] = 1;
    }
    const std::int64_t layer = static_cast<std::int64_t>(n) / heads;
    const std::size_t head = n % static_cast<std::size_t>(heads);
    put(sample.kind, "examples.activation", layer, head, std::span(&activation, 1), sample.numbers);
    put(sample.kind, "examples.histogram", layer, head, bins, sample.numbers);
  }
}

Status Measure::add_examples(const Trace& trace, std::int64_t layer, Sample& sample) {
  for (std::int64_t head = 0; finder_ && sample.kind == Kind::kWindow && head < model_.info().heads; ++head) {
    const double activation = activation_at(layer, static_cast<std::size_t>(head));
    if (!finder_->may_stay(layer, head, sample.index, activation)) {
      continue;
    }
    LOCUS_TRY(const attention::ScoreField* field, scores_of(trace, layer));
    LOCUS_TRY(const std::vector<analysis::SparseCell> cells,
              analysis::largest_weights(*field, head, kExampleKeys, static_cast<float>(kExampleFloor), sample.stop));
    if (!sample.has_examples) {
      write_window(sample.index, sample.window.ids, sample.block.examples());
      sample.has_examples = true;
    }
    write_example(layer, head, sample.index, activation, cells, options_.length, sample.block.examples());
  }
  return {};
}

Status Measure::measure_layer(const Trace& trace, std::int64_t layer, Sample& sample) {
  LOCUS_CHECK(measure_cells(trace, layer, sample));
  LOCUS_CHECK(measure_addressing(trace, layer, sample));
  LOCUS_CHECK(measure_pairs(trace, layer, sample));
  return add_examples(trace, layer, sample);
}

Status Measure::add_window(const Window& window, Kind kind, std::int64_t index, Block& block, const StopToken& stop) {
  Sample sample{window, kind, index, block, stop};
  sample.numbers.assign(slots_.replicated(kind), 0);
  if (finder_ && options_.examples.activation == "induction") {
    sample.marks = analysis::after_earlier_occurrences(window.ids);
  }
  activations_.assign(finder_ ? static_cast<std::size_t>(model_.info().layers * model_.info().heads) : 0, kNaN);
  RunOptions options{.keep = {}, .before_head = wants("loss"), .continuable = wants("sinks")};
  options.each_layer = [&](const Trace& trace, std::int64_t layer) { return measure_layer(trace, layer, sample); };
  LOCUS_TRY(const TracePointer trace, model_.run({.ids = window.ids}, options, stop));
  LOCUS_CHECK(measure_mixers(*trace, sample));
  LOCUS_CHECK(measure_loss(*trace, sample));
  put_activations(sample);
  block.add(kind, index, sample.numbers);
  return {};
}

Status Measure::add(const Windows& windows, std::int64_t index, Block& block, const StopToken& stop) {
  return guarded([&]() -> Status {
    LOCUS_TRY(const Window window, windows.at(index));
    LOCUS_CHECK(add_window(window, Kind::kWindow, index, block, stop));
    if (!slots_.of(Kind::kNeedles).empty() && Needles::with_window(index, windows.options().windows)) {
      LOCUS_CHECK(needles_.add(index, slots_, block, stop));
    }
    if (index % shuffle_every(windows.options().windows) != 0) {
      return {};
    }
    if (!slots_.of(Kind::kShuffledWindow).empty()) {
      LOCUS_CHECK(add_window(windows.shuffled(window, index), Kind::kShuffledWindow, index, block, stop));
    }
    return slots_.of(Kind::kRepeats).empty() ? Status() : add_repeats(index, block, stop);
  });
}

}  // namespace locus::models::atlas
