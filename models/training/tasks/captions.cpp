// Task captions: two coloured shapes in a picture, and a text that names them: "a red circle left of a blue square.".
// The first is the left one where their horizontal distance is larger than the vertical one, else the upper one, so
// that a picture has one caption. Trained at one size of the picture; tested on larger pictures with shapes of the same
// size, at rows and columns that the model has not seen.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "core/base/atomic_file.h"
#include "models/image/shapes.h"
#include "models/training/symbol_task.h"
#include "models/training/task.h"
#include "models/training/task_list.h"

namespace locus::training {
namespace {

constexpr std::uint64_t kCaptionStream = 0xE7A1'0000'0000'0004U;
constexpr double kSmallestRadius = 4.5;  // pixels
constexpr double kLargestRadius = 6.5;
constexpr double kApart = 13;   // least distance of the centres, in pixels, along the axis that the caption names
constexpr double kClear = 5;    // least excess of that distance over the other axis
constexpr double kTurned = 10;  // degrees to either side
constexpr std::int64_t kDarkMost = 80;              // largest channel of a ground
constexpr std::int64_t kJitter = 25;                // spread of a shape's channels, to either side
constexpr double kGrain = 0.05;                     // largest amplitude of a pixel's noise
constexpr std::array<double, 3> kSizes{1, 1.5, 2};  // side of the picture in each split, relative to training
constexpr std::int64_t kHeadWidth = 16;             // head width of the tower

struct Colour {
  std::string_view name;
  std::array<std::int64_t, 3> channels;
};
constexpr std::array<Colour, 4> kColours{
    {{"red", {225, 50, 50}}, {"green", {50, 205, 70}}, {"blue", {70, 90, 225}}, {"yellow", {225, 215, 60}}}};
constexpr std::array<std::string_view, 5> kShapes{"circle", "square", "plus", "star", "ring"};

// The vocabulary; an entry's index is its id.
constexpr std::array<std::string_view, 16> kWords{"<image>", "[UNK]", "a",    "left",   "of",     "above",
                                                  "red",     "green", "blue", "yellow", "circle", "square",
                                                  "plus",    "star",  "ring", "."};
constexpr std::int64_t kPlaceholder = 0;

std::int64_t id_of(std::string_view word) {
  return std::find(kWords.begin(), kWords.end(), word) - kWords.begin();
}

// Lengths in pixels.
struct Thing {
  std::size_t colour = 0;
  std::size_t shape = 0;
  double x = 0;
  double y = 0;
  double radius = 0;
};

struct Scene {
  std::array<Thing, 2> things;  // in the order of the caption
  bool across = false;          // left of, else above
};

Scene scene(std::int64_t side, Random& random) {
  Scene drawn;
  drawn.across = random.below(2) == 0;
  const auto length = static_cast<double>(side);
  auto& [first, second] = drawn.things;
  first.colour = static_cast<std::size_t>(random.below(kColours.size()));
  second.colour = (first.colour + 1 + static_cast<std::size_t>(random.below(kColours.size() - 1))) % kColours.size();
  first.shape = static_cast<std::size_t>(random.below(kShapes.size()));
  second.shape = (first.shape + 1 + static_cast<std::size_t>(random.below(kShapes.size() - 1))) % kShapes.size();
  for (;;) {
    for (Thing* const thing : {&first, &second}) {
      thing->radius = kSmallestRadius + (kLargestRadius - kSmallestRadius) * random.uniform();
      thing->x = thing->radius + (length - 2 * thing->radius) * random.uniform();
      thing->y = thing->radius + (length - 2 * thing->radius) * random.uniform();
    }
    const double over = second.x - first.x;
    const double down = second.y - first.y;
    const double along = drawn.across ? over : down;
    const double beside = std::abs(drawn.across ? down : over);
    if (along >= kApart && along >= beside + kClear) {
      return drawn;
    }
  }
}

std::vector<std::int64_t> caption(const Scene& drawn) {
  std::vector<std::int64_t> ids;
  const auto add = [&](std::string_view word) { ids.push_back(id_of(word)); };
  const auto name = [&](const Thing& thing) {
    add("a");
    add(kColours[thing.colour].name);
    add(kShapes[thing.shape]);
  };
  name(drawn.things[0]);
  if (drawn.across) {
    add("left");
    add("of");
  } else {
    add("above");
  }
  name(drawn.things[1]);
  add(".");
  return ids;
}
constexpr std::int64_t kLongestCaption = 9;

image::ShapeScene shape_of(const Thing& thing, std::int64_t side, Random& random) {
  image::ShapeScene shape;
  const auto names = image::shape_names();
  shape.shape = static_cast<std::size_t>(std::find(names.begin(), names.end(), kShapes[thing.shape]) - names.begin());
  const auto length = static_cast<double>(side);
  shape.x = thing.x / length;
  shape.y = thing.y / length;
  shape.radius = thing.radius / length;
  shape.turn = kTurned * std::numbers::pi / 180 * (2 * random.uniform() - 1);
  for (std::size_t n = 0; n < 3; ++n) {
    const std::int64_t own = kColours[thing.colour].channels[n] + random.between(-kJitter, kJitter);
    shape.colour[n] = static_cast<std::uint8_t>(std::clamp<std::int64_t>(own, 0, 255));
  }
  return shape;
}

class Captions final : public Task {
 public:
  struct Shape {
    std::int64_t side = 32;   // pixels of a trained picture
    std::int64_t patch = 4;   // patch size in pixels
    std::int64_t cell = 2;    // patches along a side that become one vector
    std::int64_t layers = 2;  // of the tower, as its width and encoding
    std::int64_t width = 48;
    std::string encoding = "rope-axial";
  };
  explicit Captions(Shape shape) : shape_(std::move(shape)) {}

  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(kWords.size()); }
  std::int64_t length() const override { return cells(shape_.side) + kLongestCaption - 1; }
  Metric metric() const override { return Metric::kError; }

  std::optional<Sight> sight(std::int64_t width) const override {
    Sight sight;
    transformer::Spec& tower = sight.tower;
    transformer::LayerSpec layer;
    tower.width = shape_.width;
    layer.attention.head_width = kHeadWidth;
    layer.attention.heads = layer.attention.kv_heads = shape_.width / kHeadWidth;
    layer.attention.set_qkv_bias(true);
    layer.attention.output_bias = layer.feed_forward.bias = true;
    layer.feed_forward.inner = 4 * shape_.width;
    layer.feed_forward.activation = transformer::Activation::kGelu;
    layer.feed_forward.gated = tower.causal = tower.head = tower.tied_head = false;
    tower.norm = transformer::Norm::kLayer;
    tower.norm_eps = 1e-6;
    tower.pool = transformer::Pool::kPatches;
    tower.image.patch = shape_.patch;
    tower.image.rows = tower.image.columns = shape_.side / shape_.patch;
    tower.image.class_tokens = 0;
    tower.trained_length = tower.image.rows * tower.image.columns;
    tower.repeat(layer, shape_.layers);
    tower.encodings = {{shape_.encoding, {}}};
    sight.connector.states = {shape_.layers};
    sight.connector.steps = {
        {.kind = transformer::ConnectorKind::kJoin, .size = shape_.cell},
        {.kind = transformer::ConnectorKind::kLinear, .name = "inner", .size = width},
        {.kind = transformer::ConnectorKind::kActivation, .activation = transformer::Activation::kGelu},
        {.kind = transformer::ConnectorKind::kLinear, .name = "outer", .size = width}};
    sight.placeholder = kPlaceholder;
    return sight;
  }

  Examples training_examples(Random& random, std::int64_t count) const override {
    Examples examples = empty(count, shape_.side);
    for (std::int64_t n = 0; n < count; ++n) {
      fill(examples, n, random);
    }
    return examples;
  }
  std::vector<std::string> splits() const override { return {"in", "1.5x", "2x"}; }
  Examples evaluation_examples(std::size_t split, std::uint64_t seed, std::int64_t first,
                               std::int64_t count) const override {
    Examples examples =
        empty(count, static_cast<std::int64_t>(std::lround(kSizes[split] * static_cast<double>(shape_.side))));
    for (std::int64_t n = 0; n < count; ++n) {
      Random random{kCaptionStream, seed, split, static_cast<std::uint64_t>(first + n)};
      fill(examples, n, random);
    }
    return examples;
  }
  std::int64_t evaluation_count(std::size_t /*split*/) const override { return 1000; }

  Status write_input_files(const std::filesystem::path& folder) const override {
    const std::vector<double> half(3, 0.5);
    const nlohmann::ordered_json preprocessor = {
        {"image_processor_type", "Qwen2VLImageProcessor"},
        {"do_resize", true},
        {"size", {{"shortest_edge", shape_.side * shape_.side}, {"longest_edge", 9 * shape_.side * shape_.side}}},
        {"patch_size", shape_.patch},
        {"merge_size", shape_.cell},
        {"resample", 3},
        {"do_rescale", true},
        {"rescale_factor", 1.0 / 255},
        {"do_normalize", true},
        {"image_mean", half},
        {"image_std", half}};
    LOCUS_CHECK(write_file(folder / "preprocessor_config.json", preprocessor.dump(2) + "\n"));
    nlohmann::ordered_json vocabulary;
    for (const std::string_view word : kWords) {
      vocabulary[std::string(word)] = id_of(word);
    }
    const nlohmann::ordered_json placeholder = {{"id", kPlaceholder}, {"content", "<image>"}, {"single_word", false},
                                                {"lstrip", false},    {"rstrip", false},      {"normalized", false},
                                                {"special", true}};
    const nlohmann::ordered_json tokenizer = {
        {"version", "1.0"},
        {"added_tokens", nlohmann::ordered_json::array({placeholder})},
        {"normalizer", nullptr},
        {"pre_tokenizer", {{"type", "Whitespace"}}},
        {"post_processor", nullptr},
        {"decoder", nullptr},
        {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "[UNK]"}}}};
    return write_file(folder / "tokenizer.json", tokenizer.dump(1) + "\n");
  }

 private:
  std::int64_t cells(std::int64_t side) const {
    const std::int64_t count = side / (shape_.patch * shape_.cell);
    return count * count;
  }

  Examples empty(std::int64_t count, std::int64_t side) const {
    const std::int64_t length = cells(side) + kLongestCaption - 1;
    return {at::full({count, length}, kPlaceholder, at::kLong), at::full({count, length}, kIgnored, at::kLong),
            at::empty({count, 3, side, side})};
  }

  // Picture, caption and targets of sequence `row`: the words after the first are predicted. The picture is normalised
  // as in preprocessor_config.json.
  void fill(Examples& examples, std::int64_t row, Random& random) const {
    const std::int64_t side = examples.pixels.size(3);
    const Scene drawn = scene(side, random);
    const std::vector<std::int64_t> words = caption(drawn);
    const std::int64_t length = examples.ids.size(1);
    auto* const ids = examples.ids.data_ptr<std::int64_t>() + row * length + cells(side);
    auto* const targets = examples.targets.data_ptr<std::int64_t>() + row * length + cells(side);
    std::fill(ids, ids + kLongestCaption - 1, id_of("."));
    std::copy(words.begin(), words.end() - 1, ids);
    std::copy(words.begin() + 1, words.end(), targets);
    std::vector<image::ShapeScene> shapes;
    for (const Thing& thing : drawn.things) {
      shapes.push_back(shape_of(thing, side, random));
    }
    for (std::uint8_t& channel : shapes.front().ground) {
      channel = static_cast<std::uint8_t>(random.below(kDarkMost + 1));
    }
    const auto picture = image::draw_shapes(shapes, side);  // make_captions() has checked that this build draws
    float* const out = examples.pixels.data_ptr<float>() + row * 3 * side * side;
    for (std::int64_t pixel = 0; pixel < side * side; ++pixel) {
      for (std::int64_t channel = 0; channel < 3; ++channel) {
        const double value = picture->rgba[static_cast<std::size_t>(4 * pixel + channel)] / 255.0;
        const double grain = kGrain * (2 * random.uniform() - 1);
        out[channel * side * side + pixel] = static_cast<float>(2 * std::clamp(value + grain, 0.0, 1.0) - 1);
      }
    }
  }

  Shape shape_;
};

Result<std::unique_ptr<Task>> make_captions(const TaskRequest& request) {
  LOCUS_CHECK(request.options.only({"side", "patch", "cell", "tower_layers", "tower_width", "tower"}));
  Captions::Shape shape;
  LOCUS_TRY(shape.side, option_in(request.options, "side", shape.side, 32, 512));
  LOCUS_TRY(shape.patch, option_in(request.options, "patch", shape.patch, 1, 256));
  LOCUS_TRY(shape.cell, option_in(request.options, "cell", shape.cell, 1, 16));
  LOCUS_TRY(shape.layers, option_in(request.options, "tower_layers", shape.layers, 1, 64));
  LOCUS_TRY(shape.width, option_in(request.options, "tower_width", shape.width, kHeadWidth, 4096));
  LOCUS_TRY(shape.encoding, request.options.text("tower", shape.encoding));
  if (shape.side % (2 * shape.patch * shape.cell) != 0) {
    return usage("option side: expected a multiple of twice a cell of " + std::to_string(shape.patch * shape.cell) +
                 " pixels, so that 1.5 times it holds whole cells, found " + std::to_string(shape.side));
  }
  if (shape.width % kHeadWidth != 0) {
    return usage("option tower_width: expected a multiple of " + std::to_string(kHeadWidth) + ", found " +
                 std::to_string(shape.width));
  }
  const auto picture = image::draw_shape({}, 1);
  if (!picture.ok()) {
    return picture.error();
  }
  return std::unique_ptr<Task>(std::make_unique<Captions>(std::move(shape)));
}

}  // namespace

TaskEntry captions_task() {
  return {"captions", make_captions};
}

}  // namespace locus::training
