// StartPage: the first thing that is seen, in the place of the canvas: four figures that run now, ways to open what is
// the user's own, and the figures of the bundled session as a contact sheet. Shown at the first start, for a session
// with nothing in it, and by Help > Getting started.
#pragma once

#include <QScrollArea>
#include <QStringList>
#include <vector>

#include "app/session/session.h"
#include "app/workbench/docks/figure_list.h"

class QBoxLayout;
class QLineEdit;

namespace locus::workbench {

class LiveCard;
class Studio;

class StartPage : public QScrollArea {
  Q_OBJECT

 public:
  // `figures`: of the bundled session.
  StartPage(Studio& studio, const std::vector<session::Bookmark>& figures, const FigurePicture& picture,
            QWidget* parent);
  ~StartPage() override;

  void set_recent(const QStringList& paths);
  // Draws the live figures anew: they are of this theme.
  void set_dark(bool dark);
  // Ends and begins the work of the live figures.
  void set_live(bool live);

 Q_SIGNALS:
  void figure_chosen(const session::Bookmark& figure);
  void path_chosen(const QString& path);
  void text_wanted();
  void checkpoint_wanted();
  void hub_wanted();
  void manual_wanted();
  void left();  // Esc

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QWidget* make_cards(const std::vector<session::Bookmark>& figures, const FigurePicture& picture);
  QWidget* make_ways();
  void add_sheet(QBoxLayout& column, const QString& group, const std::vector<session::Bookmark>& figures,
                 const FigurePicture& picture);

  Studio& studio_;
  std::vector<LiveCard*> cards_;
  QLineEdit* text_ = nullptr;
  QWidget* recent_ = nullptr;
};

}  // namespace locus::workbench
