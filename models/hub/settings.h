// Settings of the hub from the environment, with the names and meanings of Hugging Face's own tools.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "core/base/result.h"

namespace locus::hub {

struct HubSettings {
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT, without a '/' at its end
  std::string token;                                // HF_TOKEN: sent only to the endpoint's origin, never printed
  std::filesystem::path cache;                      // formats::hub_cache()
  long connect_s = 19;                              // to establish a connection
  long stall_s = 19;                                // with less than kSlowest: the connection counts as broken
  long patience_s = 60;                             // total time of attempts without progress
  int told_ms = 5000;                               // with less than kSlowest: `waiting` is called
  int tries = 5;                                    // attempts after a broken transfer, counted anew after every byte
  int pause_ms = 500;                               // before the second attempt; doubled before each further one
  // Called on the fetching thread with the reason of a wait: "waiting for https://hub.example".
  std::function<void(const std::string& what)> waiting = {};
};

// Bytes a second; a slower transfer counts as no progress.
constexpr std::int64_t kSlowest = 1000;

// Reads the settings. Errors: kBadInput while HF_HUB_OFFLINE is set, for an endpoint other than an http or https
// address, and for a token that is invalid in a header.
Result<HubSettings> hub_settings();

}  // namespace locus::hub
