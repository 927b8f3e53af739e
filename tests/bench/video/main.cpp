// bench_video FILE FRAMES WIDTH HEIGHT: writes a video by OpenCV's videoio, which the bench itself is not linked with: it
// brings some two hundred libraries. MPEG-4 in MP4, 30 frames a second, each another picture that moves.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>
#include <string>

namespace {

void paint(cv::Mat& frame, int number) {
  for (int y = 0; y < frame.rows; ++y) {
    auto* const row = frame.ptr<cv::Vec3b>(y);
    for (int x = 0; x < frame.cols; ++x) {
      row[x] = {static_cast<std::uint8_t>(x + 3 * number), static_cast<std::uint8_t>(y + 5 * number),
                static_cast<std::uint8_t>(x * y / 512 + number)};
    }
  }
}

}  // namespace

int main(int count, char** words) {
  constexpr int kWords = 5;
  constexpr double kFps = 30;
  if (count != kWords) {
    std::fputs("expected FILE FRAMES WIDTH HEIGHT\n", stderr);
    return 2;
  }
  try {
    const int frames = std::stoi(words[2]);
    cv::Mat frame(std::stoi(words[4]), std::stoi(words[3]), CV_8UC3);
    cv::VideoWriter writer(words[1], cv::CAP_FFMPEG, cv::VideoWriter::fourcc('m', 'p', '4', 'v'), kFps, frame.size());
    if (!writer.isOpened()) {
      std::fputs("expected an encoder of MPEG-4, found none\n", stderr);
      return 1;
    }
    for (int n = 0; n < frames; ++n) {
      paint(frame, n);
      writer.write(frame);
    }
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "%s\n", exception.what());
    return 1;
  }
  return 0;
}
