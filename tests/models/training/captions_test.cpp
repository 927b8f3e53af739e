// Task captions: what its pictures show is what its captions say, and the trained folder says it of a picture file.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/api/train.h"
#include "models/engine/loaded_model.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/engine/vision.h"
#include "models/training/network.h"
#include "models/training/replicas.h"
#include "models/training/setup.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/picture.h"

namespace {

using namespace locus;
using namespace locus::training;

constexpr std::int64_t kCells = 16;  // of a picture of 32 pixels

std::unique_ptr<Task> captions() {
  auto task = make_task("captions", {});
  EXPECT_TRUE(task.ok()) << (task.ok() ? "" : task.error().describe());
  return task.ok() ? std::move(*task) : nullptr;
}

// A few steps of a small model.
TrainOptions small_run(const std::filesystem::path& out, bool vectors) {
  TrainOptions options;
  options.task = "captions";
  options.task_options = {{"tower_layers", std::int64_t{1}}, {"tower_width", std::int64_t{16}}};
  options.encoding = "rope";
  if (vectors) {
    options.encoding_options = {{"sections", std::vector<double>{2, 3, 3}}};
  }
  options.layers = 2;
  options.heads = 2;
  options.width = 32;
  options.batch = 4;
  options.steps = 3;
  options.warmup = 1;
  options.threads = 2;
  options.out = out;
  return options;
}

// The words of sequence `row`, and the index of the first.
std::vector<std::string> words_of(const std::vector<std::string>& vocabulary, const Examples& examples,
                                  std::int64_t row, std::int64_t cells) {
  std::vector<std::string> words{vocabulary[static_cast<std::size_t>(examples.ids[row][cells].item<std::int64_t>())]};
  for (std::int64_t n = cells; n < examples.targets.size(1); ++n) {
    const auto target = examples.targets[row][n].item<std::int64_t>();
    if (target != kIgnored) {
      words.push_back(vocabulary[static_cast<std::size_t>(target)]);
    }
  }
  return words;
}

std::vector<std::string> vocabulary_of(const Task& task) {
  const test::TemporaryFolder folder;
  EXPECT_TRUE(task.write_input_files(folder.path()).ok());
  const auto json = nlohmann::json::parse(std::ifstream(folder.path() / "tokenizer.json"));
  std::vector<std::string> words(json.at("model").at("vocab").size());
  for (const auto& [word, id] : json.at("model").at("vocab").items()) {
    words[id.get<std::size_t>()] = word;
  }
  return words;
}

// The mean place (x, y) of the pixels near a colour; pixels are in [−1, 1].
std::array<double, 2> centre_of(const at::Tensor& picture, const std::string& colour) {
  static const std::map<std::string, std::array<double, 3>> kColours{
      {"red", {225, 50, 50}}, {"green", {50, 205, 70}}, {"blue", {70, 90, 225}}, {"yellow", {225, 215, 60}}};
  at::Tensor far = at::zeros({picture.size(1), picture.size(2)});
  for (int channel = 0; channel < 3; ++channel) {
    const double own = kColours.at(colour)[static_cast<std::size_t>(channel)] / 127.5 - 1;
    far = far.maximum((picture[channel] - own).abs());
  }
  const at::Tensor near = (far < 0.35).nonzero().to(at::kDouble);
  EXPECT_GT(near.size(0), 8) << colour;
  return {near.select(1, 1).mean().item<double>(), near.select(1, 0).mean().item<double>()};
}

TEST(Captions, SayWhatThePictureShows) {
  const auto task = captions();
  ASSERT_NE(task, nullptr);
  const std::vector<std::string> vocabulary = vocabulary_of(*task);
  std::map<std::string, int> relations;
  for (const std::size_t split : {0, 2}) {
    const Examples examples = task->evaluation_examples(split, 3, 0, 40);
    const std::int64_t cells = split == 0 ? kCells : 4 * kCells;
    EXPECT_EQ(examples.pixels.size(2), split == 0 ? 32 : 64);
    for (std::int64_t row = 0; row < examples.size(); ++row) {
      const std::vector<std::string> words = words_of(vocabulary, examples, row, cells);
      ASSERT_EQ(words.front(), "a");
      ASSERT_EQ(words.back(), ".");
      const bool across = words[3] == "left";
      ASSERT_EQ(words.size(), across ? 9U : 8U);
      ++relations[words[3]];
      const auto first = centre_of(examples.pixels[row], words[1]);
      const auto second = centre_of(examples.pixels[row], words[across ? 6 : 5]);
      const double over = second[0] - first[0];
      const double down = second[1] - first[1];
      EXPECT_GT(across ? over : down, std::abs(across ? down : over)) << words[1] << ' ' << words[3];
      // The placeholders are in front, and every word but the first is to be said.
      EXPECT_TRUE(examples.ids[row].slice(0, 0, cells).eq(0).all().item<bool>());
      EXPECT_TRUE(examples.targets[row].slice(0, 0, cells).eq(kIgnored).all().item<bool>());
    }
  }
  EXPECT_GT(relations["left"], 20);
  EXPECT_GT(relations["above"], 20);
}

// t stands still in the picture, h and w are its rows and columns, and the text goes on behind the longer side.
TEST(Captions, CellsStandAtRowAndColumn) {
  const auto task = captions();
  const auto setup = set_up(small_run("out", true), *task);
  ASSERT_TRUE(setup.ok()) << setup.error().describe();
  const Examples examples = task->evaluation_examples(0, 1, 0, 2);
  const at::Tensor ids = setup->network.view().natural_positions(examples).ids;
  ASSERT_EQ(ids.sizes(), (std::vector<std::int64_t>{examples.ids.size(1), 3}));
  for (std::int64_t cell = 0; cell < kCells; ++cell) {
    const std::int64_t row = cell / 4;
    EXPECT_TRUE(at::equal(ids[cell], at::tensor({0.0, double(row), double(cell % 4)}, at::kDouble))) << cell;
  }
  EXPECT_TRUE(at::equal(ids[kCells + 2], at::full({3}, 6.0, at::kDouble)));
  const auto flat = set_up(small_run("out", false), *task);
  ASSERT_TRUE(flat.ok()) << flat.error().describe();
  EXPECT_TRUE(
      at::equal(flat->network.view().natural_positions(examples).ids, at::arange(examples.ids.size(1), at::kDouble)));
}

// Every sequence of a batch has its own picture; the gradient of a batch is the sum of its sequences', on any number of
// threads, and reaches every parameter.
TEST(Captions, ABatchIsItsSequences) {
  const auto task = captions();
  const auto setup = set_up(small_run("out", true), *task);
  ASSERT_TRUE(setup.ok()) << setup.error().describe();
  const Network network = setup->network.view();
  const Examples examples = task->evaluation_examples(0, 1, 0, 5);
  const position::Positions positions = network.natural_positions(examples);
  const at::Tensor whole = network.model().forward(network.batch(examples, positions, at::kCPU));
  for (std::int64_t n = 0; n < 5; ++n) {
    const at::Tensor one = network.model().forward(network.batch(examples.slice(n, n + 1), positions, at::kCPU));
    EXPECT_LT((one[0] - whole[n]).abs().max().item<double>(), 1e-5);
  }
  std::vector<std::vector<at::Tensor>> gradients;
  std::vector<double> losses;
  for (const std::int64_t threads : {1, 3}) {
    auto replicas = Replicas::create(setup->network, threads);
    ASSERT_TRUE(replicas.ok()) << replicas.error().describe();
    losses.push_back((*replicas)->backward(examples, positions, 0.1));
    gradients.emplace_back();
    for (const transformer::Parameter& parameter : setup->network.parameters()) {
      ASSERT_TRUE(parameter.value->grad().defined()) << parameter.name;
      gradients.back().push_back(parameter.value->grad().clone());
      parameter.value->mutable_grad().reset();
    }
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-4);
  for (std::size_t n = 0; n < gradients[0].size(); ++n) {
    EXPECT_LT((gradients[0][n] - gradients[1][n]).abs().max().item<double>(), 1e-4) << n;
  }
}

// What a training writes opens, sees a picture file as the task's picture, and resumes.
void expect_training_and_file_agree(const Settings& encoding_options) {
  const test::TemporaryFolder folder;
  TrainOptions options = small_run(folder.path() / "run", true);
  options.encoding_options = encoding_options;
  const auto summary = train(options);
  ASSERT_TRUE(summary.ok()) << summary.error().describe();
  EXPECT_EQ(summary->splits.size(), 3U);
  const auto model = test::open_model(options.out);
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(model->info().unexpected.empty());
  EXPECT_EQ(model->info().placeholder, 0);

  // A picture file beside a text gives the logits that training gives for its pixels.
  const auto task = captions();
  Examples examples = task->evaluation_examples(0, 5, 0, 1);
  const at::Tensor bytes = ((examples.pixels + 1) * 127.5).round();
  examples.pixels = bytes / 127.5 - 1;
  const at::Tensor interleaved = bytes[0].permute({1, 2, 0}).to(at::kByte).contiguous();
  const auto* const first = interleaved.data_ptr<std::uint8_t>();
  const std::filesystem::path file = folder.path() / "picture.png";
  test::write_rgb(file, {first, first + interleaved.numel()}, 32, 32);
  models::Input input;
  const std::vector<std::string> vocabulary = vocabulary_of(*task);
  const std::vector<std::string> words = words_of(vocabulary, examples, 0, kCells);
  input.text = "<image>" + words[0] + " " + words[1] + " " + words[2];
  input.images = {file};
  const auto trace = model->run(input, {});
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const at::Tensor seen = dynamic_cast<const models::RecordedTrace&>(**trace).data().logits;
  const auto* const loaded = models::loaded_model_of(*model);
  ASSERT_NE(loaded, nullptr);
  const Network network(**loaded->checkpoint().ready(), loaded->checkpoint().parts().vision->tower(),
                        loaded->checkpoint().parts().vision->connector(), 0);
  const at::Tensor logits =
      network.model().forward(network.batch(examples, network.natural_positions(examples), at::kCPU));
  EXPECT_LT((seen.flatten() - logits[0][kCells + 2]).abs().max().item<double>(), 1e-4);

  EvaluateOptions again;
  again.task = "captions";
  again.samples = 20;
  const auto measured = evaluate(options.out, again);
  ASSERT_TRUE(measured.ok()) << measured.error().describe();
  again.task = "shapes";
  const auto other = evaluate(options.out, again);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kBadInput);
}

TEST(Captions, TheFolderSaysOfAPictureFileWhatTrainingDid) {
  expect_training_and_file_agree({{"sections", std::vector<double>{2, 3, 3}}});
}

TEST(Captions, HeadsMayHaveAComponentEach) {
  expect_training_and_file_agree(
      {{"sections", std::vector<double>{0, 1, 1}}, {"section_layout", std::string("heads")}});
}

}  // namespace
