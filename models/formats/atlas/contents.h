// Contents: the sums of an atlas in memory, and its file. Measuring adds to it and `--resume` continues it; views open
// an atlas with models/api/atlas.h.
//
// Letters: n entries of a table, R replicates.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "models/api/atlas.h"
#include "models/formats/tensor_source.h"

namespace locus::models::atlas {

// Sums of one statistic of one layer, or of the model. The file has the tensors NAME, NAME.squares and NAME.replicates,
// where NAME is layers.N.STATISTIC or model.STATISTIC, with the prefix `null.` for shuffled tokens.
struct Table {
  std::string statistic;
  std::int64_t layer = kAtlasOfModel;
  AtlasNull null = AtlasNull::kText;
  std::vector<std::int64_t> shape;
  std::vector<double> sum;        // (n) Σ x_s
  std::vector<double> squares;    // (n) Σ x_s²
  std::vector<float> replicates;  // (R, n) Σ p_bs x_s; empty for statistics without replicates
};

// Tables that are made when they are asked for: all of them together are as large as the file.
struct TableSource {
  std::size_t count = 0;
  std::function<Table(std::size_t)> table;
};

// Number of samples. In the file [1 + R]: the count, then Σ_s p_bs.
struct SampleCount {
  double count = 0;
  std::vector<double> replicates;  // (R)
};

// Samples that a statistic averages over: "windows", "repeats" (heads.induction) or "needles" (retrieval.…, spans.…).
std::string samples_of(const std::string& statistic);
// Name of these samples in the file: "windows", "null.windows".
std::string samples_name(const std::string& samples, AtlasNull null);

// One window that is kept for a head. In the file the heads of a layer lie one after another.
struct KeptWindow {
  std::int64_t head = 0;
  std::int64_t window = 0;
  double activation = 0;
  std::int64_t level = 0;  // 0: not known yet
  bool top = false;
  bool sampled = false;
  // Of the first windows, from which levels and samples are drawn once all of them are there.
  bool waiting = false;
  std::vector<std::int64_t> cells;  // (query · T + key) · kCellScale + weight · kExampleUnits, ascending

  friend bool operator==(const KeptWindow&, const KeptWindow&) = default;
};
inline constexpr std::int64_t kCellScale = 16384;
inline constexpr std::int64_t kLongestExample = 16384;  // T

// The windows that are kept for a layer's heads.
struct LayerExamples {
  std::vector<double> bounds;    // (H, levels − 1); empty: not known yet. NaN for a head without activations
  std::vector<KeptWindow> kept;  // by head and window
};

struct ExampleContents {
  std::map<std::int64_t, std::vector<std::int64_t>> windows;  // ids (T) of each window that is kept
  std::map<std::int64_t, std::string> labels;                 // of those ids
  std::vector<LayerExamples> layers;                          // (L); empty: the atlas has no examples
};

struct Contents {
  AtlasInfo info;
  std::map<std::string, SampleCount> samples;       // key: samples_name()
  std::map<std::string, std::vector<double>> axes;  // "profile.edges", …
  std::vector<Table> tables;                        // in the order of the file
  ExampleContents examples;
  std::map<std::string, std::string> notes;  // further metadata, without "locus."
};

// The 2.5 % and 97.5 % points of the replicates' means of entry `entry`: order statistics at rank (R + 1)·q,
// interpolated. NaN where fewer than two samples were added, or the entry is NaN.
struct Interval {
  double low = 0;
  double high = 0;
};
Interval bootstrap_interval(const float* replicates, std::size_t entries, std::size_t entry,
                            const SampleCount& samples);

// The standard deviation over so many samples, from Σ x and Σ x²; NaN of fewer than two, and of NaN.
double deviation(double sum, double squares, double samples);

// Cells that a compact file keeps of a map of so many pixels on a side: all, or those of a causal one.
constexpr std::int64_t packed_cells(std::int64_t side, bool causal) {
  return causal ? side * (side + 1) / 2 : side * side;
}

// Writes the file atomically, and holds one table at a time. `compact` writes NAME.interval [2, …] (low, high) instead of the replicates, and of maps
// (H, M, M), which have none, NAME and NAME.deviation as float32 (H, packed_cells()): a small file that cannot be
// resumed.
Status write_atlas(const std::filesystem::path& path, const Contents& contents, const TableSource& tables,
                   bool compact = false);
// The same of contents.tables.
Status write_atlas(const std::filesystem::path& path, const Contents& contents, bool compact = false);

// Whether the file, an atlas, keeps intervals instead of replicates, and of maps their deviation.
bool is_compact(const std::filesystem::path& path);

// Reads a file that is not compact. Errors: open_atlas()'s; kBadInput for a compact one.
Result<Contents> read_contents(const std::filesystem::path& path);

// ---- parts that both readers share

// Before the name of a statistic of layers without a soft-max, whose shape begins with AtlasInfo::mixer_heads.
inline constexpr std::string_view kOfMixers = "mixer.";

// The parts of a tensor's name.
struct TableName {
  std::string statistic;
  std::int64_t layer = kAtlasOfModel;
  AtlasNull null = AtlasNull::kText;
};
std::string tensor_name(const TableName& name);

// The checked header of an atlas file: every tensor has a name, type and shape that the format allows.
struct OpenedAtlas {
  formats::Source source;
  std::filesystem::path path;
  AtlasInfo info;
  std::map<std::string, SampleCount> samples;
  std::map<std::string, std::vector<double>> axes;
  std::vector<TableName> tables;  // in the order of the file
  std::map<std::string, std::string> notes;
};
Result<OpenedAtlas> open_file(const std::filesystem::path& path);
// The numbers of a float64 or float32 tensor that open_file() checked; empty where it does not exist.
std::vector<double> numbers_of(const OpenedAtlas& file, const std::string& tensor);
std::vector<float> floats_of(const OpenedAtlas& file, const std::string& tensor);

// ---- examples

inline constexpr std::string_view kOfExamples = "examples.";  // before the names of their tensors

// Checks every tensor of examples: their number, types, sizes and the numbers in them. Errors: kBadInput.
Status check_examples(const OpenedAtlas& file);
// Preconditions: check_examples(), info.examples, a layer and a head that exist.
Result<HeadExamples> read_examples(const OpenedAtlas& file, std::int64_t layer, std::int64_t head);
// All of them, in the form that measuring goes on with.
Result<ExampleContents> example_contents(const OpenedAtlas& file);

// The options as the metadata has them, {"activation": "largest", "top": 10, "sample": 3, "levels": 5}.
std::string example_options_text(const ExampleOptions& options);
Result<ExampleOptions> read_example_options(const std::string& text, const std::string& where);

// The tensors of `contents`, whose numbers `own` keeps.
struct OwnTensor {
  std::string name;
  formats::DType dtype = formats::DType::kF64;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};
std::vector<OwnTensor> example_tensors(const ExampleContents& contents, const AtlasInfo& info);

// A folder of HeadVis (config.json, scatter_data.json, heads/).
bool is_headvis(const std::filesystem::path& folder);
Result<std::shared_ptr<const Atlas>> open_headvis(const std::filesystem::path& folder);

// ---- axes with the wavelengths of rotary pairs, one per encoding of the model

inline constexpr const char* kEncodingOfLayers = "pairs.encoding";  // (L): the number of each layer's axis
inline constexpr double kNothingTurns = -1;                         // that number for a layer without rotary pairs

// "pairs.wavelengths", "pairs.wavelengths.1", …
inline std::string wavelength_axis(std::size_t encoding) {
  return "pairs.wavelengths" + (encoding == 0 ? "" : "." + std::to_string(encoding));
}

}  // namespace locus::models::atlas
