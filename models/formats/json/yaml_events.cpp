#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <istream>
#include <limits>
#include <optional>
#include <streambuf>
#include <unordered_set>

#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/formats/json/json_events.h"

namespace locus::formats {

namespace {

// Leaves yaml-cpp's parser, which reports by exceptions anyway.
struct Stop {
  Error error;
};

template <class T>
std::optional<T> whole(std::string_view text) {
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  return parse_number<T>(text);
}

// A plain scalar by YAML's core schema.
JsonEvent resolve(std::string_view text) {
  JsonEvent event{JsonEvent::Kind::kText, false, 0, 0, text};
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    event.kind = JsonEvent::Kind::kNull;
  } else if (text == "true" || text == "True" || text == "TRUE") {
    event = {JsonEvent::Kind::kBool, true, 0, 0, {}};
  } else if (text == "false" || text == "False" || text == "FALSE") {
    event = {JsonEvent::Kind::kBool, false, 0, 0, {}};
  } else if (const auto integer = whole<std::int64_t>(text)) {
    event = {JsonEvent::Kind::kInteger, false, *integer, static_cast<double>(*integer), {}};
  } else if (text == ".inf" || text == "+.inf" || text == "-.inf") {
    const double infinity = std::numeric_limits<double>::infinity();
    event = {JsonEvent::Kind::kNumber, false, 0, text.front() == '-' ? -infinity : infinity, {}};
  } else if (text == ".nan") {
    event = {JsonEvent::Kind::kNumber, false, 0, std::numeric_limits<double>::quiet_NaN(), {}};
  } else if (text.find_first_of("0123456789") != std::string_view::npos) {
    // The first digit keeps from_chars' "inf" and "nan" out: those are texts in YAML.
    if (const auto number = whole<double>(text)) {
      event = {JsonEvent::Kind::kNumber, false, 0, *number, {}};
    }
  }
  return event;
}

class YamlAdapter final : public YAML::EventHandler {
 public:
  YamlAdapter(const JsonLimits& limits, const std::function<Status(const JsonEvent&)>& handle)
      : limits_(limits), handle_(handle) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t anchor) override { scalar({}, true, anchor); }
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {
    throw Stop{bad_input("expected no YAML aliases, found one")};
  }
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (tag != "?" && tag != "!" && !tag.empty()) {
      throw Stop{bad_input("expected no YAML tags, found " + shown(tag, 60))};
    }
    scalar(value, tag != "!", anchor);
  }
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(false, anchor);
  }
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(true, anchor);
  }
  void OnSequenceEnd() override { end(JsonEvent::Kind::kEndArray); }
  void OnMapEnd() override { end(JsonEvent::Kind::kEndObject); }

 private:
  struct Level {
    bool map = false;
    bool name_next = true;
    std::unordered_set<std::string> names;
  };

  void pass(const JsonEvent& event) {
    if (++nodes_ > limits_.nodes) {
      throw Stop{bad_input("more than " + std::to_string(limits_.nodes) + " values")};
    }
    if (const Status status = handle_(event); !status.ok()) {
      throw Stop{status.error()};
    }
  }

  // Whether the next scalar of the innermost mapping is a name; flips with every one asked for.
  bool takes_name() {
    if (levels_.empty() || !levels_.back().map) {
      return false;
    }
    return std::exchange(levels_.back().name_next, !levels_.back().name_next);
  }

  void scalar(const std::string& text, bool plain, YAML::anchor_t anchor) {
    refuse_anchor(anchor);
    if (takes_name()) {
      if (!levels_.back().names.insert(text).second) {
        throw Stop{bad_input("the name \"" + shown(text) + "\" is there twice")};
      }
      return pass({JsonEvent::Kind::kKey, false, 0, 0, text});
    }
    pass(plain ? resolve(text) : JsonEvent{JsonEvent::Kind::kText, false, 0, 0, text});
  }

  void begin(bool map, YAML::anchor_t anchor) {
    refuse_anchor(anchor);
    if (takes_name()) {
      throw Stop{bad_input("expected a name, found a list or a mapping")};
    }
    if (levels_.size() == limits_.depth) {
      throw Stop{bad_input("nested deeper than " + std::to_string(limits_.depth) + " levels")};
    }
    levels_.push_back({.map = map, .name_next = true, .names = {}});
    pass({map ? JsonEvent::Kind::kBeginObject : JsonEvent::Kind::kBeginArray, false, 0, 0, {}});
  }

  void end(JsonEvent::Kind kind) {
    levels_.pop_back();
    pass({kind, false, 0, 0, {}});
  }

  static void refuse_anchor(YAML::anchor_t anchor) {
    if (anchor != 0) {
      throw Stop{bad_input("expected no YAML anchors, found one")};
    }
  }

  const JsonLimits& limits_;
  const std::function<Status(const JsonEvent&)>& handle_;
  std::vector<Level> levels_;
  std::size_t nodes_ = 0;
};

// The text as a stream without a copy of it.
class TextBuffer final : public std::streambuf {
 public:
  explicit TextBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // a get area is never written to
    setg(begin, begin, begin + text.size());
  }
};

}  // namespace

Status read_yaml(std::string_view text, const JsonLimits& limits,
                 const std::function<Status(const JsonEvent&)>& handle) {
  if (!is_utf8(text)) {
    return bad_input("not YAML: not UTF-8");
  }
  try {
    TextBuffer buffer(text);
    std::istream stream(&buffer);
    YamlAdapter adapter(limits, handle);
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(adapter)) {
      return bad_input("not YAML: empty");
    }
    return {};
  } catch (const Stop& stop) {
    return stop.error;
  } catch (const YAML::Exception& error) {
    return bad_input("not YAML at line " + std::to_string(error.mark.line + 1) + ": " + shown(error.msg, 80));
  }
}

}  // namespace locus::formats
