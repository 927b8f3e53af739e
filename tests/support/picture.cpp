#include "tests/support/picture.h"

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <stdexcept>

#include "tests/support/layouts.h"

namespace locus::test {

namespace {

void write(const std::filesystem::path& file, const cv::Mat& picture, const std::vector<int>& options = {}) {
  if (!cv::imwrite(file.string(), picture, options)) {
    throw std::runtime_error("cannot write " + file.string());
  }
}

}  // namespace

void write_picture(const std::filesystem::path& file, int width, int height) {
  cv::Mat picture(height, width, CV_8UC3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      picture.at<cv::Vec3b>(y, x) = {static_cast<unsigned char>(255 * x / width),
                                     static_cast<unsigned char>(255 * y / height),
                                     static_cast<unsigned char>((x / 5 + y / 7) % 2 * 200)};
    }
  }
  write(file, picture);
}

void write_rgb(const std::filesystem::path& file, std::vector<std::uint8_t> rgb, int width, int height) {
  cv::Mat picture(height, width, CV_8UC3, rgb.data());
  cv::cvtColor(picture, picture, cv::COLOR_RGB2BGR);
  write(file, picture);
}

void write_colours(const std::filesystem::path& file, const std::string& kind, const std::vector<int>& options) {
  const bool wide = kind.ends_with("16");
  const int channels = kind.starts_with("grey") ? 1 : kind == "rgba" ? 4 : 3;
  cv::Mat picture(43, 61, CV_MAKETYPE(wide ? CV_16U : CV_8U, channels));
  cv::RNG random(7);
  random.fill(picture, cv::RNG::UNIFORM, 0, wide ? 65536 : 256);
  cv::GaussianBlur(picture, picture, {5, 5}, 2);
  cv::normalize(picture, picture, 0, wide ? 65535 : 255, cv::NORM_MINMAX);
  write(file, picture, options);
}

std::vector<std::uint8_t> decoded_by_opencv(const std::filesystem::path& file) {
  cv::Mat picture = cv::imread(file.string(), cv::IMREAD_UNCHANGED);
  if (picture.depth() == CV_16U) {
    cv::Mat narrow;
    picture.convertTo(narrow, CV_8U, 1.0 / 257);
    picture = narrow;
  }
  cv::Mat rgba;
  cv::cvtColor(picture, rgba,
               picture.channels() == 1   ? cv::COLOR_GRAY2RGBA
               : picture.channels() == 3 ? cv::COLOR_BGR2RGBA
                                         : cv::COLOR_BGRA2RGBA);
  return {rgba.datastart, rgba.dataend};
}

}  // namespace locus::test
