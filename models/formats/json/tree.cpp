#include "models/formats/json/tree.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/base/shown.h"
#include "models/formats/json/json_events.h"

namespace locus::formats {

namespace {

template <class Json>
Json to_nlohmann(const Tree& tree) {
  if (tree.is_object()) {
    Json object = Json::object();
    auto& fields = object.template get_ref<typename Json::object_t&>();
    for (const auto& [name, value] : tree.fields()) {
      fields.emplace(name, to_nlohmann<Json>(value));
    }
    return object;
  }
  if (tree.is_list()) {
    Json list = Json::array();
    for (const Tree& value : tree.items()) {
      list.push_back(to_nlohmann<Json>(value));
    }
    return list;
  }
  if (const auto flag = tree.as<bool>()) {
    return *flag;
  }
  if (const auto whole = tree.as<std::int64_t>()) {
    return *whole;
  }
  if (const auto number = tree.as<double>()) {
    return *number;
  }
  const auto text = tree.as<std::string>();
  return text ? Json(*text) : Json();
}

// A tree from the events of read_json(), which makes sure that names come once.
class Builder {
 public:
  Status add(const JsonEvent& event) {
    using Kind = JsonEvent::Kind;
    switch (event.kind) {
      case Kind::kNull:
        put({});
        break;
      case Kind::kBool:
        put(event.boolean);
        break;
      case Kind::kInteger:
        put(event.integer);
        break;
      case Kind::kNumber:
        put(event.number);
        break;
      case Kind::kText:
        put(event.text);
        break;
      case Kind::kKey:
        name_ = event.text;
        break;
      case Kind::kBeginObject:
        open_.push_back({Tree::object(), std::move(name_)});
        break;
      case Kind::kBeginArray:
        open_.push_back({Tree::list(), std::move(name_)});
        break;
      case Kind::kEndObject:
      case Kind::kEndArray: {
        Open closed = std::move(open_.back());
        open_.pop_back();
        name_ = std::move(closed.name);
        put(std::move(closed.value));
        break;
      }
    }
    return {};
  }
  Tree finish() { return std::move(root_); }

 private:
  struct Open {
    Tree value;
    std::string name;  // its own, in the object around it
  };

  void put(Tree value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.is_list()) {
      open_.back().value.push_back(std::move(value));
    } else {
      open_.back().value.add_field(std::move(name_), std::move(value));
    }
  }

  Tree root_;
  std::vector<Open> open_;
  std::string name_;  // of the value that comes next
};

}  // namespace

Tree::Tree(const SettingValue& value) : Tree(std::visit([](const auto& plain) { return Tree(plain); }, value)) {}

Tree::Tree(const Settings& settings) : value_(Fields()) {
  for (const auto& [name, value] : settings.values()) {
    add_field(name, value);
  }
}

Tree::Tree(std::initializer_list<std::pair<std::string, Tree>> fields) : value_(Fields(fields)) {}

Tree Tree::list(List values) {
  Tree made;
  made.value_ = std::move(values);
  return made;
}

Tree Tree::object() {
  Tree made;
  made.value_ = Fields();
  return made;
}

Result<Tree> Tree::parse(std::string_view text, const std::string& file) {
  Builder builder;
  LOCUS_CHECK(within(read_json(text, {}, [&](const JsonEvent& event) { return builder.add(event); }), file));
  return builder.finish();
}

template <class T>
std::optional<T> Tree::as() const {
  if constexpr (std::is_same_v<T, double>) {
    if (const auto* whole = std::get_if<std::int64_t>(&value_)) {
      return static_cast<double>(*whole);
    }
  }
  const auto* held = std::get_if<T>(&value_);
  return held != nullptr ? std::optional<T>(*held) : std::nullopt;
}
template std::optional<bool> Tree::as() const;
template std::optional<std::int64_t> Tree::as() const;
template std::optional<double> Tree::as() const;
template std::optional<std::string> Tree::as() const;

std::optional<SettingValue> Tree::setting() const {
  if (const auto* flag = std::get_if<bool>(&value_)) {
    return *flag;
  }
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) {
    return *whole;
  }
  if (const auto* number = std::get_if<double>(&value_)) {
    return *number;
  }
  if (const auto* text = std::get_if<std::string>(&value_)) {
    return *text;
  }
  if (!is_list()) {
    return std::nullopt;
  }
  std::vector<double> numbers;
  for (const Tree& item : items()) {
    const auto number = item.as<double>();
    if (!number) {
      return std::nullopt;
    }
    numbers.push_back(*number);
  }
  return numbers;
}

const Tree::List& Tree::items() const {
  static const List kNone;
  const auto* list = std::get_if<List>(&value_);
  return list != nullptr ? *list : kNone;
}

const Tree::Fields& Tree::fields() const {
  static const Fields kNone;
  const auto* fields = std::get_if<Fields>(&value_);
  return fields != nullptr ? *fields : kNone;
}

const Tree* Tree::find(std::string_view name) const {
  const auto found = std::ranges::find(fields(), name, &Fields::value_type::first);
  return found == fields().end() ? nullptr : &found->second;
}

Tree& Tree::operator[](std::string_view name) {
  if (is_null()) {
    value_ = Fields();
  }
  auto& all = std::get<Fields>(value_);
  const auto found = std::ranges::find(all, name, &Fields::value_type::first);
  return found != all.end() ? found->second : all.emplace_back(std::string(name), Tree()).second;
}

void Tree::push_back(Tree value) {
  if (is_null()) {
    value_ = List();
  }
  std::get<List>(value_).push_back(std::move(value));
}

void Tree::add_field(std::string name, Tree value) {
  std::get<Fields>(value_).emplace_back(std::move(name), std::move(value));
}

const char* Tree::kind() const {
  constexpr std::array kNames{"null", "boolean", "number", "number", "string", "array", "object"};
  return kNames[value_.index()];
}

std::string Tree::shown() const {
  return is_list() || is_object() ? kind() : locus::shown(dump(-1, Order::kAsAdded));
}

std::string Tree::dump(int indent, Order order) const {
  const auto text = [indent](const auto& json) {
    return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  return order == Order::kByName ? text(to_nlohmann<nlohmann::json>(*this))
                                 : text(to_nlohmann<nlohmann::ordered_json>(*this));
}

}  // namespace locus::formats
