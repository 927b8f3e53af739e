#include "app/workbench/input/generate_controls.h"

#include <QDoubleSpinBox>
#include <QLayout>
#include <QSpinBox>
#include <QToolButton>

#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

// Why the first column cannot continue the input; empty: it can.
std::string why_not(const Studio& studio) {
  const models::Input& input = studio.input();
  if (input.image || input.pixels || input.ids) {
    return input.ids ? "Ids are not continued, texts are" : "A picture cannot be continued";
  }
  const auto columns = studio.checkpoints().shown();
  if (columns.empty()) {
    return "Nothing has run yet";
  }
  const Checkpoint& first = *columns.front();
  if (!first.model) {
    return first.name + " is a trace, without a model that could continue";
  }
  const models::ModelInfo& info = first.model->info();
  if (info.image || !(info.causal || info.encoder_layers > 0)) {
    return first.name + " is no causal text model, which could continue";
  }
  return !info.head        ? first.name + " has no output head, which names the next token"
         : !info.tokenizer ? first.name + " has no tokenizer, which would make text of what follows"
                           : "";
}

}  // namespace

void add_generate_controls(Studio& studio, QLayout& layout, QWidget* bar) {
  auto* tokens = make_spin_box<QSpinBox>(bar, "generate-count", QStringLiteral("Tokens to generate"), 1, 1000, 20);
  tokens->setPrefix(QStringLiteral("+"));
  auto* temperature =
      make_spin_box<QDoubleSpinBox>(bar, "generate-temperature", QStringLiteral("Temperature"), 0.0, 5.0, 0.0);
  temperature->setSingleStep(0.1);
  temperature->setPrefix(QStringLiteral("T "));
  auto* generate = make_button<QToolButton>(bar, "generate", QStringLiteral("Generate"));
  // Its text stays: the controls beside it keep their places when columns come and go.
  const auto name_writer = [&studio, generate, tokens, temperature] {
    const std::string why = why_not(studio);
    for (QWidget* widget : std::initializer_list<QWidget*>{generate, tokens, temperature}) {
      widget->setEnabled(why.empty());
    }
    const auto columns = studio.checkpoints().shown();
    const QString who = columns.empty() ? QStringLiteral("the first column's checkpoint") : qt(columns.front()->name);
    generate->setToolTip(why.empty() ? QStringLiteral("%1 continues the text").arg(who) : qt(why));
    tokens->setToolTip(why.empty() ? tokens->accessibleName() : qt(why));
    temperature->setToolTip(why.empty() ? QStringLiteral("Temperature; 0: always the most likely token") : qt(why));
  };
  name_writer();
  QObject::connect(&studio, &Studio::runs_changed, generate, name_writer);
  QObject::connect(&studio, &Studio::checkpoints_changed, generate, name_writer);
  QObject::connect(&studio, &Studio::input_changed, generate, name_writer);
  QObject::connect(generate, &QToolButton::clicked, &studio,
                   [&studio, tokens, temperature] { studio.inputs().generate(tokens->value(), temperature->value()); });
  for (QWidget* widget : std::initializer_list<QWidget*>{generate, tokens, temperature}) {
    layout.addWidget(widget);
    // Where there is no text to continue they leave their room to the picture, or to the ids.
    QObject::connect(&studio, &Studio::input_changed, widget, [&studio, widget] {
      const models::Input& input = studio.input();
      widget->setVisible(!input.image && !input.pixels && !input.ids);
    });
  }
}

}  // namespace locus::workbench
