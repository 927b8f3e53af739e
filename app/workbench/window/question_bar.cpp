#include "app/workbench/window/question_bar.h"

#include <QLabel>
#include <QPushButton>

#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/flow_layout.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

QuestionBar::QuestionBar(Studio& studio, QWidget* parent) : QFrame(parent), studio_(studio) {
  give_name(this, "question", QStringLiteral("A run that takes long"));
  setFrameShape(QFrame::StyledPanel);
  setBackgroundRole(QPalette::ToolTipBase);
  setForegroundRole(QPalette::ToolTipText);
  setAutoFillBackground(true);
  auto* layout = new FlowLayout(this);  // in as many lines as a narrow window takes
  layout->setContentsMargins(8, 4, 8, 4);
  question_label_ = new QLabel(this);
  question_label_->setObjectName(QStringLiteral("question-says"));
  question_label_->setForegroundRole(QPalette::ToolTipText);
  layout->addWidget(question_label_);
  const auto add = [&](const char* name, const QString& words, const QString& tip) {
    auto* button = make_button<QPushButton>(this, name, words, tip);
    button->setAutoDefault(false);
    button->setFocusPolicy(Qt::TabFocus);  // a click leaves the keyboard where it is
    layout->addWidget(button);
    return button;
  };
  run_ = add("question-run", QStringLiteral("Run"), QStringLiteral("Run the whole input; Cancel stops it at any time"));
  first_ = add("question-first", {}, QStringLiteral("Shorten the text to its first tokens; Ctrl+Z restores it"));
  auto* cancel = add("question-cancel", QStringLiteral("Cancel"), QStringLiteral("Do not run; keep what is shown"));
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
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  refresh();
}

void QuestionBar::refresh() {
  const auto question = studio_.checkpoints().question();
  if (question) {
    question_label_->setText(qt(question_text(*question)) + QStringLiteral("."));
    first_->setText(QStringLiteral("First %1 tokens").arg(qt(grouped(question->first))));
    first_->setVisible(question->first > 0);
  }
  setVisible(question.has_value());
}

}  // namespace locus::workbench
