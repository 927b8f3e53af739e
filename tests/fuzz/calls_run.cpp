// The calls of hostile clients: what an honest one sends of the whole facade (tests/support/facade_tour.h), with other
// values in its arguments, to the real server. It answers each call once, with a result or one line; it never ends,
// hangs, calls the mistake a bug of its own, or leaves a file.
//   calls_run --locus PROGRAM [--calls N] [--seed N] [--list 1]
// The same seed makes the same calls. --list prints every answer.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/remote/connection/child.h"
#include "models/remote/frames.h"
#include "tests/support/facade_tour.h"

namespace locus::fuzz {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using remote::Message;
using remote::MessageKind;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestLine = 4000;
constexpr int kBatch = 200;                   // calls to one server
constexpr std::chrono::seconds kPatience{2};  // then the call is cancelled
constexpr std::chrono::seconds kHangs{120};   // after which it should have ended
constexpr int kMemoryKb = 12 * 1024 * 1024;

// What an honest client sends, without what it releases.
Result<std::vector<Message>> honest_calls(const std::string& locus, const fs::path& folder) {
  const fs::path sent = folder / "sent";
  fs::create_directories(folder / "tour");
  const std::string command = "sh -c 'tee \"" + sent.string() + "\" | \"" + locus + "\" serve --stdio; : %c'";
  setenv("LOCUS_SSH", command.c_str(), 1);
  {
    test::FacadeTour tour([](const fs::path& path) { return fs::path("ssh://here" + path.string()); }, folder / "tour");
    if (!tour.go()) {
      return internal("the tour ends early: " + tour.stops().back().said);
    }
  }
  LOCUS_TRY(const std::string bytes, read_file(sent, std::size_t{1} << 30));
  std::size_t at = 0;
  const remote::ReadBytes read = [&](char* to, std::size_t most) -> Result<std::size_t> {
    const std::size_t count = bytes.copy(to, most, at);
    at += count;
    return count;
  };
  std::vector<Message> calls;
  for (;;) {
    LOCUS_TRY(std::optional<Message> next, remote::read_message(read, "the tour"));
    if (!next) {
      return calls;
    }
    if (next->kind == MessageKind::kCall && next->name != "release" && next->name != "ping") {
      calls.push_back(*std::move(next));
    }
  }
}

class Mutator {
 public:
  Mutator(std::uint64_t seed, const std::vector<Message>& honest) : random_(seed), honest_(honest) {}

  Message next() {
    Message call = any();
    const json path = call.name == "trace.write" && call.body.size() > 1 ? call.body[1] : json();
    for (std::size_t changes = below(3) == 0 ? 2 : 1; changes > 0; --changes) {
      change(any_place(call.body));
    }
    if (!path.is_null() && call.body.is_array() && call.body.size() > 1) {
      call.body[1] = path;  // a client may have files written where its user may write
    }
    return call;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(random_() % end); }
  const Message& any() { return honest_[below(honest_.size())]; }

  static void places(json& tree, std::vector<json*>& all) {
    all.push_back(&tree);
    for (std::size_t n = 0; tree.is_array() && n < tree.size(); ++n) {
      places(tree[n], all);
    }
    for (auto each = tree.begin(); tree.is_object() && each != tree.end(); ++each) {
      places(each.value(), all);
    }
  }
  json& any_place(json& tree) {
    std::vector<json*> all;
    places(tree, all);
    return *all[all.size() > 1 && below(10) > 0 ? 1 + below(all.size() - 1) : 0];  // seldom the whole
  }
  json other_number() {
    static const std::array<std::int64_t, 14> whole{-1,   0,         1,         2,         3,         47,           255,
                                                    4096, 1LL << 31, 1LL << 40, 1LL << 53, 1LL << 62, -(1LL << 62), 99};
    static const std::array<double, 7> real{
        -0.5, 0.25, 1e-300, 1e308, -1e308, 4.5e15, std::numeric_limits<double>::infinity()};
    return below(3) == 0 ? json(real[below(real.size())]) : json(whole[below(whole.size())]);
  }
  json other_text() {
    static const std::array<std::string, 12> texts{
        "",  "a",   "x\ny",      "\x1b[31m", std::string(2000, 'x'), "/", "/dev/zero", "/proc/self/mem",
        "~", "all", "ssh://a/b", "yarn:1e9"};
    return texts[below(texts.size())];
  }
  json other_value() {
    switch (below(8)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return json::array();
      case 3:
        return json::object();
      case 4:
        return json::binary(std::vector<std::uint8_t>(below(65), 0xFF));
      case 5:
        return json(std::vector<std::int64_t>(1 + below(3000), 7));
      case 6:
        return other_text();
      default:
        return other_number();
    }
  }
  void change(json& place) {
    const std::size_t how = below(6);
    if (how == 0 || place.is_null() || (place.is_structured() && place.empty())) {
      place = other_value();
    } else if (how == 1) {
      json other = any().body;
      place = json(any_place(other));
    } else if (place.is_number_integer() && below(2) == 0) {
      place = place.get<std::int64_t>() + static_cast<std::int64_t>(below(4)) - 1;  // mostly one that is possible
    } else if (place.is_number()) {
      place = other_number();
    } else if (place.is_string()) {
      place = other_text();
    } else if (place.is_boolean()) {
      place = !place.get<bool>();
    } else if (place.is_array()) {
      const std::size_t at = below(place.size());
      how < 4 ? place.erase(at) : place.push_back(json(place[at]));
    } else if (place.is_object()) {
      place.erase(std::next(place.begin(), static_cast<std::ptrdiff_t>(below(place.size()))).key());
    } else {
      place.get_binary().resize(below(2 * place.get_binary().size() + 1));
    }
  }

  std::mt19937_64 random_;
  const std::vector<Message>& honest_;
};

// A server of this machine in an empty folder; its answers, one after the other.
class Server {
 public:
  static Result<remote::Child> start(const std::string& locus, const fs::path& folder) {
    std::string limit;
#if !defined(__SANITIZE_ADDRESS__)  // whose shadow memory is larger
    limit = "ulimit -v " + std::to_string(kMemoryKb) + "; ";
#endif
    return remote::Child::start(
        {"sh", "-c",
         "cd \"$1\"; " + limit +
             "exec env \"HOME=$1\" \"TMPDIR=$1\" OMP_NUM_THREADS=1 \"$2\" serve --stdio 2>/dev/null",
         "sh", folder, locus});
  }

  Server(remote::Child child) : child_(std::move(child)) {}  // NOLINT(google-explicit-constructor)

  // The answer to the server's greeting, too.
  Status greet() {
    write(remote::greeting());
    begun_ = Clock::now();
    LOCUS_TRY(const Message greeting, next());
    return remote::check_greeting(greeting, "the server");
  }
  Result<Message> ask(Message call) {
    call.id = ++last_;
    write(call);
    begun_ = Clock::now();
    cancelled_ = false;
    for (;;) {
      LOCUS_TRY(Message answer, next());
      if (answer.id != last_) {
        return internal("an answer to call " + std::to_string(answer.id) + " instead of " + std::to_string(last_));
      }
      if (answer.kind == MessageKind::kResult || answer.kind == MessageKind::kError) {
        return answer;
      }
    }
  }
  bool was_cancelled() const {
    return cancelled_;
  }

 private:
  void write(const Message& message) const {
    const auto frame = remote::frame_of(message);
    for (std::size_t done = 0; frame.ok() && done < frame->size();) {
      const ssize_t count = ::write(child_.input(), frame->data() + done, frame->size() - done);
      if (count <= 0) {
        return;  // that it ended is read
      }
      done += static_cast<std::size_t>(count);
    }
  }
  Result<Message> next() {
    const remote::ReadBytes read = [this](char* bytes, std::size_t size) -> Result<std::size_t> {
      for (;;) {
        pollfd end{child_.output(), POLLIN, 0};
        if (::poll(&end, 1, 100) > 0) {
          const ssize_t count = ::read(child_.output(), bytes, size);
          return count < 0 ? Result<std::size_t>(internal("cannot read")) : static_cast<std::size_t>(count);
        }
        if (const auto waited = Clock::now() - begun_; waited > kHangs) {
          return internal("no answer");
        } else if (waited > kPatience && !cancelled_) {
          cancelled_ = true;
          Message cancel;
          cancel.kind = MessageKind::kCancel;
          cancel.id = last_;
          write(cancel);
        }
      }
    };
    LOCUS_TRY(std::optional<Message> message, remote::read_message(read, "the server"));
    return message ? Result<Message>(*std::move(message)) : Result<Message>(internal("the server ended"));
  }

  remote::Child child_;
  std::int64_t last_ = 0;
  Clock::time_point begun_;
  bool cancelled_ = false;
};

// What is wrong with an answer; empty when nothing is.
std::string objection(const Message& answer) {
  const std::string line = answer.context + ": " + answer.text;
  if (answer.kind != MessageKind::kError) {
    return "";
  }
  if (line.size() > kLongestLine || line.find_first_of("\n\r\x1b") != std::string::npos) {
    return "no line to read: " + line.substr(0, 300);
  }
  return answer.code == ErrorCode::kInternal ? "a bug of its own: " + line : "";
}

class Run {
 public:
  Run(std::string locus, std::uint64_t seed, bool list, std::vector<Message> honest, fs::path folder)
      : locus_(std::move(locus)),
        list_(list),
        honest_(std::move(honest)),
        folder_(std::move(folder)),
        mutator_(seed, honest_) {}

  int all(int calls) {
    const auto begin = Clock::now();
    while (calls_ < calls) {
      if (!batch(std::min(kBatch, calls - calls_))) {
        ++failures_;
      }
      if (!fs::is_empty(folder_)) {
        fail("the server left " + fs::directory_iterator(folder_)->path().string());
        return 1;
      }
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::printf(
        "calls run: %d calls like %zu honest ones: %d done, %d refused, %d of them cancelled; %d failures; %.0f s\n",
        calls_, honest_.size(), done_, calls_ - done_, cancelled_, failures_, seconds);
    return failures_ == 0 ? 0 : 1;
  }

 private:
  void fail(const std::string& why) {
    ++failures_;
    std::printf("%s\n", why.c_str());
  }

  // False where the server ended or never answered.
  bool batch(int count) {
    auto child = Server::start(locus_, folder_);
    if (!child.ok()) {
      fail(child.error().describe());
      calls_ += count;
      return false;
    }
    Server server(*std::move(child));
    if (const Status greeted = server.greet(); !greeted.ok()) {
      fail(greeted.error().describe());
    }
    for (const Message& call : honest_) {  // what is wrong in the tour is refused here too
      if (const auto answer = server.ask(call); !answer.ok() || !objection(*answer).empty()) {
        fail("an honest " + call.name + ": " + (answer.ok() ? objection(*answer) : answer.error().describe()));
        calls_ += count;
        return false;
      }
    }
    for (int n = 0; n < count; ++n) {
      const Message call = mutator_.next();
      ++calls_;
      const auto answer = server.ask(call);
      const std::string why = answer.ok() ? objection(*answer) : answer.error().describe();
      if (!why.empty()) {
        fail("call " + std::to_string(calls_) + ": " + why + " after " + call.name + " " +
             call.body.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 2000));
      }
      if (!answer.ok()) {
        return false;
      }
      done_ += answer->kind == MessageKind::kResult ? 1 : 0;
      cancelled_ += server.was_cancelled() ? 1 : 0;
      if (list_) {
        std::printf("%d %s: %s\n", calls_, call.name.c_str(),
                    answer->kind == MessageKind::kResult ? "done" : (answer->context + ": " + answer->text).c_str());
      }
    }
    return true;
  }

  std::string locus_;
  bool list_;
  std::vector<Message> honest_;
  fs::path folder_;
  Mutator mutator_;
  int calls_ = 0;
  int done_ = 0;
  int cancelled_ = 0;
  int failures_ = 0;
};

int run(int argc, char** argv) {
  std::map<std::string, std::string> options{{"--calls", "2000"}, {"--seed", "1"}, {"--list", "0"}, {"--locus", ""}};
  for (int n = 1; n + 1 < argc; n += 2) {
    options.at(argv[n]) = argv[n + 1];
  }
  const std::string locus = fs::absolute(options.at("--locus")).string();
  std::string name = (fs::temp_directory_path() / "locus-calls-XXXXXX").string();
  const fs::path folder = ::mkdtemp(name.data());
  fs::create_directories(folder / "empty");
  int status = 1;
  if (auto honest = honest_calls(locus, folder); honest.ok()) {
    status =
        Run(locus, std::stoull(options.at("--seed")), options.at("--list") != "0", *std::move(honest), folder / "empty")
            .all(std::stoi(options.at("--calls")));
  } else {
    std::cerr << "calls_run: " << honest.error().describe() << '\n';
  }
  fs::remove_all(folder);
  return status;
}

}  // namespace
}  // namespace locus::fuzz

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a server that is gone is an error of write()
  try {
    return locus::fuzz::run(argc, argv);
  } catch (const std::exception& failure) {
    std::cerr << "calls_run: " << failure.what() << '\n';
    return 1;
  }
}
