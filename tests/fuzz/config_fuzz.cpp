#include "models/formats/config.h"

#include <cstdint>
#include <string_view>

#include "tests/fuzz/tensors.h"

namespace {

void use(const locus::Result<locus::formats::Config>& config, int depth) {
  if (!config.ok()) {
    return;
  }
  for (const std::string& name : config->names()) {
    // A name with a dot may also be a path; whatever it finds, no getter may fail otherwise than by an error.
    (void)config->integer(name);
    (void)config->number(name);
    (void)config->text(name);
    (void)config->boolean(name, true);
    (void)config->numbers(name);
    locus::fuzz::require(config->has(name));
    if (depth < 4) {
      use(config->object(name), depth + 1);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  using locus::formats::Config;
  for (const auto& config : {Config::parse_json(text, "f"), Config::parse_yaml(text, "f")}) {
    if (!config.ok()) {
      locus::fuzz::check_error(config.error(), "f");
    }
    use(config, 0);
  }
  return 0;
}
