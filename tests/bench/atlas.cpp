// Benchmarks of atlases: windows with all measurements against plain forward passes of the same windows.
#include <filesystem>
#include <numeric>
#include <string>

#include "core/base/atomic_file.h"
#include "core/base/numbers.h"
#include "core/base/range.h"
#include "core/base/temporary_folder.h"
#include "models/api/analyses.h"
#include "models/atlas/measure.h"
#include "models/engine/loaded_model.h"
#include "models/engine/model_info.h"
#include "models/text/tokenizer.h"
#include "models/training/random.h"
#include "tests/bench/groups.h"

namespace locus::bench {

using namespace models;

namespace {

constexpr std::int64_t kTurn = 16;  // windows that are measured one after another

using namespace atlas;

// Random words.
Status write_words(const std::filesystem::path& path, int count) {
  training::Random random{1};
  std::string words;
  for (int word = 0; word < count; ++word) {
    for (std::int64_t letter = random.between(1, 8); letter > 0; --letter) {
      words += static_cast<char>('a' + random.below(26));
    }
    words += ' ';
  }
  return write_file(path, words);
}

// A byte-level Llama with random weights.
Result<std::unique_ptr<Model>> random_model(std::int64_t layers, std::int64_t heads, std::int64_t width,
                                            std::int64_t length) {
  transformer::Spec spec;
  spec.vocabulary = 256;
  spec.width = width;
  spec.encodings = {{"rope", {}}};
  spec.trained_length = length;
  transformer::LayerSpec layer;
  layer.attention.heads = layer.attention.kv_heads = heads;
  layer.attention.head_width = width / heads;
  layer.feed_forward = {width * 8 / 3 / 8 * 8, transformer::Activation::kSilu, true, false};
  spec.repeat(layer, layers);
  CheckpointParts parts;
  LOCUS_TRY(parts.transformer, transformer::Transformer::create(spec, true, 1));
  parts.info = shape_info(*parts.transformer);
  parts.info.name = "random";
  parts.info.tokenizer = true;
  parts.tokenizer = text::byte_tokenizer();
  return std::unique_ptr<Model>(std::make_unique<LoadedModel>(std::move(parts)));
}

struct AtlasCase {
  std::string name;
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t width = 128;
  std::int64_t length = 256;
  std::int64_t windows = 1024;
  Range measured{0, 1024};  // of the windows
  std::string note;
};

// The windows `measured` of an atlas, and the passes that they are made of, without repeated tokens and needles.
Status add_case(Rig& rig, const Model& model, const AtlasCase& one, const std::filesystem::path& words) {
  LOCUS_TRY(const Corpus corpus, Corpus::open({words}));
  const Encode encode = [&](const std::string& text) { return model.tokenize({.text = text}); };
  LOCUS_TRY(const Windows windows, Windows::make(corpus, encode, {one.windows, one.length, 1}));
  std::vector<std::string> what;
  for (const AtlasStatistic& each : atlas_statistics()) {
    if (each.name != "examples") {
      what.push_back(each.name);
    }
  }
  LOCUS_TRY(Needles needles, Needles::make(model, windows, encode, what));
  LOCUS_TRY(const TracePointer probe, model.run({.ids = std::vector<std::int64_t>(8, 65)}, {.keep = {}}));
  Measure measure(model, {what, one.length, 128, 1, one.windows}, *probe, std::move(needles));
  Sums sums(measure.slots(), 100, 1);
  Block block(measure.slots(), kTurn);
  const StopToken stop = rig.options().stop;
  double atlas_ms = 0;
  double plain_ms = 0;
  // Alternates between them, so that other load of the machine slows both equally.
  for (std::int64_t first = one.measured.begin; first < one.measured.end; first += kTurn) {
    const std::int64_t end = std::min(first + kTurn, one.measured.end);
    LOCUS_TRY(const double measured, Rig::once([&]() -> Status {
                block.clear();
                for (std::int64_t index = first; index < end; ++index) {
                  LOCUS_CHECK(measure.add(windows, index, block, stop));
                }
                sums.add(block.numbers());
                return {};
              }));
    LOCUS_TRY(const double plain, Rig::once([&]() -> Status {
                for (std::int64_t index = first; index < end; ++index) {
                  LOCUS_TRY(const Window window, windows.at(index));
                  std::vector<std::vector<std::int64_t>> texts{window.ids};
                  if (index % Measure::shuffle_every(one.windows) == 0) {
                    texts.push_back(windows.shuffled(window, index).ids);
                  }
                  for (const std::vector<std::int64_t>& ids : texts) {
                    LOCUS_TRY(const TracePointer trace, model.run({.ids = ids}, {.all_logits = true}, stop));
                  }
                }
                return {};
              }));
    atlas_ms += measured;
    plain_ms += plain;
  }
  const auto count = static_cast<double>(one.measured.size());
  Row row;
  row.name = one.name + ", T = " + std::to_string(one.length) + ": a window of an atlas";
  row.value = atlas_ms / count;
  row.unit = "ms";
  row.reference_name = "the forward passes of the same windows";
  row.reference = plain_ms / count;
  row.bounds = Target::kRatioAtMost;
  row.target = 1.35;
  row.note = "all statistics, 100 replicates, nulls; " + one.note;
  rig.add(std::move(row));
  return {};
}

// One atlas, measured in turns of some windows.
class Turns {
 public:
  Turns(const Model& model, const Windows& windows, const AtlasCase& one, std::vector<std::string> what,
        const Trace& probe, Needles needles)
      : windows_(windows),
        measure_(model, {std::move(what), one.length, 128, 1, one.windows}, probe, std::move(needles)),
        sums_(measure_.slots(), 100, 1),
        examples_(measure_.example_plan()),
        block_(measure_.slots(), kTurn) {}

  Result<double> take(Range turn, const StopToken& stop) {
    return Rig::once([&]() -> Status {
      block_.clear();
      for (std::int64_t index = turn.begin; index < turn.end; ++index) {
        LOCUS_CHECK(measure_.add(windows_, index, block_, stop));
      }
      examples_.add(sums_.add(block_.numbers()));
      examples_.settle(turn.end);
      return {};
    });
  }

 private:
  const Windows& windows_;
  Measure measure_;
  Sums sums_;
  Examples examples_;
  Block block_;
};

// The same windows with and without examples, in turns.
Status add_examples_case(Rig& rig, const AtlasCase& one, const std::filesystem::path& words) {
  LOCUS_TRY(const std::unique_ptr<Model> model, random_model(one.layers, one.heads, one.width, one.length));
  LOCUS_TRY(const Corpus corpus, Corpus::open({words}));
  const Encode encode = [&](const std::string& text) { return model->tokenize({.text = text}); };
  LOCUS_TRY(const Windows windows, Windows::make(corpus, encode, {one.windows, one.length, 1}));
  std::vector<std::string> what;
  for (const AtlasStatistic& each : atlas_statistics()) {
    what.push_back(each.name);
  }
  std::vector<std::string> others = what;
  std::erase(others, "examples");
  LOCUS_TRY(const TracePointer probe, model->run({.ids = std::vector<std::int64_t>(8, 65)}, {.keep = {}}));
  LOCUS_TRY(Needles needles, Needles::make(*model, windows, encode, what));
  LOCUS_TRY(Needles other_needles, Needles::make(*model, windows, encode, others));
  Turns with(*model, windows, one, what, *probe, std::move(needles));
  Turns without(*model, windows, one, others, *probe, std::move(other_needles));
  std::vector<double> values, references;
  double value = 0, reference = 0;
  for (std::int64_t first = 0; first < one.windows; first += kTurn) {
    const Range turn{first, std::min(first + kTurn, one.windows)};
    const auto per_window = static_cast<double>(turn.size());
    LOCUS_TRY(const double other_ms, without.take(turn, rig.options().stop));
    LOCUS_TRY(const double own_ms, with.take(turn, rig.options().stop));
    value += own_ms;
    reference += other_ms;
    values.push_back(own_ms / per_window);
    references.push_back(other_ms / per_window);
  }
  Row row;
  row.name = one.name + ", T = " + std::to_string(one.length) + ": a window of an atlas with examples";
  row.value = median(values);
  row.unit = "ms";
  row.reference_name = "without examples";
  row.reference = median(references);
  row.bounds = Target::kRatioAtMost;
  row.target = 1.15;
  row.note = "medians of turns of " + std::to_string(kTurn) + " windows; all " + std::to_string(one.windows) +
             " windows, the first 60 among them: " + general_text(value / reference, 3) + " ×";
  rig.add(std::move(row));
  return {};
}

// Measures 15 of a file's 1,000 windows, behind those with needles; one of them is measured shuffled too.
Status add_file(Rig& rig, const std::string& file, const std::filesystem::path& words) {
  LOCUS_TRY(const auto model, open(file));
  AtlasCase one;
  one.name = std::filesystem::path(file).filename().string();
  one.length = rig.quick() ? 128 : 1024;
  one.windows = 1000;
  one.measured = {66, 66 + (rig.quick() ? 2 : 15)};
  one.note = std::to_string(one.measured.size()) + " windows without needles, one of them shuffled too";
  return add_case(rig, *model, one, words);
}

}  // namespace

Status bench_atlas(Rig& rig) {
  LOCUS_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  const std::filesystem::path words = folder.path() / "words.txt";
  LOCUS_CHECK(write_words(words, 50000));
  const std::int64_t count = rig.quick() ? 4 : 1024;
  const AtlasCase one{"4 layers, 4 heads, width 128",
                      4,
                      4,
                      128,
                      256,
                      count,
                      {0, count},
                      "all of " + std::to_string(count) + " windows, the first 60 with needles"};
  LOCUS_CHECK(add_examples_case(rig, one, words));
  LOCUS_TRY(const std::unique_ptr<Model> model, random_model(one.layers, one.heads, one.width, one.length));
  LOCUS_CHECK(add_case(rig, *model, one, words));
  if (const std::string& file = rig.options().model; !file.empty()) {
    LOCUS_CHECK(write_words(words, 400000));
    return add_file(rig, file, words);
  }
  return {};
}

}  // namespace locus::bench
