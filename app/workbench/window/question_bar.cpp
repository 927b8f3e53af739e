#include "app/workbench/window/question_bar.h"

#include <QLabel>
#include <QPushButton>

#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

QuestionBar::QuestionBar(Studio& studio, QWidget* parent)
    : OfferBar(parent, "question", QStringLiteral("A run that takes long")), studio_(studio) {
  run_ = add_button(QStringLiteral("question-run"), QStringLiteral("Run"),
                    QStringLiteral("Run the whole input; Cancel stops it at any time"));
  first_ = add_button(QStringLiteral("question-first"), {},
                      QStringLiteral("Shorten the text to its first tokens; Ctrl+Z restores it"));
  auto* cancel = add_button(QStringLiteral("question-cancel"), QStringLiteral("Cancel"),
                            QStringLiteral("Do not run; keep what is shown"));
  connect(run_, &QPushButton::clicked, this, [this] { studio_.columns().runs().agree(); });
  connect(first_, &QPushButton::clicked, this, [this] {
    const auto question = studio_.checkpoints().question();
    studio_.inputs().run_first();
    if (question) {
      Q_EMIT shortened(
          QStringLiteral("the first %1 tokens; Ctrl+Z restores the whole text").arg(qt(grouped(question->first))));
    }
  });
  connect(cancel, &QPushButton::clicked, this, [this] {
    studio_.cancel();
    Q_EMIT declined();
  });
  connect(&studio_, &Studio::checkpoints_changed, this, &QuestionBar::refresh);
  connect(&studio_, &Studio::runs_changed, this, &QuestionBar::refresh);
  connect(&studio_, &Studio::work_changed, this, &QuestionBar::refresh);
  refresh();
}

void QuestionBar::refresh() {
  const auto question = studio_.checkpoints().question();
  if (question) {
    says().setText(qt(question_text(*question)) + QStringLiteral("."));
    first_->setText(QStringLiteral("First %1 tokens").arg(qt(grouped(question->first))));
    first_->setVisible(question->first > 0);
  }
  setVisible(question.has_value());
}

}  // namespace locus::workbench
