// Tiny checkpoints of the stored types, changed as a test wants them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "models/formats/tensor_source.h"
#include "models/transformer/weights.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/conformance.h"

namespace locus::test {

// A stored type's tiny checkpoint with other tensors or fields.
class ChangedType {
 public:
  explicit ChangedType(const std::string& type, const std::function<void(Tensors&)>& change = {},
                       const nlohmann::json& fields = {})
      : stored_(type) {
    nlohmann::json config = stored_.data().at("config");
    config.update(fields.is_null() ? nlohmann::json::object() : fields);
    folder_.write("config.json", config.dump());
    const std::filesystem::path file = folder_.path() / "model.safetensors";
    stored_.write_tensors(folder_.path());
    Tensors tensors;
    {
      const auto source = *formats::open_tensors(file);
      for (const formats::TensorInfo& tensor : source->tensors()) {
        tensors[tensor.name] = transformer::to_tensor(tensor, source).clone();
      }
    }
    if (change) {
      change(tensors);
    }
    std::filesystem::remove(file);
    write_tensors(file, tensors);
  }

  Result<std::shared_ptr<const models::Model>> open() const {
    static const models::OpenOptions options;
    return locus::test::open(folder_.path(), options);
  }
  models::Input input() const { return stored_.input(folder_.path()); }

 private:
  ConformanceType stored_;
  TemporaryFolder folder_;
};

}  // namespace locus::test
