// Ranges of numbers on a rail: where a value stands on it, and what a drag of one of its ends means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/view.h"

namespace locus::workbench {

// The value of a number of a view, as it is set or by default.
double number_of(const views::Control& control, const Settings& options);
// Where it stands on a rail, from 0 to 1, and the value at a place of it: whole where the number is, moving by factors
// where it says so.
double share_of(const views::Control& control, double value);
double value_at(const views::Control& control, double share);

// A rail: one number, or the two ends of a range.
struct Rail {
  std::string label;
  const views::Control* low = nullptr;  // null: one number alone
  const views::Control* high = nullptr;
};
// The rails of a view: the ranges that it names.
std::vector<Rail> rails_of(const views::ViewInfo& info);

// "λ 0 to 100", "bins 60".
std::string words_of(const Rail& rail, const Settings& options);

// Which end of a rail a place of it takes hold of.
bool takes_low_end(const Rail& rail, const Settings& options, double share);
// The numbers that change when that end is pulled there; an end pushes the other one before it.
std::vector<std::pair<std::string, SettingValue>> pulled_to(const Rail& rail, const Settings& options, bool low_end,
                                                            double share);
// The same by steps of a key: a hundredth of the rail, at least 1 of whole numbers.
std::vector<std::pair<std::string, SettingValue>> stepped(const Rail& rail, const Settings& options, bool low_end,
                                                          int steps);

}  // namespace locus::workbench
