// Every folder of tests/golden/families-vlm: a tiny checkpoint of a vision-language family as it is published,
// pictures, and what the family's definition gives for them. A family that is added brings its folder; nothing here
// changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "models/api/verify.h"
#include "models/engine/loaded_model.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/formats/tensor_source.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

// |got − want| ≤ 1e-4 · max(1, |want|).
constexpr double kMixedTolerance = 1e-4;
// References that float32 reaches less closely: the library computes the gated delta rule of Qwen3.5 in float32 always,
// and its own float32 of Gemma 4's folder is 0.8e-4 from its float64.
constexpr double kSharpTolerance = 4e-4;

std::vector<fs::path> mixed_folders() {
  std::vector<fs::path> list;
  for (const auto& entry : fs::directory_iterator(fs::path(test::source_dir()) / "tests" / "golden" / "families-vlm")) {
    if (entry.is_directory() && fs::exists(entry.path() / "model.safetensors")) {
      list.push_back(entry.path());
    }
  }
  std::sort(list.begin(), list.end());
  return list;
}

std::vector<std::int64_t> numbers_of(const test::Golden& golden, const std::string& name) {
  if (!golden.has(name)) {
    return {};
  }
  const at::Tensor values = golden[name].contiguous();
  return {values.data_ptr<std::int64_t>(), values.data_ptr<std::int64_t>() + values.numel()};
}

models::Input mixed_input(const fs::path& folder, const test::Golden& golden, bool files) {
  models::Input input;
  input.ids = numbers_of(golden, "input_ids");
  input.token_types = numbers_of(golden, "token_type_ids");
  for (int n = 0; files && fs::exists(folder / ("image" + std::to_string(n) + ".png")); ++n) {
    input.images.push_back(folder / ("image" + std::to_string(n) + ".png"));
  }
  if (!files) {
    input.pixels = folder / "expected.safetensors";
  }
  return input;
}

test::Golden mixed_expected(const fs::path& folder) {
  return test::Golden("families-vlm/" + folder.filename().string() + "/expected");
}

double tolerance_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.starts_with("qwen3_5") || name == "gemma4" ? kSharpTolerance : kMixedTolerance;
}

void expect_maps(const models::TraceData& data, const test::Golden& golden, const std::string& side, double tolerance) {
  ASSERT_EQ(data.model.layer_info.size(), data.layers.size());
  for (std::size_t n = 0; n < data.layers.size(); ++n) {
    const std::string name = side + "layers." + std::to_string(n) + ".attention";
    if (!data.model.layer_info[n].attends) {  // the reference has no map of such a layer
      EXPECT_FALSE(golden.has(name)) << name;
      continue;
    }
    const auto map = models::whole_map(*data.layers[n].scores, attention::Quantity::kWeight);
    ASSERT_TRUE(map.ok());
    EXPECT_CLOSE(*map, golden[name], tolerance) << name;
  }
}

// The states entering each layer, where the reference has them; how many it has.
std::size_t expect_states(const models::TraceData& data, const test::Golden& golden, const std::string& side,
                          double tolerance) {
  std::size_t found = 0;
  for (std::size_t n = 0; n < data.layers.size(); ++n) {
    const std::string name = side + "layers." + std::to_string(n) + ".hidden";
    if (golden.has(name)) {
      EXPECT_CLOSE(data.layers[n].hidden, golden[name], tolerance) << name;
      ++found;
    }
  }
  return found;
}

// From the pictures' files and from their pixels: every tensor that the reference names.
TEST(FamiliesVlm, GiveTheReferencesPixelsMapsAndLogits) {
  for (const fs::path& folder : mixed_folders()) {
    for (const bool files : {false, true}) {
      SCOPED_TRACE(folder.filename().string() + (files ? " files" : " pixels"));
      const auto model = test::open_model(folder, models::OpenOptions{});
      ASSERT_NE(model, nullptr);
      EXPECT_TRUE(model->info().unexpected.empty());
      EXPECT_TRUE(model->info().warnings.empty());
      const test::Golden golden = mixed_expected(folder);
      const double tolerance = tolerance_of(folder);
      models::RunOptions options;
      options.all_logits = true;
      options.keep = {"logits", "hidden"};
      const auto trace = model->run(mixed_input(folder, golden, files), options);
      ASSERT_TRUE(trace.ok()) << trace.error().describe();
      const models::TraceData& data = test::recorded(**trace);
      ASSERT_NE(data.vision, nullptr);
      const models::TraceData& tower = test::recorded(*data.vision);
      EXPECT_CLOSE(data.pixels, golden["pixel_values"], 1e-6);
      if (golden.has("image_grid_thw")) {
        EXPECT_TRUE(at::equal(data.image_grids, golden["image_grid_thw"]));
      }
      const at::Tensor places = data.position_ids.dim() == 2 ? data.position_ids.t() : data.position_ids;
      EXPECT_TRUE(at::equal(places.to(at::kLong), golden["position_ids"]));
      EXPECT_CLOSE(tower.read, golden["vision.output"], tolerance);
      EXPECT_CLOSE(data.image_rows->vectors, golden["image_embeds"], tolerance);
      for (std::size_t k = 0; k < data.image_rows->added.size(); ++k) {
        EXPECT_CLOSE(data.image_rows->added[k], golden["deepstack." + std::to_string(k)], tolerance) << k;
      }
      expect_maps(tower, golden, "vision.", tolerance);
      expect_maps(data, golden, "", tolerance);
      if (golden.has("layers.0.hidden")) {
        EXPECT_EQ(expect_states(tower, golden, "vision.", tolerance), tower.layers.size());
        EXPECT_EQ(expect_states(data, golden, "", tolerance), data.layers.size());
      }
      EXPECT_CLOSE(data.logits, golden["logits"], tolerance);
    }
  }
}

// Gemma 3's window of 6 tokens hides what is before it of a picture of 16, and nothing behind the token; the layer without
// a window sees all of the picture.
TEST(FamiliesVlm, AWindowShorterThanAPictureCutsIt) {
  const fs::path folder = fs::path(test::source_dir()) / "tests" / "golden" / "families-vlm" / "gemma3";
  const auto model = test::open_model(folder, models::OpenOptions{});
  ASSERT_NE(model, nullptr);
  const auto trace = model->run(mixed_input(folder, mixed_expected(folder), true), models::RunOptions{});
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const models::TraceData& data = test::recorded(**trace);
  ASSERT_EQ(data.layers.size(), 3U);
  const models::ImageSpan& picture = (*trace)->images().front();
  ASSERT_EQ(picture.count, 16);
  for (std::int64_t row = picture.first; row < picture.first + picture.count; ++row) {
    for (std::int64_t column = picture.first; column < picture.first + picture.count; ++column) {
      EXPECT_EQ(data.layers[0].scores->mask().visible(row, column), column > row - 6) << row << " " << column;
      EXPECT_TRUE(data.layers[2].scores->mask().visible(row, column)) << row << " " << column;
    }
  }
}

TEST(FamiliesVlm, PassTheirOwnVerification) {
  for (const fs::path& folder : mixed_folders()) {
    SCOPED_TRACE(folder.filename().string());
    const auto model = test::open_model(folder, models::OpenOptions{});
    ASSERT_NE(model, nullptr);
    const auto expected = models::verify_expected(*model, folder / "expected.safetensors");
    ASSERT_TRUE(expected.ok()) << expected.error().describe();
    EXPECT_TRUE(expected->passed);
    EXPECT_GE(expected->rows.size(), 8U);
    const auto shown = models::verify(*model, mixed_input(folder, mixed_expected(folder), true), std::nullopt);
    ASSERT_TRUE(shown.ok()) << shown.error().describe();
    EXPECT_TRUE(shown->passed);
  }
}

// Half of the tokens behind the last picture first, then the others one by one: the same maps.
TEST(FamiliesVlm, GiveTheSameWhenTokensAreAppended) {
  for (const fs::path& folder : mixed_folders()) {
    SCOPED_TRACE(folder.filename().string());
    const auto model = test::open_model(folder, models::OpenOptions{});
    ASSERT_NE(model, nullptr);
    const test::Golden golden = mixed_expected(folder);
    const models::Input input = mixed_input(folder, golden, true);
    models::RunOptions options;
    options.continuable = true;
    models::Input part = input;
    const auto last = golden["mm_mask"].nonzero().max().item<std::int64_t>();
    for (auto count = static_cast<std::size_t>(last) + 1; count <= input.ids->size(); ++count) {
      const auto end = static_cast<std::ptrdiff_t>(count);
      part.ids = std::vector<std::int64_t>(input.ids->begin(), input.ids->begin() + end);
      if (!part.token_types.empty()) {
        part.token_types.assign(input.token_types.begin(), input.token_types.begin() + end);
      }
      const auto trace = model->run(part, options);
      ASSERT_TRUE(trace.ok()) << trace.error().describe();
      options.reuse = *trace;
    }
    EXPECT_GT(options.reuse->reused(), 0);
    expect_maps(test::recorded(*options.reuse), golden, "", tolerance_of(folder));
    EXPECT_CLOSE(test::recorded(*options.reuse).logits[-1], golden["logits"][-1], tolerance_of(folder));
  }
}

// A trace file holds the tensors that the reference names, and opens as the run it was written from.
TEST(FamiliesVlm, AreTheSameInATraceFile) {
  const test::TemporaryFolder temporary;
  for (const fs::path& folder : mixed_folders()) {
    SCOPED_TRACE(folder.filename().string());
    const auto model = test::open_model(folder, models::OpenOptions{});
    ASSERT_NE(model, nullptr);
    const test::Golden golden = mixed_expected(folder);
    models::RunOptions options;
    options.all_logits = true;
    const auto run = model->run(mixed_input(folder, golden, true), options);
    ASSERT_TRUE(run.ok()) << run.error().describe();
    const fs::path file = temporary.path() / (folder.filename().string() + ".locus-trace.safetensors");
    ASSERT_TRUE((*run)->write(file, {"logits", "q", "k"}).ok());
    const auto source = formats::open_tensors(file);
    ASSERT_TRUE(source.ok());
    for (const char* name : {"pixel_values", "image_embeds", "position_ids", "mm_mask", "deepstack.0"}) {
      const formats::TensorInfo* const kept = (*source)->find(name);
      ASSERT_EQ(kept != nullptr, golden.has(name)) << name;
      if (kept != nullptr) {
        EXPECT_EQ(kept->shape, golden[name].sizes().vec()) << name;
      }
    }
    const auto opened = test::open_trace(file);
    ASSERT_TRUE(opened.ok()) << opened.error().describe();
    EXPECT_EQ((*opened)->images(), (*run)->images());
    const models::TraceData& data = test::recorded(**opened);
    EXPECT_TRUE(at::equal(data.position_ids, test::recorded(**run).position_ids));
    ASSERT_NE(data.vision, nullptr);
    expect_maps(data, golden, "", tolerance_of(folder));
    expect_maps(test::recorded(*data.vision), golden, "vision.", tolerance_of(folder));
    EXPECT_CLOSE(data.image_rows->vectors, golden["image_embeds"], tolerance_of(folder));
    for (std::size_t n = 0; n < data.tokens.size(); ++n) {
      EXPECT_EQ(data.tokens[n].label, (*run)->tokens()[n].label);
      EXPECT_EQ(data.tokens[n].position, (*run)->tokens()[n].position);
    }
  }
}

// One placeholder for each picture becomes the tokens of the reference: its start, rows, ends of rows and end.
TEST(FamiliesVlm, APlaceholderBecomesWhatTheProcessorWrites) {
  for (const fs::path& folder : mixed_folders()) {
    SCOPED_TRACE(folder.filename().string());
    const auto model = test::open_model(folder, models::OpenOptions{});
    ASSERT_NE(model, nullptr);
    models::Input input = mixed_input(folder, mixed_expected(folder), true);
    const std::vector<std::int64_t> wanted = *input.ids;
    const auto whole = model->tokenize(input);
    ASSERT_TRUE(whole.ok()) << whole.error().describe();
    const std::int64_t placeholder = model->info().placeholder;
    std::vector<std::int64_t> folded;
    std::size_t pictures = 0;
    for (std::size_t n = 0; n < wanted.size(); ++n) {
      const std::string& label = (*whole)[n].label;
      const bool row_end = folder.filename() == "pixtral" || folder.filename() == "mistral3"
                               ? wanted[n] == 12 || wanted[n] == 13
                               : false;
      const bool begins = label.ends_with("row 0, column 0") || label.ends_with("cell 0");
      const bool first = wanted[n] == placeholder && begins && label.find(" whole,") == std::string::npos;
      pictures += first ? 1 : 0;
      if (first || (wanted[n] != placeholder && !row_end)) {
        folded.push_back(wanted[n]);
      }
    }
    input.ids = folded;
    const std::string family = folder.filename();  // those that name tiles, which ids alone do not say
    if (family == "idefics3" || family == "aya_vision" || family == "cohere2_vision" || family == "lfm2_vl") {
      EXPECT_FALSE(model->tokenize(input).ok());
      continue;
    }
    ASSERT_EQ(pictures, input.images.size());
    const auto tokens = model->tokenize(input);
    ASSERT_TRUE(tokens.ok()) << tokens.error().describe();
    std::vector<std::int64_t> found;
    for (const models::TokenInfo& token : *tokens) {
      found.push_back(token.id);
    }
    EXPECT_EQ(found, wanted);
  }
}

// One line that says what is wrong, before anything is computed.
TEST(FamiliesVlm, RefuseTextsThatDoNotFitThePictures) {
  const fs::path folder = mixed_folders().front();
  const auto model = test::open_model(folder, models::OpenOptions{});
  ASSERT_NE(model, nullptr);
  const models::Input input = mixed_input(folder, mixed_expected(folder), true);
  const auto refused = [&](const models::Input& other) {
    const auto trace = model->run(other, models::RunOptions{});
    EXPECT_FALSE(trace.ok());
    return trace.ok() ? ErrorCode::kInternal : trace.error().code;
  };
  models::Input other = input;
  other.images.pop_back();
  EXPECT_EQ(refused(other), ErrorCode::kBadInput);
  other = input;
  other.ids->push_back(model->info().placeholder);
  EXPECT_EQ(refused(other), ErrorCode::kBadInput);
  other = input;
  other.images.front() = folder / "none.png";
  EXPECT_EQ(refused(other), ErrorCode::kBadInput);
  other = input;
  other.images.clear();
  other.pixels = folder / "model.safetensors";
  EXPECT_EQ(refused(other), ErrorCode::kBadInput);
  other = input;
  other.pixels = folder / "expected.safetensors";
  EXPECT_EQ(refused(other), ErrorCode::kUsage);
  other = input;
  other.ids.reset();
  EXPECT_EQ(refused(other), ErrorCode::kUsage);
}

}  // namespace
}  // namespace locus
