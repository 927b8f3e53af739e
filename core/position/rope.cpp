#include "core/position/rope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/position/list.h"
#include "core/position/shared/fresh_weights.h"

namespace locus::position {

namespace {

constexpr Words kRopeLayoutWords{WordTable<PairLayout, 3>{
    {{"half", PairLayout::kHalf}, {"interleaved", PairLayout::kInterleaved}, {"swapped", PairLayout::kSwapped}}}};
constexpr Words kSectionWords{WordTable<SectionLayout, 5>{{{"chunked", SectionLayout::kChunked},
                                                           {"interleaved", SectionLayout::kInterleaved},
                                                           {"alternating", SectionLayout::kAlternating},
                                                           {"distributed", SectionLayout::kDistributed},
                                                           {"heads", SectionLayout::kHeads}}}};
constexpr std::array<std::int64_t, 8> kDistributed{0, 0, 1, 2, 1, 2, 1, 2};

// The component that pair m turns with; of kHeads, the one that key head m turns with, −1: none.
std::int64_t component_of(const RopeOptions& options, std::int64_t m) {
  const auto place = static_cast<double>(m);
  const double first = options.sections[0];
  switch (options.section_layout) {
    case SectionLayout::kChunked:
      return place < first ? 0 : place < first + options.sections[1] ? 1 : 2;
    case SectionLayout::kInterleaved:
      return m % 3 != 0 && place < 3 * options.sections[static_cast<std::size_t>(m % 3)] ? m % 3 : 0;
    case SectionLayout::kAlternating: {
      const std::int64_t own = m % 2 == 1 ? 1 : 2;
      return m > 0 && place < 2 * options.sections[static_cast<std::size_t>(own)] ? own : 0;
    }
    case SectionLayout::kHeads: {
      const double second = first + options.sections[1];
      return place < first ? 0 : place < second ? 1 : place < second + options.sections[2] ? 2 : -1;
    }
    case SectionLayout::kDistributed:
      break;
  }
  return kDistributed[static_cast<std::size_t>(m) % kDistributed.size()];
}

// Checks sections that count key heads: all of them, or fewer.
Status check_heads(const std::vector<double>& sections, std::int64_t kv_heads) {
  const auto heads = static_cast<double>(kv_heads);
  const bool whole = std::ranges::all_of(
      sections, [&](double each) { return each >= 0 && each == std::floor(each) && each <= heads; });
  const double sum = whole ? std::accumulate(sections.begin(), sections.end(), 0.0) : 0;
  return sections.size() == 3 && sum >= 1 && sum <= heads
             ? Status()
             : wrong_option("sections",
                            "three whole numbers of a sum from 1 to " + std::to_string(kv_heads) +
                                ", the number of key heads, for section_layout heads",
                            sections);
}

Status check_sections(const RopeOptions& options, std::int64_t pairs) {
  double sum = 0;
  for (const double each : options.sections) {
    if (!(each >= 0) || each != std::floor(each) || each > static_cast<double>(pairs)) {
      return wrong_option("sections", "whole numbers from 0 to " + std::to_string(pairs), each);
    }
    sum += each;
  }
  if (!options.sections.empty() && (options.sections.size() != 3 || sum != static_cast<double>(pairs))) {
    return wrong_option("sections", "three whole numbers of the sum " + std::to_string(pairs), options.sections);
  }
  if (!options.sections.empty() && options.section_layout == SectionLayout::kDistributed) {
    std::vector<double> dealt(3, 0);
    for (std::int64_t m = 0; m < pairs; ++m) {
      ++dealt[static_cast<std::size_t>(component_of(options, m))];
    }
    if (options.sections != dealt) {
      return wrong_option("sections",
                          "the numbers of pairs of section_layout distributed, " + to_text(SettingValue(dealt)),
                          options.sections);
    }
  }
  return {};
}

}  // namespace

const OptionTable<RopeOptions> kRopeOptions{
    {"layout", &RopeOptions::layout,
     "half: channel m pairs with m + D/2 (Llama, GPT-NeoX, TAPE); interleaved: 2m with 2m+1; swapped: half, turned the "
     "other way (nanochat)",
     kRopeLayoutWords},
    {"fraction", &RopeOptions::fraction, "part of each head's channels that turn, the first ones"},
    {"base", &RopeOptions::base, "θ_m = base^(−2m/D); a larger base turns slower (theta scaling)", Above{1}},
    {"sections", &RopeOptions::sections,
     "M-RoPE: how many pairs turn with the first, second and third component of a position (time, row, column)",
     AnyValue{}, ""},
    {"section_layout", &RopeOptions::section_layout,
     "chunked: pairs of a component are neighbours; interleaved: pair m has component m mod 3 while its section lasts; "
     "alternating: rows and columns in turns on the fast pairs, time on the slow ones (VideoRoPE); distributed: t t h "
     "w h w h w in every eight pairs (MM-RoPE); heads: sections count key heads, whose pairs all turn with one "
     "component, and heads left over do not turn (MHRoPE)",
     kSectionWords, ""},
    {"norm", &RopeOptions::norm, "q and k are normed behind the rotation (HunYuan)", AnyValue{}, ""},
    {"norm_eps", &RopeOptions::norm_eps, "epsilon of that norm", Above{0}, ""},
};

Result<RopeOptions> RopeOptions::from(const Settings& settings) {
  LOCUS_TRY(RopeOptions options, kRopeOptions.read(settings));
  LOCUS_TRY(options.scaling, RopeScaling::from(settings));
  if (!(options.fraction > 0 && options.fraction <= 1)) {
    return wrong_option("fraction", "a number in (0, 1]", options.fraction);
  }
  return options;
}

Settings RopeOptions::settings() const {
  Settings all = scaling.written(kRopeOptions.written(*this));
  if (sections.empty()) {
    all.erase("sections");
    all.erase("section_layout");
  }
  if (!norm) {
    all.erase("norm");
    all.erase("norm_eps");
  }
  return all;
}

std::vector<OptionDescription> RopeOptions::described() {
  return kRopeOptions.described(RopeScaling::described());
}

Result<std::int64_t> RopeOptions::rotated_width(const ModelShape& shape) const {
  // A fraction written in decimal (0.1 of 80 channels) must not lose a channel to rounding.
  const auto width = static_cast<std::int64_t>(std::floor(static_cast<double>(shape.head_width) * fraction + 1e-6));
  if (width < 2 || width % 2 != 0) {
    return bad_input("rotary encoding: expected an even number of rotated channels, found " + std::to_string(width) +
                     " of a head of " + std::to_string(shape.head_width));
  }
  LOCUS_CHECK(by_heads() ? check_heads(sections, shape.kv_heads) : check_sections(*this, width / 2));
  LOCUS_CHECK(scaling.check(width, shape.trained_length));
  return width;
}

std::vector<std::int64_t> RopeOptions::components(std::int64_t count) const {
  std::vector<std::int64_t> list(static_cast<std::size_t>(count), 0);
  if (sections.empty()) {
    return list;
  }
  for (std::int64_t m = 0; m < count; ++m) {
    list[static_cast<std::size_t>(m)] = component_of(*this, m);
  }
  return list;
}

Rotation RopeOptions::rotation_at(const at::Tensor& ids, std::int64_t width, const ModelShape& shape) const {
  const RotaryFrequencies frequencies = scaling.frequencies(width, base, scaling.length_of(ids), shape.trained_length);
  if (by_heads()) {
    std::vector<at::Tensor> places;
    for (const std::int64_t own : components(shape.kv_heads)) {
      const at::Tensor along = ids.dim() == 1 ? ids : ids.select(1, std::max<std::int64_t>(own, 0));
      places.push_back(own < 0 ? at::zeros_like(along) : along);
    }
    return rotation(at::stack(places), frequencies.inverse, frequencies.magnitude);
  }
  if (ids.dim() == 1) {
    return rotation(ids, frequencies.inverse, frequencies.magnitude);
  }
  const std::vector<std::int64_t> own = components(width / 2);
  const at::Tensor places =
      ids.index_select(1, at::tensor(at::ArrayRef<std::int64_t>(own), at::kLong).to(ids.device()));
  const at::Tensor angles = places.to(at::kDouble) * frequencies.inverse.to(at::kDouble);
  return {angles.cos() * frequencies.magnitude, angles.sin() * frequencies.magnitude};
}

const Description& Rope::about() {
  static const Description description{
      .name = "rope",
      .title = "Rotary position embedding (RoPE)",
      .paper = "Su et al. 2021, arXiv:2104.09864; PI arXiv:2306.15595, YaRN arXiv:2309.00071; clipped arXiv:2602.05258",
      .equation = "⟨R_i q_i, R_j k_j⟩/√D, R_i turns pair m by i·base^(−2m/D)",
      .content = "unrotated q·k/√D, as if Δ = 0",
      .parameters = {{"query_norm", "(D)", "norm: w of the queries, in each layer"},
                     {"key_norm", "(D)", "norm: w of the keys, in each layer"}},
      .options = RopeOptions::described(),
      .rotates = true,
      .has_dot_product = true,
      .has_waves = true,
      .distance = kIndexDistance,
  };
  return description;
}

Result<std::unique_ptr<PositionEncoding>> Rope::make(const Settings& options, const ModelShape& shape) {
  LOCUS_TRY(RopeOptions typed, RopeOptions::from(options));
  LOCUS_TRY(const std::int64_t width, typed.rotated_width(shape));
  return std::unique_ptr<PositionEncoding>(std::make_unique<Rope>(shape, std::move(typed), width));
}

Rope::Rope(const ModelShape& shape, RopeOptions options, std::int64_t width)
    : WithOptions(shape, std::move(options)), width_(width) {
  for (std::int64_t layer = 0; options_.norm && layer < shape.layers; ++layer) {
    query_norm_.push_back(ones({shape.head_width}));
    key_norm_.push_back(ones({shape.head_width}));
  }
}

std::vector<Parameter> Rope::parameters() {
  std::vector<Parameter> parameters;
  for (std::size_t layer = 0; layer < query_norm_.size(); ++layer) {
    const std::string prefix = "layers." + std::to_string(layer) + ".";
    parameters.push_back({prefix + "query_norm", &query_norm_[layer]});
    parameters.push_back({prefix + "key_norm", &key_norm_[layer]});
  }
  return parameters;
}

at::Tensor Rope::normed(const at::Tensor& x, const at::Tensor& weight) const {
  return x * at::rsqrt(x.square().mean(-1, true) + options_.norm_eps) * weight.to(x.options());
}

Status Rope::accepts(const Positions& positions) const {
  const auto components = static_cast<std::int64_t>(options_.sections.size());
  if (positions.dimensions() == 1 || components == 0) {
    return PositionEncoding::accepts(positions);
  }
  if (positions.dimensions() != components) {
    return bad_input("encoding rope: expected positions of " + std::to_string(components) + " components, found " +
                     std::to_string(positions.dimensions()));
  }
  return {};
}

State Rope::begin(const Positions& positions, std::int64_t /*batch*/) const {
  return {positions, options_.rotation_at(positions.ids, width_, shape_).packed()};
}

Prepared Rope::prepare(const State& state, std::int64_t layer, const Projections& projections) const {
  Prepared prepared = turned(projections, state.positions, Rotation::unpacked(state.table), options_.layout);
  if (options_.norm) {
    const auto n = static_cast<std::size_t>(layer);
    for (at::Tensor Prepared::*const part : {&Prepared::query, &Prepared::content_query}) {
      prepared.*part = normed(prepared.*part, query_norm_[n]);
    }
    for (at::Tensor Prepared::*const part : {&Prepared::key, &Prepared::content_key}) {
      prepared.*part = normed(prepared.*part, key_norm_[n]);
    }
  }
  return prepared;
}

Status Rope::restore_content(const State& state, Prepared& prepared) const {
  if (options_.norm) {
    return unsupported("encoding rope: q and k are normed behind the rotation: they cannot be turned back");
  }
  const Rotation there = Rotation::unpacked(state.table);
  const at::Tensor size = there.cos.square() + there.sin.square();  // YaRN's magnitude, squared
  const Rotation back{there.cos / size, -there.sin / size};
  prepared.content_query = rotate(prepared.query, back.of_heads(prepared.query.size(1)), options_.layout);
  prepared.content_key = rotate(prepared.key, back, options_.layout);
  return {};
}

Result<PairForm> Rope::pair_form(const Prepared& prepared, std::int64_t /*layer*/) const {
  if (options_.norm) {
    return unsupported("encoding rope: q and k are normed behind the rotation: the logit is no sum over turning pairs");
  }
  const RotaryFrequencies turning = options_.scaling.frequencies(
      width_, options_.base, options_.scaling.length_of(prepared.positions.ids), shape_.trained_length);
  PairForm form;
  const std::int64_t pairs = options_.scaling.turning_pairs(width_);
  if (pairs == 0) {
    return unsupported("encoding rope: all its pairs are clipped: none turns");
  }
  form.channels = pair_channels(width_ / 2, options_.layout);
  for (auto still = form.channels.begin() + pairs; still != form.channels.end(); ++still) {
    form.rest.insert(form.rest.end(), still->begin(), still->end());
  }
  form.channels.resize(static_cast<std::size_t>(pairs));
  form.planes = form.channels;
  const std::vector<std::int64_t> plain = channels_from(width_, prepared.query.size(-1));
  form.rest.insert(form.rest.end(), plain.begin(), plain.end());
  std::sort(form.rest.begin(), form.rest.end());
  const std::int64_t dimensions = prepared.positions.dimensions();
  form.frequencies = turning.inverse.slice(0, 0, pairs).view({1, -1, 1});
  if (options_.by_heads()) {
    turn_by_heads(dimensions, form);
  } else if (dimensions > 1) {
    std::vector<std::int64_t> own = options_.components(width_ / 2);
    own.resize(static_cast<std::size_t>(pairs));
    const at::Tensor which = at::tensor(at::ArrayRef<std::int64_t>(own), at::kLong);
    form.frequencies = form.frequencies * at::one_hot(which, dimensions).to(at::kDouble).unsqueeze(0);
    for (std::size_t m = 0; m < own.size(); ++m) {  // by time, height or width
      form.names.push_back("thw"[own[m]] + std::to_string(m));
    }
  }
  form.magnitude = turning.magnitude;
  return form;
}

void Rope::turn_by_heads(std::int64_t dimensions, PairForm& form) const {
  const std::vector<std::int64_t> own = options_.components(shape_.kv_heads);
  if (dimensions == 1 && std::ranges::find(own, -1) == own.end()) {
    return;  // all heads turn alike
  }
  const std::int64_t group = shape_.heads / shape_.kv_heads;
  const at::Tensor along = at::zeros({shape_.heads, 1, dimensions}, at::kDouble);
  for (std::int64_t head = 0; head < shape_.heads; ++head) {
    const std::int64_t component = own[static_cast<std::size_t>(head / group)];
    if (component >= 0) {
      along[head][0][dimensions == 1 ? 0 : component] = 1.0;
    }
    for (std::int64_t m = 0; dimensions > 1 && m < form.pairs(); ++m) {
      std::string& name = form.names.emplace_back();
      if (component >= 0) {
        name += "thw"[component];
      }
      name += std::to_string(m);
    }
  }
  form.frequencies = form.frequencies * along;
}

at::Tensor Rope::vectors(const State& state, std::int64_t /*layer*/) const {
  const Rotation all = Rotation::unpacked(state.table);
  const std::int64_t pairs = options_.scaling.turning_pairs(width_);
  const Rotation turning{all.cos.slice(-1, 0, pairs), all.sin.slice(-1, 0, pairs)};
  return options_.by_heads() ? rotation_vectors(turning.of_heads(shape_.heads))
                             : rotation_vectors(turning).unsqueeze(0);
}

Entry rope_encoding() {
  return {Rope::about(), Rope::make};
}

}  // namespace locus::position
