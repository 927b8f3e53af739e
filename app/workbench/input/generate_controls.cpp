#include "app/workbench/input/generate_controls.h"

#include <QDoubleSpinBox>
#include <QLayout>
#include <QSpinBox>
#include <QToolButton>

#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/widgets/short_names.h"

namespace locus::workbench {

namespace {

constexpr int kWriterLetters = 12;  // of the name of who generates

}  // namespace

void add_generate_controls(Studio& studio, QLayout& layout, QWidget* bar) {
  auto* tokens = make_spin_box<QSpinBox>(bar, "generate-count", QStringLiteral("Tokens to generate"), 1, 1000, 20);
  tokens->setPrefix(QStringLiteral("+"));
  tokens->setToolTip(tokens->accessibleName());
  auto* temperature =
      make_spin_box<QDoubleSpinBox>(bar, "generate-temperature", QStringLiteral("Temperature"), 0.0, 5.0, 0.0);
  temperature->setSingleStep(0.1);
  temperature->setPrefix(QStringLiteral("T "));
  temperature->setToolTip(QStringLiteral("Temperature; 0: always the most likely token"));
  auto* generate = make_button<QToolButton>(bar, "generate", QStringLiteral("Generate"));
  const auto name_writer = [&studio, bar, generate] {
    const auto columns = studio.checkpoints().shown();
    const QString who = columns.empty() ? QStringLiteral("the first column's checkpoint") : qt(columns.front()->name);
    QStringList names;
    for (const Checkpoint* each : columns) {
      names << qt(each->name);
    }
    const QFontMetrics metrics = bar->fontMetrics();
    const QString name = names_within(names, kWriterLetters * metrics.averageCharWidth(), metrics).value(0, who);
    generate->setText(columns.size() > 1 ? QStringLiteral("Generate: %1").arg(name) : QStringLiteral("Generate"));
    generate->setToolTip(QStringLiteral("%1 continues the text").arg(who));
  };
  name_writer();
  QObject::connect(&studio, &Studio::runs_changed, generate, name_writer);
  QObject::connect(generate, &QToolButton::clicked, &studio,
                   [&studio, tokens, temperature] { studio.inputs().generate(tokens->value(), temperature->value()); });
  for (QWidget* widget : std::initializer_list<QWidget*>{generate, tokens, temperature}) {
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
