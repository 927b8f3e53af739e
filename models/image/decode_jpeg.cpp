#include <cstdio>  // before jpeglib.h, which needs FILE

#include <jpeglib.h>

#include <jerror.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <string>

#include "models/image/decode.h"

namespace locus::image {

namespace {

constexpr int kMaxScans = 500;  // scans of a progressive file; each decodes the whole picture again

// True for warnings about missing or wrong pixels, false for remarks on the rest of the file.
bool spoils_pixels(int code) {
  constexpr std::array<int, 6> kSpoiling{JWRN_JPEG_EOF,       JWRN_HIT_MARKER,  JWRN_HUFF_BAD_CODE,
                                         JWRN_ARITH_BAD_CODE, JWRN_MUST_RESYNC, JWRN_BOGUS_PROGRESSION};
  return std::find(kSpoiling.begin(), kSpoiling.end(), code) != kSpoiling.end();
}

// libjpeg returns by longjmp: objects that must survive it are members, and functions with a setjmp own nothing.
class JpegDecoder {
 public:
  JpegDecoder(std::string_view bytes, const Header& header) : bytes_(bytes), header_(header) {
    file_.err = jpeg_std_error(&messages_);
    file_.client_data = this;
    messages_.error_exit = [](j_common_ptr file) { of(file).leave(); };
    messages_.emit_message = on_message;
    messages_.output_message = [](j_common_ptr /*file*/) {};
    progress_.progress_monitor = on_progress;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&file_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  Result<Decoded> decode() {
    if (!begin()) {
      return failure();
    }
    decoded_.width = file_.output_width;
    decoded_.height = file_.output_height;
    if (decoded_.width != header_.width || decoded_.height != header_.height) {
      return damaged_image("its header contains two sizes");
    }
    row_.resize(static_cast<std::size_t>(decoded_.width) * static_cast<std::size_t>(file_.output_components));
    decoded_.rgba.reserve(static_cast<std::size_t>(decoded_.width * decoded_.height) * 4);
    while (file_.output_scanline < file_.output_height) {
      if (!read_row()) {
        return failure();
      }
      file_.output_components == 4 ? add_cmyk() : add_rgb();
    }
    if (!finish()) {
      return failure();
    }
    decoded_.warning = warning_;
    return std::move(decoded_);
  }

 private:
  bool begin() {
    if (setjmp(back_) != 0) {
      return false;
    }
    jpeg_create_decompress(&file_);
    file_.progress = &progress_;
    jpeg_mem_src(&file_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&file_, TRUE);
    file_.out_color_space = file_.num_components == 4 ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&file_);
    return true;
  }

  bool read_row() {
    if (setjmp(back_) != 0) {
      return false;
    }
    row_pointer_ = row_.data();
    return jpeg_read_scanlines(&file_, &row_pointer_, 1) == 1;
  }

  // Reads the data after the rows, up to the end mark.
  bool finish() {
    if (setjmp(back_) != 0) {
      return false;
    }
    return jpeg_finish_decompress(&file_) == TRUE;
  }

  void add_rgb() {
    for (std::size_t n = 0; n + 2 < row_.size(); n += 3) {
      decoded_.rgba.insert(decoded_.rgba.end(), {row_[n], row_[n + 1], row_[n + 2], 0xFF});
    }
  }
  // Adobe's inverted inks.
  void add_cmyk() {
    for (std::size_t n = 0; n + 3 < row_.size(); n += 4) {
      const int black = row_[n + 3];
      const auto light = [&](std::size_t ink) {
        return static_cast<std::uint8_t>(black - (((255 - row_[n + ink]) * black) >> 8));
      };
      decoded_.rgba.insert(decoded_.rgba.end(), {light(0), light(1), light(2), 0xFF});
    }
  }

  Error failure() const {
    return code_ == JWRN_JPEG_EOF || code_ == JERR_INPUT_EOF ? truncated_image(bytes_.size()) : damaged_image(text_);
  }

  static JpegDecoder& of(j_common_ptr file) { return *static_cast<JpegDecoder*>(file->client_data); }
  [[noreturn]] void leave() {
    code_ = messages_.msg_code;
    messages_.format_message(reinterpret_cast<j_common_ptr>(&file_), text_);
    std::longjmp(back_, 1);
  }
  static void on_message(j_common_ptr file, int level) {
    if (level >= 0) {
      return;  // decoding parameters
    }
    JpegDecoder& self = of(file);
    if (spoils_pixels(self.messages_.msg_code)) {
      self.leave();
    }
    if (self.warning_.empty()) {
      self.messages_.format_message(file, self.text_);
      self.warning_ = self.text_;
    }
  }
  static void on_progress(j_common_ptr file) {
    JpegDecoder& self = of(file);
    if (self.file_.input_scan_number > kMaxScans) {
      ERREXIT(file, JERR_BAD_PROGRESSION);
    }
  }

  std::string_view bytes_;
  const Header& header_;
  jpeg_decompress_struct file_{};
  jpeg_error_mgr messages_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf back_{};
  int code_ = 0;
  char text_[JMSG_LENGTH_MAX]{};
  std::string warning_;
  std::vector<JSAMPLE> row_;
  JSAMPROW row_pointer_ = nullptr;
  Decoded decoded_;
};

}  // namespace

Result<Decoded> decode_jpeg(std::string_view bytes, const Header& header) {
  return JpegDecoder(bytes, header).decode();
}

}  // namespace locus::image
