// FigurePictures: small pictures of figures: those that come with the bundled session, and those of the user's figures,
// which are drawn when they are shown for the first time and kept.
#pragma once

#include <QHash>
#include <QObject>
#include <QPixmap>
#include <QTimer>
#include <filesystem>

#include "app/session/session.h"

namespace locus::workbench {

class Studio;

class FigurePictures : public QObject {
  Q_OBJECT

 public:
  // `folder`: where the pictures of the user's figures are kept; it is made when the first one is.
  FigurePictures(Studio& studio, std::filesystem::path folder);

  // Null: it has not been shown yet.
  QPixmap of(const session::Bookmark& figure);

 Q_SIGNALS:
  void changed();  // there is a new picture

 private:
  // The file of a figure's picture: the bundled one, else one by its content.
  std::filesystem::path file_of(const session::Bookmark& figure) const;
  void draw_shown();

  Studio& studio_;
  const std::filesystem::path folder_;
  QTimer rest_;
  QHash<QString, QPixmap> known_;  // by file
};

}  // namespace locus::workbench
