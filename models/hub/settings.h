// What the environment says of the hub: the names and meanings of Hugging Face's own tools.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace locus::hub {

struct HubSettings {
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT, without a '/' at its end
  std::string token;                                // HF_TOKEN: sent to the endpoint's origin alone, never printed
  std::filesystem::path cache;                      // checkpoint::hub_cache()
  long connect_s = 20;                              // until a line stands
  long stall_s = 30;                                // without a byte: the line counts as broken
  int tries = 5;                                    // of a broken line, counted anew after every byte
  int pause_ms = 500;                               // before the second try; twice as long before each further one
};

// Errors: kBadInput while HF_HUB_OFFLINE is set, for an endpoint that is no http or https address, and for a token that
// no header can hold.
Result<HubSettings> hub_settings();

}  // namespace locus::hub
