// Making an atlas (atlas.h): windows of a corpus through a checkpoint, keeping sums alone. What memory it takes depends
// neither on the corpus nor on the number of windows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/atlas.h"
#include "models/api/model.h"
#include "models/api/process_group.h"

namespace locus::models {

// The words of `what`, in the order of the file.
struct AtlasStatistic {
  std::string name;
  std::string meaning;
  bool usual = true;  // measured unless others are asked for
};
const std::vector<AtlasStatistic>& atlas_statistics();

// What an example's activation may be.
const std::vector<AtlasStatistic>& example_activations();

struct AtlasOptions {
  std::vector<std::filesystem::path> corpus;  // files, and folders of .txt files
  std::int64_t windows = 1000;
  std::int64_t length = 0;  // T; 0: the trained length, at most 1024, and 512 where it is not known
  std::uint64_t seed = 0;
  std::vector<std::string> what;  // empty: all that the model has, but for examples
  ExampleOptions examples = {};
  std::int64_t map_size = 128;    // pixels on a side of mean-map, at most 1024
  std::int64_t replicates = 100;  // of the bootstrap
  std::filesystem::path out;
  bool resume = false;     // go on with the file where it is there
  bool overwrite = false;  // replace it
  bool compact = false;    // keep intervals instead of replicates in the finished file
  double save_seconds = 60;
  std::shared_ptr<ProcessGroup> group = {};  // null: this process alone
};

struct AtlasProgress {
  std::int64_t done = 0;  // windows in the sums
  std::int64_t windows = 0;
  double windows_per_second = 0;
  double seconds_left = 0;
  std::string note;  // said once, before the first window: who else works on it, what is gone on with
};
using OnAtlasProgress = std::function<void(const AtlasProgress&)>;

struct AtlasSummary {
  std::int64_t done = 0;
  std::int64_t windows = 0;
  double windows_per_second = 0;  // of this call
  bool stopped = false;           // by the StopToken; what was done is in the file
  bool was_finished = false;      // a resume found the atlas done
  bool made_compact = false;      // … and wrote intervals in the place of its replicates
};

// Makes the atlas of the checkpoint at `path`, of which `model` was opened. The file is written every `save_seconds`
// and at the end, atomically, by rank 0 of the processes alone (models/api/process_group.h); all others wait for it.
// The same corpus, N, T and seed give the same windows whatever the number of processes, and the same sums to the last
// bit where every process has as many threads. Errors: kUsage for a statistic that there is not; kUnsupported for
// models without a tokenizer, of pictures, and encoder–decoders; kBadInput for a file that is there without `resume` or
// `overwrite`, for a resume with other options, model or corpus, and for what cannot be read or written; kInternal when
// another process ended; run()'s.
Result<AtlasSummary> make_atlas(const Model& model, const std::filesystem::path& path, const AtlasOptions& options,
                                const OnAtlasProgress& on_progress = {}, StopToken stop = {});

}  // namespace locus::models
