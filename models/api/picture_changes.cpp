#include "models/api/picture_changes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/listed.h"
#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"

namespace locus::models {

namespace {

constexpr double kMaxLength = 99'999;  // of a shift, a side, … in pixels
constexpr double kMaxPatches = 10'000;
constexpr double kMaxPercent = 1000;
constexpr double kMaxDegrees = 3600;
constexpr double kMaxSeed = 9'007'199'254'740'992;  // whole numbers are exact up to it

constexpr std::array<std::string_view, 2> kMirrors{"left-right", "up-down"};
constexpr std::array<std::string_view, 5> kBorders{"edge", "black", "grey", "reflect", "wrap"};

std::vector<PictureStepForm> all_steps() {
  const PictureStepNumber left{"left", true, 0, kMaxLength, 0};
  const PictureStepNumber top{"top", true, 0, kMaxLength, 0};
  const PictureStepNumber width{"width", true, 0, kMaxLength, 16};
  const PictureStepNumber height{"height", true, 0, kMaxLength, 16};
  return {
      {PictureStep::kShift,
       "shift",
       {{"x", true, -kMaxLength, kMaxLength, 0}, {"y", true, -kMaxLength, kMaxLength, 0}}},
      {PictureStep::kRotate, "rotate", {{"degrees", false, -kMaxDegrees, kMaxDegrees, 0}}},
      {PictureStep::kScale, "scale", {{"factor", false, 0.05, 20, 1}}},
      {PictureStep::kMirror, "mirror", {{"axis", false, 0, 1, 0, true, true, kMirrors}}},
      {PictureStep::kCrop, "crop", {left, top, width, height}},
      {PictureStep::kOcclude, "occlude", {left, top, width, height, {"level", false, 0, 255, 128, true, true}}},
      {PictureStep::kBlur, "blur", {{"deviation", true, 0, 200, 0}}},
      {PictureStep::kNoise, "noise", {{"deviation", false, 0, 255, 16}, {"seed", false, 0, kMaxSeed, 1, true, true}}},
      {PictureStep::kBrightness, "brightness", {{"factor", false, 0, 10, 1}}},
      {PictureStep::kBorder, "border", {{"kind", false, 0, 4, 0, false, true, kBorders}}}};
}

std::string bounds_text(const PictureStepNumber& number) {
  if (!number.words.empty()) {
    return listed(
        number.words, [](std::string_view word) { return std::string(word); }, ", ");
  }
  return std::string(number.whole ? "a whole number" : "a number") + " from " + number_text(number.low) + " to " +
         number_text(number.high) + (number.length ? " pixels, or with p or % behind it" : "");
}

std::string form_text(const PictureStepForm& form) {
  std::string text(form.name);
  for (const PictureStepNumber& number : form.numbers) {
    const std::string name(number.name);
    text += number.optional ? " [" + name + "]" : " " + name;
  }
  return text;
}

std::optional<PictureNumber> parse_one(std::string_view word, const PictureStepNumber& number) {
  if (!number.words.empty()) {
    const auto found = std::ranges::find(number.words, word);
    return found == number.words.end()
               ? std::nullopt
               : std::optional(PictureNumber{static_cast<double>(found - number.words.begin())});
  }
  PictureNumber parsed;
  if (number.length && !word.empty() && (word.back() == 'p' || word.back() == '%')) {
    parsed.unit = word.back() == 'p' ? LengthUnit::kPatches : LengthUnit::kPercent;
    word.remove_suffix(1);
  }
  const auto value = parse_number<double>(word);
  if (!value || !std::isfinite(*value) || *value < lowest_of(number, parsed.unit) ||
      *value > highest_of(number, parsed.unit) || (number.whole && *value != std::floor(*value))) {
    return std::nullopt;
  }
  parsed.value = *value == 0 ? 0 : *value;  // never −0
  return parsed;
}

Result<PictureChange> parse_step(std::string_view text) {
  std::vector<std::string_view> words = split_words(text, " \t");
  if (words.empty()) {
    return usage("picture: expected a step between two semicolons, found none");
  }
  const auto& forms = picture_steps();
  const auto form = std::ranges::find(forms, words.front(), &PictureStepForm::name);
  if (form == forms.end()) {
    return usage("picture: expected " +
                 listed(
                     forms, [](const PictureStepForm& each) { return std::string(each.name); }, ", ") +
                 ", found " + shown(words.front()));
  }
  words.erase(words.begin());
  PictureChange change{form->step, {}};
  for (std::size_t n = 0; n < form->numbers.size(); ++n) {
    const PictureStepNumber& number = form->numbers[n];
    if (n >= words.size()) {
      if (!number.optional) {
        return usage("picture: expected " + form_text(*form) + ", found " + std::to_string(words.size()) +
                     (words.size() == 1 ? " number" : " numbers"));
      }
      change.numbers[n].value = number.initial;
      continue;
    }
    const auto parsed = parse_one(words[n], number);
    if (!parsed) {
      return usage("picture: " + std::string(form->name) + " " + std::string(number.name) + ": expected " +
                   bounds_text(number) + ", found " + shown(words[n]));
    }
    change.numbers[n] = *parsed;
  }
  if (words.size() > form->numbers.size()) {
    return usage("picture: expected " + form_text(*form) + ", found " + shown(words[form->numbers.size()]) +
                 " behind it");
  }
  return change;
}

}  // namespace

const std::vector<PictureStepForm>& picture_steps() {
  static const std::vector<PictureStepForm> kSteps = all_steps();
  return kSteps;
}

double highest_of(const PictureStepNumber& number, LengthUnit unit) {
  return unit == LengthUnit::kPixels    ? number.high
         : unit == LengthUnit::kPatches ? std::min(number.high, kMaxPatches)
                                        : std::min(number.high, kMaxPercent);
}

double lowest_of(const PictureStepNumber& number, LengthUnit unit) {
  return std::max(number.low, -highest_of(number, unit));
}

Result<PictureChanges> parse_picture_changes(std::string_view text) {
  PictureChanges changes;
  if (text.find_first_not_of(" \t") == std::string_view::npos) {
    return changes;
  }
  for (const std::string_view part : split(text, ";")) {
    if (changes.size() == kMaxPictureSteps) {
      return usage("picture: expected at most " + std::to_string(kMaxPictureSteps) + " steps, found more");
    }
    LOCUS_TRY(const PictureChange change, parse_step(part));
    changes.push_back(change);
  }
  return changes;
}

std::string to_text(const PictureChange& change) {
  const PictureStepForm& form = picture_steps()[static_cast<std::size_t>(change.step)];
  std::string text(form.name);
  std::size_t said = form.numbers.size();
  while (said > 0 && form.numbers[said - 1].optional &&
         change.numbers[said - 1] == PictureNumber{form.numbers[said - 1].initial}) {
    --said;
  }
  for (std::size_t n = 0; n < said; ++n) {
    const PictureNumber& number = change.numbers[n];
    const auto& words = form.numbers[n].words;
    text +=
        " " + (words.empty() ? number_text(number.value) : std::string(words[static_cast<std::size_t>(number.value)]));
    text += number.unit == LengthUnit::kPatches ? "p" : number.unit == LengthUnit::kPercent ? "%" : "";
  }
  return text;
}

std::string to_text(const PictureChanges& changes) {
  return listed(
      changes, [](const PictureChange& change) { return to_text(change); }, "; ");
}

}  // namespace locus::models
