#include "core/position/seqpe/seqpe.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "core/position/list.h"
#include "core/position/shared/fresh_weights.h"

namespace locus::position {
namespace {

constexpr std::size_t kTables = 4;
std::int64_t output_width(const ModelShape& shape, const SeqpeOptions& options) {
  if (options.integration == SeqpeIntegration::kInput) {
    return shape.width;
  }
  return options.single_head ? shape.head_width : shape.heads * shape.head_width;
}

bool needs_gradients(const std::vector<at::Tensor>& weights) {
  return at::GradMode::is_enabled() &&
         std::any_of(weights.begin(), weights.end(), [](const at::Tensor& tensor) { return tensor.requires_grad(); });
}

}  // namespace

const Description& Seqpe::about() {
  static const Description description{
      .name = "seqpe",
      .title = "Sequential position encoding (SeqPE)",
      .paper = "Li et al. 2025, arXiv:2506.13277",
      .equation = "sum (q+e^q)·(k+e^k), mul (q⊙e^q)·(k⊙e^k), bias q·k + s·e^q·e^k, all ÷√D; e = encoder(digits)",
      .content = "q·k/√D; of sum the first of the four terms qk, qe, ek, ee",
      .parameters = {{"encoder.token_of_seqpe_embed.weight", "(b, w)", "digits"},
                     {"encoder.pos_of_seqpe_embed.weight", "(n·k, w)", "their places"},
                     {"encoder.dim_token_embed", "(n, 1, w)", "dimensions; images only"},
                     {"encoder.cls_token_embed", "(1, 1, w)", "the last token, whose output is e"},
                     {"encoder.transformers.N.*", "",
                      "blocks as GPT-2's: layernorm_1, attn, layernorm_2, mlp; weights (in, out)"},
                     {"encoder.layernorm.{weight,bias}", "(w)", "before the output"},
                     {"encoder.out_proj.{weight,bias}", "(d, w)", "the output"},
                     {"cls_token_pos_embed", "(1, 1, d)", "E of tokens without position"},
                     {"pe_qk.{weight,bias}", "(2·d, d)",
                      "e^q and e^k from E; layers.N.pe_qk when each layer has its own"}},
      .options = SeqpeOptions::described(),
      .embeds = true,
      .rotates = true,
      .has_dot_product = true,
      .grid_options = [](std::int64_t, std::int64_t) -> Settings {
        return {{"dimensions", std::int64_t{2}}};
      },
      .distance = kVectorDistance,
  };
  return description;
}

Result<std::unique_ptr<PositionEncoding>> Seqpe::make(const Settings& options, const ModelShape& shape) {
  LOCUS_TRY(const SeqpeOptions typed, SeqpeOptions::from(options, shape));
  return std::unique_ptr<PositionEncoding>(std::make_unique<Seqpe>(shape, typed));
}

Seqpe::Seqpe(const ModelShape& shape, const SeqpeOptions& options)
    : WithOptions(shape, options), encoder_(options.encoder, output_width(shape, options)) {
  const std::int64_t width = encoder_.output_width();
  if (options_.class_token) {
    class_position_ = normal({1, 1, width}, 0.02);
  }
  if (options_.integration == SeqpeIntegration::kInput || options_.projection == SeqpeProjection::kNone) {
    return;
  }
  const bool multi = options_.projection == SeqpeProjection::kMulti;
  for (std::int64_t index = 0; index < (multi ? shape_.layers : 1); ++index) {
    projections_.push_back({normal({2 * width, width}, 0.02), zeros({2 * width})});
  }
}

std::vector<Parameter> Seqpe::parameters() {
  std::vector<Parameter> list;
  encoder_.append_parameters("encoder.", list);
  if (class_position_.defined()) {
    list.push_back({"cls_token_pos_embed", &class_position_});
  }
  const bool multi = options_.projection == SeqpeProjection::kMulti;
  for (std::size_t index = 0; index < projections_.size(); ++index) {
    const std::string prefix = multi ? "layers." + std::to_string(index) + ".pe_qk." : "pe_qk.";
    list.push_back({prefix + "weight", &projections_[index].weight});
    list.push_back({prefix + "bias", &projections_[index].bias});
  }
  return list;
}

Status Seqpe::accepts(const Positions& positions) const {
  const SeqpeEncoderOptions& encoder = options_.encoder;
  if (positions.dimensions() != encoder.dimensions) {
    return bad_input("encoding seqpe: expected positions of " + std::to_string(encoder.dimensions) +
                     " dimension(s), found " + std::to_string(positions.dimensions()));
  }
  if (positions.prefix > 0 && !options_.class_token) {
    return bad_input("encoding seqpe: " + std::to_string(positions.prefix) +
                     " token(s) without position need the option class_token");
  }
  if (positions.suffix > 0) {
    return bad_input("encoding seqpe: expected no tokens behind the patches, found " +
                     std::to_string(positions.suffix));
  }
  const at::Tensor ids = positions.ids.slice(0, positions.prefix);
  if (ids.numel() == 0) {
    return {};
  }
  const double low = ids.min().item<double>();
  const double high = ids.max().item<double>();
  if (!(low >= 0) || ids.ne(ids.floor()).any().item<bool>()) {
    return bad_input("encoding seqpe: expected whole positions from 0 on, found " + to_text(SettingValue(low)));
  }
  if (!(high < static_cast<double>(encoder.limit()))) {
    return bad_input("encoding seqpe: position " + to_text(SettingValue(high)) + " has more than " +
                     std::to_string(encoder.digits) + " digits in base " + std::to_string(encoder.base));
  }
  return {};
}

double Seqpe::macs(std::int64_t layer, std::int64_t length) const {
  const auto tokens = static_cast<double>(length);
  double sum = 0;
  if (layer == 0) {  // every digit of a position goes through the encoder once
    double weights = 0;
    for (const at::Tensor& tensor : encoder_.tensors()) {
      weights += tensor.dim() == 2 ? static_cast<double>(tensor.numel()) : 0;
    }
    sum += tokens * static_cast<double>(options_.encoder.digits * options_.encoder.dimensions) * weights;
  }
  if (!projections_.empty() && (projections_.size() > 1 || layer == 0)) {
    const std::size_t own = projections_.size() > 1 ? static_cast<std::size_t>(layer) : 0;
    sum += tokens * static_cast<double>(projections_[own].weight.numel());
  }
  if (options_.integration == SeqpeIntegration::kBias || options_.integration == SeqpeIntegration::kMul) {
    sum += tokens * tokens * static_cast<double>(shape_.heads * shape_.head_width);
  }
  return sum;
}

// Without gradients in double precision, so that a position has the same e whatever positions are encoded with it: its
// products with others are hundreds, and the rows of a growing text are encoded again and again.
at::Tensor Seqpe::encode(const Positions& positions) const {
  const at::Tensor ids = positions.ids.slice(0, positions.prefix);
  at::Tensor values;
  if (needs_gradients(encoder_.tensors())) {
    values = encoder_.encode(ids);
  } else {
    SeqpeEncoder wide = encoder_;
    std::vector<Parameter> parameters;
    wide.append_parameters("", parameters);
    for (const Parameter& parameter : parameters) {
      *parameter.value = parameter.value->to(at::kDouble);
    }
    values = wide.encode(ids).to(encoder_.tensors().front().scalar_type());
  }
  if (positions.prefix == 0) {
    return values;
  }
  return at::cat({class_position_[0].expand({positions.prefix, values.size(1)}), values}, 0);
}

at::Tensor Seqpe::cached(const Positions& positions) const {
  std::vector<at::Tensor> weights = encoder_.tensors();
  if (class_position_.defined()) {
    weights.push_back(class_position_);
  }
  const bool versioned =
      std::none_of(weights.begin(), weights.end(), [](const at::Tensor& tensor) { return tensor.is_inference(); });
  if (!versioned || needs_gradients(weights)) {
    return encode(positions);
  }
  std::vector<std::int64_t> versions;
  versions.reserve(weights.size());
  for (const at::Tensor& weight : weights) {
    versions.push_back(static_cast<std::int64_t>(weight._version()));
  }
  const auto same = [&](const Table& table) {
    return table.versions == versions && table.ids.equal(positions.ids) &&
           std::equal(weights.begin(), weights.end(), table.weights.begin(), table.weights.end(),
                      [](const at::Tensor& a, const at::Tensor& b) { return a.is_same(b); });
  };
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(tables_.begin(), tables_.end(), same);
    if (found != tables_.end()) {
      return found->values;
    }
  }
  at::Tensor values = encode(positions);
  const std::lock_guard lock(mutex_);
  tables_.push_front({positions.ids.clone(), std::move(weights), std::move(versions), values});
  if (tables_.size() > kTables) {
    tables_.pop_back();
  }
  return values;
}

State Seqpe::begin(const Positions& positions, std::int64_t /*batch*/) const {
  return {positions, cached(positions)};
}

at::Tensor Seqpe::embed(const State& state) const {
  return options_.integration == SeqpeIntegration::kInput ? state.table : at::Tensor();
}

std::pair<at::Tensor, at::Tensor> Seqpe::projected(const State& state, std::int64_t layer) const {
  const std::int64_t heads = options_.single_head ? 1 : shape_.heads;
  if (projections_.empty()) {
    const at::Tensor both = state.table.unflatten(-1, {heads, -1}).transpose(0, 1).unsqueeze(0);
    return {both, both};
  }
  const bool multi = options_.projection == SeqpeProjection::kMulti;
  const Projection& projection = projections_[multi ? static_cast<std::size_t>(layer) : 0];
  // A table whose rows share much more than they differ by cancels here: it is projected in double precision, but for
  // training, which differentiates it.
  const bool exact = !needs_gradients({state.table, projection.weight, projection.bias});
  const auto wide = [&](const at::Tensor& tensor) { return exact ? tensor.to(at::kDouble) : tensor; };
  const at::Tensor pair = at::linear(wide(state.table), wide(projection.weight), wide(projection.bias))
                              .to(state.table.scalar_type())
                              .unflatten(-1, {2, heads, -1})
                              .permute({1, 2, 0, 3});  // (2, H, T, D)
  return {pair.select(0, 0).unsqueeze(0), pair.select(0, 1).unsqueeze(0)};
}

void Seqpe::drop_unseen(const Positions& positions) {
  if (options_.integration != SeqpeIntegration::kBias && options_.integration != SeqpeIntegration::kSum) {
    return;  // a product with k is another for each key
  }
  const at::NoGradGuard no_grad;
  const at::Tensor table = encode(positions);
  for (Projection& projection : projections_) {
    const std::int64_t width = projection.bias.size(0) / 2;  // e^q, then e^k
    const at::Tensor keys = at::linear(table, projection.weight.slice(0, width), projection.bias.slice(0, width));
    projection.bias.slice(0, width).sub_(keys.mean(0));
  }
}

Prepared Seqpe::prepare(const State& state, std::int64_t layer, const Projections& projections) const {
  Prepared prepared = PositionEncoding::prepare(state, layer, projections);
  if (options_.integration == SeqpeIntegration::kInput) {
    return prepared;
  }
  const auto [query_part, key_part] = projected(state, layer);
  const at::Tensor& query = projections.query;
  // Heads that share a key still have their own e^k.
  const std::int64_t group = key_part.size(1) / std::min(key_part.size(1), projections.key.size(1));
  const at::Tensor key = group == 1 ? projections.key : projections.key.repeat_interleave(group, 1);
  switch (options_.integration) {
    case SeqpeIntegration::kSum:
      prepared.query = query + query_part;
      prepared.key = key + key_part;
      break;
    case SeqpeIntegration::kMul:
      prepared.query = query * query_part;
      prepared.key = key * key_part;
      break;
    default:
      prepared.query = at::cat({query, (query_part * options_.bias_scale).expand_as(query)}, -1);
      prepared.key = at::cat({key, key_part.expand_as(key)}, -1);
      break;
  }
  prepared.content_query = projections.query;
  prepared.content_key = projections.key;
  return prepared;
}

TileScores Seqpe::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                        const at::Tensor& /*carry*/) const {
  TileScores scores;
  scores.logits = scaled_dot(prepared.query, prepared.key, tile, scale());
  if (options_.integration == SeqpeIntegration::kInput || !prepared.content_query.defined()) {
    return scores;
  }
  if (wanted.content) {
    scores.content = scaled_dot(prepared.content_query, prepared.content_key, tile, scale());
  }
  if (wanted.terms && options_.integration == SeqpeIntegration::kSum) {
    const std::int64_t group = prepared.key.size(1) / prepared.content_key.size(1);
    const at::Tensor key = group == 1 ? prepared.content_key : prepared.content_key.repeat_interleave(group, 1);
    const at::Tensor query_part = prepared.query - prepared.content_query;
    const at::Tensor key_part = prepared.key - key;
    scores.terms = {{"qk", scaled_dot(prepared.content_query, key, tile, scale())},
                    {"qe", scaled_dot(prepared.content_query, key_part, tile, scale())},
                    {"ek", scaled_dot(query_part, key, tile, scale())},
                    {"ee", scaled_dot(query_part, key_part, tile, scale())}};
  }
  return scores;
}

std::optional<RowForm> Seqpe::row_form(const Prepared& prepared, std::int64_t /*layer*/) const {
  RowForm form = dot_product_form(*this, prepared);
  form.has_content = options_.integration != SeqpeIntegration::kInput && prepared.content_query.defined();
  return form;
}

at::Tensor Seqpe::vectors(const State& state, std::int64_t /*layer*/) const {
  return state.table.unsqueeze(0);
}

namespace {

constexpr std::int64_t kLongest = 20000;
constexpr std::uint64_t kSequenceStep = 0x9E3779B97F4A7C15U;  // between the seeds of two sequences of a batch
constexpr Words kIntegrations{WordTable<SeqpeIntegration, 4>{{{"sum", SeqpeIntegration::kSum},
                                                              {"mul", SeqpeIntegration::kMul},
                                                              {"bias", SeqpeIntegration::kBias},
                                                              {"input", SeqpeIntegration::kInput}}}};
constexpr Words kProjections{WordTable<SeqpeProjection, 3>{
    {{"single", SeqpeProjection::kSingle}, {"multi", SeqpeProjection::kMulti}, {"none", SeqpeProjection::kNone}}}};

const OptionTable<SeqpeOptions> kSeqpeOptions{
    {"integration", &SeqpeOptions::integration,
     "how E meets q and k: sum, mul, bias; or input, added to the token embeddings", kIntegrations},
    {"projection", &SeqpeOptions::projection,
     "pe_qk shared by all layers, one per layer (multi), or none: e^q = e^k = E", kProjections},
    {"single_head", &SeqpeOptions::single_head, "E has the channels of one head, the same for all"},
    {"bias_scale", &SeqpeOptions::bias_scale, "s of bias"},
    {"class_token", &SeqpeOptions::class_token, "tokens without position have a learned E; true for images"},
};

const OptionTable<SeqpeTraining> kTrainingOptions{
    {"distance_loss", &SeqpeTraining::distance_loss, "training: weight α of L_δ, which makes near positions alike",
     Above{0, true}},
    {"transfer_loss", &SeqpeTraining::transfer_loss,
     "training: weight β of L_OOD, which makes shifted positions like trained ones", Above{0, true}},
    {"shift", &SeqpeTraining::shift,
     "training: share of the sequences that start at a random position, each at its own"},
    {"longest", &SeqpeTraining::longest,
     "training: positions of both losses and shifts are below it; at most base^digits", AnyValue{}, "20000"},
    {"loss_batch", &SeqpeTraining::loss_batch, "training: pivots of L_δ, groups of L_OOD", Whole{1, 65536}},
    {"candidates", &SeqpeTraining::candidates, "training: positions of a pivot or a group", Whole{2, 4096}},
};

Result<SeqpeTraining> training_from(const Settings& settings, const SeqpeEncoderOptions& encoder) {
  SeqpeTraining training;
  training.longest = std::min(kLongest, encoder.limit());
  LOCUS_TRY(training, kTrainingOptions.read(settings, training));
  if (!(training.shift >= 0 && training.shift <= 1)) {
    return wrong_option("shift", "a share from 0 to 1", training.shift);
  }
  if (training.longest < 1 || training.longest > encoder.limit()) {
    return wrong_option("longest", "1 to " + std::to_string(encoder.limit()) + ", what the digits can write",
                        training.longest);
  }
  return training;
}

}  // namespace

Result<SeqpeOptions> SeqpeOptions::from(const Settings& settings, const ModelShape& shape) {
  SeqpeOptions options;
  LOCUS_TRY(options.encoder, SeqpeEncoderOptions::from(settings, shape));
  options.class_token = options.encoder.dimensions == 2;
  LOCUS_TRY(options.training, training_from(settings, options.encoder));
  LOCUS_TRY(options, kSeqpeOptions.read(settings, options));
  if (!std::isfinite(options.bias_scale)) {
    return bad_input("option bias_scale: expected a finite number");
  }
  return options;
}

Settings SeqpeOptions::settings() const {
  return kTrainingOptions.written(training, encoder.written(kSeqpeOptions.written(*this)));
}

std::vector<OptionDescription> SeqpeOptions::described() {
  return kSeqpeOptions.described(SeqpeEncoderOptions::described(kTrainingOptions.described()));
}

SeqpeSampling Seqpe::sampling() const {
  SeqpeSampling sampling;
  sampling.limit = options_.training.longest;
  sampling.dimensions = options_.encoder.dimensions;
  sampling.base = options_.encoder.base;
  sampling.candidates = options_.training.candidates;
  return sampling;
}

std::int64_t Seqpe::trained_side() const {
  if (options_.encoder.dimensions == 1) {
    return shape_.trained_length;
  }
  // Class and register tokens are few: the patches are the largest square below.
  return static_cast<std::int64_t>(std::sqrt(static_cast<double>(shape_.trained_length)));
}

Positions Seqpe::at_random_start(const Positions& natural, std::mt19937_64& random) const {
  const at::Tensor moved = natural.ids.clone();
  for (std::int64_t axis = 0; axis < natural.dimensions(); ++axis) {
    const at::Tensor ids = natural.dimensions() == 1 ? moved : moved.select(1, axis);
    const at::Tensor own = ids.slice(0, natural.prefix);
    const std::int64_t length = own.numel() > 0 ? static_cast<std::int64_t>(own.max().item<double>()) + 1 : 0;
    own.add_(static_cast<double>(random_start(length, options_.training.longest, 1, random)));
  }
  return {moved, natural.prefix};
}

Result<std::vector<TrainingPositions>> Seqpe::training_positions(const Positions& natural, Range sequences,
                                                                 std::uint64_t seed) const {
  LOCUS_CHECK(accepts(natural));
  std::vector<TrainingPositions> groups{{natural, 0}};
  for (std::int64_t n = sequences.begin; n < sequences.end; ++n) {
    std::mt19937_64 random(seed + kSequenceStep * static_cast<std::uint64_t>(n + 1));
    if (static_cast<double>(random() >> 11) * 0x1p-53 < options_.training.shift) {
      groups.push_back({at_random_start(natural, random), 1});
    } else {
      ++groups.front().sequences;
    }
  }
  if (groups.front().sequences == 0) {
    groups.erase(groups.begin());
  }
  return groups;
}

at::Tensor Seqpe::training_loss(std::uint64_t seed) const {
  const SeqpeTraining& training = options_.training;
  SeqpeSampling draws = sampling();
  const double all = std::pow(static_cast<double>(draws.limit), static_cast<double>(draws.dimensions));
  std::mt19937_64 random(seed);
  at::Tensor loss;
  if (training.distance_loss > 0 && all > static_cast<double>(draws.candidates)) {
    const SeqpeDistances distances = sample_distances(draws, training.loss_batch, random);
    const at::Tensor embedded = encoder_.encode(at::cat({distances.pivots, distances.candidates.flatten(0, 1)}));
    loss = seqpe_distance_loss(embedded.slice(0, 0, training.loss_batch),
                               embedded.slice(0, training.loss_batch).view({training.loss_batch, draws.candidates, -1}),
                               distances.labels.to(embedded.device())) *
           training.distance_loss;
  }
  const std::int64_t trained = trained_side();
  if (training.transfer_loss > 0 && trained > 0 && trained < draws.limit) {
    draws.candidates = std::min(draws.candidates, draws.dimensions == 2 ? trained * trained : trained);
    const SeqpeShifted shifted = sample_shifted(draws, trained, training.loss_batch, random);
    const at::Tensor embedded = encoder_.encode(at::cat({shifted.teacher.flatten(0, 1), shifted.student.flatten(0, 1)}))
                                    .view({2, training.loss_batch, draws.candidates, -1});
    const at::Tensor transfer = seqpe_transfer_loss(embedded.select(0, 0), embedded.select(0, 1),
                                                    options_.single_head ? 1 : shape_.heads, SeqpeTransfer::kPaper) *
                                training.transfer_loss;
    loss = loss.defined() ? loss + transfer : transfer;
  }
  return loss;
}

Entry seqpe_encoding() {
  return {Seqpe::about(), Seqpe::make};
}

}  // namespace locus::position
