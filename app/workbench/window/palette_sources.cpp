#include "app/workbench/window/palette_sources.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QMenu>
#include <QPointer>
#include <QRegularExpression>
#include <QToolButton>

#include "app/session/shared_options.h"
#include "app/session/state_fields.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/workbench/state/change_state.h"
#include "app/workbench/state/edit_actions.h"
#include "app/workbench/widgets/fold_box.h"
#include "app/workbench/widgets/popover.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/window/command_registry.h"

namespace locus::workbench {

namespace {

using Change = std::function<void(session::ViewState&)>;

std::function<void()> changing(Studio& studio, const Change& edit) {
  return [&studio, edit] { change_state(studio, edit); };
}

void give_keyboard(QWidget& window, QWidget& control) {
  window.activateWindow();
  open_popover_of(control);
  unfold_around(control);
  control.setFocus(Qt::ShortcutFocusReason);
}

// "&Open file…\tCtrl+O" → "Open file…" and "Ctrl+O".
std::pair<QString, QString> text_and_key(const QAction& action) {
  QString text = action.text();
  text.remove(QLatin1Char('&'));
  const qsizetype tab = text.indexOf(QLatin1Char('\t'));
  const QString own = tab < 0 ? QString() : text.mid(tab + 1);
  return {tab < 0 ? text : text.left(tab), own.isEmpty() ? action.shortcut().toString() : own};
}

}  // namespace

void append(std::vector<Command>& list, std::vector<Command> more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<Command> menu_commands(const QString& path, QMenu& menu) {
  std::vector<Command> list;
  Q_EMIT menu.aboutToShow();  // what is filled as it opens
  for (QAction* action : menu.actions()) {
    const auto [text, key] = text_and_key(*action);
    if (action->menu() != nullptr) {
      append(list, menu_commands(path + text + QStringLiteral(": "), *action->menu()));
    } else if (const QString reason = action->property(kReasonProperty).toString();
               !action->isEnabled() && !reason.isEmpty()) {
      auto* other = action->findChild<QAction*>(QLatin1String(kWayOut));
      list.push_back({path + text, reason,
                      [other = QPointer<QAction>(other)] {
                        if (other) {
                          other->trigger();
                        }
                      },
                      action->objectName(), false, other == nullptr ? QString() : other->text()});
    } else if (!action->isSeparator() && action->isEnabled() && !text.isEmpty()) {
      // The menu may be filled again before it is run.
      list.push_back({path + text, key,
                      [action = QPointer<QAction>(action)] {
                        if (action) {
                          action->trigger();
                        }
                      },
                      action->objectName()});
    }
  }
  return list;
}

std::vector<Command> switch_commands(const QString& path, const QWidget& panel) {
  std::vector<Command> list;
  for (auto* box : panel.findChildren<QCheckBox*>()) {
    list.push_back({path + box->text(), box->toolTip(), [box] { box->toggle(); }, box->objectName()});
  }
  return list;
}

std::vector<Command> button_commands(const QString& path, const QWidget& panel) {
  std::vector<Command> list;
  for (auto* button : panel.findChildren<QToolButton*>()) {
    if (button->text().isEmpty() || button->menu() != nullptr ||
        (button->isEnabled() && !button->isVisibleTo(&panel))) {
      continue;
    }
    list.push_back({path + button->text(), button->toolTip(), [button] { button->click(); }, button->objectName(),
                    button->isEnabled()});
  }
  return list;
}

std::vector<Command> head_commands(Studio& studio, const QString& typed) {
  static const QRegularExpression kHead(
      QStringLiteral(R"(^\s*(?:(?:head|h)?\s*(\d+)\s*\.\s*(\d+)|(?:layer|l)\s*(\d+)[\s,]*(?:head|h)\s*(\d+))\s*$)"),
      QRegularExpression::CaseInsensitiveOption);
  const QRegularExpressionMatch match = kHead.match(typed);
  if (!match.hasMatch() || studio.checkpoints().shown().empty()) {
    return {};
  }
  const int from = match.captured(1).isEmpty() ? 3 : 1;
  const int layer = match.captured(from).toInt();
  const int head = match.captured(from + 1).toInt();
  const models::Side side = studio.state().side;
  const int layers = studio.checkpoints().largest_layer(side, studio.state().by_depth) + 1;
  const int heads = studio.checkpoints().largest_head(side) + 1;
  Command command{QStringLiteral("Head %1.%2").arg(layer).arg(head), {}, {}, {}, layer < layers && head < heads};
  if (!command.available) {
    command.hint = QStringLiteral("there are layers 0 to %1 of heads 0 to %2").arg(layers - 1).arg(heads - 1);
    return {command};
  }
  command.hint = QStringLiteral("layer %1, head %2").arg(layer).arg(head);
  const views::ViewInfo& info = studio.view().info();
  const bool opens = !info.uses_layer || !info.uses_head;
  command.hint += opens ? QStringLiteral(", in the view Attention") : QString();
  command.run = changing(studio, [layer, head, opens](session::ViewState& state) {
    if (opens) {
      session::show_view(state, "attention");
    }
    state.layer = layer;
    state.head = head;
  });
  return {command};
}

std::vector<Command> edit_commands(Studio& studio, const QString& typed) {
  const auto edit = models::parse_edit(typed.trimmed().toStdString(), 0);
  if (!edit.ok()) {
    return {};
  }
  std::vector<Command> list;
  const auto columns = studio.checkpoints().shown();
  for (std::size_t n = 0; n < columns.size(); ++n) {
    const Checkpoint& each = *columns[n];
    if (!EditActions(studio).can_edit(n)) {
      continue;
    }
    const Status fits = models::check_edits({*edit}, each.model->info(), each.trace ? each.trace->length() : 0);
    list.push_back({QStringLiteral("Edit %1: %2").arg(qt(each.name), qt(models::to_text(*edit))),
                    fits.ok() ? QStringLiteral("in a column beside it") : qt(message_of_one_edit(fits.error())),
                    [&studio, id = each.id, edit = *edit] { EditActions(studio).open_beside(id, edit); },
                    {},
                    fits.ok()});
  }
  return list;
}

std::vector<Command> place_commands(Studio& studio) {
  std::vector<Command> list;
  const views::ViewInfo& info = studio.view().info();
  const bool any = !studio.checkpoints().shown().empty();
  const int layers = studio.checkpoints().largest_layer(studio.state().side, studio.state().by_depth) + 1;
  for (int layer = 0; any && info.uses_layer && layer < layers; ++layer) {
    list.push_back({QStringLiteral("Layer %1").arg(layer), {}, changing(studio, [layer](session::ViewState& state) {
                      state.layer = layer;
                    })});
  }
  for (int head = static_cast<int>(views::kMean);
       any && info.uses_head && head <= studio.checkpoints().largest_head(studio.state().side); ++head) {
    list.push_back({head < 0 ? QStringLiteral("Head mean") : QStringLiteral("Head %1").arg(head),
                    {},
                    changing(studio, [head](session::ViewState& state) { state.head = head; })});
  }
  for (const Checkpoint& each : studio.checkpoints().all()) {
    list.push_back({QStringLiteral("Checkpoint: ") + qt(each.name),
                    each.entry.shown ? QStringLiteral("shown: hide it") : QStringLiteral("show it"),
                    [&studio, id = each.id, shown = each.entry.shown] { studio.columns().set_shown(id, !shown); }});
  }
  for (const session::Bookmark& figure : studio.sessions().document().figures()) {
    list.push_back(
        {QStringLiteral("Figure: ") + qt(figure.name), {}, [&studio, figure] { studio.sessions().show(figure); }});
  }
  return list;
}

std::vector<Command> option_commands(Studio& studio, QWidget& window) {
  std::vector<Command> list;
  const std::string view = studio.view().info().name;
  const views::ViewInput input = studio.view_input();
  for (const views::Control& control : studio.view().info().controls) {
    const QString name = QStringLiteral("Option: ") + qt(control.label);
    if (const std::string why = studio.view().why_idle(input, control.name); !why.empty()) {
      list.push_back({name, qt(why), {}, qt(control.name), false});
      continue;
    }
    for (const std::string& choice : control.choices) {
      list.push_back(
          {name + QStringLiteral(" = ") + qt(choice),
           {},
           changing(studio, [view, option = control.name,
                             choice](session::ViewState& state) { session::set_option(state, view, option, choice); }),
           qt(control.name)});
    }
    if (control.choices.empty()) {
      list.push_back({name,
                      {},
                      [&window, box_name = QStringLiteral("option-") + qt(control.name)] {
                        for (QWidget* box : window.findChildren<QWidget*>(box_name)) {
                          if (auto* check = qobject_cast<QCheckBox*>(box);
                              check != nullptr && check->isVisibleTo(check->window())) {
                            check->toggle();
                          } else if (box->isVisibleTo(box->window())) {
                            give_keyboard(window, *box);
                          }
                        }
                      },
                      qt(control.name)});
    }
  }
  return list;
}

// ---- the state

namespace {

// Whether the present view and its columns heed that field.
bool can_be_set(const Studio& studio, const session::StateField& field) {
  const std::string& name = field.parameter.name;
  const views::ViewInfo& info = studio.view().info();
  const bool has_own_commands = name == "view" || name == "layer" || name == "head" || name == "reference";
  if (field.place == session::StateField::Place::kCanvas || has_own_commands ||
      (field.applies && !field.applies(studio.state()))) {
    return false;
  }
  return name == "quantity"     ? info.uses_quantity
         : name == "side"       ? studio.checkpoints().has_sides()
         : name == "difference" ? info.uses_difference && studio.checkpoints().shown().size() > 1
                                : true;
}

// Whether one of the columns has it: as in the list above the canvas.
bool can_be_shown(const QWidget& window, models::Quantity quantity) {
  const auto* combo = window.findChild<QComboBox*>(QStringLiteral("quantity"));
  const int row = combo == nullptr ? -1 : combo->findText(qt(models::to_text(quantity)));
  return row >= 0 && combo->model()->flags(combo->model()->index(row, 0)).testFlag(Qt::ItemIsEnabled);
}

// The field set as if this word had been typed.
std::function<void()> typing(Studio& studio, const session::StateField& field, const std::string& word) {
  return [&studio, field, word] {
    session::ViewState changed = studio.state();
    if (session::type_field(field, changed, word, field.parameter.name).ok()) {
      studio.change(changed);
    }
  };
}

Command toggle_command(Studio& studio, const session::StateField& field, const QString& also) {
  const auto value = field.get(studio.state());
  const bool on = value && *value == SettingValue(true);
  const auto& words = field.parameter.choices;
  const std::string other = words.empty() ? (on ? "false" : "true") : words[on ? 0 : 1];
  return {qt(field.parameter.label), on ? QStringLiteral("on: turn it off") : QStringLiteral("turn it on"),
          typing(studio, field, other), also};
}

std::vector<Command> choice_commands(Studio& studio, const QWidget& window, const session::StateField& field,
                                     const QString& also) {
  std::vector<Command> list;
  for (const std::string& choice : field.parameter.choices) {
    const auto quantity = field.parameter.name == "quantity" ? models::parse_quantity(choice)
                                                             : Result<models::Quantity>(usage("no quantity"));
    if (quantity.ok() && !can_be_shown(window, *quantity)) {
      continue;
    }
    // Called as in the bar and on the command line, and found by what stands beside the colours, too.
    const QString longer = quantity.ok() ? QStringLiteral(" ") + qt(views::quantity_label(*quantity)) : QString();
    list.push_back({qt(field.parameter.label) + QStringLiteral(" = ") + qt(choice),
                    {},
                    typing(studio, field, choice),
                    also + longer});
  }
  return list;
}

Command reference_command(Studio& studio, std::int64_t column, const std::string& name) {
  return {QStringLiteral("Reference = ") + qt(name),
          {},
          changing(studio,
                   [column](session::ViewState& state) {
                     state.reference = column;
                     state.difference = true;
                   }),
          QStringLiteral("difference")};
}

}  // namespace

std::vector<Command> state_commands(Studio& studio, QWidget& window) {
  std::vector<Command> list;
  for (const session::StateField& field : session::state_fields()) {
    const Parameter& parameter = field.parameter;
    if (!can_be_set(studio, field)) {
      continue;
    }
    const QString also = qt(parameter.name + " " + field.flag);
    if (parameter.kind == Parameter::Kind::kToggle) {
      list.push_back(toggle_command(studio, field, also));
    } else if (parameter.kind == Parameter::Kind::kChoice) {
      append(list, choice_commands(studio, window, field, also));
    } else {
      list.push_back({qt(parameter.label), qt(parameter.help),
                      [&window, name = qt(parameter.name)] {
                        auto* box = window.findChild<QWidget*>(name);
                        if (box != nullptr) {
                          unfold_around(*box);
                        }
                        if (box != nullptr && box->isVisibleTo(box->window())) {
                          give_keyboard(window, *box);
                        }
                      },
                      also});
    }
  }
  const auto columns = studio.view_input().columns;
  for (std::size_t n = 0; columns.size() > 1 && studio.view().info().uses_difference && n < columns.size(); ++n) {
    list.push_back(reference_command(studio, static_cast<std::int64_t>(n), columns[n].name));
  }
  return list;
}

}  // namespace locus::workbench
