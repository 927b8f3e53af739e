#include <png.h>

#include <csetjmp>
#include <cstring>
#include <string>

#include "models/image/decode.h"

namespace locus::image {

namespace {

// libpng returns by longjmp: objects that must survive it are members, and functions with a setjmp own nothing.
class PngDecoder {
 public:
  PngDecoder(std::string_view bytes, const Header& header) : rest_(bytes), header_(header) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  Result<Decoded> decode() {
    if (info_ == nullptr) {
      return too_large("not enough memory to read a PNG");
    }
    if (!begin()) {
      return damaged_image(error_);
    }
    decoded_.width = png_get_image_width(png_, info_);
    decoded_.height = png_get_image_height(png_, info_);
    row_bytes_ = static_cast<std::size_t>(decoded_.width) * 4;
    if (decoded_.width != header_.width || decoded_.height != header_.height ||
        png_get_rowbytes(png_, info_) != row_bytes_) {
      return damaged_image("its header contains two sizes");
    }
    decoded_.rgba.resize(row_bytes_ * static_cast<std::size_t>(decoded_.height));
    if (!read_rows()) {
      return damaged_image(error_);
    }
    decoded_.warning = warning_;
    return std::move(decoded_);
  }

 private:
  // Reads the header and sets the output format: 8-bit RGBA.
  bool begin() {
    if (setjmp(png_jmpbuf(png_)) != 0) {
      return false;
    }
    png_set_read_fn(png_, this, on_read);
    png_set_user_limits(png_, static_cast<png_uint_32>(header_.width), static_cast<png_uint_32>(header_.height));
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);  // texts, profiles, gamma: ignored
    png_read_info(png_, info_);
    png_set_expand(png_);
    png_set_scale_16(png_);
    png_set_gray_to_rgb(png_);
    png_set_add_alpha(png_, 0xFF, PNG_FILLER_AFTER);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  // Reads all rows, and the data after them up to the end mark.
  bool read_rows() {
    if (setjmp(png_jmpbuf(png_)) != 0) {
      return false;
    }
    for (pass_ = 0; pass_ < passes_; ++pass_) {
      for (row_ = 0; row_ < decoded_.height; ++row_) {
        png_read_row(png_, decoded_.rgba.data() + static_cast<std::size_t>(row_) * row_bytes_, nullptr);
      }
    }
    png_read_end(png_, nullptr);
    return true;
  }

  static PngDecoder& of(png_structp png) { return *static_cast<PngDecoder*>(png_get_error_ptr(png)); }
  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    of(png).error_ = message;
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp png, png_const_charp message) {
    std::string& warning = of(png).warning_;
    warning = warning.empty() ? message : warning;
  }
  static void on_read(png_structp png, png_bytep out, std::size_t count) {
    std::string_view& rest = static_cast<PngDecoder*>(png_get_io_ptr(png))->rest_;
    if (count > rest.size()) {
      png_error(png, "the file ends too early");
    }
    std::memcpy(out, rest.data(), count);
    rest.remove_prefix(count);
  }

  std::string_view rest_;  // not read yet
  const Header& header_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  int pass_ = 0;
  std::int64_t row_ = 0;
  std::size_t row_bytes_ = 0;
  std::string error_;
  std::string warning_;
  Decoded decoded_;
};

}  // namespace

Result<Decoded> decode_png(std::string_view bytes, const Header& header) {
  return PngDecoder(bytes, header).decode();
}

}  // namespace locus::image
