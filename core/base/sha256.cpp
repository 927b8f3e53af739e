#include "core/base/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <new>
#include <vector>

namespace locus {

namespace {

// libcrypto fails here only where there is no memory.
template <class Made>
Made checked(Made made) {
  if (!made) {
    throw std::bad_alloc();
  }
  return made;
}

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(checked(EVP_MD_CTX_new())) {
  checked(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
}

Sha256::~Sha256() = default;

Sha256::Sha256(const Sha256& other) : context_(checked(EVP_MD_CTX_new())) {
  checked(EVP_MD_CTX_copy_ex(context_.get(), other.context_.get()));
}

Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::string_view bytes) {
  checked(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

std::string Sha256::finish() {
  std::array<unsigned char, 32> sum{};
  checked(EVP_DigestFinal_ex(context_.get(), sum.data(), nullptr));
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : sum) {
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return bad_input("cannot be read", path.string());
  }
  Sha256 hash;
  std::vector<char> buffer(std::size_t{1} << 20);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.add({buffer.data(), static_cast<std::size_t>(file.gcount())});
  }
  if (file.bad()) {
    return bad_input("cannot be read to its end", path.string());
  }
  return hash.finish();
}

}  // namespace locus
