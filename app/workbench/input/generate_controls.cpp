#include "app/workbench/input/generate_controls.h"

#include <QDoubleSpinBox>
#include <QLayout>
#include <QSpinBox>
#include <QToolButton>

#include "app/workbench/studio/studio.h"

namespace locus::workbench {

namespace {

constexpr int kWriterLetters = 9;  // of the name of who generates

}  // namespace

void add_generate_controls(Studio& studio, QLayout& layout, QWidget* bar) {
  auto* tokens = new QSpinBox(bar);
  tokens->setObjectName(QStringLiteral("generate-count"));
  tokens->setRange(1, 1000);
  tokens->setValue(20);
  tokens->setPrefix(QStringLiteral("+"));
  tokens->setToolTip(QStringLiteral("Tokens to generate"));
  tokens->setAccessibleName(QStringLiteral("Tokens to generate"));
  auto* temperature = new QDoubleSpinBox(bar);
  temperature->setObjectName(QStringLiteral("generate-temperature"));
  temperature->setRange(0, 5);
  temperature->setSingleStep(0.1);
  temperature->setPrefix(QStringLiteral("T "));
  temperature->setToolTip(QStringLiteral("Temperature; 0: always the likeliest token"));
  temperature->setAccessibleName(QStringLiteral("Temperature"));
  auto* generate = new QToolButton(bar);
  generate->setObjectName(QStringLiteral("generate"));
  generate->setText(QStringLiteral("Generate"));
  const auto name_writer = [&studio, bar, generate] {
    const auto columns = studio.checkpoints().shown();
    const QString who = columns.empty() ? QStringLiteral("the first column's checkpoint")
                                        : QString::fromStdString(columns.front()->name);
    const QString name =
        bar->fontMetrics().elidedText(who, Qt::ElideMiddle, kWriterLetters * bar->fontMetrics().averageCharWidth());
    generate->setText(columns.size() > 1 ? QStringLiteral("Generate: %1").arg(name) : QStringLiteral("Generate"));
    generate->setToolTip(QStringLiteral("%1 continues the text").arg(who));
  };
  name_writer();
  QObject::connect(&studio, &Studio::runs_changed, generate, name_writer);
  QObject::connect(generate, &QToolButton::clicked, &studio,
                   [&studio, tokens, temperature] { studio.generate(tokens->value(), temperature->value()); });
  for (QWidget* widget :
       {static_cast<QWidget*>(generate), static_cast<QWidget*>(tokens), static_cast<QWidget*>(temperature)}) {
    layout.addWidget(widget);
    // Where there is no text to continue they leave their room to the picture, or to the ids.
    QObject::connect(&studio, &Studio::input_changed, widget, [&studio, widget] {
      const models::Input& input = studio.input();
      widget->setVisible(!input.image && !input.pixels && !input.ids);
      widget->setEnabled(input.text.has_value());
    });
  }
}

}  // namespace locus::workbench
