// Rows of texts with pictures: one token more behind a picture against one behind as many tokens of text, the tower
// against whole maps, the next figure of a picture that is moved against the forward pass, and how long three pictures
// take until a head of the text can be shown. Weights are random, of a tower and a text of GPT-2-small's shape.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/temporary_folder.h"
#include "models/engine/loaded_model.h"
#include "models/engine/vision.h"
#include "models/formats/tensor_source.h"
#include "models/transformer/connector_config.h"
#include "models/transformer/locus_config.h"
#include "tests/bench/groups.h"
#include "tests/bench/runs.h"
#include "tests/models/image/pictures.h"

namespace locus::bench {

using namespace models;

namespace {

constexpr std::int64_t kPlaceholder = 0;
constexpr std::int64_t kWordsBehind = 32;
constexpr std::int64_t kSide = 32;  // of the small picture, in patches; of the large one twice as many
constexpr std::int64_t kLayers = 12;
constexpr std::int64_t kLayersOfLarge = 3;  // what a layer takes is what is compared

transformer::Spec text_spec(bool quick) {
  transformer::Spec spec;
  spec.vocabulary = quick ? 64 : 32000;
  spec.width = quick ? 48 : 768;
  transformer::LayerSpec layer;
  layer.attention.heads = layer.attention.kv_heads = quick ? 2 : 12;
  layer.attention.head_width = spec.width / layer.attention.heads;
  layer.feed_forward.inner = quick ? 96 : 2048;
  spec.repeat(layer, quick ? 2 : 12);
  const std::int64_t pairs = layer.attention.head_width / 2;
  const std::int64_t third = pairs / 3;
  const auto part = static_cast<double>(third);
  spec.encodings = {{"rope", {{"sections", std::vector<double>{static_cast<double>(pairs) - 2 * part, part, part}}}}};
  spec.trained_length = 4096;
  return spec;
}

// `side` patches a side.
transformer::Spec tower_spec(bool quick, std::int64_t side, std::int64_t layers) {
  transformer::Spec spec;
  spec.width = quick ? 32 : 768;
  transformer::LayerSpec layer;
  layer.attention.heads = layer.attention.kv_heads = quick ? 2 : 12;
  layer.attention.head_width = spec.width / layer.attention.heads;
  layer.attention.set_qkv_bias(true);
  layer.attention.output_bias = layer.feed_forward.bias = true;
  layer.feed_forward.inner = 4 * spec.width;
  layer.feed_forward.activation = transformer::Activation::kGelu;
  layer.feed_forward.gated = spec.causal = spec.head = spec.tied_head = false;
  spec.norm = transformer::Norm::kLayer;
  spec.pool = transformer::Pool::kPatches;
  spec.image.patch = 14;
  spec.image.rows = spec.image.columns = quick ? 4 : side;
  spec.image.class_tokens = 0;
  spec.repeat(layer, quick ? 2 : layers);
  spec.encodings = {{"rope-axial", {}}};
  return spec;
}

transformer::ConnectorSpec connector_spec(std::int64_t depth, std::int64_t width) {
  transformer::ConnectorSpec spec;
  spec.states = {depth};
  spec.steps = {{.kind = transformer::ConnectorKind::kJoin, .size = 2},
                {.kind = transformer::ConnectorKind::kLinear, .name = "out", .size = width}};
  return spec;
}

class Pictures {
 public:
  explicit Pictures(Rig& rig) : rig_(rig) {}

  Status run() {
    LOCUS_CHECK(write_checkpoint());
    LOCUS_CHECK(typed());
    LOCUS_CHECK(towers());
    LOCUS_CHECK(moved());
    return first_figure();
  }

 private:
  Status write_checkpoint() {
    LOCUS_TRY(TemporaryFolder made, TemporaryFolder::make());
    folder_.emplace(std::move(made));
    const transformer::Spec text = text_spec(rig_.quick());
    const transformer::Spec tower = tower_spec(rig_.quick(), kSide, kLayers);
    const transformer::ConnectorSpec joined = connector_spec(tower.depth(), text.width);
    nlohmann::ordered_json config = transformer::locus_config(text);
    config["vision"] = transformer::locus_config(tower);
    config["connector"] = transformer::connector_config(joined);
    config["placeholder"] = kPlaceholder;
    LOCUS_CHECK(write_file(folder_->path() / "config.json", config.dump()));
    LOCUS_TRY(const auto words, transformer::Transformer::create(text, true));
    LOCUS_TRY(const auto patches, transformer::Transformer::create(tower, true));
    LOCUS_TRY(transformer::Connector connector, transformer::Connector::create(joined, tower, text.width));
    std::vector<formats::OutputTensor> tensors;
    std::vector<at::Tensor> alive;
    const auto add = [&](const std::string& prefix, const transformer::Parameter& parameter) {
      alive.push_back((parameter.value->defined() ? *parameter.value : at::randn(parameter.shape) * 0.02).contiguous());
      tensors.push_back({prefix + parameter.name,
                         formats::DType::kF32,
                         parameter.shape,
                         {static_cast<const std::byte*>(alive.back().data_ptr()), alive.back().nbytes()}});
    };
    for (const transformer::Parameter& parameter : words->parameters()) {
      add("", parameter);
    }
    for (const transformer::Parameter& parameter : patches->parameters()) {
      add("vision.", parameter);
    }
    for (const transformer::Parameter& parameter : connector.parameters()) {
      add("connector.", parameter);
    }
    LOCUS_CHECK(formats::write_safetensors(folder_->path() / "model.safetensors", tensors, {}));
    const std::int64_t side = tower.image.rows * tower.image.patch;
    cells_ = tower.image.rows * tower.image.columns / 4;
    for (const std::int64_t count : {1, 3}) {
      const at::Tensor pixels = at::randn({count, 3, side, side});
      const std::vector<formats::OutputTensor> file{
          {"pixel_values",
           formats::DType::kF32,
           pixels.sizes().vec(),
           {static_cast<const std::byte*>(pixels.data_ptr()), pixels.nbytes()}}};
      LOCUS_CHECK(formats::write_safetensors(pixels_of(count), file, {}));
    }
    LOCUS_TRY(model_, open(folder_->path(), {}));
    return {};
  }

  std::filesystem::path pixels_of(std::int64_t count) const {
    return folder_->path() / ("pixels-" + std::to_string(count) + ".safetensors");
  }

  // `pictures` pictures, or as many words as they have cells, and words behind.
  Input input_of(std::int64_t pictures, bool seen) const {
    Input input;
    std::vector<std::int64_t> ids(static_cast<std::size_t>(pictures * cells_), seen ? kPlaceholder : 1);
    for (std::int64_t n = 0; n < kWordsBehind; ++n) {
      ids.push_back(2 + n);
    }
    input.ids = std::move(ids);
    if (seen) {
      input.pixels = pixels_of(pictures);
    }
    return input;
  }

  // One more token each time, as it is typed.
  Status typed() {
    Input seen = input_of(1, true);
    Input words = input_of(1, false);
    std::shared_ptr<const Trace> seen_before;
    std::shared_ptr<const Trace> words_before;
    const auto type = [this](Input& input, std::shared_ptr<const Trace>& before) -> Status {
      input.ids->push_back(3);
      RunOptions options;
      options.continuable = true;
      options.reuse = before;
      LOCUS_TRY(before, model_->run(input, options));
      return {};
    };
    LOCUS_TRY(const Timed times,
              rig_.time([&] { return type(seen, seen_before); }, [&] { return type(words, words_before); }));
    const std::string cells = std::to_string(cells_);
    rig_.add("a token typed behind a picture of " + cells + " cells", times, "behind " + cells + " tokens of text",
             Target::kRatioAtMost, 1.2);
    return {};
  }

  // A picture of 448 × 448 pixels, where products take most of the time, and one of 896 × 896, where maps do.
  Status towers() {
    const LoadedModel& loaded = *loaded_model_of(*model_);
    LOCUS_TRY(const std::vector<TowerImage> images, loaded.checkpoint().parts().vision->read(pixels_of(1)));
    LOCUS_CHECK(tower(loaded.checkpoint().parts().vision->tower(), images.front().batch, "12 layers"));
    const transformer::Spec spec = tower_spec(rig_.quick(), 2 * kSide, kLayersOfLarge);
    LOCUS_TRY(const auto large, transformer::Transformer::create(spec, true));
    for (const transformer::Parameter& parameter : large->parameters()) {
      *parameter.value = at::randn(parameter.shape) * 0.02;
    }
    transformer::Batch batch;
    batch.pixels = at::randn({1, 3, spec.image.rows * spec.image.patch, spec.image.columns * spec.image.patch});
    batch.positions = large->grid_positions(spec.image.rows, spec.image.columns);
    return tower(*large, batch, "3 layers");
  }

  Status tower(const transformer::Transformer& tower, const transformer::Batch& batch, const std::string& layers) {
    transformer::ObserveOptions states;
    states.hidden = true;
    const auto whole = [&]() -> Status {
      const at::NoGradGuard no_grad;
      tower.forward(batch);
      return {};
    };
    LOCUS_TRY(const Timed times, rig_.time([&] { return status_of(tower.observe(batch, states)); }, whole));
    const std::int64_t patches = tower.spec().image.rows * tower.spec().image.columns;
    rig_.add("tower of " + layers + " over " + std::to_string(patches) + " patches", times, "ATen with whole maps",
             Target::kRatioAtMost, 0.5);
    return {};
  }

  // A picture of 1024 × 1024 pixels that is one pixel further each time, as by hand: prepared, seen and read, until a
  // head of the text can be shown. The forward pass alone: the tower, and the text with words in place of the cells.
  Status moved() {
    const std::int64_t side = rig_.quick() ? 96 : 1024;
    const std::filesystem::path file = folder_->path() / "moved.png";
    const auto paint = [](std::int64_t x, std::int64_t y) {
      return image::Colour{static_cast<std::uint8_t>(x), static_cast<std::uint8_t>(y),
                           static_cast<std::uint8_t>(x * y / 64)};
    };
    LOCUS_CHECK(write_file(file, image::png_of(side, side, paint)));
    Input input = input_of(1, true);
    input.pixels.reset();
    input.images = {file};
    auto next_figure = [&, pixels = 0]() mutable -> Status {
      PictureChange shift;
      shift.numbers[0].value = ++pixels;
      input.picture = {shift};
      LOCUS_TRY(const std::shared_ptr<const Trace> trace, model_->run(input, {}));
      MapRequest request;
      request.layer = trace->model().layers / 2;
      return status_of(trace->overview(request, 512, 512, Reduction::kMax));
    };
    if (const Status first = next_figure(); !first.ok()) {
      return first.error().code == ErrorCode::kUnsupported ? Status() : first;  // a build without OpenCV
    }
    const Vision& vision = *loaded_model_of(*model_)->checkpoint().parts().vision;
    LOCUS_TRY(const std::vector<TowerImage> images, vision.read(pixels_of(1)));
    transformer::ObserveOptions states;
    states.hidden = true;
    const Input words = input_of(1, false);
    const auto forward = [&]() -> Status {
      LOCUS_CHECK(status_of(vision.tower().observe(images.front().batch, states)));
      return status_of(model_->run(words, {}));
    };
    LOCUS_TRY(const Timed times, rig_.time(next_figure, forward));
    rig_.add("next figure of a moved picture of " + std::to_string(side) + " × " + std::to_string(side) + " pixels",
             times, "forward pass of the tower and the text", Target::kRatioAtMost, 1.1);
    return {};
  }

  // From nothing to the overview of a head of the text.
  Status first_figure() {
    const Input input = input_of(3, true);
    const auto draw = [&]() -> Status {
      LOCUS_TRY(const std::shared_ptr<const Model> model, open(folder_->path(), {}));
      LOCUS_TRY(const std::shared_ptr<const Trace> trace, model->run(input, {}));
      MapRequest request;
      request.layer = trace->model().layers / 2;
      return status_of(trace->overview(request, 512, 512, Reduction::kMax));
    };
    LOCUS_TRY(const Timed times, rig_.time(draw));
    rig_.add("open, three pictures, first map of the text", times, "", Target::kNone, 0);
    return {};
  }

  Rig& rig_;
  std::optional<TemporaryFolder> folder_;  // of the checkpoint and its pictures
  std::int64_t cells_ = 0;                 // of a picture
  std::shared_ptr<const Model> model_;
};

}  // namespace

Status bench_pictures(Rig& rig) {
  return Pictures(rig).run();
}

}  // namespace locus::bench
