// FlowLayout: widgets side by side, wrapped into lines, vertically centred within a line.
#pragma once

#include <QLayout>
#include <QList>

namespace locus::workbench {

class FlowLayout : public QLayout {
 public:
  // `gap_px`: between two widgets of a line.
  explicit FlowLayout(QWidget* parent, int gap_px = 14);
  ~FlowLayout() override;

  // Gives each line as many widgets as the others, but for the last: four of which three fit stand in two lines of two.
  void set_even() { even_ = true; }

  void addItem(QLayoutItem* item) override { items_.push_back(item); }
  int count() const override { return static_cast<int>(items_.size()); }
  QLayoutItem* itemAt(int index) const override { return items_.value(index); }
  QLayoutItem* takeAt(int index) override;
  Qt::Orientations expandingDirections() const override { return {}; }
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override { return flow({0, 0, width, 0}, false); }
  QSize sizeHint() const override { return minimumSize(); }
  QSize minimumSize() const override;
  void setGeometry(const QRect& rect) override;

 private:
  int flow(const QRect& rect, bool place) const;  // returns the height
  // The most widgets of a line of this width.
  std::size_t most_of_line(int width) const;

  QList<QLayoutItem*> items_;
  const int gap_px_;
  bool even_ = false;
  int height_ = 0;  // at the present width, since docks do not query height for width
};

}  // namespace locus::workbench
