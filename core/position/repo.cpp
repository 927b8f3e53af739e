#include "core/position/repo.h"

#include <algorithm>

#include "core/position/list.h"
#include "core/position/shared/fresh_weights.h"
#include "core/position/shared/rotation.h"

namespace locus::position {

namespace {

constexpr Words kFormWords{WordTable<PlaceForm, 3>{
    {{"gated", PlaceForm::kGated}, {"linear", PlaceForm::kLinear}, {"shared", PlaceForm::kShared}}}};
constexpr std::int64_t kChannelsARow = 8;  // of W_g and W_c, where the option `inner` is 0

std::int64_t inner_of(const RepoOptions& options, const ModelShape& shape) {
  return options.inner > 0 ? options.inner : std::max<std::int64_t>(shape.width / kChannelsARow, 1);
}

}  // namespace

const OptionTable<RepoOptions> RepoOptions::kTable{
    {"form", &RepoOptions::form,
     "gated: W_f(SiLU(W_g x) ⊙ W_c x); linear: W x; shared: w·x, one position for all heads", kFormWords},
    {"inner", &RepoOptions::inner, "gated: rows of W_g and W_c; 0: an eighth of the model's channels",
     Whole{0, std::int64_t{1} << 20}},
    {"base", &RepoOptions::base, "θ_m = base^(−2m/D)", Above{1}},
};

Status RepoOptions::check() const {
  return {};
}

const Description& Repo::about() {
  static const Description description{
      .name = "repo",
      .title = "Learned positions of the context (RePo)",
      .paper = "Li et al. 2025, arXiv:2512.14391",
      .equation = "⟨R(z_i) q_i, R(z_j) k_j⟩/√D, z = W_f(SiLU(W_g x) ⊙ W_c x), R turns pair m by z·base^(−2m/D)",
      .content = "unrotated q·k/√D, as if z_i = z_j",
      .parameters = {{"layers.N.gate_map", "(I, C)", "W_g; form gated"},
                     {"layers.N.content_map", "(I, C)", "W_c; form gated"},
                     {"layers.N.final_map", "(H, I)", "W_f; form gated"},
                     {"layers.N.dynamic_map", "(H, C)", "W; form linear. Form shared: (1, C)"}},
      .options = RepoOptions::kTable.described(),
      .rotates = true,
      .learns_positions = true,
      .distance = "z_i − z_j",
  };
  return description;
}

Status Repo::settle(const RepoOptions& options, const ModelShape& shape) {
  if (shape.head_width % 2 != 0) {
    return bad_input("encoding repo: expected heads of an even width, found " + std::to_string(shape.head_width));
  }
  return check_table("inner", inner_of(options, shape), shape.width);
}

Repo::Repo(const ModelShape& shape, const RepoOptions& options) : WithOptions(shape, options) {
  const auto map = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    return LayerParameter(name, shape.layers, true, {rows, columns}, [=] { return uniform({rows, columns}, columns); });
  };
  if (options.form == PlaceForm::kGated) {
    const std::int64_t inner = inner_of(options, shape);
    gate_ = map("gate_map", inner, shape.width);
    content_ = map("content_map", inner, shape.width);
    final_ = map("final_map", shape.heads, inner);
  } else {
    map_ = map("dynamic_map", options.form == PlaceForm::kShared ? 1 : shape.heads, shape.width);
  }
}

double Repo::macs(std::int64_t /*layer*/, std::int64_t length) const {
  const auto width = static_cast<double>(shape_.width);
  const auto heads = static_cast<double>(shape_.heads);
  const auto inner = static_cast<double>(inner_of(options_, shape_));
  const double token = options_.form == PlaceForm::kGated    ? inner * (2 * width + heads)
                       : options_.form == PlaceForm::kLinear ? heads * width
                                                             : width;
  return static_cast<double>(length) * token;
}

at::Tensor Repo::places(const at::Tensor& hidden, std::int64_t layer) const {
  if (options_.form != PlaceForm::kGated) {
    return at::linear(hidden, map_.of(layer)).transpose(1, 2).expand({-1, shape_.heads, -1});
  }
  const at::Tensor gated = at::silu(at::linear(hidden, gate_.of(layer))) * at::linear(hidden, content_.of(layer));
  return at::linear(gated, final_.of(layer)).transpose(1, 2);
}

Prepared Repo::prepare(const State& state, std::int64_t layer, const Projections& projections) const {
  Prepared prepared = PositionEncoding::prepare(state, layer, projections);
  prepared.content_query = projections.query;
  prepared.content_key = projections.key;
  return placed(prepared, places(projections.hidden, layer).unsqueeze(-1));  // (B, H, T, 1)
}

Prepared Repo::placed(const Prepared& prepared, const at::Tensor& positions) const {
  if (!prepared.content_query.defined() || !prepared.content_key.defined()) {
    return prepared;
  }
  Prepared moved = prepared;
  moved.gate_query = positions;
  const at::Tensor frequencies = inverse_frequencies(shape_.head_width, options_.base).to(positions.device());
  const at::Tensor angles = positions.to(at::kDouble) * frequencies;  // (B, H, T, M)
  const Rotation turn{angles.cos(), angles.sin()};
  // A key that several queries share stands in another place for each of them.
  const at::Tensor& key = prepared.content_key;
  const std::int64_t group = shape_.heads / key.size(1);
  moved.query = rotate(prepared.content_query, turn, PairLayout::kHalf);
  moved.key = rotate(group > 1 ? key.repeat_interleave(group, 1) : key, turn, PairLayout::kHalf);
  return moved;
}

Entry repo_encoding() {
  return {Repo::about(), Repo::make};
}

}  // namespace locus::position
