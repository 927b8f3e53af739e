#include "core/position/dape.h"

#include <tuple>
#include <utility>

#include "core/position/list.h"
#include "core/position/shared/fresh_weights.h"

namespace locus::position {

namespace {

constexpr double kSlopeBelow = 0.01;

}  // namespace

const OptionTable<DapeOptions> DapeOptions::kTable{
    {"over", &DapeOptions::over, "the encoding that is corrected: alibi, kerple-log or rope, with its own defaults",
     OneOf{{"alibi", "kerple-log", "rope"}}},
    {"hidden", &DapeOptions::hidden, "units of the network", Whole{1, 65536}},
};

const Description& Dape::about() {
  static const Description description{
      .name = "dape",
      .title = "Data-adaptive positional encoding (DAPE)",
      .paper = "Zheng et al. 2024, arXiv:2405.14722",
      .equation = "S + B + W₂ LeakyReLU(W₁ [S; B] + b₁) + b₂, S = q·k/√D and B of all heads at the cell",
      .content = "S = q·k/√D; over rope unrotated",
      .parameters = {{"p", "(H)", "over=kerple-log: Kerple's"},
                     {"a", "(H)", "likewise"},
                     {"layers.N.correction.0.weight", "(hidden, 2H)", "W₁; over=rope: (hidden, H)"},
                     {"layers.N.correction.0.bias", "(hidden)", "b₁"},
                     {"layers.N.correction.2.weight", "(H, hidden)", "W₂"},
                     {"layers.N.correction.2.bias", "(H)", "b₂"}},
      .options = DapeOptions::kTable.described(),
      .scores = true,
      .no_distance = "a network mixes the biases of all heads with what the tokens are",
  };
  return description;
}

const Description& Dape::description() const {
  static const Description rotating = [] {
    Description description = about();
    description.rotates = true;
    return description;
  }();
  return over_rope() ? rotating : about();
}

Result<std::unique_ptr<PositionEncoding>> Dape::make(const Settings& options, const ModelShape& shape) {
  LOCUS_TRY(const DapeOptions typed, DapeOptions::from(options));
  LOCUS_TRY(std::unique_ptr<PositionEncoding> over, make_encoding(typed.over, {}, shape));
  LOCUS_CHECK(check_table("hidden", 2 * shape.heads, typed.hidden));
  return std::unique_ptr<PositionEncoding>(std::make_unique<Dape>(shape, typed, std::move(over)));
}

Dape::Dape(const ModelShape& shape, const DapeOptions& options, std::unique_ptr<PositionEncoding> over)
    : WithOptions(shape, options), over_(std::move(over)) {
  const std::int64_t inputs = over_rope() ? shape.heads : 2 * shape.heads;
  const auto layer_of = [&](const std::string& number, std::int64_t rows, std::int64_t columns) {
    return std::pair{LayerParameter("correction." + number + ".weight", shape.layers, true, {rows, columns},
                                    [=] {
                                      return uniform({rows, columns}, columns);
                                    }),
                     LayerParameter("correction." + number + ".bias", shape.layers, true, {rows},
                                    [=] { return uniform({rows}, columns); })};
  };
  std::tie(hidden_weight_, hidden_bias_) = layer_of("0", options.hidden, inputs);
  std::tie(output_weight_, output_bias_) = layer_of("2", shape.heads, options.hidden);
}

std::vector<Parameter> Dape::parameters() {
  std::vector<Parameter> all = over_->parameters();
  for (const Parameter& own : parameters_of({&hidden_weight_, &hidden_bias_, &output_weight_, &output_bias_})) {
    all.push_back(own);
  }
  return all;
}

double Dape::macs(std::int64_t layer, std::int64_t length) const {
  const auto tokens = static_cast<double>(length);
  const auto units = static_cast<double>(options_.hidden * shape_.heads * (over_rope() ? 2 : 3));
  return over_->macs(layer, length) + tokens * tokens * units;
}

TileScores Dape::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                       const at::Tensor& /*carry*/) const {
  const Tile all{tile.layer, {0, shape_.heads}, tile.rows, tile.columns};
  const TileScores plain = over_->score(prepared, all, {.content = wanted.content || !over_rope()});
  const at::Tensor inputs =
      over_rope() ? plain.logits : at::cat({plain.content, plain.logits - plain.content}, 1);  // (B, H or 2H, R, K)
  const auto as_scores = [&](const at::Tensor& parameter) { return parameter.to(inputs.scalar_type()); };
  const at::Tensor hidden = at::leaky_relu(at::linear(inputs.movedim(1, -1), as_scores(hidden_weight_.of(tile.layer)),
                                                      as_scores(hidden_bias_.of(tile.layer))),
                                           kSlopeBelow);
  const at::Tensor weight = as_scores(output_weight_.of(tile.layer)).slice(0, tile.heads.begin, tile.heads.end);
  const at::Tensor bias = as_scores(output_bias_.of(tile.layer)).slice(0, tile.heads.begin, tile.heads.end);
  const auto chosen = [&](const at::Tensor& map) { return map.slice(1, tile.heads.begin, tile.heads.end); };
  TileScores scores;
  scores.logits = chosen(plain.logits) + at::linear(hidden, weight, bias).movedim(-1, 1);
  if (wanted.content) {
    scores.content = chosen(plain.content);
  }
  return scores;
}

Entry dape_encoding() {
  return {Dape::about(), Dape::make};
}

}  // namespace locus::position
