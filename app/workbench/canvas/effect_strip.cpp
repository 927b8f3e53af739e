#include "app/workbench/canvas/effect_strip.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QStringList>

#include "app/views/shared/alignment.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

EffectStrip::EffectStrip(Studio& studio, QWidget* parent)
    : QWidget(parent), studio_(studio), effects_(studio.worker()) {
  give_name(this, "effect-strip", QStringLiteral("Effect of the edits"));
  line_ = make_layout<QHBoxLayout>(this, 2);
  connect(&studio_, &Studio::runs_changed, this, &EffectStrip::refresh);
  connect(&studio_, &Studio::checkpoints_changed, this, &EffectStrip::refresh);
  connect(&studio_, &Studio::figure_changed, this, &EffectStrip::refresh);
  connect(&studio_, &Studio::state_changed, this, &EffectStrip::refresh);
  connect(&studio_.columns().runs(), &CheckpointRuns::started, &effects_, &EditEffects::hold);
  connect(&effects_, &EditEffects::changed, this, &EffectStrip::refresh);
  hide();
}

void EffectStrip::set_hidden(bool hidden) {
  hidden_ = hidden;
  refresh();
}

QString EffectStrip::text_of(const Checkpoint& column, std::size_t number) const {
  if (!column.trace || column.trace->edits().empty()) {
    return {};
  }
  const auto* effect = effects_.of(*column.trace);
  if (effect == nullptr) {
    return QStringLiteral("effect of the edits: …");
  }
  if (!effect->ok()) {
    return QStringLiteral("effect of the edits: ") + qt(effect->error().describe());
  }
  const views::ViewInput input = studio_.view_input();
  const bool chosen = input.query.chosen() && number < input.columns.size();
  const std::int64_t token =
      chosen ? views::own_token(input, input.query, input.columns[number]) : std::int64_t{views::kNone};
  constexpr qsizetype kFirstLine = 2;  // of the parts: what the token is about
  QStringList parts;
  for (const std::string& line : effect_lines(**effect, *column.trace, token)) {
    parts << qt(line);
  }
  const QString between = QStringLiteral(" · ");
  return parts.mid(0, kFirstLine).join(between) + QLatin1Char('\n') + parts.mid(kFirstLine).join(between);
}

void EffectStrip::refresh() {
  const std::vector<const Checkpoint*> shown = studio_.checkpoints().shown();
  bool any = false;
  for (const Checkpoint* column : shown) {
    any = any || (column->trace && !column->trace->edits().empty());
  }
  setVisible(any && !hidden_);
  if (!any) {
    effects_.hold();
    return;
  }
  // Behind the figure: what is seen first is drawn first.
  if (!hidden_ && !studio_.checkpoints().waiting() && !studio_.scheduler().is_stale()) {
    effects_.ask(studio_.checkpoints());
  }
  while (labels_.size() > shown.size()) {
    delete labels_.back();
    labels_.pop_back();
  }
  while (labels_.size() < shown.size()) {
    auto* label = new QLabel(this);
    label->setObjectName(QStringLiteral("effect-%1").arg(labels_.size()));
    label->setAlignment(Qt::AlignHCenter | Qt::AlignTop);
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setMinimumHeight(2 * label->fontMetrics().lineSpacing());  // the figure keeps its height
    label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Minimum);
    line_->addWidget(label, 1);
    labels_.push_back(label);
  }
  // More columns than two may stand in several rows, so that no label is below its column.
  constexpr std::size_t kSideBySide = 2;
  const bool named = shown.size() > kSideBySide;
  for (std::size_t n = 0; n < shown.size(); ++n) {
    QString text = text_of(*shown[n], n);
    labels_[n]->setVisible(!named || !text.isEmpty());
    if (named && !text.isEmpty()) {
      text.prepend(qt(shown[n]->name) + QStringLiteral(": "));
    }
    if (labels_[n]->text() != text) {
      labels_[n]->setText(text);
    }
  }
}

}  // namespace locus::workbench
