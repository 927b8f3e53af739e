// The kinds of edits and their fields, in the order of the short form; shared by reading, writing and checking.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/words.h"
#include "models/api/edits.h"

namespace locus::models {

struct EditField {
  std::string_view name;
  std::variant<Range Edit::*, double Edit::*, Places Edit::*, HeadTo Edit::*, PairsDo Edit::*, DecayTo Edit::*,
               std::string Edit::*, std::int64_t Edit::*, std::vector<double> Edit::*>
      member;
  bool named = false;            // the short form writes its name before it
  bool optional = false;         // absent: what Edit has
  std::string_view unless = {};  // one of the two fields is there: this one or that
};

// Whether an edit has a value of this field, of those that stand for one another.
bool has_value(const Edit& edit, const EditField& field);

struct EditForm {
  EditKind kind;
  std::string_view name;
  std::span<const EditField> fields;
};

// The form of a kind; the table of all forms is in fields.cpp.
const EditForm& form_of(EditKind kind);
// Null for an unknown name; form_names() lists the known ones, separated by commas.
const EditForm* find_form(std::string_view name);
std::string form_names();

// The wavelengths of pairs, in steps of position: "8..40", "8.." or "..40", both ends included. Nothing where `text` is no
// such range.
struct Wavelengths {
  double low = 0;
  double high = 0;
};
std::optional<Wavelengths> parse_wavelengths(std::string_view text);

// What a gate becomes: a number from 0 to 1, or "mean" (no value). Nothing where `text` is neither.
struct GateValue {
  std::optional<double> value;
};
std::optional<GateValue> parse_gate(std::string_view text);
// The same of a β, a number from 0 to 2.
std::optional<GateValue> parse_beta(std::string_view text);

// What a direction is set to: there is one form.
inline constexpr std::string_view kMeanDirection = "mean";

// Where tokens are put: "2.5", "by -3", "index", "mix 0.3" (from 0 to 1), "round", "sorted". Nothing where `text` is none.
struct PlaceValue {
  enum class Kind { kAt, kBy, kIndex, kMix, kRound, kSorted };
  Kind kind = Kind::kAt;
  double number = 0;
};
std::optional<PlaceValue> parse_place(std::string_view text);
inline constexpr std::string_view kPlaceForms =
    "a number, by a number, mix and a number from 0 to 1, index, round or sorted";

inline constexpr WordTable<HeadTo, 7> kHeadWords{{{"zero", HeadTo::kZero},
                                                  {"mean", HeadTo::kMean},
                                                  {"uniform", HeadTo::kUniform},
                                                  {"first", HeadTo::kFirst},
                                                  {"previous", HeadTo::kPrevious},
                                                  {"self", HeadTo::kSelf},
                                                  {"content", HeadTo::kContent}}};
inline constexpr WordTable<PairsDo, 2> kPairsWords{{{"still", PairsDo::kStill}, {"drop", PairsDo::kDrop}}};
inline constexpr WordTable<DecayTo, 2> kDecayWords{{{"keep", DecayTo::kKeep}, {"mean", DecayTo::kMean}}};

}  // namespace locus::models
