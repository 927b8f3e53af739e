#include "models/formats/foreign_folder.h"

#include <array>
#include <string>
#include <string_view>

namespace locus::formats {

namespace {

namespace fs = std::filesystem;

struct Layout {
  std::string_view start;  // of a name in the folder
  std::string_view end;
  std::string_view what;
  std::string_view instead;
};

constexpr std::string_view kDownload =
    "download model.safetensors of the same model, or save it again with save_pretrained()";
constexpr std::array<Layout, 15> kLayouts{{
    {"zero_to_fp32", ".py", "DeepSpeed's parts of a training", "run `python zero_to_fp32.py . model` in this folder"},
    {"global_step", "", "DeepSpeed's parts of a training", "run DeepSpeed's zero_to_fp32.py on this folder"},
    {"zero_pp_rank_", ".pt", "DeepSpeed's parts of a training", "run DeepSpeed's zero_to_fp32.py on the folder above"},
    {"bf16_zero_pp_rank_", ".pt", "DeepSpeed's parts of a training",
     "run DeepSpeed's zero_to_fp32.py on the folder above"},
    {"", ".distcp", "parts of torch.distributed.checkpoint",
     "run `python -m torch.distributed.checkpoint.format_utils dcp_to_torch . model.pt`"},
    {"mp_rank_0", "", "Megatron's parts of a model",
     "convert them to the form of transformers with Megatron's tools/checkpoint/convert.py"},
    {"latest_checkpointed_iteration", ".txt", "Megatron's checkpoints",
     "convert one to the form of transformers with Megatron's tools/checkpoint/convert.py"},
    {"openvino_", ".xml", "an OpenVINO model", kDownload},
    {"", ".onnx", "an ONNX model", kDownload},
    {"tf_model", ".h5", "TensorFlow weights", kDownload},
    {"saved_model", ".pb", "a TensorFlow model", kDownload},
    {"", ".ckpt.index", "a TensorFlow checkpoint", kDownload},
    {"", ".tflite", "a TensorFlow Lite model", kDownload},
    {"flax_model", ".msgpack", "Flax weights", kDownload},
    {"flax_model", ".msgpack.index.json", "Flax weights", kDownload},
}};

bool fits(const Layout& layout, const std::string& name) {
  return name.size() >= layout.start.size() + layout.end.size() && name.starts_with(layout.start) &&
         name.ends_with(layout.end);
}

}  // namespace

std::optional<Error> foreign_folder(const fs::path& folder) {
  std::error_code code;
  const Layout* found = nullptr;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    for (const Layout& layout : kLayouts) {
      if (fits(layout, name) && (found == nullptr || &layout < found)) {
        found = &layout;
      }
    }
  }
  if (found == nullptr) {
    return std::nullopt;
  }
  return unsupported("expected safetensors, GGUF or a torch file, found " + std::string(found->what) + ": " +
                         std::string(found->instead),
                     folder.string());
}

}  // namespace locus::formats
