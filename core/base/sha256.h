// SHA-256 (FIPS 180-4, by libcrypto), which names checkpoints and texts in files that must not hold their paths.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace locus {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256& other);  // a message that begins with the same bytes
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::string_view bytes);
  // 64 lower-case hexadecimal digits; ends the message.
  std::string finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };

  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string sha256(std::string_view bytes);
// Errors: kBadInput when the file cannot be read.
Result<std::string> sha256_of_file(const std::filesystem::path& path);

}  // namespace locus
