#include "app/workbench/input/ruler_link.h"

#include <QCheckBox>

namespace locus::workbench {

RulerLink::RulerLink(Studio& studio, PositionRuler& ruler, QObject* parent)
    : QObject(parent), studio_(studio), ruler_(ruler), pulled_(studio, this) {
  ruler_.hide();
  connect(&ruler_, &PositionRuler::begun, this, [this] {
    const Checkpoint* shown = studio_.checkpoints().column(column_);
    pulled_.begin(shown == nullptr ? 0 : shown->id);
  });
  connect(&ruler_, &PositionRuler::moved, this, [this](const Range& tokens, double by) {
    models::Edit edit;
    edit.kind = models::EditKind::kShift;
    edit.tokens = tokens;
    edit.by = by;
    pulled_.show(edit);
  });
  connect(&ruler_, &PositionRuler::ended, this, [this] {
    pulled_.end();
    update();  // of a run that came while the token was pulled
  });
}

QCheckBox* RulerLink::make_switch(QWidget* parent) {
  auto* box = new QCheckBox(QStringLiteral("ruler"), parent);
  box->setObjectName(QStringLiteral("show-ruler"));
  box->setToolTip(QStringLiteral("Show the tokens along their positions; drag them to move them"));
  connect(box, &QCheckBox::toggled, this, [this](bool on) {
    ruler_.setVisible(on);
    update();
  });
  return box;
}

void RulerLink::update() {
  const Checkpoint* shown = studio_.checkpoints().column(column_);
  if (shown == nullptr || !ruler_.isVisible()) {
    ruler_.set_trace(nullptr, 0);
    return;
  }
  if (const int edited = studio_.checkpoints().edited(shown->id); edited != 0) {
    shown = studio_.checkpoints().find(edited);
  }
  if (shown->trace == nullptr) {
    return;  // it runs: what was pulled stays where it is
  }
  const bool editable = shown->model != nullptr && shown->model->info().encoder_layers == 0;
  ruler_.set_editable(editable, editable ? QString()
                                         : QStringLiteral("Positions of a trace and of an encoder-decoder stay "
                                                          "where they are"));
  ruler_.set_trace(shown->trace, studio_.input().position_start);
}

}  // namespace locus::workbench
