// Parameter: a value a person sets, as data. The same description makes a widget of the window, a flag of the command
// line and a field of a file, and says what each of them refuses.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/settings.h"

namespace locus {

struct Parameter {
  enum class Kind { kToggle, kWhole, kNumber, kChoice, kText, kList };
  Kind kind = Kind::kToggle;
  std::string name;
  std::string label;
  std::string help;       // one sentence
  SettingValue fallback;  // bool, int64, double, text or list, as `kind` says
  double low = 0;         // bounds of kWhole, kNumber and the numbers of kList
  double high = 1;
  std::vector<std::string>
      choices;               // of kChoice; of kToggle: what off and on are typed as, "false" and "true" if empty
  bool logarithmic = false;  // a slider of kWhole or kNumber moves by factors; 0 is its left end
  std::string lowest{};      // meaning of `low`, shown instead of the number: "the text's"
  std::string empty{};       // of kText: placeholder of an empty field, "the likeliest" or "none; 3:7, or 3"
  // Words typed for whole numbers that stand for something else, in or out of the bounds: {"mean", −1}.
  std::vector<std::pair<std::string, std::int64_t>> words{};
};

// "a whole number from 0 to 8", "one of max, mean", "mean, all or a whole number from 0".
std::string expected(const Parameter& parameter);

// A value as it was typed. Errors: kUsage, "NAME: expected …, found …", under `name` (empty: "option " and the
// parameter's own).
Result<SettingValue> parse(const Parameter& parameter, const std::string& text, const std::string& name = {});

// A value of the parameter's kind and within its bounds; whole numbers become numbers where those are expected. Errors:
// as parse().
Result<SettingValue> checked(const Parameter& parameter, const SettingValue& value, const std::string& name = {});

// The value as parse() reads it: "mean", "own", "0.5".
std::string to_text(const Parameter& parameter, const SettingValue& value);

}  // namespace locus
