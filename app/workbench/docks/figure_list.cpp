#include "app/workbench/docks/figure_list.h"

#include <QApplication>
#include <QListView>
#include <QPainter>
#include <QTextLayout>
#include <algorithm>
#include <array>
#include <set>

#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

constexpr int kMargin = 4;
constexpr QSize kListPicture(72, 46);
constexpr QSize kSheetPicture(168, 105);
constexpr int kListLines = 2;  // of what is seen in a figure; the tooltip has all of it
constexpr int kSheetLines = 2;

QFont name_font(const QStyleOptionViewItem& option) {
  QFont font = option.font;
  font.setBold(true);
  return font;
}

QFont about_font(const QStyleOptionViewItem& option) {
  QFont font = option.font;
  font.setPointSizeF(font.pointSizeF() * 0.9);
  return font;
}

// The lines of a text within `width`; where they are too many, the last one ends in an ellipsis.
QStringList lines_of(QString text, const QFont& font, int width, int most) {
  text.replace(QLatin1Char('\n'), QChar::LineSeparator);  // where a layout ends a line
  QTextLayout layout(text, font);
  layout.beginLayout();
  QStringList lines;
  for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
    line.setLineWidth(width);
    if (lines.size() == most) {
      const auto last = static_cast<int>(layout.lineAt(most - 1).textStart());
      lines.back() = QFontMetrics(font).elidedText(text.mid(last), Qt::ElideRight, width);
      break;
    }
    lines << text.mid(line.textStart(), line.textLength()).trimmed();
  }
  layout.endLayout();
  return lines;
}

// The largest part of `room` with the shape of the picture, in its middle.
QRect placed(const QPixmap& picture, const QRect& room) {
  QRect at(QPoint(), picture.size().scaled(room.size(), Qt::KeepAspectRatio));
  at.moveCenter(room.center());
  return at;
}

}  // namespace

QString group_of(const session::Bookmark& figure) {
  for (const char* paper : {"TAPE", "CoPE", "TAPA", "SeqPE"}) {
    if (figure.name.rfind(std::string(paper) + " ", 0) == 0) {
      return QLatin1String(paper);
    }
  }
  return QStringLiteral("Tools");
}

std::vector<QString> headings_of(const std::vector<session::Bookmark>& figures) {
  std::vector<QString> headings;
  std::set<QString> groups;
  QString before;
  for (const session::Bookmark& figure : figures) {
    const QString group = group_of(figure);
    groups.insert(group);
    headings.push_back(group == before ? QString() : group);
    before = group;
  }
  return groups.size() > 1 ? headings : std::vector<QString>(figures.size());
}

FigureDelegate::FigureDelegate(QListView& list, Form form) : QStyledItemDelegate(&list), list_(list), form_(form) {}

QSize FigureDelegate::picture_size(Form form) {
  return form == Form::kList ? kListPicture : kSheetPicture;
}

int FigureDelegate::heading_height(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const bool any = form_ == Form::kList && !index.data(kHeading).toString().isEmpty();
  return any ? QFontMetrics(name_font(option)).height() + 2 * kMargin : 0;
}

// The room of the words of an item without its heading.
QRect FigureDelegate::words_of(const QRect& item) const {
  const QRect inside = item.adjusted(kMargin, kMargin, -kMargin, -kMargin);
  return form_ == Form::kList ? inside.adjusted(kListPicture.width() + 2 * kMargin, 0, 0, 0)
                              : inside.adjusted(0, kSheetPicture.height() + kMargin, 0, 0);
}

QSize FigureDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const int line = QFontMetrics(about_font(option)).height();
  const int name = QFontMetrics(name_font(option)).height();
  if (form_ == Form::kSheet) {
    return {kSheetPicture.width() + 2 * kMargin, kSheetPicture.height() + name + kSheetLines * line + 3 * kMargin};
  }
  const int words = name + kListLines * line;
  return {list_.viewport()->width(),
          heading_height(option, index) + std::max(kListPicture.height(), words) + 2 * kMargin};
}

void FigureDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QStyleOptionViewItem item = option;
  initStyleOption(&item, index);
  item.text.clear();
  const int heading = heading_height(option, index);
  if (heading > 0) {
    const QRect line(option.rect.left() + kMargin, option.rect.top() + kMargin, option.rect.width() - 2 * kMargin,
                     heading - kMargin);
    painter->setFont(name_font(option));
    painter->setPen(option.palette.color(QPalette::PlaceholderText));
    painter->drawText(line, Qt::AlignLeft | Qt::AlignVCenter, index.data(kHeading).toString());
    item.rect.setTop(item.rect.top() + heading);
  }
  const QRect whole = item.rect;
  QApplication::style()->drawControl(QStyle::CE_ItemViewItem, &item, painter, option.widget);
  const bool selected = option.state.testFlag(QStyle::State_Selected);
  const bool there = index.data(kThere).toBool();
  const auto color = [&](QPalette::ColorRole role) {
    return option.palette.color(selected ? QPalette::HighlightedText : there ? role : QPalette::PlaceholderText);
  };
  const QSize size = picture_size(form_);
  const QRect room(form_ == Form::kList ? QPoint(whole.left() + kMargin, whole.top() + kMargin)
                                        : QPoint(whole.center().x() - size.width() / 2, whole.top() + kMargin),
                   size);
  if (const auto picture = index.data(kPicture).value<QPixmap>(); !picture.isNull()) {
    painter->setRenderHint(QPainter::SmoothPixmapTransform);
    painter->drawPixmap(placed(picture, room), picture);
  } else {
    painter->setPen(QPen(color(QPalette::PlaceholderText), 1, Qt::DotLine));
    painter->drawRect(room.adjusted(0, 0, -1, -1));
  }
  QRect rest = words_of(whole);
  painter->setFont(name_font(option));
  painter->setPen(color(QPalette::Text));
  painter->drawText(
      rest, Qt::AlignLeft | Qt::AlignTop,
      painter->fontMetrics().elidedText(index.data(Qt::DisplayRole).toString(), Qt::ElideRight, rest.width()));
  rest.setTop(rest.top() + painter->fontMetrics().height());
  painter->setFont(about_font(option));
  painter->setPen(color(QPalette::PlaceholderText));
  for (const QString& each : lines_of(index.data(kAbout).toString(), about_font(option), rest.width(),
                                      form_ == Form::kList ? kListLines : kSheetLines)) {
    painter->drawText(rest, Qt::AlignLeft | Qt::AlignTop | Qt::TextSingleLine, each);
    rest.setTop(rest.top() + painter->fontMetrics().height());
  }
}

// A name is edited where it stands.
void FigureDelegate::updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                                          const QModelIndex& index) const {
  QRect whole = option.rect;
  whole.setTop(whole.top() + heading_height(option, index));
  const QRect words = words_of(whole);
  editor->setGeometry(words.left(), words.top(), words.width(), editor->sizeHint().height());
}

}  // namespace locus::workbench
