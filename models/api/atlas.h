// Atlas: what the heads of a checkpoint do on average over many windows of a corpus, with intervals. `locus atlas`
// writes the file; opening it needs no checkpoint. assets/manual/atlas-file.md describes the file itself.
//
// A statistic is a mean over samples: every sample (a window of text, an input of repeated tokens, a needle) gives one
// number for each of its entries, itself a mean over that sample's cells or queries. Of these numbers x_s the file
// keeps Σ x_s, Σ x_s² and, for R bootstrap replicates b, Σ p_bs x_s, where p_bs is a Poisson(1) number drawn from the
// seed for sample s. The replicate's mean is that sum divided by Σ_s p_bs.
//
// The null of a statistic is the same of samples whose tokens are shuffled: what a head does without a text.
//
// Letters: H heads, L layers, T tokens of a window, B bins of distance, M map pixels per side, R replicates.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::models {

// Describes a file of the corpus, without its path.
struct AtlasCorpus {
  std::string name;
  std::string sha256;
  std::int64_t bytes = 0;

  friend bool operator==(const AtlasCorpus&, const AtlasCorpus&) = default;
};

// How many windows per head are kept as examples, and by which activation. Levels divide the windows by the head's
// activation into equal shares; level 1 is the lowest.
struct ExampleOptions {
  std::string activation = "largest";  // of example_activations()
  std::int64_t top = 10;               // windows in which it is largest
  std::int64_t sample = 3;             // windows of each level, drawn by the seed
  std::int64_t levels = 5;

  friend bool operator==(const ExampleOptions&, const ExampleOptions&) = default;
};

struct AtlasInfo {
  std::string checkpoint;  // the folder's or file's name
  std::string sha256;      // of its tensors' files, one after another
  std::string family;
  std::string encoding;  // of the first layer that has one
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t mixer_heads = 0;      // most of a layer without a soft-max; 0: none were measured
  std::optional<std::int64_t> step;  // of training, where the checkpoint or its folder's name says
  std::vector<AtlasCorpus> corpus;
  std::vector<std::string> what;  // the statistics that were asked for: "profile", "heads", …
  std::int64_t windows = 0;       // asked for
  std::int64_t done = 0;          // that are in the sums; less than `windows` in an atlas that is not finished
  std::int64_t length = 0;        // T
  std::int64_t map_size = 0;      // M
  std::int64_t replicates = 0;    // R
  std::uint64_t seed = 0;
  std::optional<ExampleOptions> examples;  // where it has any
  std::string version;                     // of the program that wrote it

  friend bool operator==(const AtlasInfo&, const AtlasInfo&) = default;
};

// The samples that a statistic is a mean of.
enum class AtlasNull { kText, kShuffled };

// One statistic of one layer, or of the model as a whole; all lists row-major in `shape`.
struct AtlasValues {
  std::vector<std::int64_t> shape;  // [H], [H, B], …; of the model: [T − 1], …
  std::vector<double> mean;         // NaN where no sample has the entry (distances beyond a sliding window)
  std::vector<double> low;          // of the 95 % interval of the mean, NaN where the mean is or with one sample alone
  std::vector<double> high;
  std::vector<double> deviation;  // of the entry between samples; NaN with one sample alone
  double samples = 0;
};

inline constexpr std::int64_t kAtlasOfModel = -1;  // instead of a layer

// A weight that an example keeps: of each query the 8 largest that are at least 0.005, to four decimals.
inline constexpr std::int64_t kExampleKeys = 8;
inline constexpr double kExampleFloor = 0.005;
inline constexpr double kExampleUnits = 10000;  // of a weight
struct ExampleCell {
  std::int32_t query = 0;
  std::int32_t key = 0;
  float weight = 0;

  friend bool operator==(const ExampleCell&, const ExampleCell&) = default;
};

// A window that is kept for a head.
struct Example {
  std::int64_t window = 0;  // its number in the atlas
  double activation = 0;
  std::int64_t level = 1;
  bool top = false;                 // among the windows of the largest activations
  bool sampled = false;             // drawn from its level
  std::vector<std::int64_t> ids;    // (T); empty where the file has none
  std::vector<std::string> tokens;  // (T) how they are shown
  std::vector<ExampleCell> cells;   // by query and key

  friend bool operator==(const Example&, const Example&) = default;
};

struct TokenWeight {
  std::string token;
  double weight = 0;

  friend bool operator==(const TokenWeight&, const TokenWeight&) = default;
};

struct HeadExamples {
  std::vector<Example> windows;  // the largest activation first
  std::vector<double> bounds;    // (levels − 1) least activation of the levels from 2 on; empty where unknown
  // The tokens with the largest sums of kept weights as query and as key, over the windows; at most 50.
  std::vector<TokenWeight> query_tokens, key_tokens;
  // How often an activation of all windows lies in each bin; (bins + 1) edges. Empty where unknown.
  std::vector<double> edges, histogram;

  friend bool operator==(const HeadExamples&, const HeadExamples&) = default;
};

// Those tables of the windows: the largest sum first, of equal ones the token that comes first in the alphabet.
std::vector<TokenWeight> example_tokens(const std::vector<Example>& windows, bool queries);

class Atlas {
 public:
  virtual ~Atlas() = default;

  virtual const AtlasInfo& info() const = 0;
  // Names as in *assets/manual/atlas-file.md*, in the order of the file: "heads.entropy", "profile.weight", "loss".
  virtual const std::vector<std::string>& statistics() const = 0;
  // Whether the statistic is one of the model (kAtlasOfModel) rather than of each layer; false where it is not there.
  virtual bool of_model(const std::string& statistic) const = 0;
  virtual bool has(const std::string& statistic, AtlasNull null = AtlasNull::kText) const = 0;
  // Read when asked for. Intervals are the 2.5 % and 97.5 % points of the replicates' means; of `mean-map`, which
  // keeps none, mean ± 1.96 deviations of the mean. Errors: kBadInput for a statistic or layer that is not there.
  virtual Result<AtlasValues> values(const std::string& statistic, std::int64_t layer,
                                     AtlasNull null = AtlasNull::kText) const = 0;
  // Meanings of the entries of a statistic's axes: "profile.edges" [B + 1], "sinks.epsilon" [1],
  // "retrieval.depths", … Empty where the file has none of that name.
  virtual const std::vector<double>& axis(const std::string& name) const = 0;
  // The examples of a head, where info() has options of them. Read when asked for. Errors: kBadInput for a head that has
  // none.
  virtual Result<HeadExamples> examples(std::int64_t layer, std::int64_t head) const;
};

// The wavelengths of the rotary pairs of one layer, in tokens a turn, ∞ for channels that do not turn; empty where
// nothing turns there. Files that do not tell encodings apart have those of the first layer that has pairs, for every
// layer.
std::vector<double> pair_wavelengths(const Atlas& atlas, std::int64_t layer);

// The heads of layers without a soft-max as an atlas of their own, whose info().heads is their number: its statistics are
// those of the maps that these layers imply, weights being |M_ij| / Σ_j |M_ij|, and `heads.decay`. Entries of layers and
// heads without such a map are NaN. Null where the atlas has none.
std::shared_ptr<const Atlas> mixers_of(const std::shared_ptr<const Atlas>& atlas);

// Opens an atlas file, or a folder of HeadVis. Errors: kBadInput, one line with file, tensor or field, expected and found.
Result<std::shared_ptr<const Atlas>> open_atlas(const std::filesystem::path& path);

// Whether the file says that it is an atlas of any version (safetensors with `locus.format` atlas/…), or the folder is one
// of HeadVis.
bool is_atlas(const std::filesystem::path& path);

// Writes the examples and the statistics of heads as a folder that HeadVis reads (config.json, scatter_data.json,
// heads/L0H0.json, …), into a new or empty one. Errors: kBadInput for an atlas without examples, a folder with files in it,
// and what cannot be written; kCancelled.
Status write_headvis(const Atlas& atlas, const std::filesystem::path& folder, StopToken stop = {});

}  // namespace locus::models
