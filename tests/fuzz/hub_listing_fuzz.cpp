#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "models/hub/listing.h"
#include "tests/fuzz/tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace locus;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto listing = hub::parse_listing(text, "org/model");
  if (!listing.ok()) {
    fuzz::check_error(listing.error(), "org/model");
    return 0;
  }
  fuzz::require(listing->commit.size() == 40 && !listing->files.empty());
  for (const std::string& file : listing->files) {
    const std::filesystem::path inside = (std::filesystem::path("/folder") / file).lexically_normal();
    fuzz::require(inside.parent_path() == "/folder" && inside.filename() == file);
  }
  // An index that names anything: what is wanted is listed, whatever it says.
  const auto read = [&](const std::string&) { return Result<std::string>(std::string(text)); };
  const auto wanted = hub::wanted_files(*listing, {}, read, "org/model");
  for (const std::string& file : wanted.ok() ? *wanted : std::vector<std::string>()) {
    fuzz::require(std::binary_search(listing->files.begin(), listing->files.end(), file));
  }
  return 0;
}
