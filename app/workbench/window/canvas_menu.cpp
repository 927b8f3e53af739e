#include "app/workbench/window/canvas_menu.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>
#include <algorithm>
#include <cmath>

#include "app/session/shared_options.h"
#include "app/views/shared/alignment.h"
#include "app/views/shared/score_maps/kept_queries.h"
#include "app/workbench/docks/edits_dialog.h"
#include "app/workbench/state/change_state.h"
#include "app/workbench/state/edit_actions.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/window/command_registry.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr int kFloatDigits = 9;  // enough to read back the same float

// Fills one menu.
class PlaceMenu {
 public:
  PlaceMenu(const CanvasMenuParts& parts, const CanvasPlace& place, QMenu& menu)
      : parts_(parts), studio_(parts.studio), place_(place), there_(place.selection), menu_(menu) {}

  void add_cell();
  void add_views();
  void add_edits(std::size_t column);
  void add_column(std::size_t column);
  void add_export();

 private:
  template <class Run>
  void add(const char* name, const QString& text, Run run) {
    menu_.addAction(text, &parts_.window, run)->setObjectName(QLatin1String(name));
  }

  const CanvasMenuParts& parts_;
  Studio& studio_;
  const CanvasPlace& place_;
  const views::Selection& there_;
  QMenu& menu_;
};

void PlaceMenu::add_cell() {
  if (place_.value && !std::isnan(*place_.value)) {
    const QString value = qt(general_text(static_cast<double>(*place_.value), kFloatDigits));
    add("copy-value", QStringLiteral("Copy the value %1").arg(value),
        [value] { QApplication::clipboard()->setText(value); });
  }
  if (!place_.said.empty()) {
    add("copy-box", QStringLiteral("Copy what the box says"),
        [text = qt(place_.said)] { QApplication::clipboard()->setText(text); });
  }
  if (there_.query && !there_.open) {
    const views::Token query = *there_.query;
    const views::Token key = there_.key.value_or(views::kNone);
    const bool pinned = is_pinned(studio_, query, key);
    add("pin", pinned ? QStringLiteral("Unpin") : QStringLiteral("Pin this cell"),
        [&studio = studio_, query, key, pinned] { pinned ? studio.pin(views::kNone) : studio.pin(query, key); });
  }
  const auto& controls = studio_.view().info().controls;
  const bool keeps = std::ranges::any_of(controls, [](const auto& control) { return control.name == "queries"; });
  if (there_.query && there_.query->index >= 0 && keeps) {
    const std::string text = views::toggled_query(studio_.view_input(), there_.query->index);
    const auto now = studio_.view_input().options.text("queries", "");
    add("keep-row",
        now.ok() && text.size() < now->size() ? QStringLiteral("Remove its row") : QStringLiteral("Keep its row below"),
        [&studio = studio_, text] {
          change_state(studio, [&](session::ViewState& state) {
            session::set_option(state, studio.view().info().name, "queries", text);
          });
        });
  }
}

// Entries that show the head at that place in another view.
void PlaceMenu::add_views() {
  QMenu* elsewhere = menu_.addMenu(QStringLiteral("Open in"));
  const auto columns = studio_.view_input().columns;
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
    const auto open = [&studio = studio_, there = there_, name = info.name] {
      const views::ViewInput input = studio.view_input();
      change_state(studio, [&](session::ViewState& state) {
        session::show_view(state, name);
        const auto column = static_cast<std::size_t>(std::max<std::int64_t>(there.column.value_or(0), 0));
        state.layer = there.layer ? views::linked_layer(input, column, *there.layer) : state.layer;
        state.head = there.head.value_or(state.head);
        state.query = there.open ? state.query : there.query.value_or(state.query);
      });
    };
    QAction* action = elsewhere->addAction(qt(info.title), &parts_.window, open);
    action->setObjectName(QStringLiteral("open-in-") + qt(info.name));
    action->setToolTip(qt(info.shows));
  }
}

// Entries that add a column with one more edit.
void PlaceMenu::add_edits(std::size_t column) {
  const int id = studio_.checkpoints().shown()[column]->id;
  QMenu* edits = menu_.addMenu(QStringLiteral("Beside it, with"));
  edits->setObjectName(QStringLiteral("edits-menu"));
  for (const EditChoice& choice : parts_.edits.choices(there_, column)) {
    edits
        ->addAction(choice.text, &parts_.edits,
                    [actions = &parts_.edits, id, edit = choice.edit] { actions->open_beside(id, edit); })
        ->setObjectName(QLatin1String(choice.name));
  }
  edits->addSeparator();
  edits
      ->addAction(QStringLiteral("Other edits…"), &parts_.window,
                  [&studio = studio_, window = &parts_.window, id] { show_edits(studio, id, window); })
      ->setObjectName(QStringLiteral("edit-other"));
}

void PlaceMenu::add_column(std::size_t column) {
  const Checkpoint& shown = *studio_.checkpoints().shown()[column];
  const QString name = qt(shown.name);
  menu_.addSeparator();
  if (studio_.view().info().uses_difference) {
    add("compare", QStringLiteral("Compare the others with %1").arg(name), [&studio = studio_, column] {
      change_state(studio, [column](session::ViewState& state) {
        state.difference = true;
        state.reference = static_cast<std::int64_t>(column);
      });
    });
  }
  const bool own = views::has_own_head(studio_.view_input(), column);
  add("unlink",
      own ? QStringLiteral("Link %1 to the others").arg(name)
          : QStringLiteral("Give %1 its own layer and head").arg(name),
      [actions = &parts_.actions, column] {
        actions->set_column(column);
        actions->toggle_unlinked();
      });
  if (parts_.actions.can_link_by_depth().ok()) {
    add("by-depth",
        studio_.state().by_depth ? QStringLiteral("Link layers by number") : QStringLiteral("Link layers by depth"),
        [actions = &parts_.actions] { actions->toggle_by_depth(); });
  }
  add("hide", QStringLiteral("Hide %1").arg(name),
      [&studio = studio_, id = shown.id] { studio.columns().set_shown(id, false); });
}

void PlaceMenu::add_export() {
  menu_.addSeparator();
  for (const char* name : {"export-figure", "export-data", "copy-figure", "keep-view"}) {
    menu_.addAction(parts_.commands.find(name));
  }
}

}  // namespace

void show_canvas_menu(const CanvasMenuParts& parts, const CanvasPlace& place, const QPoint& at) {
  auto* menu = new QMenu(&parts.window);
  menu->setObjectName(QStringLiteral("canvas-menu"));
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const auto column =
      static_cast<std::size_t>(place.selection.column.value_or(static_cast<std::int64_t>(parts.actions.column())));
  const std::size_t columns = parts.studio.checkpoints().shown().size();
  PlaceMenu content(parts, place, *menu);
  content.add_cell();
  content.add_views();
  if (parts.edits.can_edit(column)) {
    content.add_edits(column);
  }
  if (columns > 1 && column < columns) {
    content.add_column(column);
  }
  content.add_export();
  menu->popup(at);
}

}  // namespace locus::workbench
