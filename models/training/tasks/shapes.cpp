// Task shapes (after the image classification of SeqPE §4.3): which of twelve shapes is in the picture, whatever its
// place, size, colours and the noise. Trained at one resolution; tested at 1.5, 2 and 3 times as many pixels a side of
// the same kind of scenes, with patch positions that the model has not seen and shapes of more patches.
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

constexpr std::uint64_t kShapesStream = 0xE7A1'0000'0000'0003U;
constexpr double kSmallest = 0.16;  // radius, as a fraction of the side
constexpr double kLargest = 0.34;
constexpr double kTilt = 12;               // degrees to either side
constexpr std::int64_t kGroundMost = 110;  // largest channel of a ground
constexpr std::int64_t kShapeLeast = 145;  // smallest channel of a shape: shapes are brighter than their ground
constexpr double kNoise = 0.12;            // largest standard deviation of a pixel's noise
constexpr std::array<double, 4> kScale{1, 1.5, 2, 3};  // side of the picture in each split, relative to training

// Draws channels within [low, high].
std::array<std::uint8_t, 3> colour(std::int64_t low, std::int64_t high, Random& random) {
  return {static_cast<std::uint8_t>(random.between(low, high)), static_cast<std::uint8_t>(random.between(low, high)),
          static_cast<std::uint8_t>(random.between(low, high))};
}

image::ShapeScene scene(Random& random) {
  image::ShapeScene scene;
  scene.shape = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(image::shape_names().size())));
  scene.radius = kSmallest + (kLargest - kSmallest) * random.uniform();
  scene.x = scene.radius + (1 - 2 * scene.radius) * random.uniform();
  scene.y = scene.radius + (1 - 2 * scene.radius) * random.uniform();
  scene.turn = kTilt * std::numbers::pi / 180 * (2 * random.uniform() - 1);
  scene.ground = colour(0, kGroundMost, random);
  scene.colour = colour(kShapeLeast, 255, random);
  return scene;
}

// About normal(0, 1): the sum of four uniform numbers, which has the variance 4/12.
double noise(Random& random) {
  return (random.uniform() + random.uniform() + random.uniform() + random.uniform() - 2) * std::numbers::sqrt3;
}

class Shapes final : public Task {
 public:
  Shapes(std::int64_t side, std::int64_t patch) : side_(side), patch_(patch) {}

  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(image::shape_names().size()); }
  std::int64_t length() const override { return 1 + (side_ / patch_) * (side_ / patch_); }
  Metric metric() const override { return Metric::kError; }
  transformer::ImageStem image() const override {
    transformer::ImageStem stem;
    stem.patch = patch_;
    stem.rows = stem.columns = side_ / patch_;
    return stem;
  }
  std::vector<std::string> labels() const override {
    return {image::shape_names().begin(), image::shape_names().end()};
  }

  Examples training_examples(Random& random, std::int64_t count) const override {
    Examples examples = empty(count, side_);
    for (std::int64_t n = 0; n < count; ++n) {
      fill(examples, n, random);
    }
    return examples;
  }
  std::vector<std::string> splits() const override { return {"in", "1.5x", "2x", "3x"}; }
  Examples evaluation_examples(std::size_t split, std::uint64_t seed, std::int64_t first,
                               std::int64_t count) const override {
    Examples examples =
        empty(count, static_cast<std::int64_t>(std::lround(kScale[split] * static_cast<double>(side_))));
    for (std::int64_t n = 0; n < count; ++n) {
      // The same scenes at every resolution, so that splits differ only in it.
      Random random{kShapesStream, seed, static_cast<std::uint64_t>(first + n)};
      fill(examples, n, random);
    }
    return examples;
  }
  std::int64_t evaluation_count(std::size_t /*split*/) const override { return 1000; }

  Status write_input_files(const std::filesystem::path& folder) const override {
    const nlohmann::ordered_json size = {{"height", side_}, {"width", side_}};
    const std::vector<double> half(3, 0.5);
    const nlohmann::ordered_json preprocessor = {{"image_processor_type", "ViTImageProcessor"},
                                                 {"do_resize", true},
                                                 {"size", size},
                                                 {"resample", 2},
                                                 {"do_rescale", true},
                                                 {"rescale_factor", 1.0 / 255},
                                                 {"do_normalize", true},
                                                 {"image_mean", half},
                                                 {"image_std", half}};
    return write_file(folder / "preprocessor_config.json", preprocessor.dump(2) + "\n");
  }

 private:
  static Examples empty(std::int64_t count, std::int64_t side) {
    Examples examples;
    examples.pixels = at::empty({count, 3, side, side});
    examples.targets = at::empty({count, 1}, at::kLong);
    return examples;
  }

  // Picture `row`, normalised as in preprocessor_config.json.
  static void fill(Examples& examples, std::int64_t row, Random& random) {
    const std::int64_t side = examples.pixels.size(3);
    const image::ShapeScene drawn = scene(random);
    const double deviation = kNoise * random.uniform();
    const auto picture = image::draw_shape(drawn, side);  // make_shapes() has checked that this build draws
    examples.targets.data_ptr<std::int64_t>()[row] = static_cast<std::int64_t>(drawn.shape);
    float* const out = examples.pixels.data_ptr<float>() + row * 3 * side * side;
    for (std::int64_t pixel = 0; pixel < side * side; ++pixel) {
      for (std::int64_t channel = 0; channel < 3; ++channel) {
        const double value = picture->rgba[static_cast<std::size_t>(4 * pixel + channel)] / 255.0;
        const double noisy = std::clamp(value + deviation * noise(random), 0.0, 1.0);
        out[channel * side * side + pixel] = static_cast<float>(2 * noisy - 1);
      }
    }
  }

  std::int64_t side_;   // pixels
  std::int64_t patch_;  // pixels
};

Result<std::unique_ptr<Task>> make_shapes(const TaskRequest& request) {
  LOCUS_CHECK(request.options.only({"side", "patch"}));
  LOCUS_TRY(const std::int64_t side, option_in(request.options, "side", 32, 8, 512));
  LOCUS_TRY(const std::int64_t patch, option_in(request.options, "patch", 4, 1, 256));
  if (side % (2 * patch) != 0) {
    return usage(
        "option side: expected a multiple of twice the patch, so that 1.5 times it holds whole patches, found " +
        std::to_string(side) + " with patch " + std::to_string(patch));
  }
  const auto picture = image::draw_shape({}, 1);
  if (!picture.ok()) {
    return picture.error();
  }
  return std::unique_ptr<Task>(std::make_unique<Shapes>(side, patch));
}

}  // namespace

TaskEntry shapes_task() {
  return {"shapes", make_shapes};
}

}  // namespace locus::training
