#include "models/atlas/plan.h"

#include <algorithm>

#include "core/base/listed.h"
#include "core/base/shown.h"
#include "models/api/atlas_run.h"
#include "models/api/atlas_statistics.h"
#include "models/formats/atlas/contents.h"

namespace locus::models {

namespace atlas {

Status check_model(const Model& model) {
  const ModelInfo& info = model.info();
  if (info.image || info.vision_layers > 0 || info.encoder_layers > 0 || !info.tokenizer) {
    return unsupported(std::string("an atlas needs a text model with a tokenizer, without pictures and encoder; ") +
                           (info.image || info.vision_layers > 0 ? "this model has pictures as input"
                            : info.encoder_layers > 0            ? "this is an encoder-decoder"
                                                                 : "this one has no tokenizer"),
                       info.name);
  }
  return {};
}

// The requested statistics, in the order of the list.
Result<std::vector<std::string>> chosen(const Model& model, const std::vector<std::string>& asked) {
  const std::vector<AtlasStatistic>& all = atlas_statistics();
  const auto is_asked = [&](const std::string& name) {
    return std::find(asked.begin(), asked.end(), name) != asked.end();
  };
  for (const std::string& name : asked) {
    if (std::none_of(all.begin(), all.end(), [&](const AtlasStatistic& each) { return each.name == name; })) {
      return usage("--what: expected some of " + listed(all, [](const auto& each) { return each.name; }) + ", found " +
                   shown(name));
    }
  }
  std::vector<std::string> what;
  for (const AtlasStatistic& each : all) {
    const Status has = has_statistic(model.info(), each.name);
    if (is_asked(each.name)) {
      LOCUS_CHECK(has);
    }
    if (has.ok() && (is_asked(each.name) || (asked.empty() && each.usual))) {
      what.push_back(each.name);
    }
  }
  return what;
}

// The difference between the atlas in the file and the requested one; empty: none.
std::int64_t block_size(std::int64_t windows) {
  constexpr std::int64_t kBlocks = 64;  // least number, of many windows
  constexpr std::int64_t kLargest = 16;
  return std::clamp<std::int64_t>(windows / kBlocks, 1, kLargest);
}

std::string difference(const AtlasInfo& found, const AtlasInfo& asked) {
  const auto differs = [](const char* name, const auto& before, const auto& now) {
    return std::string(name) + " " + before + " in the file, " + now + " now";
  };
  const auto number = [](auto value) { return std::to_string(value); };
  if (found.sha256 != asked.sha256) {
    return differs("checkpoint", found.checkpoint + " (" + found.sha256.substr(0, 12) + ")",
                   asked.checkpoint + " (" + asked.sha256.substr(0, 12) + ")");
  }
  if (found.corpus != asked.corpus) {
    return "another corpus";
  }
  if (found.what != asked.what) {
    const auto text = [](const auto& list) { return listed(list, [](const auto& each) { return each; }); };
    return differs("what", text(found.what), text(asked.what));
  }
  if (found.windows != asked.windows) {
    return differs("windows", number(found.windows), number(asked.windows));
  }
  if (found.length != asked.length) {
    return differs("length", number(found.length), number(asked.length));
  }
  if (found.map_size != asked.map_size) {
    return differs("map size", number(found.map_size), number(asked.map_size));
  }
  if (found.replicates != asked.replicates) {
    return differs("replicates", number(found.replicates), number(asked.replicates));
  }
  if (found.examples != asked.examples) {
    const auto text = [](const auto& options) { return options ? example_options_text(*options) : "none"; };
    return differs("examples", text(found.examples), text(asked.examples));
  }
  return found.seed != asked.seed ? differs("seed", number(found.seed), number(asked.seed)) : "";
}

}  // namespace atlas

}  // namespace locus::models
