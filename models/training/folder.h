// The folder of a training run: a checkpoint that Locus and other programs open, and the state for resuming.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/training/adamw.h"
#include "models/training/network.h"
#include "models/training/task.h"

namespace locus::training {

// The state of a run at a step.
struct RunRecord {
  std::int64_t step = 0;
  std::vector<CurvePoint> curve;
  std::map<std::string, double> splits;  // empty until the end
};

// Writes config.json, model.safetensors and the tokenizer: `model_type` llama with Hugging Face's tensor names where
// the encoding is plain rope and there are no pictures, otherwise locus.
Status write_model(const std::filesystem::path& folder, const OwnNetwork& network, const Task& task, bool half);

// Writes training.json and loss.csv.
Status write_record(const std::filesystem::path& folder, const TrainOptions& options, const Task& task,
                    const RunRecord& record);

// Writes training_state.safetensors: float32 parameters, both means of AdamW, the step, and the options of the run.
Status write_state(const std::filesystem::path& folder, const OwnNetwork& network, AdamW& optimiser,
                   const TrainOptions& options, const RunRecord& record);

// Restores the state of write_state(). False when the folder has none. Errors: kBadInput when it was written with other
// options (the first that differs is named), or does not match the model.
Result<bool> read_state(const std::filesystem::path& folder, const OwnNetwork& network, AdamW& optimiser,
                        const TrainOptions& options, RunRecord& record);

// Reads the run that training.json records, finished or not; empty where there is none. Errors: kBadInput when it was
// made with other options or data (the first that differs is named).
Result<std::optional<RunRecord>> read_record(const std::filesystem::path& folder, const TrainOptions& options,
                                             const Task& task);

bool has_state(const std::filesystem::path& folder);
Status remove_state(const std::filesystem::path& folder);

// Checkpoints kept of single steps: folders step0, step200, … within the run's folder.
std::filesystem::path kept_folder(const std::filesystem::path& out, std::int64_t step);
// The kept folders that exist, by step.
std::vector<std::filesystem::path> kept_folders(const std::filesystem::path& out);

}  // namespace locus::training
