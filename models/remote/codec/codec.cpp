#include "models/remote/codec/codec.h"

#include "core/base/shown.h"
#include "models/formats/json/json.h"

namespace locus::remote {

namespace {

constexpr std::size_t kLongRow = std::size_t{1} << 16;  // bytes; shorter ones are not worth a part

}  // namespace

json Writer::row(const void* data, std::size_t bytes) {
  if (parts_ != nullptr && bytes >= kLongRow) {
    json place = {{"at", parts_->size()}, {"bytes", bytes}};
    parts_->append(static_cast<const char*>(data), bytes);
    return place;
  }
  const auto* const first = static_cast<const std::uint8_t*>(data);
  return json::binary(bytes == 0 ? std::vector<std::uint8_t>() : std::vector<std::uint8_t>(first, first + bytes));
}

std::string_view Reader::row(const json& tree, std::size_t size) {
  std::string_view bytes;
  if (tree.is_binary()) {
    const auto& binary = tree.get_binary();
    bytes = {reinterpret_cast<const char*>(binary.data()), binary.size()};
  } else if (tree.is_object() && tree.contains("at") && tree.contains("bytes")) {
    const auto all = static_cast<std::int64_t>(parts_.size());
    const auto at = whole_number(tree["at"], 0, all);
    const auto length = whole_number(tree["bytes"], 0, all - at.value_or(0));
    if (!at || !length) {
      fail("bytes within the " + std::to_string(all) + " that arrived", tree);
      return {};
    }
    bytes = parts_.substr(static_cast<std::size_t>(*at), static_cast<std::size_t>(*length));
  } else {
    fail("a row of numbers", tree);
    return {};
  }
  if (bytes.size() % size != 0) {
    fail("whole numbers of " + std::to_string(size) + " bytes", tree);
    return {};
  }
  return allows(static_cast<std::int64_t>(bytes.size())) ? bytes : std::string_view();
}

bool Reader::allows(std::int64_t bytes) {
  if (bytes < 0 || static_cast<std::uint64_t>(bytes) > left_) {
    fail(bad_input("expected fewer numbers, found " + std::to_string(bytes) + " bytes more", peer_ + ": " + place_));
    return false;
  }
  left_ -= static_cast<std::size_t>(bytes);
  return true;
}

void Reader::fail(const std::string& expected, const json& found) {
  fail(bad_input("expected " + expected + ", found " + shown_value(found), peer_ + ": " + place_));
}

const json* list_in(Reader& reader, const json& tree, std::size_t least, std::size_t most) {
  if (!tree.is_array() || tree.size() < least || tree.size() > most) {
    reader.fail(least == most ? "a list of " + std::to_string(least) : std::string("a list"), tree);
    return nullptr;
  }
  return &tree;
}

json written_text(const std::string& text, bool bytes) {
  if (is_utf8(text)) {
    return text;
  }
  return bytes ? json(json::binary(std::vector<std::uint8_t>(text.begin(), text.end()))) : json(printable(text));
}

void read_text(Reader& reader, const json& tree, bool bytes, std::string& text) {
  if (bytes && tree.is_binary()) {
    const auto& binary = tree.get_binary();
    text.assign(binary.begin(), binary.end());
  } else if (tree.is_string()) {
    text = tree.get_ref<const std::string&>();
  } else {
    reader.fail("a text", tree);
  }
}

void read_whole(Reader& reader, const json& tree, std::int64_t least, std::int64_t most, std::int64_t& value) {
  if (const auto whole = whole_number(tree, least, most)) {
    value = *whole;
  } else {
    reader.fail("a whole number of " + std::to_string(least) + " to " + std::to_string(most), tree);
  }
}

void Codec<bool>::read(Reader& reader, const json& tree, bool& value) {
  if (!tree.is_boolean()) {
    return reader.fail("true or false", tree);
  }
  value = tree.get<bool>();
}

void Codec<double>::read(Reader& reader, const json& tree, double& value) {
  if (!tree.is_number()) {
    return reader.fail("a number", tree);
  }
  value = tree.get<double>();
}

void Codec<float>::read(Reader& reader, const json& tree, float& value) {
  double number = 0;
  Codec<double>::read(reader, tree, number);
  value = static_cast<float>(number);
}

}  // namespace locus::remote
