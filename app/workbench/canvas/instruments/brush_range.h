// Arithmetic of the range brush: numbers and ranges of a view as positions on a slider.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/view.h"

namespace locus::workbench {

// The value of a number of a view: the set one, else the default.
double number_of(const views::Control& control, const Settings& options);
// The position of a value on its slider, from 0 to 1, and the value at a position: whole for integers, on a logarithmic
// scale if the number asks for one.
double share_of(const views::Control& control, double value);
double value_at(const views::Control& control, double share);

// A slider: one number, or the two ends of a range.
struct Rail {
  std::string label;
  const views::Control* low = nullptr;  // null: one number
  const views::Control* high = nullptr;
  const views::Control* unit = nullptr;  // the choice of their unit; null: none is written
};
// The sliders of a view: the ranges it declares.
std::vector<Rail> rails_of(const views::ViewInfo& info);

// The text of a slider: "λ 0 to 100 tokens", "λ 0 to 10 %", "bins 60".
std::string words_of(const Rail& rail, const Settings& options);

// The end of the slider nearest to a position.
bool takes_low_end(const Rail& rail, const Settings& options, double share);
// The numbers that change when an end is dragged to a position; an end pushes the other one.
std::vector<std::pair<std::string, SettingValue>> pulled_to(const Rail& rail, const Settings& options, bool low_end,
                                                            double share);
// The same for steps of a key: a hundredth of the slider, at least 1 for integers.
std::vector<std::pair<std::string, SettingValue>> stepped(const Rail& rail, const Settings& options, bool low_end,
                                                          int steps);

}  // namespace locus::workbench
