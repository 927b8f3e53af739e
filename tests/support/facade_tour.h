// A tour of the facade: every function that another machine answers is called once or more, right and wrong, on a
// bundled checkpoint here or there. What it says can be compared, and what a client sends meanwhile can be recorded.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/api/addressing.h"
#include "models/api/analyses.h"
#include "models/api/convert.h"
#include "models/api/effect.h"
#include "models/api/files.h"
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
#include "models/api/run_estimate.h"
#include "models/api/score_sources.h"
#include "models/api/state_norms.h"
#include "models/api/transform_steps.h"
#include "models/api/verify.h"
#include "models/api/weight_kinds.h"
#include "models/remote/codec/structs.h"
#include "tests/support/paths.h"

namespace locus::test {

namespace fs = std::filesystem;
using models::Trace;

// What the codec writes of a value says all of it; traces and models do not travel here.
class NoObjects final : public remote::ObjectTable {
  using json = remote::json;
  json put(remote::Writer&, const std::shared_ptr<const models::Model>&) override { return {}; }
  json put(remote::Writer&, const std::shared_ptr<const Trace>&) override { return {}; }
  json put(remote::Writer&, const std::shared_ptr<const models::PositionTable>&) override { return {}; }
  json put(remote::Writer&, const fs::path& path) override { return path.string(); }
  void take(remote::Reader&, const json&, std::shared_ptr<const models::Model>&) override {}
  void take(remote::Reader&, const json&, std::shared_ptr<const Trace>&) override {}
  void take(remote::Reader&, const json&, std::shared_ptr<const models::PositionTable>&) override {}
  void take(remote::Reader&, const json&, fs::path&) override {}
  bool knows(const Trace&) const override { return false; }
};

template <class T>
std::string bytes_of(const T& value) {
  NoObjects things;
  remote::Writer writer(things);
  std::string bytes;
  remote::json::to_msgpack(remote::written(writer, value), bytes);
  return bytes;
}

class FacadeTour {
 public:
  // `at` says how a path of this machine is called there; `folder` is empty, and the tour's own.
  FacadeTour(std::function<fs::path(const fs::path&)> at, fs::path folder)
      : at_(std::move(at)), folder_(std::move(folder)) {}

  // False where the checkpoint does not open or run.
  bool go();

  struct Stop {
    std::string name;
    std::string said;  // the bytes of the answer, or the error
  };
  const std::vector<Stop>& stops() const { return stops_; }
  const std::vector<std::shared_ptr<const Trace>>& traces() const { return traces_; }

 private:
  using ModelPointer = std::shared_ptr<const models::Model>;
  using TracePointer = std::shared_ptr<const Trace>;

  template <class T>
  void say(const std::string& name, const Result<T>& answer) {
    stops_.push_back({name, answer.ok() ? bytes_of(*answer) : answer.error().describe()});
  }
  void say(const std::string& name, const Status& status) {
    stops_.push_back({name, status.ok() ? "done" : status.error().describe()});
  }
  void say(const std::string& name, bool answer) { stops_.push_back({name, answer ? "yes" : "no"}); }
  void keep(const std::string& name, const Result<TracePointer>& trace) {
    say(name, trace.ok() ? Status() : Status(trace.error()));
    if (trace.ok()) {
      traces_.push_back(*trace);
    }
  }

  void go_through_maps(const Trace& run);
  void go_through_analyses(const models::Model& model, const TracePointer& run);
  void go_through_changes(const models::Model& model, const TracePointer& run);
  void go_through_pairs(const Trace& run);
  void go_through_files(const models::Model& model, const Trace& run);

  std::function<fs::path(const fs::path&)> at_;
  fs::path folder_;
  models::Input input_;
  std::vector<Stop> stops_;
  std::vector<TracePointer> traces_;
};

inline bool FacadeTour::go() {
  const auto model = models::open(at_(fs::path(source_dir()) / "assets/checkpoints/text-rope"));
  say("open", model.ok() ? Status() : Status(model.error()));
  if (!model.ok()) {
    return false;
  }
  input_.text = "The ship left the harbour early.\nNobody counted.";
  say("read_weights", (*model)->read_weights({}, {}));
  say("tokenize", (*model)->tokenize(input_));
  say("macs", Result<double>((*model)->macs(40)));
  const models::Estimate estimate = (*model)->estimate(40);  // its times are the machine's
  say("estimate", estimate.fits && estimate.time_ms > 0 && estimate.memory_mb > 0);
  models::RunOptions options;
  options.all_logits = true;
  options.keep = {"logits", "hidden"};
  options.continuable = true;
  const auto run = (*model)->run(input_, options);
  keep("run", run);
  if (!run.ok()) {
    return false;
  }
  options.all_logits = false;
  options.reuse = *run;
  models::Input longer = input_;
  *longer.text += " More.";
  keep("run that goes on", (*model)->run(longer, options));
  go_through_maps(**run);
  go_through_analyses(**model, *run);
  go_through_changes(**model, *run);
  go_through_pairs(**run);
  go_through_files(**model, **run);
  return true;
}

inline void FacadeTour::go_through_maps(const Trace& run) {
  const models::MapRequest whole{1, 2, Quantity::kWeight, {}, {}};
  say("map", run.map(whole));
  say("map of a part", run.map({0, models::kMeanHead, Quantity::kWeight, {1, 9}, {0, 7}}));
  say("map of no layer", run.map({99, 0, Quantity::kWeight, {}, {}}));
  say("overview", run.overview(whole, 7, 11, Reduction::kMax));
  say("band", run.overview_band(whole, 7, 11, Reduction::kMean, {2, 5}));
  say("preview", run.preview(whole, 7, 11));
  say("dot product", run.dot_product(0, 0, {}, {}, {true, {}}));
  say("sink", run.sink(0, 0, {}));
  say("half-life", run.state_numbers(0, models::StateNumber::kHalfLife));
  say("norm of the state", run.state_numbers(0, models::StateNumber::kNorm));
  say("top", Result<std::vector<models::Prediction>>(run.top(40)));
}

inline void FacadeTour::go_through_analyses(const models::Model& model, const TracePointer& run) {
  say("head_table", models::head_table(*run));
  say("distance_bias", models::distance_bias({run}, 1, {{0, 4}, {8, 16}}));
  say("distance_profile", models::distance_profile(*run, 1, {}));
  say("distance_profile of no layer", models::distance_profile(*run, 99, {}));
  say("theory_curves", models::theory_curves(*run, 1, 0, {1, 2, 4}));
  say("induction_map", models::induction_map(model));
  say("attention_rollout", models::attention_rollout(*run, 5));
  say("head_difference", models::head_difference(*run, *run));
  say("match_heads", models::match_heads(*run, *run));
  say("shift_stability", models::shift_stability(model, *run, {8, {}}));
  say("picture_stability", models::picture_stability(model, *run, {.by = {1}}));
  say("length_curve", models::length_curve(model, run->tokens()));
  say("repeated_loss", models::repeated_loss(model, *run, {.period = 12, .inputs = 2}));
  say("state_norms", models::state_norms(model, *run));
  say("transform_steps", models::transform_steps(*run, 1, 0, 9, 3));
  say("perceived_distances", models::perceived_distances(*run, 1, 0, 9));
  say("perceived_distances of no query", models::perceived_distances(*run, 1, 0, 999));
  say("head_kernel", models::head_kernel(model, *run, {1, 2, 40}));
  say("strongest_token_pairs", models::strongest_token_pairs(model, *run, {0, 1, 40}, 3, 5));
  say("strongest_token_pairs, none", models::strongest_token_pairs(model, *run, {0, 1, 40}, 3, 0));
  say("strongest_token_pairs too far", models::strongest_token_pairs(model, *run, {0, 1, 40}, 99, 5));
  say("token_named", models::token_named(model, "e"));
  say("verify", models::verify(model, input_));
}

inline void FacadeTour::go_through_changes(const models::Model& model, const TracePointer& run) {
  say("knock_out", models::knock_out(model, *run, {}));
  say("knock_out_shuffled", models::knock_out_shuffled(model, *run, {}, 2, 1));
  say("logit_attribution", models::logit_attribution(model, *run, {}));
  say("score_sources", models::score_sources(model, *run, {.layer = 1, .head = 1, .query = 9}));
  say("logit_lens", models::logit_lens(model, *run));
  say("predictions_at", models::predictions_at(model, *run, 1, 3));
  models::MoveOptions move;
  move.tokens = {3, 5};
  move.by = {1, 8};
  say("move_curve", models::move_curve(model, *run, move));
  say("move_map", models::move_map(model, *run, move));
  const models::Edits edits{*models::parse_edit("head 0.1 zero", 0), *models::parse_edit("shift 4:6 by 3", 1)};
  const auto edited = model.edited(edits);
  say("edited", edited.ok() && (*edited)->edits() == edits);
  const auto none = model.edited({*models::parse_edit("head 99.1 zero", 0)});
  say("edited where nothing is", none.ok() ? Status() : Status(none.error()));
  if (edited.ok()) {
    const auto effect = models::effect_of_edits(**edited, input_);
    say("effect_of_edits", effect);
    if (effect.ok()) {
      keep("the edited run", Result<TracePointer>(effect->edited));
      say("effect_of_change", models::effect_of_change(model, **edited, input_, effect->unedited));
      say("effect_on", models::effect_on(**edited, *effect->edited));
    }
  }
  const auto made = model.generate(input_, {6, 0.8, 3});
  say("generate", made);
  if (made.ok()) {
    keep("the generated run", Result<TracePointer>(made->trace));
  }
  models::PositionRequest positions;
  positions.length = 12;
  const auto table = model.position_table(positions, 0);
  say("position_table", table.ok() ? Status() : Status(table.error()));
  if (table.ok()) {
    say("dot product of a table", (*table)->dot_product(0, {}, {}, {}));
  }
}

inline void FacadeTour::go_through_pairs(const Trace& run) {
  say("pair_list", models::pair_list(run, 0, 1));
  for (const auto norm : {analysis::PairNorm::kQuery, analysis::PairNorm::kKey, analysis::PairNorm::kProduct}) {
    say("pair_energy", models::pair_energy(run, 0, norm));
  }
  say("pair_parts", models::pair_parts(run, 0, 1, 9, 4, {1, 2}));
  say("pair_profile", models::pair_profile(run, 0, 1));
  say("pair_plane", models::pair_plane(run, 0, 1, 2));
  say("pair_statistics", models::pair_statistics(run));
  keep("with_pairs", models::with_pairs(run, 0, {0, 3}));
  for (const auto weights :
       {analysis::CellWeights::kHalf, analysis::CellWeights::kCells, analysis::CellWeights::kAttention}) {
    say("addressing", models::addressing(run, {.weights = weights, .queries = 5}));
  }
  say("addressing_spectrum", models::addressing_spectrum(run, 0, 1));
  say("addressing_row", models::addressing_row(run, 0, 1, 9));
  say("swap_scores", models::swap_scores(run, 0.1, {.queries = 2}));
}

inline void FacadeTour::go_through_files(const models::Model& model, const Trace& run) {
  const fs::path file = folder_ / "trace.safetensors";
  say("write", run.write(at_(file), {"logits", "q", "k"}));
  say("is_trace", models::is_trace(at_(file)));
  say("is_trace of a folder", models::is_trace(at_(folder_)));
  say("file_exists", models::file_exists(at_(file)));
  say("file_exists of none", models::file_exists(at_(folder_ / "none")));
  say("file_bytes", models::file_bytes(at_(file), 1 << 24));
  say("file_bytes of too many", models::file_bytes(at_(file), 10).ok());
  say("files_digest", models::files_digest({at_(file)}));
  say("check_output", models::check_output(at_(folder_ / "other.safetensors")));
  keep("open_trace", models::open_trace(at_(file)));
  say("write here", run.write(folder_ / "fetched.safetensors", {"logits", "q", "k"}));
  say("verify against a file of here", models::verify(model, input_, folder_ / "fetched.safetensors"));
  const fs::path families = fs::path(source_dir()) / "tests/golden/families";
  if (const auto deit = models::open(at_(families / "deit")); deit.ok()) {
    models::Input pixels;
    pixels.pixels = families / "deit/expected.safetensors";  // of this machine
    keep("run of a file", (*deit)->run(pixels));
    const models::Estimate pictures = models::pictures_estimate(**deit, pixels, {});  // its time is the machine's
    say("pictures_estimate", pictures.fits && pictures.time_ms >= 0);
  }
  if (const auto path = models::open(at_(families / "path_attn")); path.ok()) {
    models::Input ids;
    ids.ids = {3, 1, 4, 1, 5, 9, 2, 6};
    const auto turned = (*path)->run(ids);
    say("transform_steps of PaTH",
        turned.ok() ? models::transform_steps(**turned, 1, 2, 6, 1) : Result<models::TransformSteps>(turned.error()));
  }
  const auto none = models::open_trace(at_(folder_ / "none"));
  say("open_trace of none", none.ok());
  const auto family = models::open(at_(families / "t5"));
  say("verify_expected", family.ok() ? models::verify_expected(**family, at_(families / "t5/expected.safetensors"))
                                     : Result<models::VerifyReport>(family.error()));
  const fs::path gguf = folder_ / "quantised.gguf";
  const auto converted = models::convert(fs::path(source_dir()) / "assets/checkpoints/text-words-rope", {"q8_0", gguf});
  say("the quantised checkpoint", converted.ok() ? Status() : Status(converted.error()));
  const auto quantised = models::open(at_(gguf));
  say("weight_kinds", Result<std::vector<models::WeightKind>>(quantised.ok() ? models::weight_kinds(**quantised)
                                                                             : models::weight_kinds(model)));
}

}  // namespace locus::test
