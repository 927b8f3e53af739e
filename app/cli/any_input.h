// An input for models whose run no view shows: token 0, or a white picture.
#pragma once

#include <vector>

#include "core/base/temporary_folder.h"
#include "models/api/model.h"

namespace locus::cli {

class AnyInput {
 public:
  // Valid for as long as this lives. Errors: kBadInput where there is no folder for temporary files.
  Result<models::Input> of(const models::Model& model);

 private:
  std::vector<TemporaryFolder> folders_;  // of the pictures
};

}  // namespace locus::cli
