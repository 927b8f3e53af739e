// Checkpoints of a run's steps that are kept: folders step0, step200, … within the run's, as other programs name them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace locus::training {

std::filesystem::path kept_folder(const std::filesystem::path& out, std::int64_t step);

// Those that are there, by step.
std::vector<std::filesystem::path> kept_folders(const std::filesystem::path& out);

}  // namespace locus::training
