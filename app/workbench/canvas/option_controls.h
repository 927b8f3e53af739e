// The widgets of a view's options: a box, a list, a field or a number, with its label before it.
#pragma once

#include <QFontMetrics>
#include <QWidget>
#include <functional>

#include "app/views/shared/view.h"

namespace locus::workbench {

struct OptionControl {
  QWidget* group = nullptr;                             // label and widget, which is named "option-NAME"
  std::function<void(const Settings& options)> show{};  // what these options say
};

// `set` is told what a person chooses, and what show() puts there.
OptionControl make_option_control(const views::Control& control, QWidget& parent,
                                  const std::function<void(const SettingValue& value)>& set);

// What an option is: as it is set, else as its control begins.
SettingValue option_value(const views::Control& control, const Settings& options);

// The height of a field of words: the line of a map's one field takes little from the map.
int option_field_height(const QFontMetrics& metrics);

}  // namespace locus::workbench
