// The members of the structs of the facade, as they travel: see codec.h. A struct that is not here does not travel.
#pragma once

#include "core/base/field.h"
#include "core/base/range.h"
#include "models/api/addressing.h"
#include "models/api/analyses.h"
#include "models/api/edits.h"
#include "models/api/effect.h"
#include "models/api/kernel.h"
#include "models/api/knock_out.h"
#include "models/api/logit_attribution.h"
#include "models/api/logit_lens.h"
#include "models/api/model.h"
#include "models/api/move_curve.h"
#include "models/api/pairs.h"
#include "models/api/perceived_distance.h"
#include "models/api/picture_stability.h"
#include "models/api/repeated_text.h"
#include "models/api/score_sources.h"
#include "models/api/state_norms.h"
#include "models/api/transform_steps.h"
#include "models/api/verify.h"
#include "models/api/weight_kinds.h"
#include "models/remote/codec/codec.h"

namespace locus::remote {

template <>
inline constexpr int kValues<Quantity> = static_cast<int>(kQuantities.size());
template <>
inline constexpr int kValues<Reduction> = 2;
template <>
inline constexpr int kValues<models::Side> = static_cast<int>(models::kSides.size());
template <>
inline constexpr int kValues<models::StateNumber> = 3;
template <>
inline constexpr int kValues<models::HeadTo> = 7;
template <>
inline constexpr int kValues<models::TheoryAngle> = 2;
template <>
inline constexpr int kValues<models::PictureMove> = 4;
template <>
inline constexpr int kValues<models::KnockOutMeasure> = 3;
template <>
inline constexpr int kValues<analysis::Pairing> = 3;
template <>
inline constexpr int kValues<analysis::PairNorm> = 3;
template <>
inline constexpr int kValues<analysis::CellWeights> = 3;
template <>
inline constexpr int kValues<analysis::AddressingWay> = 4;

// How often a server does something for one call: no more than the command line and the views ask for. Lengths are
// bounded by the memory of a run.
constexpr std::int64_t kMaxPairs = 1'000'000;  // of sampled tokens, and resamples of them
constexpr std::int64_t kMaxRepeats = 1024;     // of runs on random or shuffled inputs
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 24;
constexpr std::int64_t kMaxListed = 1'000'000;  // entries of a list of the best

// ---- those of their own form (custom_codecs.cpp)

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot stand in parentheses
#define LOCUS_OWN_FORM(type)                                         \
  template <>                                                        \
  struct Codec<type> {                                               \
    static json write(Writer& writer, const type& value);            \
    static void read(Reader& reader, const json& tree, type& value); \
  }
// NOLINTEND(bugprone-macro-parentheses)
LOCUS_OWN_FORM(Settings);
LOCUS_OWN_FORM(models::Edits);
LOCUS_OWN_FORM(models::PictureChanges);
LOCUS_OWN_FORM(Field);                           // what a causal map hides at the end of its rows is counted
LOCUS_OWN_FORM(std::vector<models::TokenInfo>);  // by columns
LOCUS_OWN_FORM(models::Picture);
LOCUS_OWN_FORM(models::RunOptions);  // `early` stands for itself, `reuse` for a trace that the other end knows
#undef LOCUS_OWN_FORM

// ---- core

void members(Structs, Is<Range> auto& x, auto& visit) {
  visit("begin", x.begin);
  visit("end", x.end);
}
void members(Structs, Is<FieldAxis> auto& x, auto& visit) {
  visit("name", x.name);
  visit("unit", x.unit);
  visit("first", x.first);
  visit("step", x.step);
}
void members(Structs, Is<analysis::DistanceBiasOptions> auto& x, auto& visit) {
  visit("near", x.near);
  visit("far", x.far);
  visit.count("pairs", x.pairs, kMaxPairs);
  visit("pairing", x.pairing);
  visit("head", x.head);
  visit("skip_keys", x.skip_keys);
  visit("seed", x.seed);
  visit.count("resamples", x.resamples, kMaxPairs);
}
void members(Structs, Is<analysis::DistanceBias> auto& x, auto& visit) {
  visit("differences", x.differences);
  visit("mean", x.mean);
  visit("deviation", x.deviation);
  visit("positive_share", x.positive_share);
  visit("interval", x.interval);
  visit("near", x.near);
  visit("far", x.far);
  visit("shortened", x.shortened);
}
void members(Structs, Is<analysis::DistanceProfileOptions> auto& x, auto& visit) {
  visit("quantity", x.quantity);
  visit("head", x.head);
  visit("bins", x.bins);
  visit("skip_keys", x.skip_keys);
  visit("cell_limit", x.cell_limit);
  visit("low", x.low);
  visit("high", x.high);
  visit("relative_to_uniform", x.relative_to_uniform);
}
void members(Structs, Is<analysis::DistanceProfile> auto& x, auto& visit) {
  visit("edges", x.edges);
  visit("mean", x.mean);
  visit("low", x.low);
  visit("high", x.high);
  visit("cells", x.cells);
  visit("rows_used", x.rows_used);
  visit("rows", x.rows);
}
void members(Structs, Is<analysis::Sink> auto& x, auto& visit) {
  visit("key", x.key);
  visit("weight", x.weight);
}
void members(Structs, Is<analysis::HeadStatistics> auto& x, auto& visit) {
  visit("entropy", x.entropy);
  visit("relative_entropy", x.relative_entropy);
  visit("mean_distance", x.mean_distance);
  visit("previous_token", x.previous_token);
  visit("first_token", x.first_token);
  visit("self", x.self);
  visit("gate_selectivity", x.gate_selectivity);
  visit("sink", x.sink);
}
void members(Structs, Is<analysis::AttentionChange> auto& x, auto& visit) {
  visit("row_l1", x.row_l1);
  visit("cell_mean", x.cell_mean);
}
void members(Structs, Is<analysis::PairRow> auto& x, auto& visit) {
  visit("name", x.name);
  visit("wavelength", x.wavelength);
}
void members(Structs, Is<analysis::PairList> auto& x, auto& visit) {
  visit("rows", x.rows);
  visit("pairs", x.pairs);
  visit("magnitude", x.magnitude);
  visit("span", x.span);
  visit("planes", x.planes);
  visit("grid", x.grid);
  visit("unit", x.unit);
}
void members(Structs, Is<analysis::CellParts> auto& x, auto& visit) {
  visit("parts", x.parts);
  visit("logit", x.logit);
  visit("elsewhere", x.elsewhere);
}
void members(Structs, Is<analysis::PairProfile> auto& x, auto& visit) {
  visit("pairs", x.pairs);
  visit("parts", x.parts);
  visit("count", x.count);
  visit("logit", x.logit);
  visit("carrier", x.carrier);
  visit("explained", x.explained);
  visit("share", x.share);
  visit("still_share", x.still_share);
}
void members(Structs, Is<analysis::PairPlane::Points> auto& x, auto& visit) {
  visit("real", x.real);
  visit("imaginary", x.imaginary);
}
void members(Structs, Is<analysis::PairPlane> auto& x, auto& visit) {
  visit("query", x.query);
  visit("key", x.key);
  visit("turned_query", x.turned_query);
  visit("turned_key", x.turned_key);
  visit("query_concentration", x.query_concentration);
  visit("key_concentration", x.key_concentration);
}
void members(Structs, Is<analysis::PairStatistics> auto& x, auto& visit) {
  visit("centroid", x.centroid);
  visit("explained", x.explained);
  visit("still_share", x.still_share);
  visit("concentration", x.concentration);
  visit("fastest", x.fastest);
  visit("slowest", x.slowest);
}

void members(Structs, Is<analysis::AddressingOptions> auto& x, auto& visit) {
  visit("weights", x.weights);
  visit.count("queries", x.queries, kMaxTokens);
  visit("least_keys", x.least_keys);
  visit("cells", x.cells);
  visit.count("permutations", x.permutations, kMaxRepeats);
  visit("seed", x.seed);
}
void members(Structs, Is<analysis::Addressing> auto& x, auto& visit) {
  visit("place", x.place);
  visit("word", x.word);
  visit("both", x.both);
  visit("place_half", x.place_half);
  visit("word_half", x.word_half);
  visit("both_half", x.both_half);
  visit("spread", x.spread);
}
void members(Structs, Is<analysis::LayerAddressing> auto& x, auto& visit) {
  visit("way", x.way);
  visit("queries", x.queries);
  visit("heads", x.heads);
}
void members(Structs, Is<analysis::AddressingSpectrum> auto& x, auto& visit) {
  visit("pairs", x.pairs);
  visit("place", x.place);
  visit("word", x.word);
  visit("both", x.both);
  visit("head", x.head);
  visit("queries", x.queries);
}
void members(Structs, Is<analysis::AddressingRow> auto& x, auto& visit) {
  visit("way", x.way);
  visit("keys", x.keys);
  visit("place", x.place);
  visit("word", x.word);
  visit("both", x.both);
  visit("logit", x.logit);
  visit("mean", x.mean);
  visit("place_share", x.place_share);
  visit("word_share", x.word_share);
  visit("both_share", x.both_share);
  visit("spread", x.spread);
}
void members(Structs, Is<analysis::SwapScores> auto& x, auto& visit) {
  visit("positional", x.positional);
  visit("symbolic", x.symbolic);
}

template <class T>
concept KernelOfSomeKind = Is<T, analysis::Kernel> || Is<T, models::HeadKernel>;
void members(Structs, KernelOfSomeKind auto& x, auto& visit) {
  visit("mean", x.mean);
  visit("spread", x.spread);
  visit("error", x.error);
  visit("pairs", x.pairs);
  visit("parts", x.parts);
  visit("share", x.share);
  if constexpr (requires { x.reach; }) {
    visit("reach", x.reach);
    visit("tokens", x.tokens);
    visit("vocabulary", x.vocabulary);
    visit("shortened", x.shortened);
    visit("windowed", x.windowed);
    visit("exact", x.exact);
  }
}

// ---- models, inputs and runs

void members(Structs, Is<models::Overrides> auto& x, auto& visit) {
  visit("rope_base", x.rope_base);
  visit("rope_scaling", x.rope_scaling);
  visit("rope_base_layers", x.rope_base_layers);
  visit("rope_scaling_layers", x.rope_scaling_layers);
  visit("fast", x.fast);
  visit("stage", x.stage);
  visit("half", x.half);
}
void members(Structs, Is<models::OpenOptions> auto& x, auto& visit) {
  visit("overrides", x.overrides);
  visit("device", x.device);
  visit("memory_limit_mb", x.memory_limit_mb);
  visit("base", x.base);
}
void members(Structs, Is<models::EncodingUse> auto& x, auto& visit) {
  visit("name", x.name);
  visit("options", x.options);
  visit("has_gates", x.has_gates);
  visit("has_dot_product", x.has_dot_product);
  visit("content", x.content);
  visit("has_parts", x.has_parts);
  visit("forgets", x.forgets);
  visit("learns_positions", x.learns_positions);
  visit("transforms", x.transforms);
  visit("distance", x.distance);
  visit("no_distance", x.no_distance);
}
void members(Structs, Is<models::LayerInfo> auto& x, auto& visit) {
  visit("encoding", x.encoding);
  visit("window", x.window);
  visit("chunk", x.chunk);
  visit("soft_cap", x.soft_cap);
  visit("sink", x.sink);
  visit("kv_heads", x.kv_heads);
  visit("head_width", x.head_width);
  visit("source", x.source);
  visit("attends", x.attends);
  visit("mixer", x.mixer);
  visit("mixer_heads", x.mixer_heads);
  visit("mixer_reach", x.mixer_reach);
}
void members(Structs, Is<models::ModelInfo> auto& x, auto& visit) {
  visit("name", x.name);
  visit("family", x.family);
  visit("encodings", x.encodings);
  visit("layer_info", x.layer_info);
  visit("layers", x.layers);
  visit("heads", x.heads);
  visit("kv_heads", x.kv_heads);
  visit("width", x.width);
  visit("head_width", x.head_width);
  visit("vocabulary", x.vocabulary);
  visit("parameters", x.parameters);
  visit("trained_length", x.trained_length);
  visit("vision_layers", x.vision_layers);
  visit("connector", x.connector);
  visit("image_tokens", x.image_tokens);
  visit("placeholder", x.placeholder);
  visit("video_placeholder", x.video_placeholder);
  visit("encoder_layers", x.encoder_layers);
  visit("dtype", x.dtype);
  visit("causal", x.causal);
  visit("head", x.head);
  visit("image", x.image);
  visit("tokenizer", x.tokenizer);
  visit("overrides", x.overrides);
  visit("task_heads", x.task_heads);
  visit("labels", x.labels);
  visit("pooling", x.pooling);
  visit("logit_scale", x.logit_scale);
  visit("logit_bias", x.logit_bias);
  visit("files", x.files);
  visit("unverified", x.unverified);
  visit("unexpected", x.unexpected);
  visit("warnings", x.warnings);
}
void members(Structs, Is<models::SentenceVector> auto& x, auto& visit) {
  visit("values", x.values);
  visit("weights", x.weights);
}
void members(Structs, Is<models::Input> auto& x, auto& visit) {
  visit.bytes("text", x.text);
  visit("ids", x.ids);
  visit("image", x.image);
  visit("images", x.images);
  visit("videos", x.videos);
  visit("video_fps", x.video_frames.fps);
  visit("video_frames", x.video_frames.count);
  visit("pixels", x.pixels);
  visit("picture", x.picture);
  visit.bytes("decoder_text", x.decoder_text);
  visit("decoder_ids", x.decoder_ids);
  visit("token_types", x.token_types);
  visit("position_start", x.position_start);
}
void members(Structs, Is<models::Estimate> auto& x, auto& visit) {
  visit("time_ms", x.time_ms);
  visit("memory_mb", x.memory_mb);
  visit("weights_mb", x.weights_mb);
  visit("available_mb", x.available_mb);
  visit("fits", x.fits);
  visit("longest", x.longest);
}
void members(Structs, Is<models::GenerateOptions> auto& x, auto& visit) {
  visit.count("count", x.count, kMaxTokens);
  visit("temperature", x.temperature);
  visit("seed", x.seed);
}
void members(Structs, Is<models::Generation> auto& x, auto& visit) {
  visit("ids", x.ids);
  visit.bytes("text", x.text);
  visit("trace", x.trace);
}
void members(Structs, Is<models::Prediction> auto& x, auto& visit) {
  visit("id", x.id);
  visit("token", x.token);
  visit("probability", x.probability);
}
void members(Structs, Is<models::ImageGrid> auto& x, auto& visit) {
  visit("rows", x.rows);
  visit("columns", x.columns);
  visit("cls", x.cls);
  visit("registers", x.registers);
  visit("detections", x.detections);
}
void members(Structs, Is<models::ImageSpan> auto& x, auto& visit) {
  visit("first", x.first);
  visit("count", x.count);
  visit("rows", x.rows);
  visit("columns", x.columns);
  visit("pitch", x.pitch);
  visit("video", x.video);
  visit("frame", x.frame);
  visit("step", x.step);
  visit("seconds", x.seconds);
  visit("tile_rows", x.tile_rows);
  visit("tile_columns", x.tile_columns);
  visit("tile_pitch", x.tile_pitch);
  visit("whole", x.whole);
  visit("ended", x.ended);
}
void members(Structs, Is<models::MapRequest> auto& x, auto& visit) {
  visit("layer", x.layer);
  visit("head", x.head);
  visit("quantity", x.quantity);
  visit("rows", x.rows);
  visit("columns", x.columns);
  visit("mark_masked", x.mark_masked);
}
void members(Structs, Is<models::Similarity> auto& x, auto& visit) {
  visit("cosine", x.cosine);
  visit("centred", x.centred);
}
void members(Structs, Is<models::PositionRequest> auto& x, auto& visit) {
  visit.count("length", x.length, kMaxTokens);
  visit.count("rows", x.rows, kMaxTokens);
  visit.count("columns", x.columns, kMaxTokens);
  visit("overrides", x.overrides);
}
void members(Structs, Is<models::WeightKind> auto& x, auto& visit) {
  visit("kind", x.kind);
  visit("format", x.format);
  visit("tensors", x.tensors);
  visit("bytes", x.bytes);
  visit("numbers", x.numbers);
}

// ---- analyses

void members(Structs, Is<models::TheoryCurve> auto& x, auto& visit) {
  visit("name", x.name);
  visit("mean", x.mean);
  visit("deviation", x.deviation);
  visit("note", x.note);
}
void members(Structs, Is<models::HeadTableOptions> auto& x, auto& visit) {
  visit.count("bias_pairs", x.bias_pairs, kMaxPairs);
  visit("seed", x.seed);
  visit("layers", x.layers);
}
void members(Structs, Is<models::HeadRow> auto& x, auto& visit) {
  visit("layer", x.layer);
  visit("head", x.head);
  visit("statistics", x.statistics);
  visit("distance_bias", x.distance_bias);
  visit("on_images", x.on_images);
  visit("on_text", x.on_text);
}
void members(Structs, Is<models::InductionOptions> auto& x, auto& visit) {
  visit.count("period", x.period, kMaxTokens);
  visit.count("repeats", x.repeats, kMaxRepeats);
  visit("seed", x.seed);
}
void members(Structs, Is<models::HeadMatch> auto& x, auto& visit) {
  visit("layer", x.layer);
  visit("head", x.head);
  visit("distance", x.distance);
}
void members(Structs, Is<models::Move> auto& x, auto& visit) {
  visit("ids", x.ids);
  visit("in_front", x.in_front);
}
void members(Structs, Is<models::StabilityRow> auto& x, auto& visit) {
  visit("attention", x.attention);
  visit("dot_product_percent", x.dot_product_percent);
}
void members(Structs, Is<models::PictureSweep> auto& x, auto& visit) {
  visit("move", x.move);
  visit("by", x.by);
  visit("undo", x.undo);
}
void members(Structs, Is<models::PictureStabilityRow> auto& x, auto& visit) {
  visit("attention", x.attention);
  visit("states", x.states);
}
void members(Structs, Is<models::PictureStabilityPoint> auto& x, auto& visit) {
  visit("by", x.by);
  visit("patches", x.patches);
  visit("layers", x.layers);
  visit("prediction", x.prediction);
}
void members(Structs, Is<analysis::Part> auto& x, auto& visit) {
  visit("sum", x.sum);
  visit("count", x.count);
}
void members(Structs, Is<models::LengthPoint> auto& x, auto& visit) {
  visit("length", x.length);
  visit("perplexity", x.perplexity);
  visit("bits_per_byte", x.bits_per_byte);
  visit("scored", x.scored);
  visit("scored_bytes", x.scored_bytes);
  visit("stretches", x.stretches);
}
void members(Structs, Is<models::LengthCurveOptions> auto& x, auto& visit) {
  visit("lengths", x.lengths);
  visit("stride", x.stride);
}
template <class T>
concept EffectOfSomeKind = Is<T, models::EffectNumbers> || Is<T, models::Effect> || Is<T, models::EffectOnTrace>;
void members(Structs, EffectOfSomeKind auto& x, auto& visit) {
  visit("kl", x.kl);
  visit("delta", x.delta);
  visit("loss", x.loss);
  visit("loss_edited", x.loss_edited);
  if constexpr (requires { x.unedited; }) {
    visit("unedited", x.unedited);
    visit("edited", x.edited);
  }
  if constexpr (requires { x.top; }) {
    visit("top", x.top);
    visit("top_edited", x.top_edited);
    visit("first_layer", x.first_layer);
  }
}
void members(Structs, Is<models::KernelRequest> auto& x, auto& visit) {
  visit("layer", x.layer);
  visit("head", x.head);
  visit.count("reach", x.reach, kMaxTokens);
  visit.count("sample", x.sample, kMaxTokens);
}
void members(Structs, Is<models::TokenPair> auto& x, auto& visit) {
  visit("query", x.query);
  visit("key", x.key);
  visit("query_label", x.query_label);
  visit("key_label", x.key_label);
  visit("logit", x.logit);
}
// `so_far` belongs to one end.
void members(Structs, Is<models::LensOptions> auto& x, auto& visit) {
  visit("token", x.token);
}
void members(Structs, Is<models::KnockOutOptions> auto& x, auto& visit) {
  visit("to", x.to);
  visit("measure", x.measure);
  visit("token", x.token);
  visit("position", x.position);
  visit("positions", x.positions);
}
void members(Structs, Is<models::KnockOutEffects> auto& x, auto& visit) {
  visit("effect", x.effect);
  visit("error", x.error);
}
void members(Structs, Is<models::AttributionOptions> auto& x, auto& visit) {
  visit("token", x.token);
  visit("against", x.against);
  visit("position", x.position);
  visit("centred", x.centred);
}
void members(Structs, Is<models::LogitAttribution> auto& x, auto& visit) {
  visit("heads", x.heads);
  visit("feed_forwards", x.feed_forwards);
  visit("mixers", x.mixers);
  visit("biases", x.biases);
  visit("ends", x.ends);
  visit("logit", x.logit);
  visit("position", x.position);
  visit("token", x.token);
  visit("against", x.against);
}
void members(Structs, Is<models::ScoreSourcesOptions> auto& x, auto& visit) {
  visit("layer", x.layer);
  visit("head", x.head);
  visit("query", x.query);
  visit("key", x.key);
  visit("pairs", x.pairs);
}
void members(Structs, Is<models::ScoreSource> auto& x, auto& visit) {
  visit("name", x.name);
  visit("layer", x.layer);
  visit("head", x.head);
}
void members(Structs, Is<models::ScoreSources> auto& x, auto& visit) {
  visit("query", x.query);
  visit("key", x.key);
  visit("terms", x.terms);
  visit("place", x.place);
  visit("cap", x.cap);
  visit("logit", x.logit);
  visit("weight", x.weight);
  visit("query_token", x.query_token);
  visit("key_token", x.key_token);
}
void members(Structs, Is<models::RepeatedTextOptions> auto& x, auto& visit) {
  visit.count("period", x.period, kMaxTokens);
  visit.count("inputs", x.inputs, kMaxRepeats);
  visit("seed", x.seed);
  visit("own_text", x.own_text);
}
void members(Structs, Is<models::RepeatedLoss> auto& x, auto& visit) {
  visit("first", x.first);
  visit("second", x.second);
}
void members(Structs, Is<models::StateNorms> auto& x, auto& visit) {
  visit("stream", x.stream);
  visit("largest", x.largest);
  visit("value", x.value);
}
void members(Structs, Is<models::TransformSteps> auto& x, auto& visit) {
  visit("logit", x.logit);
  visit("content", x.content);
  visit("strength", x.strength);
  visit("change", x.change);
  visit("carried", x.carried);
  visit("deviation", x.deviation);
  visit("determinant", x.determinant);
}
void members(Structs, Is<models::PerceivedDistances> auto& x, auto& visit) {
  visit("definition", x.definition);
  visit("distance", x.distance);
}
void members(Structs, Is<models::LogitLens> auto& x, auto& visit) {
  visit("probability", x.probability);
  visit("ids", x.ids);
  visit("labels", x.labels);
  visit("ranks", x.ranks);
}
void members(Structs, Is<models::MovePoint> auto& x, auto& visit) {
  visit("by", x.by);
  visit("kl", x.kl);
  visit("loss", x.loss);
  visit("weight", x.weight);
}
void members(Structs, Is<models::MoveOptions> auto& x, auto& visit) {
  visit("tokens", x.tokens);
  visit("by", x.by);
  visit("outputs", x.outputs);
  visit("layer", x.layer);
  visit("head", x.head);
}
void members(Structs, Is<models::VerifyRow> auto& x, auto& visit) {
  visit("name", x.name);
  visit("difference", x.difference);
  visit("tolerance", x.tolerance);
  visit("passed", x.passed);
}
void members(Structs, Is<models::VerifyReport> auto& x, auto& visit) {
  visit("rows", x.rows);
  visit("passed", x.passed);
  visit("warnings", x.warnings);
  visit("verified", x.verified);
  visit("undetermined", x.undetermined);
}

}  // namespace locus::remote
