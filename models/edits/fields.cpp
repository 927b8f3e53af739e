#include "models/edits/fields.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/listed.h"
#include "core/base/numbers.h"

namespace locus::models {

namespace {

constexpr std::array kPositionsFields{EditField{"tokens", &Edit::tokens}, EditField{"start", &Edit::start, true},
                                      EditField{"step", &Edit::step, true, true}};
constexpr std::array kShiftFields{EditField{"tokens", &Edit::tokens}, EditField{"by", &Edit::by, true}};
constexpr std::array kHeadFields{EditField{"layer", &Edit::layer}, EditField{"head", &Edit::head},
                                 EditField{"to", &Edit::to}};
constexpr std::array kEdgeFields{EditField{"layer", &Edit::layer}, EditField{"head", &Edit::head},
                                 EditField{"queries", &Edit::queries, true}, EditField{"keys", &Edit::keys, true}};
constexpr std::array kScaleFields{EditField{"layer", &Edit::layer}, EditField{"head", &Edit::head},
                                  EditField{"by", &Edit::by, true}};
constexpr std::array kPairsFields{EditField{"layer", &Edit::layer}, EditField{"head", &Edit::head},
                                  EditField{"pairs", &Edit::pairs, false, true, "wavelengths"},
                                  EditField{"wavelengths", &Edit::formula, true, true, "pairs"},
                                  EditField{"do", &Edit::action}};
constexpr std::array kFormulaFields{EditField{"layer", &Edit::layer}, EditField{"head", &Edit::head},
                                    EditField{"formula", &Edit::formula}};

constexpr std::array kGatesFields{EditField{"layer", &Edit::layer}, EditField{"head", &Edit::head},
                                  EditField{"tokens", &Edit::tokens, true, true}, EditField{"to", &Edit::formula}};
constexpr std::array kShiftImageFields{EditField{"image", &Edit::image}, EditField{"by", &Edit::along, true}};
constexpr std::array kMaskImageFields{EditField{"image", &Edit::image}, EditField{"rows", &Edit::rows},
                                      EditField{"columns", &Edit::columns}};

constexpr std::array kDecayFields{EditField{"layer", &Edit::layer}, EditField{"head", &Edit::head},
                                  EditField{"to", &Edit::decay}};
constexpr std::array kUnwriteFields{EditField{"layer", &Edit::layer}, EditField{"head", &Edit::head},
                                    EditField{"tokens", &Edit::tokens}};
constexpr std::array kResetFields{EditField{"layer", &Edit::layer}, EditField{"head", &Edit::head},
                                  EditField{"at", &Edit::at, true}};
constexpr std::array kMixerZeroFields{EditField{"layer", &Edit::layer}, EditField{"head", &Edit::head}};

constexpr std::array kDesignFields{EditField{"design", &Edit::formula}};

constexpr std::array<EditForm, 20> kForms{{{EditKind::kPositions, "positions", kPositionsFields},
                                           {EditKind::kShift, "shift", kShiftFields},
                                           {EditKind::kHead, "head", kHeadFields},
                                           {EditKind::kEdge, "edge", kEdgeFields},
                                           {EditKind::kScale, "scale", kScaleFields},
                                           {EditKind::kPairs, "pairs", kPairsFields},
                                           {EditKind::kBias, "bias", kFormulaFields},
                                           {EditKind::kAngles, "angles", kFormulaFields},
                                           {EditKind::kFlat, "positions flat", {}},
                                           {EditKind::kShiftImage, "shift image", kShiftImageFields},
                                           {EditKind::kMaskImage, "mask image", kMaskImageFields},
                                           {EditKind::kDecay, "decay", kDecayFields},
                                           {EditKind::kUnwrite, "unwrite", kUnwriteFields},
                                           {EditKind::kReset, "reset", kResetFields},
                                           {EditKind::kMixerZero, "mixer zero", kMixerZeroFields},
                                           {EditKind::kGates, "gates", kGatesFields},
                                           {EditKind::kPlace, "place", kGatesFields},
                                           {EditKind::kBeta, "beta", kGatesFields},
                                           {EditKind::kDirection, "direction", kGatesFields},
                                           {EditKind::kDesign, "positions as", kDesignFields}}};

constexpr double kMaxPlace = 1e9;  // a position whose angles still mean something

// "mean", or a number from 0 to `most`.
std::optional<GateValue> parse_up_to(std::string_view text, double most) {
  if (text == "mean") {
    return GateValue{};
  }
  const std::optional<double> value = parse_number<double>(text);
  return value && *value >= 0 && *value <= most ? std::optional(GateValue{value}) : std::nullopt;
}

}  // namespace

const EditForm& form_of(EditKind kind) {
  return kForms[static_cast<std::size_t>(kind)];
}

const EditForm* find_form(std::string_view name) {
  const auto* const found =
      std::find_if(kForms.begin(), kForms.end(), [&](const auto& form) { return form.name == name; });
  return found == kForms.end() ? nullptr : &*found;
}

bool has_value(const Edit& edit, const EditField& field) {
  if (const auto* const range = std::get_if<Range Edit::*>(&field.member)) {
    return !(edit.**range).empty();
  }
  const auto* const text = std::get_if<std::string Edit::*>(&field.member);
  return text == nullptr || !(edit.**text).empty();
}

std::optional<Wavelengths> parse_wavelengths(std::string_view text) {
  constexpr std::string_view kTo = "..";
  const std::size_t to = text.find(kTo);
  if (to == std::string_view::npos || text == kTo) {
    return std::nullopt;
  }
  const std::string_view low = text.substr(0, to);
  const std::string_view high = text.substr(to + kTo.size());
  const auto from = low.empty() ? std::optional(0.0) : parse_number<double>(low);
  const auto until = high.empty() ? std::optional(std::numeric_limits<double>::infinity()) : parse_number<double>(high);
  const bool range =
      from && until && std::isfinite(*from) && *from >= 0 && *from <= *until && (high.empty() || std::isfinite(*until));
  return range ? std::optional(Wavelengths{*from, *until}) : std::nullopt;
}

std::optional<GateValue> parse_gate(std::string_view text) {
  return parse_up_to(text, 1);
}

std::optional<GateValue> parse_beta(std::string_view text) {
  return parse_up_to(text, 2);
}

std::optional<PlaceValue> parse_place(std::string_view text) {
  using Kind = PlaceValue::Kind;
  const std::size_t space = text.find(' ');
  const std::size_t begin = text.find_first_not_of(' ', space);
  const bool one = space == std::string_view::npos || begin == std::string_view::npos;
  const std::string_view word = text.substr(0, space);
  if (one) {
    for (const auto& [name, kind] :
         {std::pair("index", Kind::kIndex), std::pair("round", Kind::kRound), std::pair("sorted", Kind::kSorted)}) {
      if (word == name) {
        return PlaceValue{kind};
      }
    }
  } else if (word != "by" && word != "mix") {
    return std::nullopt;
  }
  const std::optional<double> number = parse_number<double>(one ? word : text.substr(begin));
  const Kind kind = one ? Kind::kAt : word == "by" ? Kind::kBy : Kind::kMix;
  const bool fits = number && std::abs(*number) <= kMaxPlace && (kind != Kind::kMix || (*number >= 0 && *number <= 1));
  return fits ? std::optional(PlaceValue{kind, *number}) : std::nullopt;
}

std::string form_names() {
  return listed(kForms, &EditForm::name);
}

}  // namespace locus::models
