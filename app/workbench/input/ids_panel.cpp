#include "app/workbench/input/ids_panel.h"

#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <random>
#include <string_view>

#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/exact_editor.h"
#include "app/workbench/widgets/flow_layout.h"
#include "app/workbench/widgets/qt_text.h"
#include "core/base/lists.h"

namespace locus::workbench {

namespace {

constexpr const char* kBetween = " \t\r\n,;[]()";
constexpr int kMaxRandom = 100'000;
constexpr int kUsualCount = 64;

}  // namespace

Result<std::vector<std::int64_t>> parse_ids(const std::string& typed, std::int64_t vocabulary) {
  std::vector<std::int64_t> ids;
  for (const std::string_view word : split_words(typed, kBetween)) {
    const auto id = parse_number<std::int64_t>(word);
    if (!id || *id < 0 || *id >= vocabulary) {
      return bad_input("expected ids from 0 to " + std::to_string(vocabulary - 1) + ", found " + std::string(word));
    }
    ids.push_back(*id);
  }
  return ids;
}

std::vector<std::int64_t> random_ids(std::int64_t count, std::uint64_t seed, std::int64_t vocabulary) {
  std::mt19937_64 draws(seed);
  std::vector<std::int64_t> ids;
  for (std::int64_t n = 0; n < count && vocabulary > 0; ++n) {
    ids.push_back(static_cast<std::int64_t>(draws() % static_cast<std::uint64_t>(vocabulary)));
  }
  return ids;
}

IdsPanel::IdsPanel(QWidget* parent) : QWidget(parent) {
  auto* layout = make_layout<QVBoxLayout>(this, 0);
  editor_ = make_named<ExactEditor>(this, "ids-editor", QStringLiteral("Input ids"));
  editor_->setPlaceholderText(QStringLiteral("Ids, with spaces or commas between them: 12, 7, 301"));
  editor_->setTabChangesFocus(true);
  editor_->set_least_lines(2);
  editor_->installEventFilter(this);
  layout->addWidget(editor_, 1);
  error_ = make_label(this, "ids-error");
  error_->hide();
  layout->addWidget(error_);

  auto* bar = new QWidget(this);
  auto* row = make_layout<FlowLayout>(bar, 0);
  auto* random = make_button<QToolButton>(
      bar, "random-ids", QStringLiteral("Random ids"),
      QStringLiteral("Independent, uniformly distributed ids; the same seed gives the same ids"));
  random->setFocusPolicy(Qt::StrongFocus);
  auto* count =
      make_spin_box<QSpinBox>(bar, "random-count", QStringLiteral("Number of random ids"), 1, kMaxRandom, kUsualCount);
  count->setSuffix(QStringLiteral(" ids"));
  auto* seed = make_spin_box<QSpinBox>(bar, "random-seed", QStringLiteral("Seed of the random ids"), 0, 1'000'000, 0);
  seed->setPrefix(QStringLiteral("seed "));
  auto* borrow = make_button<QToolButton>(
      bar, "borrow", QStringLiteral("Borrow a tokenizer from…"),
      QStringLiteral("The ids of the text typed last, from the tokenizer of another checkpoint"));
  borrow->setPopupMode(QToolButton::InstantPopup);
  borrow->setFocusPolicy(Qt::StrongFocus);
  lenders_ = new QMenu(borrow);
  lenders_->setObjectName(QStringLiteral("lenders"));
  borrow->setMenu(lenders_);
  for (QWidget* widget : std::initializer_list<QWidget*>{random, count, seed, borrow}) {
    row->addWidget(widget);
  }
  layout->addWidget(bar);
  connect(editor_, &ExactEditor::textChanged, this, &IdsPanel::read);
  connect(random, &QToolButton::clicked, this, [this, count, seed] {
    const auto ids = random_ids(count->value(), static_cast<std::uint64_t>(seed->value()), vocabulary_);
    set_ids(ids);
    Q_EMIT changed(ids);
  });
}

void IdsPanel::take_focus() {
  editor_->setFocus();
}

void IdsPanel::set_vocabulary(std::int64_t vocabulary) {
  vocabulary_ = vocabulary;
}

void IdsPanel::set_ids(const std::vector<std::int64_t>& ids) {
  const auto now = parse_ids(editor_->toPlainText().toStdString(), vocabulary_);
  if (now && *now == ids) {
    return;  // as it was typed
  }
  QStringList words;
  for (const std::int64_t id : ids) {
    words << QString::number(id);
  }
  filling_ = true;
  editor_->setPlainText(words.join(QStringLiteral(", ")));
  filling_ = false;
  error_->hide();
}

std::size_t IdsPanel::caret() const {
  const std::string typed = editor_->bytes();
  return split_words(std::string_view(typed).substr(0, std::min(editor_->caret(), typed.size())), kBetween).size();
}

void IdsPanel::read() {
  if (filling_) {
    return;
  }
  const auto ids = parse_ids(editor_->toPlainText().toStdString(), vocabulary_);
  error_->setVisible(!ids.ok());
  if (ids) {
    Q_EMIT changed(*ids);
  } else {
    error_->setText(qt(ids.error().message));
  }
}

bool IdsPanel::eventFilter(QObject* object, QEvent* event) {
  if (object == editor_ && event->type() == QEvent::KeyPress &&
      static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    Q_EMIT left();
    return true;
  }
  return QWidget::eventFilter(object, event);
}

}  // namespace locus::workbench
