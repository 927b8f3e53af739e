// The tensors of a source under other names.
#pragma once

#include <functional>
#include <string>

#include "core/base/result.h"
#include "models/formats/tensor_source.h"

namespace locus::formats {

// The same tensors, each under the name that `name` returns for its own; "" leaves a tensor out. A warning is added to
// the source's where it is not empty. Errors: kBadInput for two tensors of one name.
Result<Source> renamed(const Source& source, const std::function<std::string(const std::string&)>& name,
                       const std::string& warning = {});

}  // namespace locus::formats
