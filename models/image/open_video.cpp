#include <dlfcn.h>

#include <fstream>
#include <memory>
#include <utility>

#include "models/image/video.h"
#include "models/image/video_capture.h"
#include "models/image/video_header.h"

namespace locus::image {

namespace {

// The library beside this one, loaded once; null where there is none.
OpenCapture load_capture() {
  static const OpenCapture loaded = []() -> OpenCapture {
    Dl_info own{};
    if (dladdr(reinterpret_cast<const void*>(&load_capture), &own) == 0 || own.dli_fname == nullptr) {
      return nullptr;
    }
    const auto file = std::filesystem::path(own.dli_fname).parent_path() / "liblocus_video.so";
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<OpenCapture>(dlsym(library, kOpenCapture));
  }();
  return loaded;
}

Result<std::string> first_bytes(const std::filesystem::path& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) {
    return bad_input("expected a file, found none");
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kVideoHeaderBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file && !file.eof()) {
    return bad_input("cannot read");
  }
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

Result<TakenVideo> read_video(const std::filesystem::path& path, const VideoOptions& options, std::int64_t cell) {
  LOCUS_TRY(const std::string bytes, first_bytes(path));
  LOCUS_TRY(const ContainerHeader container, read_video_header(bytes));
  if (is_huge_frame(container.width, container.height)) {
    return huge_frame(container.width, container.height);
  }
  std::error_code failure;
  const std::filesystem::path whole = std::filesystem::absolute(path, failure);  // begins with "/": names no protocol
  if (failure) {
    return bad_input("cannot read");
  }
  const OpenCapture open = load_capture();
  if (open == nullptr) {
    return unsupported("this build opens no videos: expected OpenCV's videoio and liblocus_video.so, found none");
  }
  std::unique_ptr<FrameSource> source;
  Status status;
  open(whole, !container.counts_frames(), source, status);
  LOCUS_CHECK(status);
  return take_frames(*source, options, cell);
}

}  // namespace

Result<TakenVideo> open_video(const std::filesystem::path& path, const VideoOptions& options, std::int64_t cell) {
  LOCUS_TRY(TakenVideo taken, within(read_video(path, options, cell), path.string()));
  if (!taken.warning.empty()) {
    taken.warning = path.string() + ": " + taken.warning;
  }
  return taken;
}

}  // namespace locus::image
