#include "models/remote/message_pack.h"

#include <utility>
#include <vector>

#include "core/base/shown.h"

namespace locus::remote {

namespace {

using nlohmann::json;

// Takes the events of nlohmann's reader. A handler that returns false ends the reading, so that the reader, which calls
// itself for each level, never goes deeper than kMaxDepth.
class BoundedTree final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
  bool string(string_t& value) override {
    return is_utf8(value) ? put(std::move(value)) : refuse("expected text in UTF-8, found \"" + shown(value) + "\"");
  }
  bool binary(binary_t& value) override {
    return value.has_subtype() ? refuse("expected plain bytes, found an extension type") : put(std::move(value));
  }
  bool start_object(std::size_t /*size*/) override { return open(json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!is_utf8(name)) {
      return refuse("expected a name in UTF-8, found \"" + shown(name) + "\"");
    }
    if (open_.back()->contains(name)) {
      return refuse("name \"" + shown(name) + "\" comes twice");
    }
    name_ = std::move(name);
    return count();
  }
  bool parse_error(std::size_t position, const std::string& /*token*/, const json::exception& /*why*/) override {
    return refuse("expected MessagePack, found none at byte " + std::to_string(position));
  }

  const std::string& refusal() const { return refusal_; }
  json take() { return std::move(root_); }

 private:
  bool refuse(std::string why) {
    if (refusal_.empty()) {
      refusal_ = std::move(why);
    }
    return false;
  }

  bool count() {
    return ++values_ <= kMaxValues || refuse("expected at most " + std::to_string(kMaxValues) + " values, found more");
  }

  json* place(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[name_] = std::move(value));
  }

  bool put(json value) {
    if (!count()) {
      return false;
    }
    place(std::move(value));
    return true;
  }

  // Only the last child of a list is ever open, so that growth of the list moves no open value.
  bool open(json value) {
    if (open_.size() == kMaxDepth) {
      return refuse("expected at most " + std::to_string(kMaxDepth) + " levels, found more");
    }
    if (!count()) {
      return false;
    }
    open_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  json root_;
  std::vector<json*> open_;
  std::string name_;
  std::size_t values_ = 0;
  std::string refusal_;
};

}  // namespace

Result<json> parse_message_pack(std::string_view bytes, const std::string& peer) {
  BoundedTree tree;
  try {
    if (!json::sax_parse(bytes.begin(), bytes.end(), &tree, json::input_format_t::msgpack)) {
      return bad_input(tree.refusal().empty() ? "expected MessagePack" : tree.refusal(), peer);
    }
  } catch (const json::exception&) {  // a length that no container holds
    return bad_input("expected MessagePack, found a length that is too large", peer);
  }
  return tree.take();
}

}  // namespace locus::remote
