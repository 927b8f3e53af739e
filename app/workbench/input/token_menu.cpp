#include "app/workbench/input/token_menu.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>
#include <functional>

#include "app/workbench/state/change_state.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/work/token_words.h"

namespace locus::workbench {

void show_token_menu(Studio& studio, const models::Trace& trace, std::int64_t token, const TokenPlace& place,
                     const QPoint& at, QWidget* parent) {
  const models::TokenInfo& info = trace.tokens()[static_cast<std::size_t>(token)];
  auto* menu = new QMenu(parent);
  menu->setObjectName(QStringLiteral("token-menu"));
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const auto add = [&](const char* name, const QString& text, const std::function<void()>& run) {
    menu->addAction(text, parent, run)->setObjectName(QLatin1String(name));
  };
  const auto copy = [](const QString& text) { return [text] { QApplication::clipboard()->setText(text); }; };
  const QString label = qt(shown_token(trace, token));
  add("copy-token", QStringLiteral("Copy “%1”").arg(label), copy(label));
  add("copy-id", QStringLiteral("Copy its id %1").arg(info.id), copy(QString::number(info.id)));
  menu->addSeparator();
  const bool pinned = place.pinned == token;
  add("pin-query", pinned ? QStringLiteral("Unpin") : QStringLiteral("Pin as query"),
      [&studio, known = place.token, pinned] { studio.pin(pinned ? views::Token() : known); });
  if (place.pinned >= 0 && !trace.crosses()) {
    add("pin-key", QStringLiteral("Pin as key of query %1").arg(place.pinned),
        [&studio, known = place.token] { studio.pin(studio.state().query, known); });
  }
  add("in-text", QStringLiteral("Show the attention of this token in the text"), [&studio, known = place.token] {
    change_state(studio, [&](session::ViewState& state) {
      session::show_view(state, "attention-text");
      state.query = known;
    });
  });
  menu->popup(at);
}

}  // namespace locus::workbench
