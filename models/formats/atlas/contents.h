// Contents: the sums of an atlas in memory, and its file. Measuring adds to it and `--resume` continues it; views open
// an atlas with models/api/atlas.h.
//
// Letters: n entries of a table, R replicates.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
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
  std::vector<double> sum;         // (n) Σ x_s
  std::vector<double> squares;     // (n) Σ x_s²
  std::vector<double> replicates;  // (R, n) Σ p_bs x_s; empty for statistics without replicates
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

struct Contents {
  AtlasInfo info;
  std::map<std::string, SampleCount> samples;       // key: samples_name()
  std::map<std::string, std::vector<double>> axes;  // "profile.edges", …
  std::vector<Table> tables;                        // in the order of the file
  std::map<std::string, std::string> notes;         // further metadata, without "locus."
};

// The 2.5 % and 97.5 % points of the replicates' means of entry `entry`: order statistics at rank (R + 1)·q,
// interpolated. NaN where fewer than two samples were added, or the entry is NaN.
struct Interval {
  double low = 0;
  double high = 0;
};
Interval bootstrap_interval(const double* replicates, std::size_t entries, std::size_t entry,
                            const SampleCount& samples);

// Writes the file atomically. `compact` writes NAME.interval [2, …] (low, high) instead of the replicates: a small file
// that cannot be resumed.
Status write_atlas(const std::filesystem::path& path, const Contents& contents, bool compact = false);

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
// The numbers of a float64 tensor that open_file() checked; empty where it does not exist.
std::vector<double> numbers_of(const OpenedAtlas& file, const std::string& tensor);

// ---- axes with the wavelengths of rotary pairs, one per encoding of the model

inline constexpr const char* kEncodingOfLayers = "pairs.encoding";  // (L): the number of each layer's axis
inline constexpr double kNothingTurns = -1;                         // that number for a layer without rotary pairs

// "pairs.wavelengths", "pairs.wavelengths.1", …
inline std::string wavelength_axis(std::size_t encoding) {
  return "pairs.wavelengths" + (encoding == 0 ? "" : "." + std::to_string(encoding));
}

}  // namespace locus::models::atlas
