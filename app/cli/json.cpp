#include "app/cli/json.h"

namespace locus::cli {

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace locus::cli
