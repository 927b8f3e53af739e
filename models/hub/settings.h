// What the environment says of the hub: the names and meanings of Hugging Face's own tools.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "core/base/result.h"

namespace locus::hub {

struct HubSettings {
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT, without a '/' at its end
  std::string token;                                // HF_TOKEN: sent to the endpoint's origin alone, never printed
  std::filesystem::path cache;                      // formats::hub_cache()
  long connect_s = 19;                              // until a line stands
  long stall_s = 19;                                // with less than kSlowest: the line counts as broken
  long patience_s = 60;                             // of tries without progress
  int told_ms = 5000;                               // with less than kSlowest: `waiting` is called
  int tries = 5;                                    // of a broken line, counted anew after every byte
  int pause_ms = 500;                               // before the second try; twice as long before each further one
  // Told, on the thread that fetches, what is waited for: "waiting for https://hub.example".
  std::function<void(const std::string& what)> waiting = {};
};

// Bytes a second; what is slower is no progress.
constexpr std::int64_t kSlowest = 1000;

// Errors: kBadInput while HF_HUB_OFFLINE is set, for an endpoint that is no http or https address, and for a token that
// no header can hold.
Result<HubSettings> hub_settings();

}  // namespace locus::hub
