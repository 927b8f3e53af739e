// Widgets of a view's options: check box, list, text field or number, each with its label.
#pragma once

#include <QFontMetrics>
#include <QWidget>
#include <functional>

#include "app/views/shared/view.h"

namespace locus::workbench {

struct OptionControl {
  QWidget* group = nullptr;                             // label and widget, which is named "option-NAME"
  QWidget* box = nullptr;                               // the widget alone
  std::function<void(const Settings& options)> show{};  // shows the value of these options
};

// `set` is called with every new value, whether the user or show() has set it.
OptionControl make_option_control(const views::Control& control, QWidget& parent,
                                  const std::function<void(const SettingValue& value)>& set);

// The value of an option: the set one, else the default.
SettingValue option_value(const views::Control& control, const Settings& options);

// The height of a text field, small so that it takes little room from a map.
int option_field_height(const QFontMetrics& metrics);

}  // namespace locus::workbench
