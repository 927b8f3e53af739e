#include "models/engine/read_checkpoint.h"

#include <system_error>
#include <utility>

#include "models/engine/adapter.h"
#include "models/engine/sentence.h"
#include "models/families/engine/wrappers.h"
#include "models/families/gguf.h"
#include "models/families/native.h"
#include "models/formats/quantised/quantised.h"
#include "models/formats/tensor_source.h"

namespace locus::models {

namespace {

// Any checkpoint but an adapter.
Result<families::CheckpointFiles> read_whole(const std::filesystem::path& path) {
  families::CheckpointFiles checkpoint;
  std::error_code failure;
  checkpoint.path = path;
  if (!std::filesystem::exists(path, failure)) {
    return bad_input("expected a checkpoint folder or file, found none", path.string());
  }
  if (families::is_native(path)) {
    return families::read_native(path);
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
  // What is refused for its configuration is refused before files are opened whose numbers have unknown types.
  LOCUS_TRY(const formats::Quantisation quantisation, formats::quantisation_of(checkpoint.config));
  LOCUS_TRY(checkpoint.tensors, formats::open_tensors(folder ? checkpoint.folder : path));
  LOCUS_TRY(checkpoint.tensors, formats::with_whole_weights(checkpoint.tensors, quantisation));
  LOCUS_TRY(checkpoint, families::adapt_gguf(std::move(checkpoint)));
  return families::without_wrappers(std::move(checkpoint));
}

}  // namespace

Result<families::CheckpointFiles> read_checkpoint(const std::filesystem::path& path,
                                                  const std::filesystem::path& base) {
  if (!is_adapter(path)) {
    return read_whole(path);
  }
  LOCUS_TRY(const std::filesystem::path found, adapter_base(path, base));
  if (is_adapter(found)) {
    return unsupported("expected a whole model as the base of an adapter, found another adapter", found.string());
  }
  LOCUS_TRY(families::CheckpointFiles whole, read_whole(found));
  return add_adapter(path, std::move(whole));
}

}  // namespace locus::models
