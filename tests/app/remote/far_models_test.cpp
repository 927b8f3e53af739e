// Analyses, edits, generation and files of another machine give the numbers of the same here, bit for bit.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "models/api/adapter.h"
#include "models/remote/codec/call.h"
#include "models/remote/frames.h"
#include "tests/support/far_same.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using test::expect_same_facts;
using test::expect_same_maps;

class FarModels : public test::FarTest {};

TEST_F(FarModels, EveryFunctionSaysTheSame) {
  fs::create_directories(folder_ / "here");
  fs::create_directories(folder_ / "there");
  test::FacadeTour here([](const fs::path& path) { return path; }, folder_ / "here");
  test::FacadeTour there(test::FarMachine::path, folder_ / "there");
  ASSERT_TRUE(here.go() && there.go());
  ASSERT_EQ(here.stops().size(), there.stops().size());
  for (std::size_t n = 0; n < here.stops().size(); ++n) {
    const auto& own = here.stops()[n];
    const auto& far = there.stops()[n];
    EXPECT_EQ(own.name, far.name);
    EXPECT_TRUE(own.said == far.said) << own.name << ": " << own.said.substr(0, 200) << " " << far.said.substr(0, 200);
  }
  ASSERT_EQ(here.traces().size(), there.traces().size());
  EXPECT_GT(there.traces()[1]->reused(), 40);
  for (std::size_t n = 0; n < here.traces().size(); ++n) {
    expect_same_facts(*here.traces()[n], *there.traces()[n]);
    expect_same_maps(*here.traces()[n], *there.traces()[n], "trace " + std::to_string(n));
  }
  for (const char* file : {"trace.safetensors", "fetched.safetensors"}) {
    EXPECT_TRUE(testing_support::read_text(folder_ / "here" / file) ==
                testing_support::read_text(folder_ / "there" / file))
        << file;
  }
}

TEST_F(FarModels, MixersAreEditedThere) {
  const fs::path path = bundled_path("text-delta-nope");
  const test::FarMachine machine;
  const auto run = [&](const fs::path& of) -> std::shared_ptr<const models::Trace> {
    const auto model = opened(of);
    const auto edited =
        model->edited({*models::parse_edit("decay all.all mean", 0), *models::parse_edit("unwrite 0.1 2:4", 1),
                       *models::parse_edit("reset 1.all at 6", 2)});
    EXPECT_TRUE(edited.ok()) << edited.error().describe();
    const auto trace = (*edited)->run(input_for(model->info()));
    EXPECT_TRUE(trace.ok()) << trace.error().describe();
    return *trace;
  };
  const auto here = run(path);
  const auto there = run(test::FarMachine::path(path));
  EXPECT_EQ(there->edits().size(), 3U);
  expect_same_facts(*here, *there);
  expect_same_maps(*here->side(models::Side::kMixer), *there->side(models::Side::kMixer), "mixers");
}

// The base of an adapter is looked for on the adapter's machine.
TEST_F(FarModels, AnAdapterOpensOnANamedBase) {
  const fs::path golden = fs::path(test::source_dir()) / "tests/golden/variants/adapters";
  fs::copy(golden / "lora", folder_ / "lora");
  fs::remove(folder_ / "lora" / "expected.safetensors");
  const test::FarMachine machine;
  models::OpenOptions options;
  options.base = (golden / "base-gone").string();
  const auto refused = models::open(test::FarMachine::path(folder_ / "lora"), options);
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(models::lacks_base(refused.error())) << refused.error().describe();
  options.base = (golden / "base").string();
  const auto there = models::open(test::FarMachine::path(folder_ / "lora"), options);
  const auto here = models::open(folder_ / "lora", options);
  ASSERT_TRUE(there.ok()) << there.error().describe();
  ASSERT_TRUE(here.ok()) << here.error().describe();
  models::Input input;
  input.ids = {1, 2, 3, 4};
  const auto far = (*there)->run(input, {}, {}, {});
  const auto own = (*here)->run(input, {}, {}, {});
  ASSERT_TRUE(far.ok() && own.ok());
  expect_same_facts(**own, **far);
}

// So that the test above leaves none out, nor the hostile clients of tests/fuzz/calls_run.cpp.
TEST_F(FarModels, TheTourMakesEveryCall) {
  const fs::path sent = folder_ / "sent";
  const test::FarMachine machine("sh -c 'tee \"" + sent.string() + "\" | PATH=%s:$PATH %c'");
  test::FacadeTour there(test::FarMachine::path, folder_);
  ASSERT_TRUE(there.go());
  std::set<std::string> missing{"ping", "release", "file.put", "file.make", "file.read"};
  for (const remote::Entry& entry : remote::all_calls()) {
    missing.insert(entry.name);
  }
  // tee may write the last call to its file after the answer has come.
  const auto begin = std::chrono::steady_clock::now();
  while (!missing.empty() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::string bytes = testing_support::read_text(sent);
    std::size_t at = 0;
    const auto read = [&](char* to, std::size_t most) -> Result<std::size_t> {
      const std::size_t count = bytes.copy(to, most, at);
      at += count;
      return count;
    };
    for (auto next = remote::read_message(read, "sent"); next.ok() && *next;
         next = remote::read_message(read, "sent")) {
      missing.erase((*next)->name);
    }
  }
  EXPECT_EQ(missing, std::set<std::string>());
}

TEST_F(FarModels, TracesAndFilesThere) {
  const ModelPointer here = opened(bundled_path("text-alibi"));
  const auto run = *here->run(input_for(here->info()));
  const fs::path file = folder_ / "of here.safetensors";
  ASSERT_TRUE(run->write(file, {"logits", "q", "k"}).ok());
  const std::string far_file = test::FarMachine::path(file);
  EXPECT_TRUE(models::is_trace(far_file));
  EXPECT_FALSE(models::is_trace(test::FarMachine::path(bundled_path("text-alibi"))));
  EXPECT_TRUE(models::file_exists(far_file));
  EXPECT_FALSE(models::file_exists(far_file + "x"));
  EXPECT_EQ(*models::files_digest({file}), *models::files_digest({far_file}));
  const auto trace_here = models::open_trace(file);
  const auto trace_there = models::open_trace(far_file);
  ASSERT_TRUE(trace_here.ok() && trace_there.ok()) << trace_there.error().describe();
  expect_same_facts(**trace_here, **trace_there);
  expect_same_maps(**trace_here, **trace_there, "trace file");
  // A path there is written there.
  const fs::path second = folder_ / "of there.safetensors";
  const Status written = (*trace_there)->write(test::FarMachine::path(second), {"q", "k"});
  ASSERT_TRUE(written.ok()) << written.error().describe();
  EXPECT_TRUE(models::is_trace(second));
  // What is not there says so, as the program there does.
  const auto none = models::open("ssh://here/no/such/checkpoint");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kBadInput);
  EXPECT_NE(none.error().describe().find("/no/such/checkpoint"), std::string::npos) << none.error().describe();
}

TEST_F(FarModels, RunsOfTwoMachinesAreNotMixed) {
  const ModelPointer here = opened(bundled_path("text-alibi"));
  const ModelPointer there = opened(test::FarMachine::path(bundled_path("text-alibi")));
  const auto a = *here->run(input_for(here->info()));
  const auto b = *there->run(input_for(here->info()));
  const auto both = models::head_difference(*a, *b);
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(both.error().describe().find("here"), std::string::npos) << both.error().describe();
  // A run that another machine made is not continued, but it is no error to name it.
  models::RunOptions options;
  options.reuse = a;
  EXPECT_TRUE(there->run(input_for(here->info()), options).ok());
}

}  // namespace
}  // namespace locus
