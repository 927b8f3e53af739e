#include "app/workbench/canvas/options_bar.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/session/shared_options.h"
#include "app/workbench/canvas/option_controls.h"
#include "app/workbench/state/change_state.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/popover.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

constexpr int kControlGap = 14;

}  // namespace

OptionsBar::OptionsBar(Studio& studio, QWidget* parent) : QWidget(parent), studio_(studio) {
  give_name(this, "options", QStringLiteral("Options of the view"));
  line_ = new QHBoxLayout(this);
  line_->setContentsMargins(6, 0, 4, 0);
  line_->setSpacing(kControlGap);
  line_->addStretch(1);
  more_ = make_button<QToolButton>(this, "more-options", QStringLiteral("More…"),
                                   QStringLiteral("The other options of the view"));
  more_->setAccessibleName(QStringLiteral("More options"));
  line_->addWidget(more_);
  popover_ = new Popover(*more_);
  give_name(popover_, "more-options-popover", QStringLiteral("More options of the view"));
  rest_ = new QVBoxLayout(popover_);
  connect(more_, &QToolButton::clicked, popover_, &Popover::open);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  connect(&studio_, &Studio::state_changed, this, &OptionsBar::refresh);
  connect(&studio_, &Studio::runs_changed, this, &OptionsBar::show_idle);
  refresh();
  if (parent != nullptr) {
    parent->window()->installEventFilter(this);
  }
}

bool OptionsBar::gives_way() const {
  constexpr int kSmallScreen = 800;
  const auto& all = studio_.state().options;
  const auto own = all.find(view_->info().name);
  return window()->height() <= kSmallScreen &&
         std::ranges::all_of(view_->info().controls, [&](const views::Control& control) {
           const bool set =
               own != all.end() && !(option_value(control, own->second) == option_value(control, Settings()));
           return control.kind == views::Control::Kind::kText && !set;
         });
}

QSize OptionsBar::minimumSizeHint() const {
  int line = 0;
  for (const QWidget* group : groups_) {
    line = std::max(line, group->sizeHint().height());
  }
  return {0, line};
}

QSize OptionsBar::sizeHint() const {
  int widest = 0;
  for (const QWidget* group : groups_) {
    widest = std::max(widest, group->sizeHint().width());
  }
  return {widest, minimumSizeHint().height()};
}

void OptionsBar::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) {
    for (auto* edit : findChildren<QLineEdit*>()) {
      if (edit->objectName().startsWith(QStringLiteral("option-"))) {
        edit->setFixedHeight(option_field_height(fontMetrics()));
      }
    }
  }
}

bool OptionsBar::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize && view_ != nullptr) {
    set_hidden(hidden_);
  }
  return QWidget::eventFilter(watched, event);
}

void OptionsBar::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fold();
}

std::size_t OptionsBar::fitting() const {
  const QMargins margins = line_->contentsMargins();
  const int room = width() - margins.left() - margins.right();
  const int with_more = room - more_->sizeHint().width() - kControlGap;
  int used = 0;
  std::size_t beside_more = 0;
  for (std::size_t n = 0; n < groups_.size(); ++n) {
    used += groups_[n]->sizeHint().width() + (n > 0 ? kControlGap : 0);
    beside_more = used <= with_more ? n + 1 : beside_more;
  }
  return used <= room ? groups_.size() : beside_more;
}

void OptionsBar::fold() {
  const std::size_t count = fitting();
  for (std::size_t n = 0; n < groups_.size(); ++n) {
    QWidget* const group = groups_[n];
    QWidget* const wanted = n < count ? static_cast<QWidget*>(this) : popover_;
    if (group->parentWidget() == wanted) {
      continue;
    }
    if (n < count) {
      line_->insertWidget(static_cast<int>(n), group);
    } else {
      const int from = static_cast<int>(std::count_if(
          groups_.begin() + static_cast<std::ptrdiff_t>(count), groups_.begin() + static_cast<std::ptrdiff_t>(n),
          [this](const QWidget* each) { return each->parentWidget() == popover_; }));
      rest_->insertWidget(from, group);
    }
    group->show();
  }
  more_->setVisible(count < groups_.size());
  if (count == groups_.size()) {
    popover_->hide();
  }
}

void OptionsBar::set_hidden(bool hidden) {
  hidden_ = hidden;
  setVisible(!hidden && !view_->info().controls.empty() && !gives_way());
}

// The options of the view that are set.
Settings OptionsBar::present_options() const {
  const auto& all = studio_.state().options;
  const auto own = all.find(studio_.view().info().name);
  return own == all.end() ? Settings() : own->second;
}

void OptionsBar::set(const views::Control& control, const SettingValue& value) {
  if (!filling_ && !(option_value(control, present_options()) == value)) {
    change_state(studio_, [&](session::ViewState& state) {
      session::set_option(state, studio_.view().info().name, control.name, value);
    });
  }
}

void OptionsBar::refresh() {
  if (view_ != &studio_.view()) {
    view_ = &studio_.view();
    rebuild();
  }
  filling_ = true;
  for (const auto& show : showing_) {
    show(present_options());
  }
  show_idle();
  filling_ = false;
  set_hidden(hidden_);
}

void OptionsBar::show_idle() {
  const views::ViewInput input = studio_.view_input();
  for (const auto& [control, box] : boxes_) {
    const QString why = qt(view_->why_idle(input, control->name));
    box->setEnabled(why.isEmpty());
    for (QWidget* each : {box, box->parentWidget()}) {
      each->setToolTip(why.isEmpty() ? qt(control->help) : why);
    }
  }
}

void OptionsBar::rebuild() {
  showing_.clear();
  boxes_.clear();
  popover_->hide();
  for (QWidget* group : groups_) {
    group->hide();
    group->deleteLater();  // its signal may be what brought us here
  }
  groups_.clear();
  // Controls that no instrument sets come first.
  for (const bool brushed : {false, true}) {
    for (const views::Control& control : view_->info().controls) {
      if (is_brushed(control) == brushed) {
        OptionControl made =
            make_option_control(control, *this, [this, control](const SettingValue& value) { set(control, value); });
        showing_.push_back(std::move(made.show));
        groups_.push_back(made.group);
        boxes_.emplace_back(&control, made.box);
        line_->insertWidget(static_cast<int>(groups_.size()) - 1, groups_.back());
      }
    }
  }
  fold();
  set_hidden(hidden_);
  updateGeometry();
}

bool OptionsBar::is_brushed(const views::Control& control) const {
  return std::ranges::any_of(view_->info().brushes, [&](const views::RangeBrush& brush) {
    return control.name == brush.low || control.name == brush.high;
  });
}

}  // namespace locus::workbench
