// Options of encodings as one table: read from Settings and checked, written, and described by the same rows.
// Errors: kBadInput naming the option, what is expected and what was found.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/listed.h"
#include "core/base/result.h"
#include "core/base/settings.h"
#include "core/base/shown.h"
#include "core/base/words.h"
#include "core/position/shared/description.h"
#include "core/position/shared/rotation.h"

namespace locus::position {

inline Error wrong_option(std::string_view name, const std::string& expected, const SettingValue& found) {
  return bad_input("option " + std::string(name) + ": expected " + expected + ", found " + shown(to_text(found)));
}

// Values that an option may hold: anything of its member's kind,
struct AnyValue {
  Result<bool> read(const Settings& settings, const char* name, bool otherwise) const {
    return settings.boolean(name, otherwise);
  }
  Result<std::int64_t> read(const Settings& settings, const char* name, std::int64_t otherwise) const {
    return settings.integer(name, otherwise);
  }
  Result<double> read(const Settings& settings, const char* name, double otherwise) const {
    return settings.number(name, otherwise);
  }
  Result<std::vector<double>> read(const Settings& settings, const char* name,
                                   const std::vector<double>& /*none*/) const {
    return settings.numbers(name);
  }
  template <class Value>
  SettingValue written(const Value& value) const {
    return value;
  }
};

// a whole number of `low` to `high`,
struct Whole {
  std::int64_t low;
  std::int64_t high;

  Result<std::int64_t> read(const Settings& settings, const char* name, std::int64_t otherwise) const {
    LOCUS_TRY(const std::int64_t value, settings.integer(name, otherwise));
    const bool fits = value >= low && value <= high;
    return fits ? Result(value) : wrong_option(name, std::to_string(low) + " to " + std::to_string(high), value);
  }
  SettingValue written(std::int64_t value) const { return value; }
};

// a finite number above `low`, or from `low` on,
struct Above {
  double low;
  bool included = false;

  Result<double> read(const Settings& settings, const char* name, double otherwise) const {
    LOCUS_TRY(const double value, settings.number(name, otherwise));
    const bool fits = std::isfinite(value) && (value > low || (included && value == low));
    const std::string limit = to_text(SettingValue(low));
    return fits ? Result(value)
                : wrong_option(name, included ? "a number from " + limit + " on" : "a number above " + limit, value);
  }
  SettingValue written(double value) const { return value; }
};

// one of a few words that stand for values, or are the values.
template <class Value, std::size_t n>
struct Words {
  WordTable<Value, n> words;

  Result<Value> read(const Settings& settings, const char* name, const Value& otherwise) const {
    LOCUS_TRY(const std::string found, settings.text(name, word_of(words, otherwise)));
    const auto value = find_word(words, found);
    std::vector<std::string_view> known;
    for (const auto& [word, each] : words) {
      known.push_back(word);
    }
    return value ? Result<Value>(*value) : wrong_option(name, listed_choices(known), found);
  }
  SettingValue written(const Value& value) const { return std::string(word_of(words, value)); }
};
template <class Value, std::size_t n>
Words(WordTable<Value, n>) -> Words<Value, n>;

struct OneOf {
  std::vector<std::string_view> known;

  Result<std::string> read(const Settings& settings, const char* name, const std::string& otherwise) const {
    LOCUS_TRY(const std::string found, settings.text(name, otherwise));
    const bool is_known = std::find(known.begin(), known.end(), found) != known.end();
    return is_known ? Result(found) : wrong_option(name, listed_choices(known), found);
  }
  SettingValue written(const std::string& value) const { return value; }
};

// The words of the option `layout`. RoPE has a third one, "swapped" (core/position/rope.cpp).
inline constexpr Words kLayoutWords{
    WordTable<PairLayout, 2>{{{"half", PairLayout::kHalf}, {"interleaved", PairLayout::kInterleaved}}}};

// An option that `Options` keeps in `member`. Its default is that of a new `Options`; `shown` is what a Description
// says where the model decides it.
template <class Options>
struct OptionRow {
  template <class Value, class Kind = AnyValue>
  OptionRow(const char* name, Value Options::*member, const char* meaning, Kind kind = {}, const char* shown = nullptr)
      : described{name, shown != nullptr ? shown : to_text(kind.written(Options{}.*member)), meaning},
        read([=](const Settings& settings, Options& options) -> Status {
          LOCUS_TRY(options.*member, kind.read(settings, name, options.*member));
          return {};
        }),
        written([=](const Options& options) { return kind.written(options.*member); }) {}

  OptionDescription described;
  std::function<Status(const Settings&, Options&)> read;
  std::function<SettingValue(const Options&)> written;
};

template <class Options>
class OptionTable {
 public:
  OptionTable(std::initializer_list<OptionRow<Options>> rows) : rows_(rows) {}

  // The options that `settings` has, the others as `options` has them.
  Result<Options> read(const Settings& settings, Options options = {}) const {
    for (const OptionRow<Options>& row : rows_) {
      LOCUS_CHECK(row.read(settings, options));
    }
    return options;
  }
  // All of them, beside those of `settings`.
  Settings written(const Options& options, Settings settings = {}) const {
    for (const OptionRow<Options>& row : rows_) {
      settings.set(row.described.name, row.written(options));
    }
    return settings;
  }
  // Their rows for a Description, before `more`.
  std::vector<OptionDescription> described(const std::vector<OptionDescription>& more = {}) const {
    std::vector<OptionDescription> list;
    for (const OptionRow<Options>& row : rows_) {
      list.push_back(row.described);
    }
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }

 private:
  std::vector<OptionRow<Options>> rows_;
};

// Options that the table `kTable` of `Self` says all of; check() of `Self` may refuse what no row can.
template <class Self>
struct TableOptions {
  // Errors: kBadInput naming option, expected and found.
  static Result<Self> from(const Settings& settings) {
    LOCUS_TRY(const Self options, Self::kTable.read(settings));
    LOCUS_CHECK(options.check());
    return options;
  }
  Settings settings() const { return Self::kTable.written(static_cast<const Self&>(*this)); }
  Status check() const { return {}; }
};

}  // namespace locus::position
