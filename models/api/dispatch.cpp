// Where a function of the API is computed: by the engine of this machine, whose library is loaded at the first call, or
// on the machine that holds its model, trace or file. No other file knows both.
#include <type_traits>
#include <utility>

#include "models/api/engine.h"
#include "models/api/local.h"
#include "models/remote/codec/call_remote.h"

namespace locus {

namespace {

using models::Engine;
using models::engine;

// Calls a function of the API for arguments that may be on another machine.
template <auto Function, class Local, class... A>
auto wherever(Local local, const A&... arguments) {
  if (auto answer = remote::call_remote<Function>(arguments...)) {
    return *std::move(answer);
  }
  if constexpr (std::is_member_object_pointer_v<Local>) {
    return (engine().*local)(arguments...);
  } else {
    return local(arguments...);
  }
}

}  // namespace

namespace models {

Result<std::vector<analysis::LayerAddressing>> addressing(const Trace& trace,
                                                          const analysis::AddressingOptions& options, StopToken stop,
                                                          const Progress& progress) {
  return wherever<&addressing>(&Engine::addressing, trace, options, stop, progress);
}

Result<analysis::AddressingRow> addressing_row(const Trace& trace, std::int64_t layer, std::int64_t head,
                                               std::int64_t query, const analysis::AddressingOptions& options,
                                               StopToken stop) {
  return wherever<&addressing_row>(&Engine::addressing_row, trace, layer, head, query, options, stop);
}

Result<analysis::AddressingSpectrum> addressing_spectrum(const Trace& trace, std::int64_t layer, std::int64_t head,
                                                         const analysis::AddressingOptions& options, StopToken stop) {
  return wherever<&addressing_spectrum>(&Engine::addressing_spectrum, trace, layer, head, options, stop);
}

Result<std::vector<float>> attention_rollout(const Trace& trace, std::int64_t query, StopToken stop) {
  return wherever<&attention_rollout>(&Engine::attention_rollout, trace, query, stop);
}

Result<Converted> convert(const std::filesystem::path& path, const ConvertOptions& options, StopToken stop,
                          const Progress& progress) {
  return engine().convert(path, options, stop, progress);
}

Result<analysis::DistanceBias> distance_bias(const std::vector<TracePointer>& texts, std::int64_t layer,
                                             const analysis::DistanceBiasOptions& options, StopToken stop,
                                             const Progress& progress) {
  return wherever<&distance_bias>(&Engine::distance_bias, texts, layer, options, stop, progress);
}

Result<analysis::DistanceProfile> distance_profile(const Trace& trace, std::int64_t layer,
                                                   const analysis::DistanceProfileOptions& options, StopToken stop,
                                                   const Progress& progress) {
  return wherever<&distance_profile>(&Engine::distance_profile, trace, layer, options, stop, progress);
}

Result<Effect> effect_of_change(const Model& model, const Model& changed, const Input& input,
                                const std::optional<TracePointer>& known, StopToken stop, const Progress& progress) {
  return wherever<&effect_of_change>(&Engine::effect_of_change, model, changed, input, known, stop, progress);
}

Result<Effect> effect_of_edits(const Model& model, const Input& input, StopToken stop, const Progress& progress) {
  return wherever<&effect_of_edits>(&Engine::effect_of_edits, model, input, stop, progress);
}

Result<EffectOnTrace> effect_on(const Model& model, const Trace& trace, StopToken stop, const Progress& progress) {
  return wherever<&effect_on>(&Engine::effect_on, model, trace, stop, progress);
}

void set_families_folder(const std::filesystem::path& folder) {
  engine().set_families_folder(folder);
}

Result<FamilyInfo> check_family(const std::filesystem::path& file) {
  return engine().check_family(file);
}

Result<FamilyDraft> suggest_family(const std::filesystem::path& path,
                                   const std::optional<std::filesystem::path>& expected, StopToken stop,
                                   const Progress& progress) {
  return engine().suggest_family(path, expected, stop, progress);
}

std::vector<EncodingInfo> encodings() {
  return engine().encodings();
}

std::vector<FamilyInfo> families() {
  return engine().families();
}

Result<Field> head_difference(const Trace& first, const Trace& second, std::int64_t rows, StopToken stop,
                              const Progress& progress) {
  return wherever<&head_difference>(&Engine::head_difference, first, second, rows, stop, progress);
}

Result<HeadKernel> head_kernel(const Model& model, const Trace& trace, const KernelRequest& request, StopToken stop,
                               const Progress& progress) {
  return wherever<&head_kernel>(&Engine::head_kernel, model, trace, request, stop, progress);
}

Result<std::vector<HeadRow>> head_table(const Trace& trace, const HeadTableOptions& options, StopToken stop,
                                        const Progress& progress) {
  return wherever<&head_table>(&Engine::head_table, trace, options, stop, progress);
}

Result<Field> induction_map(const Model& model, const InductionOptions& options, StopToken stop,
                            const Progress& progress) {
  return wherever<&induction_map>(&Engine::induction_map, model, options, stop, progress);
}

Result<KnockOutEffects> knock_out(const Model& model, const Trace& trace, const KnockOutOptions& options,
                                  StopToken stop, const Progress& progress) {
  return wherever<&knock_out>(&Engine::knock_out, model, trace, options, stop, progress);
}

Result<std::vector<Field>> knock_out_shuffled(const Model& model, const Trace& trace, const KnockOutOptions& options,
                                              std::int64_t copies, std::uint64_t seed, StopToken stop,
                                              const Progress& progress) {
  return wherever<&knock_out_shuffled>(&Engine::knock_out_shuffled, model, trace, options, copies, seed, stop,
                                       progress);
}

Result<std::vector<LengthPoint>> length_curve(const Model& model, const std::vector<TokenInfo>& tokens,
                                              const LengthCurveOptions& options, StopToken stop,
                                              const Progress& progress) {
  return wherever<&length_curve>(&Engine::length_curve, model, tokens, options, stop, progress);
}

Result<LogitAttribution> logit_attribution(const Model& model, const Trace& trace, const AttributionOptions& options,
                                           StopToken stop, const Progress& progress) {
  return wherever<&logit_attribution>(&Engine::logit_attribution, model, trace, options, stop, progress);
}

Result<LogitLens> logit_lens(const Model& model, const Trace& trace, const LensOptions& options, StopToken stop,
                             const Progress& progress) {
  return wherever<&logit_lens>(&Engine::logit_lens, model, trace, options, stop, progress);
}

Result<AtlasSummary> make_atlas(const Model& model, const std::filesystem::path& path, const AtlasOptions& options,
                                const OnAtlasProgress& on_progress, StopToken stop) {
  return engine().make_atlas(model, path, options, on_progress, stop);
}

Result<std::vector<HeadMatch>> match_heads(const Trace& first, const Trace& second, std::int64_t rows, StopToken stop,
                                           const Progress& progress) {
  return wherever<&match_heads>(&Engine::match_heads, first, second, rows, stop, progress);
}

Result<std::vector<MovePoint>> move_curve(const Model& model, const Trace& trace, const MoveOptions& options,
                                          StopToken stop, const Progress& progress) {
  return wherever<&move_curve>(&Engine::move_curve, model, trace, options, stop, progress);
}

Result<std::vector<std::vector<MovePoint>>> move_map(const Model& model, const Trace& trace, const MoveOptions& options,
                                                     StopToken stop, const Progress& progress) {
  return wherever<&move_map>(&Engine::move_map, model, trace, options, stop, progress);
}

Result<TracePointer> neutral_run(const Model& model, const Trace& trace, const std::string& neutral, StopToken stop,
                                 const Progress& progress) {
  return engine().neutral_run(model, trace, neutral, stop, progress);
}

Result<std::shared_ptr<const Model>> open(const std::filesystem::path& path, const OpenOptions& options, StopToken stop,
                                          const Progress& progress) {
  return wherever<&open>(&Engine::open, path, options, stop, progress);
}

Result<std::shared_ptr<ProcessGroup>> open_process_group() {
  return engine().open_process_group();
}

Result<std::shared_ptr<const Trace>> open_trace(const std::filesystem::path& path) {
  return wherever<&open_trace>(&Engine::open_trace, path);
}

Result<Field> pair_energy(const Trace& trace, std::int64_t layer, analysis::PairNorm norm, StopToken stop) {
  return wherever<&pair_energy>(&Engine::pair_energy, trace, layer, norm, stop);
}

Result<analysis::PairList> pair_list(const Trace& trace, std::int64_t layer, std::int64_t head) {
  return wherever<&pair_list>(&Engine::pair_list, trace, layer, head);
}

Result<analysis::CellParts> pair_parts(const Trace& trace, std::int64_t layer, std::int64_t head, std::int64_t query,
                                       std::int64_t key, const std::vector<double>& distances) {
  return wherever<&pair_parts>(&Engine::pair_parts, trace, layer, head, query, key, distances);
}

Result<analysis::PairPlane> pair_plane(const Trace& trace, std::int64_t layer, std::int64_t head, std::int64_t pair) {
  return wherever<&pair_plane>(&Engine::pair_plane, trace, layer, head, pair);
}

Result<analysis::PairProfile> pair_profile(const Trace& trace, std::int64_t layer, std::int64_t head,
                                           std::int64_t skip_keys, StopToken stop, const Progress& progress) {
  return wherever<&pair_profile>(&Engine::pair_profile, trace, layer, head, skip_keys, stop, progress);
}

Result<std::vector<std::vector<analysis::PairStatistics>>> pair_statistics(const Trace& trace, StopToken stop,
                                                                           const Progress& progress) {
  return wherever<&pair_statistics>(&Engine::pair_statistics, trace, stop, progress);
}

Result<std::vector<PictureStabilityPoint>> picture_stability(const Model& model, const Trace& trace,
                                                             const PictureSweep& sweep, StopToken stop,
                                                             const Progress& progress) {
  return wherever<&picture_stability>(&Engine::picture_stability, model, trace, sweep, stop, progress);
}

Result<PerceivedDistances> perceived_distances(const Trace& trace, std::int64_t layer, std::int64_t head,
                                               std::int64_t query, StopToken stop) {
  return wherever<&perceived_distances>(&Engine::perceived_distances, trace, layer, head, query, stop);
}

Estimate pictures_estimate(const Model& model, const Input& input, const RunOptions& options) {
  return wherever<&pictures_estimate>(&Engine::pictures_estimate, model, input, options);
}

Result<std::vector<Prediction>> predictions_at(const Model& model, const Trace& trace, std::int64_t token,
                                               std::int64_t count, StopToken stop) {
  return wherever<&predictions_at>(&Engine::predictions_at, model, trace, token, count, stop);
}

Products products() {
  return engine().products();
}

Result<RepeatedLoss> repeated_loss(const Model& model, const Trace& trace, const RepeatedTextOptions& options,
                                   StopToken stop, const Progress& progress) {
  return wherever<&repeated_loss>(&Engine::repeated_loss, model, trace, options, stop, progress);
}

Runtime runtime() {
  return engine().runtime();
}

Result<std::vector<StabilityRow>> shift_stability(const Model& model, const Trace& plain, const Move& move,
                                                  StopToken stop, const Progress& progress) {
  return wherever<&shift_stability>(&Engine::shift_stability, model, plain, move, stop, progress);
}

Result<StateNorms> state_norms(const Model& model, const Trace& trace, StopToken stop, const Progress& progress) {
  return wherever<&state_norms>(&Engine::state_norms, model, trace, stop, progress);
}

Result<std::vector<TokenPair>> strongest_token_pairs(const Model& model, const Trace& trace,
                                                     const KernelRequest& request, std::int64_t distance,
                                                     std::int64_t count, StopToken stop, const Progress& progress) {
  return wherever<&strongest_token_pairs>(&Engine::strongest_token_pairs, model, trace, request, distance, count, stop,
                                          progress);
}

Result<ScoreSources> score_sources(const Model& model, const Trace& trace, const ScoreSourcesOptions& options,
                                   StopToken stop, const Progress& progress) {
  return wherever<&score_sources>(&Engine::score_sources, model, trace, options, stop, progress);
}

Result<std::vector<std::vector<analysis::SwapScores>>> swap_scores(const Trace& trace, double temperature,
                                                                   const analysis::AddressingOptions& options,
                                                                   StopToken stop, const Progress& progress) {
  return wherever<&swap_scores>(&Engine::swap_scores, trace, temperature, options, stop, progress);
}

Result<std::vector<TheoryCurve>> theory_curves(const Trace& trace, std::int64_t layer, std::int64_t head,
                                               const std::vector<double>& distances, TheoryAngle angle,
                                               std::int64_t pairs, std::uint64_t seed) {
  return wherever<&theory_curves>(&Engine::theory_curves, trace, layer, head, distances, angle, pairs, seed);
}

Result<std::int64_t> token_named(const Model& model, const std::string& word) {
  return engine().token_named(model, word);
}

Result<TransformSteps> transform_steps(const Trace& trace, std::int64_t layer, std::int64_t head, std::int64_t query,
                                       std::int64_t key, StopToken stop) {
  return wherever<&transform_steps>(&Engine::transform_steps, trace, layer, head, query, key, stop);
}

const EncodingUse* turning_encoding(const ModelInfo& info, const std::string& layers) {
  return engine().turning_encoding(info, layers);
}

std::string usual_layers(const ModelInfo& info) {
  return engine().usual_layers(info);
}

Result<VerifyReport> verify(const Model& model, const Input& input, const std::optional<std::filesystem::path>& against,
                            StopToken stop, const Progress& progress) {
  return wherever<&verify>(&Engine::verify, model, input, against, stop, progress);
}

Result<VerifyReport> verify_expected(const Model& model, const std::filesystem::path& expected, StopToken stop) {
  return wherever<&verify_expected>(&Engine::verify_expected, model, expected, stop);
}

std::vector<WeightKind> weight_kinds(const Model& model) {
  return wherever<&weight_kinds>(&Engine::weight_kinds, model);
}

Result<std::shared_ptr<const Trace>> with_pairs(const Trace& trace, std::int64_t layer, Range pairs) {
  return wherever<&with_pairs>(&Engine::with_pairs, trace, layer, pairs);
}

Result<std::vector<std::uint8_t>> file_bytes(const std::filesystem::path& path, std::int64_t most) {
  return wherever<&file_bytes>(&local::file_bytes, path, most);
}

bool file_exists(const std::filesystem::path& path) {
  return wherever<&file_exists>(&local::file_exists, path);
}

Result<std::string> files_digest(const std::vector<std::filesystem::path>& files) {
  return wherever<&files_digest>(&local::files_digest, files);
}

bool is_trace(const std::filesystem::path& path) {
  return wherever<&is_trace>(&local::is_trace, path);
}

Status check_output(const std::filesystem::path& path) {
  const auto answer = remote::call_remote<&check_output>(path);
  return answer ? *answer : Status();  // a server has checked the path when it arrived
}

}  // namespace models

namespace image {

Result<Picture> load_picture(const std::filesystem::path& path, std::int64_t pixel_limit) {
  return models::engine().load_picture(path, pixel_limit);
}

}  // namespace image

namespace training {

Result<Evaluation> evaluate(const std::filesystem::path& checkpoint, const EvaluateOptions& options,
                            const Progress& progress, StopToken stop) {
  return engine().evaluate(checkpoint, options, progress, stop);
}

Result<Decay> parse_decay(const std::string& name) {
  return engine().parse_decay(name);
}

Result<Evaluation> record_seeds(const std::filesystem::path& checkpoint,
                                const std::vector<std::filesystem::path>& others) {
  return engine().record_seeds(checkpoint, others);
}

std::string to_json(const EvaluationMap& map) {
  return engine().to_json(map);
}

Result<TrainSummary> train(const TrainOptions& options, const OnProgress& on_progress, StopToken stop) {
  return engine().train(options, on_progress, stop);
}

std::vector<std::filesystem::path> written_files(const std::filesystem::path& out) {
  return engine().written_files(out);
}

}  // namespace training

}  // namespace locus
