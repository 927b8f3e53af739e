// models/api/picture_stability.h: the same picture run where it was not.
#include "models/api/picture_stability.h"

#include <algorithm>
#include <utility>

#include "core/analysis/patch_stability.h"
#include "core/base/guarded.h"
#include "models/api/local.h"
#include "models/engine/input_reader.h"
#include "models/engine/loaded_model.h"
#include "models/engine/vision.h"
#include "models/experiments/fields.h"
#include "models/image/change.h"

namespace locus::models {

namespace {

constexpr std::int64_t kMaxStablePatches = 4096;  // maps of all pairs are held, a head at a time

PictureChange change_of(PictureMove move, double by) {
  const PictureNumber amount{by, LengthUnit::kPixels};
  const PictureNumber patches{by, LengthUnit::kPatches};
  switch (move) {
    case PictureMove::kRight:
      return {PictureStep::kShift, {patches}};
    case PictureMove::kDown:
      return {PictureStep::kShift, {PictureNumber{}, patches}};
    case PictureMove::kRotate:
      return {PictureStep::kRotate, {amount}};
    case PictureMove::kScale:
      break;
  }
  return {PictureStep::kScale, {amount}};
}

// The picture's file; an error for inputs without one.
Result<std::filesystem::path> picture_of(const Model& model, const Trace& trace) {
  const Input* const input = trace.input();
  const std::string what = "picture stability";
  if (input == nullptr) {
    return unsupported(what + " needs a checkpoint that can be run again; " + model.info().name +
                       " is a file of a run");
  }
  if (!input->videos.empty()) {
    return unsupported(what + " needs one picture of a file and no video; " + model.info().name + " read " +
                       std::to_string(input->videos.size()) + (input->videos.size() == 1 ? " video" : " videos"));
  }
  if (input->image) {
    return *input->image;
  }
  if (input->images.size() != 1) {
    return unsupported(what + " needs one picture of a file; " + model.info().name + " read " +
                       std::to_string(input->images.size()));
  }
  return input->images.front();
}

// The patches of a run, row by row.
struct PatchTokens {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  at::Tensor tokens;  // (rows · columns)
};

Result<PatchTokens> patch_tokens(const TraceData& data) {
  PatchTokens patches{data.grid.rows, data.grid.columns, {}};
  const bool in_order = patches.rows > 0;  // else of a tower: where its positions say
  const at::Tensor ids = data.position_ids.to(at::kCPU, at::kDouble);
  if (!in_order && (ids.dim() != 2 || ids.size(1) != 2)) {
    return unsupported("picture stability: expected patches at rows and columns, found positions of another kind");
  }
  if (!in_order) {
    patches.rows = static_cast<std::int64_t>(ids.select(1, 0).max().item<double>()) + 1;
    patches.columns = static_cast<std::int64_t>(ids.select(1, 1).max().item<double>()) + 1;
  }
  const std::int64_t count = patches.rows * patches.columns;
  const std::int64_t prefix = ids.size(0) - count - data.grid.detections;
  if (count > kMaxStablePatches) {
    return bad_input("picture stability: expected at most " + std::to_string(kMaxStablePatches) + " patches, found " +
                     std::to_string(count));
  }
  if (prefix < 0) {
    return unsupported("picture stability: expected a picture in one part, found patches that share their places");
  }
  if (in_order) {
    patches.tokens = at::arange(prefix, prefix + count, at::kLong);
    return patches;
  }
  const at::Tensor own = ids.slice(0, prefix);
  const at::Tensor places = (own.select(1, 0) * static_cast<double>(patches.columns) + own.select(1, 1)).to(at::kLong);
  patches.tokens = at::argsort(places) + prefix;
  const bool each_once = at::equal(places.index_select(0, patches.tokens - prefix), at::arange(count, at::kLong));
  return each_once ? Result<PatchTokens>(std::move(patches))
                   : unsupported("picture stability: expected a patch at each place of a grid, found others");
}

// The side whose patches are compared.
Result<TracePointer> patch_side(const TracePointer& run) {
  if (run->image_grid().rows > 0) {
    return run;
  }
  const TracePointer tower = run->side(Side::kVision);
  return tower ? Result<TracePointer>(tower)
               : unsupported("picture stability needs a picture; " + run->model().name + " read none");
}

double prediction_change(const TraceData& plain, const TraceData& moved) {
  if (!plain.logits.defined() || !moved.logits.defined() || plain.logits.size(-1) != moved.logits.size(-1)) {
    return kNaN;
  }
  const auto shares = [](const at::Tensor& logits) {
    return logits.select(0, logits.size(0) - 1).to(at::kCPU, at::kDouble).softmax(0);
  };
  return (shares(moved.logits) - shares(plain.logits)).abs().sum().item<double>() / 2;
}

// A run and the data of the side that is compared.
struct StableRun {
  TracePointer run;
  TracePointer side;
  const TraceData* whole = nullptr;
  const TraceData* data = nullptr;
};

Result<StableRun> run_of(const Model& model, const Input& input, const StopToken& stop) {
  RunOptions options;
  options.keep = {"logits", "hidden"};
  StableRun made;
  LOCUS_TRY(made.run, model.run(input, options, stop));
  LOCUS_TRY(made.side, patch_side(made.run));
  LOCUS_TRY(made.whole, data_of(*made.run));
  LOCUS_TRY(made.data, data_of(*made.side));
  return made;
}

// Where the steps of the patches' grid lie on the picture, before its last step.
struct PictureGeometry {
  std::int64_t width = 0;
  std::int64_t height = 0;
  image::PatchSize patch;  // of a unit `p`
  image::Affine to_grid;
};

Result<PictureGeometry> geometry_of(const LoadedModel& loaded, const Input& input, const std::filesystem::path& file) {
  const Checkpoint& checkpoint = loaded.checkpoint();
  const CheckpointParts& parts = checkpoint.parts();
  const transformer::Transformer& seer = parts.vision ? parts.vision->tower() : *parts.transformer;
  const std::int64_t patch = seer.spec().image.patch;
  const std::int64_t cell = patch * (parts.vision ? parts.vision->connector().spec().cell() : 1);
  LOCUS_TRY(const auto opened, checkpoint.opened_pictures().open(file));
  LOCUS_TRY(const image::Picture picture,
            image::change_picture(opened->picture, input.picture, parts.preprocessing, cell));
  PictureGeometry geometry{picture.width, picture.height, {}, {}};
  LOCUS_TRY(geometry.patch, image::patch_size(picture.width, picture.height, parts.preprocessing, cell));
  LOCUS_TRY(const image::PatchGrid grid,
            within(image::patch_grid(picture.width, picture.height, parts.preprocessing, cell, patch),
                   "picture stability of " + file.string()));
  geometry.to_grid = {{grid.dx, 0, grid.x0, 0, grid.dy, grid.y0}};
  return geometry;
}

}  // namespace

Result<std::vector<PictureStabilityPoint>> local::picture_stability(const Model& model, const Trace& trace,
                                                                    const PictureSweep& sweep, StopToken stop,
                                                                    const Progress& progress) {
  if (sweep.by.empty() || sweep.by.size() > kMaxPictureMoves) {
    return bad_input("picture stability: expected 1 to " + std::to_string(kMaxPictureMoves) + " amounts, found " +
                     std::to_string(sweep.by.size()));
  }
  LOCUS_TRY(const std::filesystem::path file, picture_of(model, trace));
  const LoadedModel* const loaded = loaded_model_of(model);
  if (loaded == nullptr) {
    return unsupported("picture stability: expected a checkpoint that can be run again", model.info().name);
  }
  return guarded([&]() -> Result<std::vector<PictureStabilityPoint>> {
    const at::NoGradGuard no_grad;
    report(progress, 0, "the picture as it is");
    LOCUS_TRY(const PictureGeometry geometry, geometry_of(*loaded, *trace.input(), file));
    LOCUS_TRY(const StableRun plain, run_of(model, *trace.input(), stop));
    LOCUS_TRY(const PatchTokens patches, patch_tokens(*plain.data));
    std::vector<PictureStabilityPoint> points;
    for (const double by : sweep.by) {
      report(progress, static_cast<double>(points.size() + 1) / static_cast<double>(sweep.by.size() + 1),
             "the moved picture");
      Input input = *trace.input();
      input.picture.push_back(change_of(sweep.move, by));
      LOCUS_TRY(const StableRun moved, run_of(model, input, stop));
      const image::Affine own = image::affine_of(input.picture.back(), geometry.width, geometry.height, geometry.patch);
      const image::Affine map =
          sweep.undo ? geometry.to_grid.inverse().then(own).then(geometry.to_grid) : image::Affine();
      const analysis::PatchPlaces places(patches.rows, patches.columns, map.of);
      PictureStabilityPoint point{by, places.count(), {}, prediction_change(*plain.whole, *moved.whole)};
      for (std::size_t n = 0; n < plain.data->layers.size(); ++n) {
        const TraceLayer& before = plain.data->layers[n];
        const TraceLayer& after = moved.data->layers[n];
        PictureStabilityRow row;
        const auto change =
            analysis::patch_attention_change(*before.scores, *after.scores, patches.tokens, places, stop);
        if (change.ok()) {
          row.attention = *change;
        } else if (change.error().code != ErrorCode::kUnsupported) {  // a layer without maps
          return change.error();
        }
        if (before.hidden.defined() && after.hidden.defined()) {
          row.states = analysis::patch_state_change(before.hidden, after.hidden, patches.tokens, places);
        }
        point.layers.push_back(row);
      }
      points.push_back(std::move(point));
    }
    return points;
  });
}

}  // namespace locus::models
