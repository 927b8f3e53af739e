// The tree behind Config, and the readers that build it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "models/json/json_events.h"

namespace locus::checkpoint {

struct ConfigValue {
  using List = std::vector<ConfigValue>;
  using Object = std::vector<std::pair<std::string, ConfigValue>>;  // in the file's order
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Object> value;

  // "the number 4", "a list", "null", …
  std::string describe() const;
};

// Builds a tree from JSON events; the YAML reader makes the same events.
class ConfigBuilder {
 public:
  Status add(const JsonEvent& event);
  // Precondition: every event of one value was added.
  ConfigValue finish() { return std::move(root_); }

 private:
  ConfigValue* place();

  ConfigValue root_;
  std::vector<ConfigValue*> open_;  // the path of open lists and objects; stable, as only the innermost one grows
};

inline constexpr JsonLimits kConfigLimits{.depth = 64, .nodes = 1'000'000};

// Calls `handle` for each event of the one YAML document in `text`: mappings become objects, sequences lists, plain
// scalars null, true, false or numbers where YAML's core schema says so, and texts otherwise. Errors, without a file
// name: kBadInput, as read_json's.
Status read_yaml(std::string_view text, const JsonLimits& limits,
                 const std::function<Status(const JsonEvent&)>& handle);

}  // namespace locus::checkpoint
