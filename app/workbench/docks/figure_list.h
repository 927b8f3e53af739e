// The figures of a session as they are listed: a picture, the name and what is seen there, below the heading of their
// group.
#pragma once

#include <QPixmap>
#include <QString>
#include <QStyledItemDelegate>
#include <functional>
#include <vector>

#include "app/session/session.h"

class QListView;

namespace locus::workbench {

// The small picture of a figure; null: none has been made yet.
using FigurePicture = std::function<QPixmap(const session::Bookmark& figure)>;

// The group of a figure, by the beginning of its name: "TAPE", "CoPE", "TAPA", "SeqPE", else "Tools".
QString group_of(const session::Bookmark& figure);
// Headings of a list: those of the groups where they change, empty elsewhere and where there is one group alone.
std::vector<QString> headings_of(const std::vector<session::Bookmark>& figures);

class FigureDelegate final : public QStyledItemDelegate {
 public:
  // Data of an item besides its name.
  enum Role { kAbout = Qt::UserRole, kThere, kPicture, kHeading };

  // In a list pictures stand at the left of the words, in a sheet above them. The parent is the list.
  enum class Form { kList, kSheet };
  FigureDelegate(QListView& list, Form form);

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                            const QModelIndex& index) const override;
  // Size of a picture in device-independent pixels.
  static QSize picture_size(Form form);

 private:
  int heading_height(const QStyleOptionViewItem& option, const QModelIndex& index) const;
  QRect words_of(const QRect& item) const;

  QListView& list_;
  const Form form_;
};

}  // namespace locus::workbench
