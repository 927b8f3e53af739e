// A line that breaks, a server that lies, a client that is gone: one clear error, nothing hangs, and the next open()
// makes a new line.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/api/analyses.h"
#include "models/api/kernel.h"
#include "models/api/knock_out.h"
#include "models/api/machine.h"
#include "models/api/model.h"
#include "models/remote/connection/child.h"
#include "models/remote/frames.h"
#include "models/remote/server/serve.h"
#include "tests/support/far.h"
#include "tests/support/run_locus.h"
#include "tests/support/waits.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using remote::Message;
using remote::MessageKind;
using Clock = std::chrono::steady_clock;

double since_ms(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

class FarFaults : public testing::Test {
 protected:
  FarFaults() : folder_(fs::path(testing::TempDir()) / "far_faults") { fs::create_directories(folder_); }
  ~FarFaults() override { fs::remove_all(folder_); }

  static std::string text_rope() {
    return test::FarMachine::path(test::source_dir() + "/assets/checkpoints/text-rope");
  }
  // A server that says who it is.
  std::string named_server() const { return "sh -c 'echo $$ > " + pid_file() + "; PATH=%s:$PATH exec %c'"; }
  std::string pid_file() const { return folder_ / "pid"; }
  pid_t pid() const {
    pid_t number = 0;
    std::ifstream(pid_file()) >> number;
    return number;
  }
  // A server that greets, and sends these bytes as soon as it is asked anything, whatever that is.
  std::string server_of(const std::string& answers) const {
    const std::string greeted = *remote::frame_of(remote::greeting());
    Message ping;
    ping.kind = MessageKind::kCall;
    ping.id = 1;
    ping.name = "ping";
    const std::size_t before = greeted.size() + remote::frame_of(ping)->size();
    EXPECT_TRUE(write_file(folder_ / "greeting", greeted).ok());
    EXPECT_TRUE(write_file(folder_ / "answers", answers).ok());
    return "sh -c 'cd " + folder_.string() + "; cat greeting; head -c " + std::to_string(before + 1) +
           " > asked; cat answers; sleep 30; : %c'";
  }
  static models::Input long_input(std::int64_t length = 1500) {
    models::Input input;
    input.ids.emplace();
    for (std::int64_t n = 0; n < length; ++n) {
      input.ids->push_back(n * 7 % 250);
    }
    return input;
  }
  static void expect_one_line(const Error& error, ErrorCode code, const std::string& naming) {
    EXPECT_EQ(error.code, code) << error.describe();
    EXPECT_NE(error.describe().find(naming), std::string::npos) << error.describe();
    EXPECT_EQ(error.describe().find('\n'), std::string::npos);
  }

  fs::path folder_;
};

std::string frames(const std::vector<Message>& messages) {
  std::string bytes;
  for (const Message& message : messages) {
    bytes += *remote::frame_of(message);
  }
  return bytes;
}

Message result_of(std::int64_t id, json body) {
  Message message;
  message.kind = MessageKind::kResult;
  message.id = id;
  message.body = std::move(body);
  return message;
}

const json kNoOverrides = {{"rope_base", nullptr},
                           {"rope_scaling", ""},
                           {"rope_base_layers", ""},
                           {"rope_scaling_layers", ""},
                           {"fast", false},
                           {"stage", 0},
                           {"half", ""}};

TEST_F(FarFaults, AServerThatIsKilledLosesTheLineAndNothingElse) {
  const test::FarMachine machine(named_server());
  const auto model = models::open(text_rope());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto trace = (*model)->run(long_input(60));
  ASSERT_TRUE(trace.ok());
  const auto line = models::machine_of(**model);
  EXPECT_EQ(line->name(), "here");
  EXPECT_FALSE(line->lost());
  const pid_t first = pid();
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::kill(first, SIGKILL);
  });
  Status ended;
  while (ended.ok()) {
    const auto run = (*model)->run(long_input());
    ended = run.ok() ? Status() : Status(run.error());
  }
  killer.join();
  expect_one_line(ended.error(), ErrorCode::kBadInput, "here: the connection ended");
  ASSERT_TRUE(line->lost());
  // What is known stays; what is asked fails at once.
  EXPECT_EQ((*trace)->length(), 60);
  EXPECT_EQ((*trace)->top(3).size(), 3U);
  EXPECT_FALSE((*trace)->map({0, 0, Quantity::kWeight, {}, {}}).ok());
  EXPECT_FALSE((*model)->run(long_input(5)).ok());
  // A new open makes a new line.
  const auto again = models::open(text_rope());
  ASSERT_TRUE(again.ok()) << again.error().describe();
  EXPECT_NE(pid(), first);
  models::RunOptions options;
  options.reuse = *trace;  // of the line that is lost
  EXPECT_TRUE((*again)->run(long_input(60), options).ok());
}

TEST_F(FarFaults, ACancelledCallReturnsAtOnceAndTheServerGoesOn) {
  const test::FarMachine machine;
  const auto model = models::open(text_rope());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const Clock::time_point begin = Clock::now();
  ASSERT_TRUE((*model)->run(long_input(4000), {}).ok());
  const double whole_ms = since_ms(begin);
  std::stop_source stop;
  Clock::time_point stopped;
  const auto run = (*model)->run(long_input(4000), {}, stop.get_token(), [&](const ProgressReport& news) {
    if (news.fraction >= 0 && !stop.stop_requested()) {
      stopped = Clock::now();
      stop.request_stop();
    }
  });
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, ErrorCode::kCancelled);
  EXPECT_LT(since_ms(stopped), whole_ms / 4);  // both times are of this machine under its present load
  EXPECT_FALSE(models::machine_of(**model)->lost());
  const auto next = (*model)->run(long_input(20));
  EXPECT_TRUE(next.ok()) << next.error().describe();
  // One that is stopped before it begins.
  EXPECT_EQ((*model)->run(long_input(20), {}, stop.get_token()).error().code, ErrorCode::kCancelled);
  EXPECT_TRUE((*next)->map({0, 0, Quantity::kWeight, {}, {}}).ok());
  EXPECT_GT(models::machine_of(**model)->latency_ms(), 0);
}

TEST_F(FarFaults, AnIdleLineKeepsTellingItsLatency) {
  const test::FarMachine machine;
  const auto model = models::open(text_rope());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto line = models::machine_of(**model);
  const auto measured = [&] {
    const double before = line->latency_ms();
    const Clock::time_point asked = Clock::now();
    while (line->latency_ms() == before && since_ms(asked) < 6000 * test::kSlower) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return line->latency_ms() != before;
  };
  EXPECT_TRUE(measured());  // that of the opening
  EXPECT_TRUE(measured());
  EXPECT_FALSE(line->lost());
}

TEST_F(FarFaults, TilesOfAnEarlierRunAreAnsweredWithinARun) {
  const test::FarMachine machine;
  const auto model = models::open(text_rope());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto before = (*model)->run(long_input(50));
  ASSERT_TRUE(before.ok());
  int tiles = 0;
  int early = 0;
  models::RunOptions options;
  options.early_ms = 1;
  options.early = [&](const std::shared_ptr<const models::Trace>& trace) {
    early += trace->length() == 3000 && trace->map({0, 0, Quantity::kWeight, {0, 4}, {0, 4}}).ok() ? 1 : 0;
  };
  bool running = true;
  options.pause = [&] { tiles += running && (*before)->map({0, 0, Quantity::kWeight, {}, {}}).ok() ? 1 : 0; };
  const auto run = (*model)->run(long_input(3000), options);
  running = false;
  EXPECT_TRUE(run.ok()) << run.error().describe();
  EXPECT_GT(tiles, 0);
  EXPECT_GT(early, 0);
}

TEST_F(FarFaults, LayersAreGivenOnTheirOwnMachineAlone) {
  const test::FarMachine machine;
  const auto model = models::open(text_rope());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  models::RunOptions each;
  each.each_layer = [](const models::Trace&, std::int64_t) { return Status(); };
  models::RunOptions before;
  before.before_head = true;
  for (const models::RunOptions& options : {each, before}) {
    const auto run = (*model)->run(long_input(50), options);
    ASSERT_FALSE(run.ok());
    EXPECT_EQ(run.error().code, ErrorCode::kUnsupported);
  }
}

TEST_F(FarFaults, WhatNoServerSaysIsOneLine) {
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"", "the connection ended"},
      {"Welcome to node7!\n", "does a shell there print something"},
      {frames({result_of(1, 3)}), "expected a greeting"},
      {frames({remote::greeting()}).substr(0, 9), "the line ended within a message"},
      {frames({remote::greeting()}) + std::string("\xFF\xFF\xFF\xFF", 4), "length of 4294967295"},
      {frames({remote::greeting(), result_of(77, 3)}), "call 77"},
      {frames({remote::greeting(), remote::greeting()}), "a message that clients send"},
  };
  for (const auto& [bytes, naming] : lines) {
    const std::string file = folder_ / "answers";
    ASSERT_TRUE(write_file(file, bytes).ok());
    const test::FarMachine machine("sh -c 'cat " + file + "; : %c'");
    const auto model = models::open(text_rope());
    ASSERT_FALSE(model.ok()) << naming;
    expect_one_line(model.error(), ErrorCode::kBadInput, naming);
    EXPECT_EQ(model.error().describe().rfind("here: ", 0), 0U) << model.error().describe();
  }
  {
    Message other = remote::greeting();
    other.protocol = 9;
    other.version = "0.1";
    ASSERT_TRUE(write_file(folder_ / "other", frames({other})).ok());
    const test::FarMachine machine("sh -c 'cat " + (folder_ / "other").string() + "; : %c'");
    expect_one_line(models::open(text_rope()).error(), ErrorCode::kUnsupported, "0.1 there speaks protocol 9");
  }
  {
    const test::FarMachine machine("sh -c 'echo Permission denied, please. >&2; : %c'");
    expect_one_line(models::open(text_rope()).error(), ErrorCode::kBadInput, "(Permission denied, please.)");
  }
  {
    const test::FarMachine machine("/no/such/program");
    expect_one_line(models::open(text_rope()).error(), ErrorCode::kBadInput, "cannot start /no/such/program");
  }
  {
    const test::FarMachine machine("ssh %x");
    expect_one_line(models::open(text_rope()).error(), ErrorCode::kUsage, "LOCUS_SSH");
  }
}

// Before a greeting, and in the middle of a call: the machine is told of, and then the line is lost.
TEST_F(FarFaults, ASilentMachineIsToldOfAndThenLost) {
  using std::chrono::milliseconds;
  std::mutex mutex;
  std::vector<std::string> told;
  models::tell_of_silent_machines(
      [&](const std::string& what) {
        const std::lock_guard lock(mutex);
        told.push_back(what);
      },
      {milliseconds(600), milliseconds(2500)});
  const auto expect_lost = [&](const Error& error, Clock::time_point begin) {
    expect_one_line(error, ErrorCode::kBadInput, "here: expected an answer within 3 s, found none");
    EXPECT_LT(since_ms(begin), 8000 * test::kSlower);
    const std::lock_guard lock(mutex);
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told.front(), "waiting for here, which has said nothing for 1 s");
    told.clear();
  };
  {
    const test::FarMachine silent("sh -c 'sleep 60; : %c'");
    const Clock::time_point begin = Clock::now();
    const auto model = models::open(text_rope());
    ASSERT_FALSE(model.ok());
    expect_lost(model.error(), begin);
  }
  const test::FarMachine machine(named_server());
  const auto model = models::open(text_rope());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  ::kill(pid(), SIGSTOP);
  const Clock::time_point begin = Clock::now();
  const auto trace = (*model)->run(long_input(60));
  ::kill(pid(), SIGCONT);
  models::tell_of_silent_machines(nullptr);
  ASSERT_FALSE(trace.ok());
  expect_lost(trace.error(), begin);
}

TEST_F(FarFaults, CountsThatNobodyAsksForAreRefused) {
  const test::FarMachine machine;
  const auto model = models::open(text_rope());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto trace = (*model)->run(long_input(60));
  ASSERT_TRUE(trace.ok());
  constexpr std::int64_t kMany = std::int64_t{1} << 62;
  const Clock::time_point begin = Clock::now();
  const auto refused = [&](const auto& answer, const std::string& naming) {
    ASSERT_FALSE(answer.ok()) << naming;
    expect_one_line(answer.error(), ErrorCode::kBadInput, naming);
  };
  refused(models::head_table(**trace, {kMany, 1, {}}), "bias_pairs");
  refused(models::induction_map(**model, {32, kMany, 1}), "repeats");
  refused(models::induction_map(**model, {kMany, 1, 1}), "period");
  refused(models::theory_curves(**trace, 0, 0, {1}, models::TheoryAngle::kLlama, kMany), "pairs");
  refused(models::strongest_token_pairs(**model, **trace, {}, 1, kMany), "count");
  refused(models::head_kernel(**model, **trace, {0, 0, kMany}), "reach");
  refused(models::knock_out_shuffled(**model, **trace, {}, kMany, 1), "copies");
  refused((*model)->generate(long_input(5), {kMany, 0, 0}), "count");
  refused((*model)->position_table({kMany, 0, 0, {}}, 0), "length");
  analysis::DistanceBiasOptions bias;
  bias.pairs = kMany;
  refused(models::distance_bias({*trace}, 0, bias), "pairs");
  bias = {};
  bias.resamples = kMany;
  refused(models::distance_bias({*trace}, 0, bias), "resamples");
  EXPECT_LT(since_ms(begin), 20000 * test::kSlower);
}

// A server whose client is gone while it is about to send, or computes and does not look, is abandoned.
TEST_F(FarFaults, AServerEndsWithItsConnection) {
  auto input = remote::make_pipe();
  auto output = remote::make_pipe();
  ASSERT_TRUE(input.ok() && output.ok());
  std::atomic<bool> abandoned = false;
  Status ended;
  std::thread server([&] {
    ended = remote::serve(input->read.get(), output->write.get(), [&] {
      abandoned = true;
      output->read.close();
    });
  });
  Message put;
  put.kind = MessageKind::kCall;
  put.id = 1;
  put.name = "file.put";
  put.body = json::array({"large", json::binary(std::vector<std::uint8_t>(std::size_t{1} << 20, 7))});
  Message read = put;
  read.id = 2;
  read.name = "file.read";
  read.body = json::array({1, 0, 1 << 20});
  const std::string bytes = frames({remote::greeting(), put, read});
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(input->write.get(), bytes.data() + done, bytes.size() - done);
    ASSERT_GT(count, 0);
    done += static_cast<std::size_t>(count);
  }
  constexpr int kPipe = 1 << 16;  // what it holds that nobody reads: the server waits for room
  int held = 0;
  for (int n = 0; n < 2000 && held < kPipe; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_EQ(::ioctl(output->read.get(), FIONREAD, &held), 0);
  }
  input->write.close();
  const Clock::time_point begin = Clock::now();
  server.join();
  EXPECT_TRUE(abandoned);
  EXPECT_TRUE(ended.ok());
  EXPECT_LT(since_ms(begin), 20000 * test::kSlower);
}

TEST_F(FarFaults, AnswersThatDoNotHoldTogetherAreRefused) {
  // Call 1 is the ping, call 2 the opening.
  const json info = {{"name", "m"},
                     {"family", "locus"},
                     {"encodings", json::array()},
                     {"layers", 2},
                     {"heads", 2},
                     {"kv_heads", 2},
                     {"width", 8},
                     {"head_width", 4},
                     {"vocabulary", 9},
                     {"parameters", 1},
                     {"trained_length", 0},
                     {"vision_layers", 0},
                     {"connector", ""},
                     {"image_tokens", 0},
                     {"placeholder", -1},
                     {"video_placeholder", -1},
                     {"encoder_layers", 0},
                     {"dtype", "f"},
                     {"causal", true},
                     {"head", true},
                     {"image", false},
                     {"tokenizer", true},
                     {"task_heads", json::array()},
                     {"labels", json::array()},
                     {"pooling", json::array()},
                     {"logit_scale", nullptr},
                     {"logit_bias", nullptr},
                     {"files", json::array()},
                     {"unexpected", json::array()},
                     {"unverified", ""},
                     {"warnings", json::array()},
                     {"layer_info", json::array()},
                     {"overrides", kNoOverrides}};
  const auto opened = [&](const json& body) {
    const test::FarMachine machine(server_of(frames({result_of(1, nullptr), result_of(2, body)})));
    const auto model = models::open(text_rope());
    return model.ok() ? Status() : Status(model.error());
  };
  const json good = {{"number", 1}, {"info", info}, {"edits", ""}};
  const Status opens = opened(good);
  ASSERT_TRUE(opens.ok()) << opens.error().describe();
  const auto refused = [&](const std::string& at, const json& value, const std::string& naming) {
    json bad = good;
    bad[json::json_pointer(at)] = value;
    const Status status = opened(bad);
    ASSERT_FALSE(status.ok()) << at;
    expect_one_line(status.error(), ErrorCode::kBadInput, naming);
  };
  refused("/number", 0, "number");
  refused("/number", "1", "number");
  refused("/info", nullptr, "an object");
  refused("/info/layers", -1, "layers");
  refused("/info/layers", 1e18, "layers");
  refused("/info/heads", std::int64_t{1} << 40, "heads");
  refused("/info/name", 7, "name");
  refused("/info/name", json::binary({255}), "name");
  refused("/info/files", json::array({1}), "files[0]");
  refused("/info/layer_info", json::array({json::object()}), "layer_info[0]");
  refused("/info/causal", "yes", "causal");
  refused("/edits", "{", "here");
}

TEST_F(FarFaults, AServerWhoseClientIsGoneEnds) {
  const auto ends_within = [](pid_t pid, double limit_ms) {
    int status = -1;
    const auto begin = Clock::now();
    while (since_ms(begin) < limit_ms) {
      if (::waitpid(pid, &status, WNOHANG) == pid) {
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return -1;
  };
  const auto served = [&](const std::string& bytes) {
    remote::Descriptor input;
    remote::Descriptor output;
    int in[2];
    int out[2];
    EXPECT_EQ(::pipe(in) + ::pipe(out), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      for (const int end : {in[0], in[1], out[0], out[1]}) {
        ::close(end);
      }
      ::execl(test::binary().c_str(), "locus", "serve", "--stdio", nullptr);
      ::_exit(99);
    }
    ::close(in[0]);
    ::close(out[1]);
    EXPECT_EQ(::write(in[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it has begun
    ::close(in[1]);
    ::close(out[0]);
    return ends_within(pid, 10'000 * test::kSlower);
  };
  Message open;
  open.kind = MessageKind::kCall;
  open.id = 1;
  open.name = "open";
  open.body = json::array({{{"path", test::source_dir() + "/assets/checkpoints/text-rope"}},
                           {{"overrides", kNoOverrides}, {"device", "cpu"}, {"memory_limit_mb", 0}, {"base", ""}}});
  EXPECT_EQ(served(frames({remote::greeting()})), 0);
  EXPECT_EQ(served(frames({remote::greeting(), open, open})), 3);  // two calls of one id
  EXPECT_EQ(served(frames({remote::greeting(), open})), 0);
  EXPECT_EQ(served(""), 0);
  EXPECT_EQ(served("GET / HTTP/1.1\r\n\r\n"), 3);
  EXPECT_EQ(served(frames({open})), 3);
  EXPECT_EQ(served(frames({remote::greeting(), result_of(1, 2)})), 3);
}

}  // namespace
}  // namespace locus
