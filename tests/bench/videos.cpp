// Rows of videos: from a file to the tokens of a text with it, as the program opens one for a model of Qwen2-VL's patches
// and limits of pixels, and the memory of that. Not in builds without images.
#include <ATen/ATen.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/temporary_folder.h"
#include "models/api/model.h"
#include "models/formats/tensor_source.h"
#include "tests/bench/groups.h"
#include "tests/bench/runs.h"
#include "tests/support/paths.h"

namespace locus::bench {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPatch = 14;  // Qwen2-VL's; the stored checkpoint has smaller ones
constexpr std::int64_t kVideoToken = 73;
constexpr double kMaxMilliseconds = 2000;
constexpr double kMaxMegabytes = 1000;

class Videos {
 public:
  explicit Videos(Rig& rig) : rig_(rig), frames_(rig.quick() ? 8 : 64), scale_(rig.quick() ? 10 : 1) {}

  Status run() {
    const fs::path writer = fs::path(test::build_dir()) / "tests" / "bench" / "bench_video";
    std::error_code failure;
    if (!fs::exists(writer, failure)) {
      return {};  // a build without OpenCV
    }
    LOCUS_TRY(const TemporaryFolder folder, TemporaryFolder::make());
    LOCUS_CHECK(write_checkpoint(folder.path()));
    const fs::path file = folder.path() / "video.mp4";
    const std::int64_t width = 1920 / scale_;
    const std::int64_t height = 1080 / scale_;
    const std::string command = "'" + writer.string() + "' '" + file.string() + "' " + std::to_string(frames_) + " " +
                                std::to_string(width) + " " + std::to_string(height);
    const int status = std::system(command.c_str());
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      return unsupported("expected a video, since OpenCV writes MPEG-4, found none", file.string());
    }
    models::Input input;
    input.ids = std::vector<std::int64_t>{kVideoToken};
    input.videos = {file};
    // The model is opened each time, since it keeps the frames of a file.
    const auto open = [&]() -> Status {
      LOCUS_TRY(const std::shared_ptr<const models::Model> model, models::open(folder.path(), {}));
      return status_of(model->tokenize(input));
    };
    LOCUS_TRY(const Timed times, rig_.time(open));
    LOCUS_TRY(const double megabytes, Rig::peak_megabytes(open));
    const std::string name = "video of " + std::to_string(frames_) + " frames of " + std::to_string(width) + " × " +
                             std::to_string(height) + " pixels";
    rig_.add({name + ", all taken: opened", times.milliseconds, "ms", "", 0, 0, Target::kValueAtMost, kMaxMilliseconds,
              false, ""});
    rig_.add({name + ": memory", megabytes, "MB", "", 0, 0, Target::kValueAtMost, kMaxMegabytes, false, ""});
    return {};
  }

 private:
  // The tiny checkpoint of Qwen2-VL's reference values with patches of the usual size, whose processor takes all frames.
  Status write_checkpoint(const fs::path& folder) const {
    const fs::path stored = fs::path(test::source_dir()) / "tests" / "golden" / "families-vlm" / "qwen2_vl";
    LOCUS_TRY(const std::string text, read_file(stored / "config.json", std::size_t{1} << 20));
    nlohmann::json config = nlohmann::json::parse(text);
    config["vision_config"]["patch_size"] = config["vision_config"]["spatial_patch_size"] = kPatch;
    LOCUS_CHECK(write_file(folder / "config.json", config.dump()));
    const nlohmann::json processor{{"image_processor_type", "Qwen2VLImageProcessor"},
                                   {"patch_size", kPatch},
                                   {"min_pixels", 128 * 28 * 28},
                                   {"max_pixels", 768 * 28 * 28},
                                   {"num_frames", frames_}};
    LOCUS_CHECK(write_file(folder / "preprocessor_config.json", processor.dump()));
    LOCUS_TRY(const formats::Source source, formats::open_tensors(stored / "model.safetensors"));
    at::Tensor patches;  // keeps its bytes until they are written
    std::vector<formats::OutputTensor> tensors;
    for (const formats::TensorInfo& each : source->tensors()) {
      tensors.push_back({each.name, each.dtype, each.shape, each.storage});
      if (each.name.ends_with("patch_embed.proj.weight") && each.shape.size() == 5) {
        std::vector<std::int64_t>& shape = tensors.back().shape;
        shape[3] = shape[4] = kPatch;
        patches = at::randn(shape) * 0.02;
        tensors.back().dtype = formats::DType::kF32;
        tensors.back().bytes = {static_cast<const std::byte*>(patches.data_ptr()), patches.nbytes()};
      }
    }
    return formats::write_safetensors(folder / "model.safetensors", tensors, {});
  }

  Rig& rig_;
  std::int64_t frames_;
  std::int64_t scale_;  // of both sides
};

}  // namespace

Status bench_videos(Rig& rig) {
  return Videos(rig).run();
}

}  // namespace locus::bench
