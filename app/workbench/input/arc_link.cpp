#include "app/workbench/input/arc_link.h"

#include <QMouseEvent>
#include <algorithm>

#include "app/views/shared/alignment.h"
#include "app/workbench/input/token_strip.h"
#include "app/workbench/widgets/exact_editor.h"
#include "app/workbench/work/token_arcs.h"
#include "models/api/atlas_trace.h"

namespace locus::workbench {

namespace {

constexpr const char* kArcSlot = "token arcs";
constexpr std::size_t kLongestPointed = 1U << 20;  // beyond, finding the place under the pointer would be felt

}  // namespace

ArcLink::ArcLink(Studio& studio, TokenStrip& strip, ExactEditor& editor, QObject* parent)
    : QObject(parent), studio_(studio), strip_(strip), editor_(editor) {
  for (const auto change : {&Studio::pointed_changed, &Studio::state_changed, &Studio::runs_changed}) {
    connect(&studio_, change, this, &ArcLink::update);
  }
  connect(&strip_, &TokenStrip::scrolled, this, &ArcLink::update);
  editor_.viewport()->installEventFilter(this);
}

void ArcLink::set_on(bool on) {
  on_ = on;
  strip_.set_arc_room(on);
  editor_.viewport()->setMouseTracking(on);
  if (!on) {
    studio_.worker().drop(kArcSlot);
    strip_.set_arcs(views::kNone, {});
  }
  update();
}

void ArcLink::set_column(std::size_t column) {
  column_ = column;
  update();
}

void ArcLink::update() {
  if (!on_) {
    return;
  }
  const views::ViewInput input = studio_.view_input();
  const Pointed& at = studio_.pointed();
  const views::Token wanted = at.query.chosen() ? at.query : studio_.state().query;
  const std::size_t strip = input.columns.empty() ? 0 : std::min(column_, input.columns.size() - 1);
  const std::int64_t token = input.columns.empty() || models::atlas_of(*input.columns[strip].trace) != nullptr
                                 ? views::kNone
                                 : views::own_token(input, wanted, input.columns[strip]);
  if (token == views::kNone) {
    studio_.worker().drop(kArcSlot);
    strip_.set_arcs(views::kNone, {});
    return;
  }
  studio_.worker().submit<std::vector<ArcRow>>(
      Priority::kPreview, kArcSlot, "",
      [input, strip, token, seen = strip_.seen()](const StopToken& stop, const Progress& /*progress*/) {
        return arc_rows(input, strip, token, seen, stop);
      },
      [this, token](Result<std::vector<ArcRow>> rows) {
        if (rows && on_) {
          strip_.set_arcs(token, *std::move(rows));
        }
      });
}

// The token of the text under the pointer, as if it were pointed at in the strip.
void ArcLink::point_at(const QPoint& place) {
  const views::ViewInput input = studio_.view_input();
  const models::Input& shown = studio_.input();
  if (input.columns.empty() || !shown.text || shown.text->size() > kLongestPointed) {
    return;
  }
  const views::Column& column = input.columns[std::min(column_, input.columns.size() - 1)];
  const auto byte = static_cast<std::int64_t>(editor_.byte_at(place));
  std::optional<views::Token> token;
  if (column.trace->text() == *shown.text && byte < std::ssize(*shown.text)) {
    const std::int64_t own = views::token_of(column.trace->tokens(), views::TokenText{{byte, byte + 1}, 0});
    token = own == views::kNone ? std::nullopt : views::token_at(input, column, own);
  }
  studio_.point({token.value_or(views::Token()), views::kNone});
}

bool ArcLink::eventFilter(QObject* object, QEvent* event) {
  if (on_ && event->type() == QEvent::MouseMove && static_cast<QMouseEvent*>(event)->buttons() == Qt::NoButton) {
    points_ = true;
    point_at(static_cast<QMouseEvent*>(event)->pos());
  } else if (points_ && event->type() == QEvent::Leave) {
    points_ = false;
    studio_.point({});
  }
  return QObject::eventFilter(object, event);
}

}  // namespace locus::workbench
