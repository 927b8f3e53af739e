// What the window can do, as a list to choose from, and the menus at a place.
#include <QAbstractSpinBox>
#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QPointer>
#include <QTextEdit>
#include <algorithm>
#include <cmath>

#include "app/session/shared_options.h"
#include "app/session/state_fields.h"
#include "app/viewport/canvas.h"
#include "app/views/alignment.h"
#include "app/views/score_maps/kept_queries.h"
#include "app/views/score_maps/score_map.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/studio/token_words.h"
#include "app/workbench/window/command_palette.h"
#include "app/workbench/window/help.h"
#include "app/workbench/window/main_window.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr int kFloatDigits = 9;  // by which a float is read back as it is

QString qt(const std::string& text) {
  return QString::fromStdString(text);
}

// "&Open file…\tCtrl+O" → "Open file…" and "Ctrl+O".
std::pair<QString, QString> text_and_key(const QAction& action) {
  QString text = action.text();
  text.remove(QLatin1Char('&'));
  const qsizetype tab = text.indexOf(QLatin1Char('\t'));
  const QString own = tab < 0 ? QString() : text.mid(tab + 1);
  return {tab < 0 ? text : text.left(tab), own.isEmpty() ? action.shortcut().toString() : own};
}

void add_menu(const QString& path, QMenu* menu, std::vector<Command>& list) {
  Q_EMIT menu->aboutToShow();  // what is filled as it opens
  for (QAction* action : menu->actions()) {
    const auto [text, key] = text_and_key(*action);
    if (action->menu() != nullptr) {
      add_menu(path + text + QStringLiteral(": "), action->menu(), list);
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
}

bool takes_text(const QWidget* widget) {
  if (qobject_cast<const QPlainTextEdit*>(widget) != nullptr || qobject_cast<const QTextEdit*>(widget) != nullptr) {
    return true;
  }
  return qobject_cast<const QLineEdit*>(widget) != nullptr &&
         qobject_cast<const QAbstractSpinBox*>(widget->parentWidget()) == nullptr;
}

}  // namespace

void MainWindow::add_option_commands(std::vector<Command>& list) {
  const auto state = studio_->state();
  const auto change = [this](const std::function<void(session::ViewState&)>& edit) {
    session::ViewState changed = studio_->state();
    edit(changed);
    studio_->change(changed);
  };
  for (const views::Control& control : studio_->view().info().controls) {
    const QString name = QStringLiteral("Option: ") + qt(control.label);
    const std::string view = studio_->view().info().name;
    for (const std::string& choice : control.choices) {
      list.push_back(
          {name + QStringLiteral(" = ") + qt(choice),
           {},
           [=] { change([&](session::ViewState& s) { session::set_option(s, view, control.name, choice); }); },
           qt(control.name)});
    }
    if (control.choices.empty()) {
      list.push_back({name,
                      {},
                      [this, control] {
                        for (QWidget* box : findChildren<QWidget*>(QStringLiteral("option-") + qt(control.name))) {
                          if (auto* check = qobject_cast<QCheckBox*>(box); check != nullptr && check->isVisible()) {
                            check->toggle();
                          } else if (box->isVisible()) {
                            activateWindow();
                            box->setFocus(Qt::ShortcutFocusReason);
                          }
                        }
                      },
                      qt(control.name)});
    }
  }
}

// What the bar above the canvas and the colours of the inspector set.
void MainWindow::add_state_commands(std::vector<Command>& list) {
  const session::ViewState& state = studio_->state();
  for (const session::StateField& field : session::state_fields()) {
    const Parameter& parameter = field.parameter;
    const bool place = parameter.name == "view" || parameter.name == "layer" || parameter.name == "head";
    if (field.place == session::StateField::Place::kCanvas || place || parameter.name == "reference" ||
        !can_be_set(parameter.name) || (field.applies && !field.applies(state))) {
      continue;
    }
    const QString also = qt(parameter.name + " " + field.flag);
    const auto type = [this, field](const std::string& word) {
      session::ViewState changed = studio_->state();
      if (session::type_field(field, changed, word, field.parameter.name).ok()) {
        studio_->change(changed);
      }
    };
    const QString label = qt(parameter.label);
    if (parameter.kind == Parameter::Kind::kToggle) {
      const auto value = field.get(state);
      const bool on = value && *value == SettingValue(true);
      const auto& words = parameter.choices;
      const std::string other = words.empty() ? (on ? "false" : "true") : words[on ? 0 : 1];
      list.push_back({label, on ? QStringLiteral("on: turn it off") : QStringLiteral("turn it on"),
                      [type, other] { type(other); }, also});
    } else if (parameter.kind == Parameter::Kind::kChoice) {
      for (const std::string& choice : parameter.choices) {
        const auto quantity = parameter.name == "quantity" ? models::parse_quantity(choice)
                                                           : Result<models::Quantity>(usage("no quantity"));
        if (quantity.ok() && !can_be_shown(*quantity)) {
          continue;
        }
        // Called as in the bar and on the command line, and found by what stands beside the colours, too.
        const QString longer = quantity.ok() ? QStringLiteral(" ") + qt(views::quantity_label(*quantity)) : QString();
        list.push_back(
            {label + QStringLiteral(" = ") + qt(choice), {}, [type, choice] { type(choice); }, also + longer});
      }
    } else {
      list.push_back({label, qt(parameter.help),
                      [this, name = parameter.name] {
                        if (auto* box = findChild<QWidget*>(qt(name)); box != nullptr && box->isVisible()) {
                          activateWindow();
                          box->setFocus(Qt::ShortcutFocusReason);
                        }
                      },
                      also});
    }
  }
  const auto columns = studio_->view_input().columns;
  for (std::size_t n = 0; n < columns.size() && columns.size() > 1 && can_be_set("difference"); ++n) {
    list.push_back({QStringLiteral("Reference = ") + qt(columns[n].name),
                    {},
                    [this, n] {
                      session::ViewState changed = studio_->state();
                      changed.reference = static_cast<std::int64_t>(n);
                      changed.difference = true;
                      studio_->change(changed);
                    },
                    QStringLiteral("difference")});
  }
}

// Whether the present view and its columns heed that field of the state.
bool MainWindow::can_be_set(const std::string& field) const {
  const views::ViewInfo& info = studio_->view().info();
  return field == "quantity"     ? info.uses_quantity
         : field == "side"       ? studio_->has_sides()
         : field == "difference" ? info.uses_difference && studio_->columns().size() > 1
                                 : true;
}

// Whether one of the columns has it: as in the list above the canvas.
bool MainWindow::can_be_shown(models::Quantity quantity) const {
  const auto* combo = findChild<QComboBox*>(QStringLiteral("quantity"));
  const int row = combo == nullptr ? -1 : combo->findText(qt(models::to_text(quantity)));
  return row >= 0 && combo->model()->flags(combo->model()->index(row, 0)).testFlag(Qt::ItemIsEnabled);
}

void MainWindow::add_place_commands(std::vector<Command>& list) {
  const auto go = [this](const std::function<void(session::ViewState&)>& edit) {
    return [this, edit] {
      session::ViewState state = studio_->state();
      edit(state);
      studio_->change(state);
    };
  };
  const views::ViewInfo& info = studio_->view().info();
  const bool any = !studio_->columns().empty();
  for (int layer = 0; any && info.uses_layer && layer <= studio_->largest_layer(); ++layer) {
    list.push_back(
        {QStringLiteral("Layer %1").arg(layer), {}, go([layer](session::ViewState& s) { s.layer = layer; })});
  }
  for (int head = static_cast<int>(views::kMean); any && info.uses_head && head <= studio_->largest_head(); ++head) {
    list.push_back({head < 0 ? QStringLiteral("Head mean") : QStringLiteral("Head %1").arg(head),
                    {},
                    go([head](session::ViewState& s) { s.head = head; })});
  }
  for (const Checkpoint& each : studio_->checkpoints()) {
    list.push_back({QStringLiteral("Checkpoint: ") + qt(each.name),
                    each.entry.shown ? QStringLiteral("shown: hide it") : QStringLiteral("show it"),
                    [this, id = each.id, shown = each.entry.shown] { studio_->set_shown(id, !shown); }});
  }
  for (const session::Bookmark& figure : studio_->bookmarks()) {
    list.push_back({QStringLiteral("Figure: ") + qt(figure.name), {}, [this, figure] { studio_->show(figure); }});
  }
}

std::vector<Command> MainWindow::commands() {
  std::vector<Command> list;
  for (QAction* action : menuBar()->actions()) {
    if (action->menu() != nullptr) {
      add_menu(text_and_key(*action).first + QStringLiteral(": "), action->menu(), list);
    }
  }
  if (QMenu* samples = input_->findChild<QMenu*>(QStringLiteral("samples"))) {
    add_menu(QStringLiteral("Sample: "), samples, list);
  }
  for (auto* box : input_->findChildren<QCheckBox*>()) {
    list.push_back(
        {QStringLiteral("Input: ") + box->text(), box->toolTip(), [box] { box->toggle(); }, box->objectName()});
  }
  add_place_commands(list);
  add_option_commands(list);
  add_state_commands(list);
  return list;
}

void MainWindow::show_palette() {
  auto* palette = new CommandPalette(commands(), this);
  palette->show();
  palette->activateWindow();
}

// `?` shows the keys wherever nothing is typed; who comes to the canvas by keys sees that they are there.
bool MainWindow::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::FocusIn && object == canvas_holder_ && canvas_ != nullptr) {
    const Qt::FocusReason reason = static_cast<QFocusEvent*>(event)->reason();
    canvas_->show_focus(reason != Qt::MouseFocusReason && reason != Qt::ActiveWindowFocusReason &&
                        reason != Qt::PopupFocusReason);
  }
  if (event->type() == QEvent::Resize) {
    note_panel(object);
  }
  if (event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->text() == QStringLiteral("?")) {
    const auto* widget = qobject_cast<QWidget*>(object);
    if (widget != nullptr && widget->window() == this && !takes_text(widget)) {
      show_keys(this);
      return true;
    }
  }
  return QMainWindow::eventFilter(object, event);
}

// ---- menus at a place

void MainWindow::show_canvas_menu(const CanvasPlace& place, const QPoint& at) {
  auto* menu = new QMenu(this);
  menu->setObjectName(QStringLiteral("canvas-menu"));
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const auto add = [&](const char* name, const QString& text, const std::function<void()>& run) {
    menu->addAction(text, this, run)->setObjectName(QLatin1String(name));
  };
  const views::Selection& there = place.selection;
  if (place.value && !std::isnan(*place.value)) {
    const QString value = qt(general_text(static_cast<double>(*place.value), kFloatDigits));
    add("copy-value", QStringLiteral("Copy the value %1").arg(value),
        [value] { QApplication::clipboard()->setText(value); });
  }
  if (there.query && !there.open) {
    const bool pinned = studio_->is_pinned(*there.query, there.key.value_or(views::kNone));
    add("pin", pinned ? QStringLiteral("Unpin") : QStringLiteral("Pin this cell"), [this, there, pinned] {
      pinned ? studio_->pin(views::kNone) : studio_->pin(*there.query, there.key.value_or(views::kNone));
    });
  }
  const auto& controls = studio_->view().info().controls;
  const bool keeps = std::ranges::any_of(controls, [](const auto& control) { return control.name == "queries"; });
  if (there.query && there.query->index >= 0 && keeps) {
    const std::string text = views::toggled_query(studio_->view_input(), there.query->index);
    const auto now = studio_->view_input().options.text("queries", "");
    add("keep-row",
        now.ok() && text.size() < now->size() ? QStringLiteral("Take its row away")
                                              : QStringLiteral("Keep its row below"),
        [this, text] {
          session::ViewState state = studio_->state();
          session::set_option(state, studio_->view().info().name, "queries", text);
          studio_->change(state);
        });
  }
  add_views_menu(*menu, there);
  const auto column = static_cast<std::size_t>(there.column.value_or(static_cast<std::int64_t>(link_->column())));
  const auto columns = studio_->columns();
  if (column < columns.size() && columns[column]->model && columns[column]->model->info().encoder_layers == 0) {
    add_edits_menu(*menu, there, column);
  }
  if (columns.size() > 1 && column < columns.size()) {
    menu->addSeparator();
    const QString name = qt(columns[column]->name);
    if (studio_->view().info().uses_difference) {
      add("compare", QStringLiteral("Compare the others with %1").arg(name), [this, column] {
        session::ViewState state = studio_->state();
        state.difference = true;
        state.reference = static_cast<std::int64_t>(column);
        studio_->change(state);
      });
    }
    const bool own = views::has_own_head(studio_->view_input(), column);
    add("unlink",
        own ? QStringLiteral("Let %1 follow the others").arg(name)
            : QStringLiteral("Give %1 its own layer and head").arg(name),
        [this, column] {
          link_->set_column(column);
          link_->toggle_unlinked();
        });
    add("hide", QStringLiteral("Hide %1").arg(name),
        [this, id = columns[column]->id] { studio_->set_shown(id, false); });
  }
  menu->addSeparator();
  for (const char* name : {"export-figure", "export-data", "copy-figure", "keep-view"}) {
    if (auto* action = findChild<QAction*>(QLatin1String(name))) {
      menu->addAction(action);
    }
  }
  menu->popup(at);
}

// The head at that place in another view.
void MainWindow::add_views_menu(QMenu& menu, const views::Selection& there) {
  QMenu* elsewhere = menu.addMenu(QStringLiteral("Open in"));
  const auto columns = studio_->view_input().columns;
  const views::View* before = nullptr;
  for (const views::View* view : views::views()) {
    const views::ViewInfo& info = view->info();
    if (!info.uses_layer || columns.empty() || !view->available(columns.front()).ok()) {
      continue;
    }
    if (before == nullptr || before->info().group != info.group) {
      elsewhere->addSection(qt(views::title_of(info.group)));
    }
    before = view;
    QAction* action = elsewhere->addAction(qt(info.title), this, [this, there, name = info.name] {
      session::ViewState state = studio_->state();
      state.view = name;
      state.camera.reset();
      state.layer = there.layer.value_or(state.layer);
      state.head = there.head.value_or(state.head);
      state.query = there.open ? state.query : there.query.value_or(state.query);
      studio_->change(state);
    });
    action->setObjectName(QStringLiteral("open-in-") + qt(info.name));
    action->setToolTip(qt(info.shows));
  }
}

}  // namespace locus::workbench
