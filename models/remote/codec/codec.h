// How values of the facade travel: as trees of MessagePack, numbers in long rows as bytes. One description of a type
// serves both directions and both ends: for a struct a list of its members (structs.h).
//
// Nothing that arrives is believed: kinds, counts and sizes are checked before memory is taken, and the first mistake
// is kept, with the place of the value ("map[0].rows.begin"); what follows it is not read.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::remote {

static_assert(std::endian::native == std::endian::little, "rows of numbers travel as they lie in memory");

using nlohmann::json;

class Writer;
class Reader;

// Objects that do not travel themselves: each end knows models, traces, tables and files of the other by a number. The
// server puts one into its list and sends what is to be known of it; the client makes of that what stands for it here,
// and sends its number.
class ObjectTable {
 public:
  virtual ~ObjectTable() = default;

  virtual json put(Writer& writer, const std::shared_ptr<const models::Model>& model) = 0;
  virtual json put(Writer& writer, const std::shared_ptr<const models::Trace>& trace) = 0;
  virtual json put(Writer& writer, const std::shared_ptr<const models::PositionTable>& table) = 0;
  virtual json put(Writer& writer, const std::filesystem::path& path) = 0;
  virtual void take(Reader& reader, const json& tree, std::shared_ptr<const models::Model>& model) = 0;
  virtual void take(Reader& reader, const json& tree, std::shared_ptr<const models::Trace>& trace) = 0;
  virtual void take(Reader& reader, const json& tree, std::shared_ptr<const models::PositionTable>& table) = 0;
  virtual void take(Reader& reader, const json& tree, std::filesystem::path& path) = 0;
  // A path that is written to: none of a file that is read.
  virtual void take_output(Reader& reader, const json& tree, std::filesystem::path& path) { take(reader, tree, path); }
  // Whether the other end knows the trace.
  virtual bool knows(const models::Trace& trace) const = 0;
};

class Writer {
 public:
  // Long rows go to `parts`; without it they stay in the tree.
  explicit Writer(ObjectTable& own, std::string* parts = nullptr) : objects(own), parts_(parts) {}

  json row(const void* data, std::size_t bytes);
  // The first one counts.
  void fail(Error why) { error_ = error_ ? error_ : std::optional(std::move(why)); }
  const std::optional<Error>& error() const { return error_; }

  ObjectTable& objects;

 private:
  std::string* parts_;
  std::optional<Error> error_;
};

class Reader {
 public:
  // `parts` outlives it; `most_bytes` of rows are read, and as many made of what was packed. `peer` is who sent it.
  Reader(ObjectTable& own, std::string_view parts, std::size_t most_bytes, std::string peer)
      : objects(own), parts_(parts), left_(most_bytes), peer_(std::move(peer)) {}

  // The bytes of a row, whole numbers of `size` bytes; empty after a mistake.
  std::string_view row(const json& tree, std::size_t size);
  // Whether memory for that many bytes may be taken.
  bool allows(std::int64_t bytes);

  void fail(const std::string& expected, const json& found);
  void fail(Error why) { error_ = error_ ? error_ : std::optional(std::move(why)); }
  bool ok() const { return !error_.has_value(); }
  const std::optional<Error>& error() const { return error_; }
  const std::string& peer() const { return peer_; }

  // While one lives, mistakes are of this part of the value.
  class At {
   public:
    At(Reader& reader, const std::string& part) : reader_(reader), before_(reader.place_.size()) {
      reader.place_ += part;
    }
    ~At() { reader_.place_.resize(before_); }
    At(const At&) = delete;
    At& operator=(const At&) = delete;

   private:
    Reader& reader_;
    std::size_t before_;
  };

  ObjectTable& objects;

 private:
  std::string_view parts_;
  std::size_t left_;
  std::string peer_;
  std::string place_;
  std::optional<Error> error_;
};

// `members(Structs(), value, visit)` calls visit(name, member) for each member, visit.bytes(name, text) for text that
// may be any bytes, visit.count(name, number, most) for how often something is done: at most `most` times.
struct Structs {};
template <class T, class S>
concept Is = std::same_as<std::remove_const_t<T>, S>;
struct NoVisit {
  void operator()(const char* /*name*/, auto& /*member*/) {}
  void bytes(const char* /*name*/, auto& /*member*/) {}
  void count(const char* /*name*/, auto& /*member*/, std::int64_t /*most*/) {}
};
template <class T>
concept Struct = requires(T& value, NoVisit visit) {
  members(Structs(), value, visit);
};

// How many values an enumeration has.
template <class T>
constexpr int kValues = 0;

template <class T>
concept Number =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int64_t> || std::same_as<T, std::uint8_t>;

template <class T>
struct Codec;

template <class T>
json written(Writer& writer, const T& value) {
  return Codec<T>::write(writer, value);
}

template <class T>
void read(Reader& reader, const json& tree, T& value) {
  if (reader.ok()) {
    Codec<T>::read(reader, tree, value);
  }
}

// A list of at most `most` elements; null after a mistake.
const json* list_in(Reader& reader, const json& tree, std::size_t least, std::size_t most);

json written_text(const std::string& text, bool bytes);
void read_text(Reader& reader, const json& tree, bool bytes, std::string& text);
void read_whole(Reader& reader, const json& tree, std::int64_t least, std::int64_t most, std::int64_t& value);

template <>
struct Codec<bool> {
  static json write(Writer& /*writer*/, bool value) { return value; }
  static void read(Reader& reader, const json& tree, bool& value);
};
template <>
struct Codec<double> {
  static json write(Writer& /*writer*/, double value) { return value; }
  static void read(Reader& reader, const json& tree, double& value);
};
template <>
struct Codec<float> {
  static json write(Writer& /*writer*/, float value) { return static_cast<double>(value); }
  static void read(Reader& reader, const json& tree, float& value);
};
template <std::integral T>
struct Codec<T> {
  static json write(Writer& /*writer*/, T value) { return value; }
  static void read(Reader& reader, const json& tree, T& value) {
    const bool whole = std::is_unsigned_v<T> ? tree.is_number_unsigned()
                                             : tree.is_number_integer() && (!tree.is_number_unsigned() ||
                                                                            tree.get<std::uint64_t>() <= INT64_MAX);
    if (!whole ||
        !std::in_range<T>(tree.get<std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>>())) {
      return reader.fail("a whole number", tree);
    }
    value = tree.get<T>();
  }
};
template <>
struct Codec<std::string> {
  static json write(Writer& /*writer*/, const std::string& value) { return written_text(value, false); }
  static void read(Reader& reader, const json& tree, std::string& value) { read_text(reader, tree, false, value); }
};
template <class T>
requires std::is_enum_v<T>
struct Codec<T> {
  static_assert(kValues<T> > 0);
  static json write(Writer& /*writer*/, T value) { return static_cast<int>(value); }
  static void read(Reader& reader, const json& tree, T& value) {
    std::int64_t number = 0;
    read_whole(reader, tree, 0, kValues<T> - 1, number);
    value = static_cast<T>(number);
  }
};

template <class T>
struct Codec<std::optional<T>> {
  static json write(Writer& writer, const std::optional<T>& value) {
    return value ? json::array({written(writer, *value)}) : json();
  }
  static void read(Reader& reader, const json& tree, std::optional<T>& value) {
    value.reset();
    if (!tree.is_null()) {
      if (const json* const list = list_in(reader, tree, 1, 1)) {
        remote::read(reader, (*list)[0], value.emplace());
      }
    }
  }
};

template <class T>
struct Codec<std::vector<T>> {
  static json write(Writer& writer, const std::vector<T>& list) {
    json tree = json::array();
    for (const T& each : list) {
      tree.push_back(written(writer, each));
    }
    return tree;
  }
  static void read(Reader& reader, const json& tree, std::vector<T>& list) {
    list.clear();
    if (const json* const all = list_in(reader, tree, 0, SIZE_MAX)) {
      for (std::size_t n = 0; n < all->size() && reader.ok(); ++n) {
        const Reader::At at(reader, "[" + std::to_string(n) + "]");
        remote::read(reader, (*all)[n], list.emplace_back());
      }
    }
  }
};
template <Number T>
struct Codec<std::vector<T>> {
  static json write(Writer& writer, const std::vector<T>& list) {
    return writer.row(list.data(), list.size() * sizeof(T));
  }
  static void read(Reader& reader, const json& tree, std::vector<T>& list) {
    const std::string_view bytes = reader.row(tree, sizeof(T));
    list.resize(bytes.size() / sizeof(T));
    if (!bytes.empty()) {
      std::memcpy(list.data(), bytes.data(), bytes.size());
    }
  }
};
template <Number T, std::size_t N>
struct Codec<std::vector<std::array<T, N>>> {
  using List = std::vector<std::array<T, N>>;
  static json write(Writer& writer, const List& list) { return writer.row(list.data(), list.size() * N * sizeof(T)); }
  static void read(Reader& reader, const json& tree, List& list) {
    const std::string_view bytes = reader.row(tree, N * sizeof(T));
    list.resize(bytes.size() / (N * sizeof(T)));
    if (!bytes.empty()) {
      std::memcpy(list.data(), bytes.data(), bytes.size());
    }
  }
};

template <class T>
struct Codec<std::set<T>> {
  static json write(Writer& writer, const std::set<T>& set) {
    return written(writer, std::vector<T>(set.begin(), set.end()));
  }
  static void read(Reader& reader, const json& tree, std::set<T>& set) {
    std::vector<T> list;
    remote::read(reader, tree, list);
    set = {list.begin(), list.end()};
  }
};
template <class A, class B>
struct Codec<std::pair<A, B>> {
  static json write(Writer& writer, const std::pair<A, B>& value) {
    return json::array({written(writer, value.first), written(writer, value.second)});
  }
  static void read(Reader& reader, const json& tree, std::pair<A, B>& value) {
    if (const json* const list = list_in(reader, tree, 2, 2)) {
      remote::read(reader, (*list)[0], value.first);
      remote::read(reader, (*list)[1], value.second);
    }
  }
};

template <Struct T>
struct Codec<T> {
  struct Put {
    Writer& writer;
    json& tree;
    template <class M>
    void operator()(const char* name, const M& member) {
      tree[name] = written(writer, member);
    }
    void count(const char* name, std::int64_t member, std::int64_t /*most*/) { tree[name] = member; }
    void bytes(const char* name, const std::string& text) { tree[name] = written_text(text, true); }
    void bytes(const char* name, const std::optional<std::string>& text) {
      tree[name] = text ? written_text(*text, true) : json();
    }
  };
  struct Take {
    Reader& reader;
    const json& tree;
    template <class M>
    void operator()(const char* name, M& member) {
      const Reader::At at(reader, std::string(".") + name);
      remote::read(reader, field(name), member);
    }
    void count(const char* name, std::int64_t& member, std::int64_t most) {
      const Reader::At at(reader, std::string(".") + name);
      if (reader.ok()) {
        read_whole(reader, field(name), std::numeric_limits<std::int64_t>::min(), most, member);
      }
    }
    void bytes(const char* name, std::string& text) {
      const Reader::At at(reader, std::string(".") + name);
      if (reader.ok()) {
        read_text(reader, field(name), true, text);
      }
    }
    void bytes(const char* name, std::optional<std::string>& text) {
      text.reset();
      if (!field(name).is_null()) {
        bytes(name, text.emplace());
      }
    }
    const json& field(const char* name) {
      static const json kNone;
      const auto found = tree.find(name);
      return found == tree.end() ? kNone : *found;
    }
  };
  static json write(Writer& writer, const T& value) {
    json tree = json::object();
    Put put{writer, tree};
    members(Structs(), value, put);
    return tree;
  }
  static void read(Reader& reader, const json& tree, T& value) {
    if (!tree.is_object()) {
      return reader.fail("an object", tree);
    }
    Take take{reader, tree};
    members(Structs(), value, take);
  }
};

template <class T>
concept Thing =
    std::same_as<T, std::shared_ptr<const models::Model>> || std::same_as<T, std::shared_ptr<const models::Trace>> ||
    std::same_as<T, std::shared_ptr<const models::PositionTable>> || std::same_as<T, std::filesystem::path>;
template <Thing T>
struct Codec<T> {
  static json write(Writer& writer, const T& thing) { return writer.objects.put(writer, thing); }
  static void read(Reader& reader, const json& tree, T& thing) { reader.objects.take(reader, tree, thing); }
};

}  // namespace locus::remote
