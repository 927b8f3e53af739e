#include "models/run/read_checkpoint.h"

#include <system_error>
#include <utility>

#include "models/checkpoint/tensor_source.h"
#include "models/transformer/families/gguf.h"

namespace locus::models {

Result<families::Checkpoint> read_checkpoint(const std::filesystem::path& path) {
  families::Checkpoint checkpoint;
  std::error_code failure;
  checkpoint.path = path;
  if (!std::filesystem::exists(path, failure)) {
    return bad_input("expected a checkpoint folder or file, found none", path.string());
  }
  checkpoint.folder = std::filesystem::is_directory(path, failure) ? path : path.parent_path();
  const std::filesystem::path config = checkpoint.folder / "config.json";
  // A GGUF file says everything itself, whatever lies beside it.
  if (path.extension() != ".gguf" && std::filesystem::exists(config, failure)) {
    LOCUS_TRY(checkpoint.config, checkpoint::Config::load(config));
  }
  LOCUS_TRY(checkpoint.tensors, checkpoint::open_tensors(path));
  return families::adapt_gguf(std::move(checkpoint));
}

}  // namespace locus::models
