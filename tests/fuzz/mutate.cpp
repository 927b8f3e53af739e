#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

namespace locus::fuzz {

namespace {

constexpr std::array<std::string_view, 34> kValues{"-1",
                                                   "0",
                                                   "1",
                                                   "3",
                                                   "-3.5",
                                                   "0.1",
                                                   "1e308",
                                                   "1e999",
                                                   "-0.0",
                                                   "65536",
                                                   "16777217",
                                                   "2147483648",
                                                   "4611686018427387913",
                                                   "9223372036854775807",
                                                   "-9223372036854775808",
                                                   "18446744073709551616",
                                                   "true",
                                                   "false",
                                                   "null",
                                                   "\"\"",
                                                   "\"x\"",
                                                   "\"12\"",
                                                   "\"../../etc/passwd\"",
                                                   "\"a\\u0000b\"",
                                                   "\"\\ud800\"",
                                                   "\"line\\nline\\u001b[31m\"",
                                                   "[]",
                                                   "[0]",
                                                   "[1,2,3]",
                                                   "[\"a\",\"b\"]",
                                                   "[[1],[2]]",
                                                   "{}",
                                                   "{\"a\":1}",
                                                   "[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]"};

// The places of a JSON text's values and of its members' names, without regard to whether it is well-formed.
struct Places {
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::vector<Span> values;  // objects and lists too
  std::vector<Span> names;
  std::vector<Span> members;  // name, colon and value
};

class Scanner {
 public:
  explicit Scanner(const std::string& text) : text_(text) {}

  Places places() {
    value(0);
    return std::move(found_);
  }

 private:
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool is(char symbol) const { return at_ < text_.size() && text_[at_] == symbol; }
  bool take(char symbol) {
    skip_space();
    const bool taken = is(symbol);
    at_ += taken ? 1 : 0;
    return taken;
  }

  void value(int depth) {
    skip_space();
    const std::size_t begin = at_;
    if (is('{') || is('[')) {
      group(text_[at_] == '{', depth);
    } else if (is('"')) {
      quoted();
    } else {
      at_ = std::min(text_.find_first_of(",]}", at_), text_.size());
    }
    if (at_ > begin) {
      found_.values.push_back({begin, at_});
    }
  }

  void group(bool object, int depth) {
    const char end = object ? '}' : ']';
    ++at_;
    for (skip_space(); at_ < text_.size() && !is(end) && depth < 200; skip_space()) {
      const std::size_t begin = at_;
      if (object) {
        quoted();
        found_.names.push_back({begin, at_});
        take(':');
      }
      value(depth + 1);
      if (object) {
        found_.members.push_back({begin, at_});
      }
      if (!take(',') && !is(end)) {
        return;
      }
    }
    at_ += is(end) ? 1 : 0;
  }

  void quoted() {
    for (at_ = std::min(at_ + 1, text_.size()); at_ < text_.size() && text_[at_] != '"'; ++at_) {
      at_ += text_[at_] == '\\' ? 1 : 0;
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  const std::string& text_;
  std::size_t at_ = 0;
  Places found_;
};

std::string unescaped(std::string_view quoted) {
  std::string text;
  for (std::size_t n = 1; n + 1 < quoted.size(); ++n) {
    if (quoted[n] == '\\' && n + 2 < quoted.size()) {
      ++n;
    }
    text += quoted[n];
  }
  return text;
}

std::string escaped(const std::string& text) {
  std::string quoted = "\"";
  for (const char symbol : text) {
    quoted += symbol == '"' || symbol == '\\' ? std::string("\\") + symbol : std::string(1, symbol);
  }
  return quoted + "\"";
}

// The values of one tensor of a safetensors file: bytes [begin, end) of the file, `width` a number.
struct Values {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t width = 4;
};

constexpr std::size_t kLengthBytes = 8;

// Where the values of floating-point tensors lie, by the header that our own writers make.
std::vector<Values> values_of(std::string_view file) {
  std::uint64_t length = 0;
  if (file.size() < kLengthBytes) {
    return {};
  }
  std::memcpy(&length, file.data(), kLengthBytes);
  length = std::min<std::uint64_t>(length, file.size() - kLengthBytes);
  const std::string header(file.substr(kLengthBytes, length));
  constexpr std::string_view kOffsets = "\"data_offsets\":[";
  std::vector<Values> list;
  for (std::size_t at = header.find(kOffsets); at != std::string::npos; at = header.find(kOffsets, at + 1)) {
    const std::size_t open = header.rfind('{', at);
    const std::string entry = header.substr(open, header.find('}', at) - open);
    const bool wide = entry.find("\"F64\"") != std::string::npos;
    const bool half = entry.find("\"F16\"") != std::string::npos || entry.find("\"BF16\"") != std::string::npos;
    if (!wide && !half && entry.find("\"F32\"") == std::string::npos) {
      continue;
    }
    char* comma = nullptr;
    const std::size_t first = std::strtoull(header.c_str() + at + kOffsets.size(), &comma, 10);
    const std::size_t last = std::strtoull(comma + 1, nullptr, 10);
    const std::size_t data = kLengthBytes + length;
    if (first < last && data + last <= file.size()) {
      list.push_back({data + first, data + last, wide ? 8U : half ? 2U : 4U});
    }
  }
  return list;
}

// One number's bytes. bfloat16's are the upper half of float32's; as binary16 they are other numbers, most of them
// large.
std::string number_bytes(double value, std::size_t width) {
  std::string bytes(width, '\0');
  if (width == sizeof value) {
    std::memcpy(bytes.data(), &value, width);
    return bytes;
  }
  const auto narrow = static_cast<float>(value);
  std::array<char, sizeof narrow> all{};
  std::memcpy(all.data(), &narrow, sizeof narrow);
  return {all.data() + sizeof narrow - width, width};
}

}  // namespace

std::string Mutator::damaged(std::string_view file, Form form) {
  if (form == Form::kNumbers) {
    return numbers(std::string(file));
  }
  if (form == Form::kBytes || random_() % 4 == 0) {
    return bytes(std::string(file));
  }
  return form == Form::kJson ? json(std::string(file)) : safetensors(file);
}

std::string Mutator::bytes(std::string file) {
  const std::size_t at = below(file.size());
  const std::size_t count = std::min(file.size() - at, 1 + below(64));
  switch (random_() % 7) {
    case 0:
      return file.substr(0, at);
    case 1:
      return file.erase(at, count);
    case 2:
      return file.insert(at, file.substr(below(file.size()), count));
    case 3:
      return file.replace(at, count, count, static_cast<char>(random_() % 2 == 0 ? 0xFF : 0));
    case 4:
      return file.insert(at, std::string(1 + below(9), static_cast<char>(static_cast<std::uint8_t>(random_()))));
    default:
      for (std::size_t n = 1 + below(8); n > 0 && !file.empty(); --n) {
        // Most sizes, types and lengths stand at the beginning of a file or at its end.
        const std::size_t place = below(4) == 0   ? file.size() - 1 - below(std::min<std::size_t>(file.size(), 200))
                                  : below(2) == 0 ? below(std::min<std::size_t>(file.size(), 400))
                                                  : below(file.size());
        file[place] = static_cast<char>(static_cast<std::uint8_t>(random_()));
      }
      return file;
  }
}

std::string Mutator::json(const std::string& text, int depth) {
  const Places places = Scanner(text).places();
  if (places.values.empty()) {
    return bytes(text);
  }
  std::string result = text;
  const auto any = [&](const std::vector<Places::Span>& spans) { return spans[below(spans.size())]; };
  const std::uint64_t kind = random_() % 10;
  if (kind < 3 && !places.members.empty()) {
    const auto [begin, end] = any(places.members);
    const std::string member = text.substr(begin, end - begin);
    switch (kind) {
      case 0:  // left out, with the comma behind it or before it
        result.erase(begin, end - begin + (end < text.size() && text[end] == ',' ? 1 : 0));
        return result;
      case 1:
        return result.insert(begin, member + ",");
      default:
        const auto name = any(places.names);
        return result.replace(name.begin, name.end - name.begin, any(places.names).begin == 0 ? "\"\"" : "\"other\"");
    }
  }
  const auto [begin, end] = any(places.values);
  const std::string value = text.substr(begin, end - begin);
  const bool nested = value.size() > 4 && value[0] == '"' && (value[1] == '{' || value[1] == '[') && depth < 2;
  if (nested && random_() % 4 != 0) {
    return result.replace(begin, end - begin, escaped(json(unescaped(value), depth + 1)));
  }
  const bool borrowed = random_() % 5 == 0;  // another value of the same file
  const auto other = any(places.values);
  return result.replace(begin, end - begin,
                        borrowed ? text.substr(other.begin, std::min<std::size_t>(other.end - other.begin, 1 << 16))
                                 : std::string(kValues[below(kValues.size())]));
}

std::string Mutator::numbers(std::string file) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::array kNumbers{std::numeric_limits<double>::quiet_NaN(),
                                kInfinity,
                                -kInfinity,
                                3e38,
                                -3e38,
                                1e30,
                                -1e20,
                                1e10,
                                -1e5,
                                1e-40,
                                -0.0};
  const std::vector<Values> tensors = values_of(file);
  if (tensors.empty()) {
    return bytes(std::move(file));
  }
  for (std::size_t n = 1 + below(3); n > 0; --n) {
    const Values& values = tensors[below(tensors.size())];
    const std::string number = number_bytes(kNumbers[below(kNumbers.size())], values.width);
    const std::size_t all = (values.end - values.begin) / values.width;
    const std::size_t most = random_() % 4 == 0 ? all : random_() % 2 == 0 ? 1 : std::min<std::size_t>(all, 64);
    const std::size_t count = most == all ? all : 1 + below(most);
    const std::size_t first = below(all - count + 1);
    for (std::size_t k = first; k < first + count; ++k) {
      file.replace(values.begin + k * values.width, values.width, number);
    }
  }
  return file;
}

std::string Mutator::safetensors(std::string_view file) {
  std::uint64_t length = 0;
  if (file.size() < kLengthBytes) {
    return std::string(file);
  }
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > file.size() - kLengthBytes) {
    return bytes(std::string(file));
  }
  std::string header(file.substr(kLengthBytes, length));
  std::string data(file.substr(kLengthBytes + length));
  switch (random_() % 4) {
    case 0:
      header = json(header);
      break;
    case 1:
      header = inner_json(header);
      break;
    case 2:
      header = other_shape(std::move(header));
      break;
    default:  // exponents of all ones
      for (std::size_t n = 1 + below(20); n > 0 && data.size() > 4; --n) {
        data.replace(below(data.size() / 4) * 4, 4, random_() % 2 == 0 ? "\xFF\xFF\xFF\x7F" : "\x80\xFF\x7F\x7F");
      }
  }
  std::string result(kLengthBytes, '\0');
  const std::uint64_t now = header.size();
  std::memcpy(result.data(), &now, kLengthBytes);
  return result + header + data;
}

std::string Mutator::inner_json(const std::string& header) {
  std::vector<Places::Span> texts;
  for (const auto& [begin, end] : Scanner(header).places().values) {
    if (end - begin > 2 && header[begin] == '"' && header.compare(begin, 4, "\"F32") != 0) {
      texts.push_back({begin, end});
    }
  }
  if (texts.empty()) {
    return json(header);
  }
  const auto [begin, end] = texts[below(texts.size())];
  const std::string text = unescaped(std::string_view(header).substr(begin, end - begin));
  return std::string(header).replace(begin, end - begin, escaped(json(text, 1)));
}

std::string Mutator::other_shape(std::string header) {
  const auto any = [&](std::string_view what) {
    std::vector<std::size_t> places;
    for (std::size_t at = header.find(what); at != std::string::npos; at = header.find(what, at + 1)) {
      places.push_back(at);
    }
    return places.empty() ? std::string::npos : places[below(places.size())];
  };
  constexpr std::string_view kShape = "\"shape\":[";
  const std::size_t shape = any(kShape);
  if (shape == std::string::npos || random_() % 4 == 0) {
    const std::size_t dtype = any("\"F32\"");
    return dtype == std::string::npos ? json(header) : header.replace(dtype, 5, "\"I32\"");
  }
  const std::size_t begin = shape + kShape.size();
  const std::size_t end = std::min(header.find(']', begin), header.size());
  std::vector<std::string> sizes;
  for (std::size_t at = begin; at < end;) {
    const std::size_t comma = std::min(header.find(',', at), end);
    sizes.push_back(header.substr(at, comma - at));
    at = comma + 1;
  }
  std::shuffle(sizes.begin(), sizes.end(), random_);
  if (random_() % 3 == 0) {
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(below(sizes.size() + 1)), random_() % 2 == 0 ? "1" : "0");
  }
  std::string list;
  for (const std::string& size : sizes) {
    list += (list.empty() ? "" : ",") + size;
  }
  return header.replace(begin, end - begin, list);
}

}  // namespace locus::fuzz
