// What a model runs on where no view shows the run: token 0, or a white picture.
#pragma once

#include <filesystem>

#include "models/api/model.h"

namespace locus::cli {

class AnyInput {
 public:
  AnyInput() = default;
  ~AnyInput();
  AnyInput(const AnyInput&) = delete;
  AnyInput& operator=(const AnyInput&) = delete;

  // Valid for as long as this lives. Errors: kBadInput where there is no folder for temporary files.
  Result<models::Input> of(const models::Model& model);

 private:
  std::filesystem::path folder_;  // of the picture; empty: none was needed
};

}  // namespace locus::cli
