// Every bundled checkpoint still measures what its training.json says, and stops doing so when its weights are moved.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/sha256.h"
#include "models/api/train.h"
#include "models/formats/tensor_source.h"
#include "models/transformer/weights.h"
#include "tests/support/paths.h"

namespace {

namespace fs = std::filesystem;
using locus::training::evaluate;
using locus::training::EvaluateOptions;
using nlohmann::json;

// Texts are not bundled with what was trained on them: those checkpoints record their bits per byte on this one.
const fs::path kHeldOut = fs::path(locus::test::source_dir()) / "assets" / "samples" / "held-out.txt";
constexpr double kTolerance = 2e-3;

json read_json(const fs::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

std::string held_out_digest() {
  const auto text = locus::read_file(kHeldOut, std::size_t{1} << 24);
  EXPECT_TRUE(text.ok());
  return text.ok() ? locus::sha256(*text) : "";
}

std::vector<fs::path> bundled() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(fs::path(locus::test::source_dir()) / "assets" / "checkpoints")) {
    if (fs::exists(entry.path() / "training.json")) {
      folders.push_back(entry.path());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// What the checkpoint's reference says to measure.
double measured(const fs::path& folder, const json& record) {
  const json& reference = record.at("reference");
  EvaluateOptions options;
  options.task = record.at("task");
  options.splits = {reference.at("split").get<std::string>()};
  options.samples = reference.at("samples");
  options.seed = reference.at("seed").get<std::uint64_t>();
  if (options.task == "text") {
    options.validate = {{kHeldOut, ""}};
  }
  const auto row = evaluate(folder, options);
  EXPECT_TRUE(row.ok()) << folder << ": " << (row.ok() ? "" : row.error().describe());
  return row.ok() ? row->splits.front().second : -1;
}

// A copy of the checkpoint with every weight moved by half its size, one up, the next down.
fs::path perturbed(const fs::path& folder) {
  const fs::path copy = fs::path(testing::TempDir()) / ("locus_perturbed_" + folder.filename().string());
  fs::remove_all(copy);
  fs::copy(folder, copy, fs::copy_options::recursive);
  const auto source = locus::formats::open_tensors(folder / "model.safetensors");
  EXPECT_TRUE(source.ok());
  std::vector<locus::formats::OutputTensor> tensors;
  std::deque<std::vector<float>> values;
  for (const auto& tensor : (*source)->tensors()) {
    const at::Tensor stored = locus::transformer::to_tensor(tensor, *source).contiguous();
    const float* const first = stored.data_ptr<float>();
    std::vector<float>& moved = values.emplace_back(first, first + stored.numel());
    for (std::size_t n = 0; n < moved.size(); ++n) {
      moved[n] *= n % 2 == 0 ? 1.5F : 0.5F;
    }
    tensors.push_back({tensor.name,
                       locus::formats::DType::kF32,
                       tensor.shape,
                       {reinterpret_cast<const std::byte*>(moved.data()), 4 * moved.size()}});
  }
  EXPECT_TRUE(locus::formats::write_safetensors(copy / "model.safetensors", tensors, {{"format", "pt"}}).ok());
  return copy;
}

TEST(BundledCheckpoints, MeasureWhatTheyRecord) {
  const std::vector<fs::path> folders = bundled();
  ASSERT_FALSE(folders.empty());
  for (const fs::path& folder : folders) {
    const json record = read_json(folder / "training.json");
    ASSERT_TRUE(record.contains("reference")) << folder << ": locus evaluate --record writes it";
    ASSERT_TRUE(record.at("task") != "text" ||
                record.at("reference").at("data").at(0).at("sha256") == held_out_digest())
        << folder << ": measured on another text";
    const double reference = record.at("reference").at("value");
    EXPECT_NEAR(measured(folder, record), reference, kTolerance * (1 + reference)) << folder;
    const fs::path moved = perturbed(folder);
    EXPECT_GT(std::abs(measured(moved, record) - reference), 10 * kTolerance * (1 + reference)) << folder;
    fs::remove_all(moved);
  }
}

}  // namespace
