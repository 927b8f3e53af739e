#include "app/cli/atlas_info.h"

#include <algorithm>
#include <memory>
#include <string>

#include "app/cli/json.h"
#include "core/base/listed.h"
#include "core/base/shown.h"
#include "models/api/atlas.h"

namespace locus::cli {

namespace {

bool has_null(const models::Atlas& atlas) {
  return std::ranges::any_of(atlas.statistics(),
                             [&](const std::string& name) { return atlas.has(name, models::AtlasNull::kShuffled); });
}

Json corpus_json(const models::AtlasCorpus& file) {
  return {{"name", file.name}, {"sha256", file.sha256}, {"bytes", file.bytes}};
}

Json examples_json(const models::ExampleOptions& options) {
  return {
      {"activation", options.activation}, {"top", options.top}, {"sample", options.sample}, {"levels", options.levels}};
}

Json atlas_json(const models::Atlas& atlas) {
  const models::AtlasInfo& info = atlas.info();
  return {{"atlas", true},
          {"checkpoint", info.checkpoint},
          {"sha256", info.sha256},
          {"family", info.family},
          {"encoding", info.encoding},
          {"layers", info.layers},
          {"heads", info.heads},
          {"step", info.step ? Json(*info.step) : Json()},
          {"corpus", list_of(info.corpus, corpus_json)},
          {"windows", info.windows},
          {"done", info.done},
          {"length", info.length},
          {"map_size", info.map_size},
          {"replicates", info.replicates},
          {"seed", info.seed},
          {"version", info.version},
          {"examples", info.examples ? examples_json(*info.examples) : Json()},
          {"statistics", atlas.statistics()},
          {"shuffled", has_null(atlas)}};
}

void print_atlas(const models::Atlas& atlas, Console& console) {
  const models::AtlasInfo& info = atlas.info();
  const auto row = [&console](const std::string& name, const std::string& value) {
    console.print(padded(name, 16) + value);
  };
  row("atlas of", printable(info.checkpoint) + (info.step ? ", step " + std::to_string(*info.step) : ""));
  row("SHA-256", printable(info.sha256));
  row("family", printable(info.family));
  row("encoding", info.encoding.empty() ? "none" : printable(info.encoding));
  row("layers × heads", std::to_string(info.layers) + " × " + std::to_string(info.heads));
  for (const models::AtlasCorpus& file : info.corpus) {
    row("corpus",
        printable(file.name) + ", " + std::to_string(file.bytes) + " bytes, SHA-256 " + printable(file.sha256));
  }
  row("windows", (info.done < info.windows ? std::to_string(info.done) + " of " : "") + std::to_string(info.windows) +
                     " of " + std::to_string(info.length) + " tokens, seed " + std::to_string(info.seed));
  row("intervals", "95 %, from " + std::to_string(info.replicates) + " replicates");
  if (info.examples) {
    row("examples", std::to_string(info.examples->top) + " of the largest activation (" +
                        printable(info.examples->activation) + ") and " + std::to_string(info.examples->sample) +
                        " of each of " + std::to_string(info.examples->levels) + " levels");
  }
  row("statistics", listed(atlas.statistics(), printable));
  row("shuffled tokens", has_null(atlas) ? "yes" : "no");
  row("version", printable(info.version));
}

}  // namespace

Status print_atlas_info(const std::filesystem::path& path, bool json, Console& console) {
  LOCUS_TRY(const std::shared_ptr<const models::Atlas> atlas, models::open_atlas(path));
  if (json) {
    console.print(dump(atlas_json(*atlas)));
  } else {
    print_atlas(*atlas, console);
  }
  return {};
}

}  // namespace locus::cli
