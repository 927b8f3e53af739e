#include "models/engine/read_checkpoint.h"

#include <system_error>
#include <utility>

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
  checkpoint.folder = std::filesystem::is_directory(path, failure) ? path : path.parent_path();
  const std::filesystem::path config = checkpoint.folder / "config.json";
  // A GGUF file says everything itself, whatever lies beside it.
  if (path.extension() != ".gguf" && std::filesystem::exists(config, failure)) {
    LOCUS_TRY(checkpoint.config, formats::Config::load(config));
  }
  LOCUS_TRY(checkpoint.tensors, formats::open_tensors(path));
  LOCUS_TRY(checkpoint, families::adapt_gguf(std::move(checkpoint)));
  return families::without_wrappers(std::move(checkpoint));
}

}  // namespace locus::models
