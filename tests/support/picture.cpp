#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <stdexcept>

#include "tests/support/layouts.h"

namespace locus::test {

void write_picture(const std::filesystem::path& file, int width, int height) {
  cv::Mat picture(height, width, CV_8UC3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      picture.at<cv::Vec3b>(y, x) = {static_cast<unsigned char>(255 * x / width),
                                     static_cast<unsigned char>(255 * y / height),
                                     static_cast<unsigned char>((x / 5 + y / 7) % 2 * 200)};
    }
  }
  if (!cv::imwrite(file.string(), picture)) {
    throw std::runtime_error("cannot write " + file.string());
  }
}

}  // namespace locus::test
