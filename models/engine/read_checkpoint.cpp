#include "models/engine/read_checkpoint.h"

#include <system_error>
#include <utility>

#include "models/engine/sentence.h"
#include "models/families/engine/wrappers.h"
#include "models/families/gguf.h"
#include "models/formats/tensor_source.h"

namespace locus::models {

Result<families::CheckpointFiles> read_checkpoint(const std::filesystem::path& path) {
  families::CheckpointFiles checkpoint;
  std::error_code failure;
  checkpoint.path = path;
  if (!std::filesystem::exists(path, failure)) {
    return bad_input("expected a checkpoint folder or file, found none", path.string());
  }
  const bool folder = std::filesystem::is_directory(path, failure);
  checkpoint.folder = folder ? path : path.parent_path();
  if (folder && has_sentence_steps(path)) {
    const Result<std::filesystem::path> inner = sentence_transformer_folder(path);
    if (!inner.ok() && inner.error().code != ErrorCode::kUnsupported) {
      return inner.error();
    }
    checkpoint.folder = inner.ok() ? *inner : path;
  }
  const std::filesystem::path config = checkpoint.folder / "config.json";
  // A GGUF file says everything itself, whatever lies beside it.
  if (path.extension() != ".gguf" && std::filesystem::exists(config, failure)) {
    LOCUS_TRY(checkpoint.config, formats::Config::load(config));
  }
  LOCUS_TRY(checkpoint.tensors, formats::open_tensors(folder ? checkpoint.folder : path));
  LOCUS_TRY(checkpoint, families::adapt_gguf(std::move(checkpoint)));
  return families::without_wrappers(std::move(checkpoint));
}

}  // namespace locus::models
