// Whose folder it is: what a training run does with what it finds where it shall write.
#pragma once

#include <string>

#include "core/base/folder_lock.h"
#include "core/base/result.h"
#include "models/api/train.h"
#include "models/training/task.h"

namespace locus::training {

struct Claim {
  FolderLock lock;        // for as long as the run writes
  bool finished = false;  // the very run that is asked to go on is done
  std::string note;       // of a run that is asked to go on and begins at step 0: why; else empty
};

// Makes `options.out`, locks it, removes what killed writes left there (and the checkpoint that is overwritten), and
// writes the record of a run that begins: from then on the folder is known to be this run's, whenever it is killed.
// `options` are the resolved ones of set_up(). Errors: kBadInput when another training holds the folder, when it holds
// a run or a checkpoint and neither `resume` nor `overwrite` says what to do with it, when there is no such run to
// resume, or it was one with other options or data.
Result<Claim> claim(const TrainOptions& options, const Task& task);

}  // namespace locus::training
