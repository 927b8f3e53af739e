// claim(): takes over the output folder of a training run, with the files already in it.
#pragma once

#include <string>

#include "core/base/folder_lock.h"
#include "core/base/result.h"
#include "models/api/train.h"
#include "models/training/task.h"

namespace locus::training {

struct Claim {
  FolderLock lock;        // held as long as the run writes
  bool finished = false;  // the run to be resumed is already finished
  std::string note;       // reason why a resumed run starts at step 0; else empty
};

// Creates `options.out`, locks it, removes remains of killed writes (and the checkpoint to be overwritten), and writes
// the record of the new run, so that the folder can be attributed to it whenever it is killed. `options` are the
// resolved ones of set_up(). Errors: kBadInput when another training holds the folder, when it holds a run or a
// checkpoint and neither `resume` nor `overwrite` is set, when there is no run to resume, or that run had other options
// or data.
Result<Claim> claim(const TrainOptions& options, const Task& task);

}  // namespace locus::training
