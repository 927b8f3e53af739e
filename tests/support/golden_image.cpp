#include "tests/support/golden_image.h"

#include <QDir>
#include <QImage>
#include <algorithm>
#include <cstdlib>
#include "tests/support/paths.h"

namespace locus::golden {
namespace {

QImage to_qimage(const vulkan::PixelImage& image) {
  return QImage(image.rgba.data(), static_cast<int>(image.width), static_cast<int>(image.height),
                QImage::Format_RGBA8888)
      .convertToFormat(QImage::Format_RGB888);
}

struct Difference {
  double mean = 0;
  double share_off = 0;
  QImage picture;  // differences, eightfold
};

Difference difference(const QImage& a, const QImage& b, int channel) {
  Difference result{0, 0, QImage(a.size(), QImage::Format_RGB888)};
  double sum = 0;
  double off = 0;
  for (int y = 0; y < a.height(); ++y) {
    const uchar* left = a.constScanLine(y);
    const uchar* right = b.constScanLine(y);
    uchar* out = result.picture.scanLine(y);
    for (int x = 0; x < a.width(); ++x) {
      int largest = 0;
      for (int c = 3 * x; c < 3 * x + 3; ++c) {
        const int delta = std::abs(left[c] - right[c]);
        sum += delta;
        largest = std::max(largest, delta);
        out[c] = static_cast<uchar>(std::min(255, 8 * delta));
      }
      off += largest > channel ? 1 : 0;
    }
  }
  const double pixels = static_cast<double>(a.width()) * a.height();
  result.mean = sum / (3 * pixels);
  result.share_off = off / pixels;
  return result;
}

}  // namespace

Status check_image(const vulkan::PixelImage& actual, const std::string& floor, const std::string& name, bool update,
                   const ImageTolerance& tolerance) {
  const QString stored = QString::fromStdString(test::source_dir() + "/tests/" + floor + "/golden/" + name + ".png");
  const QImage image = to_qimage(actual);
  if (update) {
    return image.save(stored) ? Status() : bad_input("cannot be written", stored.toStdString());
  }
  const QString folder = QString::fromStdString(test::build_dir() + "/golden/");
  QDir().mkpath(folder);
  const QString left = folder + QString::fromStdString(name);
  const QImage expected = QImage(stored).convertToFormat(QImage::Format_RGB888);
  if (expected.size() != image.size()) {
    image.save(left + "-actual.png");
    return bad_input("no stored picture of this size; see " + (left + "-actual.png").toStdString(),
                     stored.toStdString());
  }
  const Difference found = difference(image, expected, tolerance.channel);
  if (found.mean <= tolerance.mean && found.share_off <= tolerance.share_off) {
    return {};
  }
  image.save(left + "-actual.png");
  found.picture.save(left + "-difference.png");
  return bad_input("differs from the stored picture: mean " + std::to_string(found.mean) + "/255 (allowed " +
                       std::to_string(tolerance.mean) + "), " + std::to_string(100 * found.share_off) +
                       " % of the pixels off (allowed " + std::to_string(100 * tolerance.share_off) + " %); see " +
                       left.toStdString() + "-*.png",
                   stored.toStdString());
}

}  // namespace locus::golden
