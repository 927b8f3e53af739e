// The mutation run: damaged copies of everything that Locus reads (subjects.h) through the whole command line. A file
// may be read, or refused with one line and exit status 3, 4 or 5; it may never end the program, hang it, be called a
// bug of ours (1) or the user's mistake (2), or print what is no line of ours.
//   mutation_run [--files N] [--seconds S] [--seed N] [--locus PROGRAM --sample N] [--keep FOLDER] [--only PART]
//   [--numbers 1] [--list 1]
// --numbers damages nothing but the values of weights and traces: NaN, infinite, huge. A prediction that is printed is
// one of numbers.
// Commands run inside this program, in children that take a hundred files each; --sample of the files go through the
// real program too. The same seed makes the same files. Files that fail are kept in --keep.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "tests/fuzz/subjects.h"

namespace locus::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kFileLimit = std::size_t{1} << 30;
constexpr std::uint64_t kMemoryLimit = std::uint64_t{10} << 30;
constexpr unsigned kHangSeconds = 60;
constexpr int kBatch = 100;

struct Options {
  int files = 3000;
  int seconds = 0;  // start no file after that long; 0: no limit
  std::uint64_t seed = 1;
  std::string locus;
  int sample = 0;
  fs::path keep;
  std::string only;      // subjects whose path contains this
  bool numbers = false;  // those of Form::kNumbers
  bool list = false;     // print what every command said
};

// What is printed to standard output or standard error, whoever prints it.
class Capture {
 public:
  explicit Capture(int descriptor) : memory_(::memfd_create("captured", MFD_CLOEXEC)) {
    ::fcntl(memory_, F_SETFL, O_APPEND);
    ::dup2(memory_, descriptor);
  }
  std::string take() {
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
    std::string text(static_cast<std::size_t>(::lseek(memory_, 0, SEEK_END)), '\0');
    const ssize_t read = ::pread(memory_, text.data(), text.size(), 0);
    text.resize(read > 0 ? static_cast<std::size_t>(read) : 0);
    (void)!::ftruncate(memory_, 0);
    return text;
  }

 private:
  int memory_;
};

// What is wrong with how a command ended; empty when nothing is.
std::string objection(int status, const std::string& printed) {
  constexpr std::size_t kLongest = 4000;
  int errors = 0;
  for (std::size_t at = 0; at < printed.size();) {
    const std::size_t end = std::min(printed.find('\n', at), printed.size());
    const std::string line = printed.substr(at, end - at);
    const bool error = line.starts_with("locus: error: ");
    errors += error ? 1 : 0;
    if (!error && !line.starts_with("locus: ")) {
      return "not a line of ours: " + line.substr(0, 300);
    }
    if (line.size() > kLongest || line.find_first_of("\r\x1b") != std::string::npos) {
      return "no line to read: " + line.substr(0, 300);
    }
    at = end + 1;
  }
  if (status != 0 && status != 3 && status != 4 && status != 5) {
    return "exit status " + std::to_string(status) + ": " + printed.substr(0, 600);
  }
  return errors == (status == 0 ? 0 : 1) ? ""
                                         : "exit status " + std::to_string(status) + " and " + std::to_string(errors) +
                                               " errors: " + printed.substr(0, 600);
}

std::string shown(const std::vector<std::string>& command) {
  std::string text = "locus";
  for (const std::string& word : command) {
    text += " " + word;
  }
  return text;
}

// Status and standard error of the real program.
std::pair<int, std::string> run_program(const std::string& program, const std::vector<std::string>& command) {
  const int captured = ::memfd_create("captured", MFD_CLOEXEC);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(captured, STDERR_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    std::vector<char*> words{const_cast<char*>(program.c_str())};
    for (const std::string& word : command) {
      words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    ::alarm(kHangSeconds);
    ::execv(program.c_str(), words.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::string printed(static_cast<std::size_t>(::lseek(captured, 0, SEEK_END)), '\0');
  (void)!::pread(captured, printed.data(), printed.size(), 0);
  ::close(captured);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), printed};
}

class Run {
 public:
  Run(Options options, std::vector<Subject> subjects) : options_(std::move(options)), subjects_(std::move(subjects)) {}

  int all() {
    const auto begin = Clock::now();
    int next = 0;
    while (next < options_.files && !late()) {
      next = batch(next);
    }
    std::map<int, int> refused = statuses_;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::printf(
        "mutation run: %d damaged files of %zu kinds, %d commands (%d through the program): %d done, refused %d with "
        "3, "
        "%d with 4, %d with 5; %d failures; %.0f s\n",
        next, subjects_.size(), commands_, sampled_, refused[0], refused[3], refused[4], refused[5], failures_,
        seconds);
    return failures_ == 0 && next > 0 ? 0 : 1;
  }

 private:
  bool late() const { return options_.seconds > 0 && Clock::now() - begin_ > std::chrono::seconds(options_.seconds); }

  // Files from `first` on, in a child; where to go on.
  int batch(int first) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
      std::perror("pipe");
      std::exit(1);
    }
    const int last = std::min(first + kBatch, options_.files);
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      report_ = ::fdopen(ends[1], "w");
      work(first, last);
      std::fflush(nullptr);
      ::_exit(0);
    }
    ::close(ends[1]);
    FILE* const news = ::fdopen(ends[0], "r");
    const int reached = read_news(news, first);
    std::fclose(news);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      return reached + 1;
    }
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    fail(reached, signal == SIGALRM ? "hangs" : "ended by signal " + std::to_string(signal));
    const fs::path& left = subject(reached).file;  // damaged, in its place
    fs::copy_file(left.string() + ".whole", left, fs::copy_options::overwrite_existing);
    return reached + 1;
  }

  // "at N", "status S", "sampled", "fail N TEXT", from the child; the last file that was begun.
  int read_news(FILE* news, int first) {
    int reached = first - 1;
    std::array<char, 8192> line{};
    while (std::fgets(line.data(), line.size(), news) != nullptr) {
      std::string text(line.data());
      text.resize(text.find_last_not_of('\n') + 1);
      const std::size_t space = text.find(' ');
      const std::string word = text.substr(0, space);
      const std::string rest = space == std::string::npos ? "" : text.substr(space + 1);
      if (word == "at") {
        reached = std::atoi(rest.c_str());
      } else if (word == "status") {
        ++commands_;
        ++statuses_[std::atoi(rest.c_str())];
      } else if (word == "sampled") {
        ++sampled_;
      } else if (word == "said") {
        std::printf("%d %s: %s\n", reached, subject(reached).file.filename().c_str(), rest.c_str());
      } else if (word == "fail") {
        fail(reached, rest);
      }
    }
    return reached;
  }

  const Subject& subject(int number) const { return subjects_[static_cast<std::size_t>(number) % subjects_.size()]; }

  std::string damaged(int number, const std::string& whole) const {
    return Mutator(options_.seed * 1'000'003 + static_cast<std::uint64_t>(number)).damaged(whole, subject(number).form);
  }

  void fail(int number, const std::string& why) {
    ++failures_;
    const Subject& of = subject(number);
    std::printf("file %d, a damaged %s: %s\n", number, of.file.c_str(), why.c_str());
    const auto whole = read_file(of.file.string() + ".whole", kFileLimit);
    if (whole.ok() && !options_.keep.empty()) {
      (void)write_file(options_.keep / (std::to_string(number) + "-" + of.file.filename().string()),
                       damaged(number, *whole));
    }
  }

  void work(int first, int last) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose shadow memory is larger
    const rlimit memory{kMemoryLimit, kMemoryLimit};
    ::setrlimit(RLIMIT_AS, &memory);
#endif
    Capture out(STDOUT_FILENO);
    Capture err(STDERR_FILENO);
    for (int number = first; number < last && !late(); ++number) {
      std::fprintf(report_, "at %d\n", number);
      std::fflush(report_);
      ::alarm(kHangSeconds);
      const Subject& of = subject(number);
      const auto whole = read_file(of.file.string() + ".whole", kFileLimit);
      if (!whole.ok() || !write_file(of.file, damaged(number, *whole)).ok()) {
        std::fprintf(report_, "fail cannot write the damaged file\n");
        continue;
      }
      const int every = options_.sample > 0 ? std::max(1, options_.files / options_.sample) : 0;
      for (const auto& command : of.commands) {
        const int status = run_command(command);
        const std::string said = out.take();
        judge(of, command, status, err.take(), "");
        const bool nothing =
            said.find("nan") != std::string::npos || said.find("\"probability\":null") != std::string::npos;
        if (status == 0 && command.front() == "run" && nothing) {
          std::fprintf(report_, "fail %s: a prediction that is no number\n", shown(command).c_str());
        }
        if (every > 0 && number % every == 0 && command.front() != "session") {
          const auto [real, printed] = run_program(options_.locus, command);
          judge(of, command, real, printed, "the program: ");
          std::fprintf(report_, "sampled\n");
        }
      }
      (void)write_file(of.file, *whole);
      std::fflush(report_);
    }
  }

  void judge(const Subject& of, const std::vector<std::string>& command, int status, const std::string& printed,
             const std::string& who) {
    // Weights of any size leave float32 too coarse to redo a model's logits to 1e-4: that verify says so is its answer.
    const bool verdict = of.form == Form::kNumbers && command.front() == "verify" && status == 1 &&
                         printed.find("does not reproduce the output of the model") != std::string::npos;
    std::string why = verdict ? "" : objection(status, printed);
    std::fprintf(report_, "status %d\n", status);
    if (options_.list) {
      std::fprintf(report_, "said %d %s\n", status, printed.substr(0, printed.find('\n')).c_str());
    }
    if (!why.empty()) {
      std::replace(why.begin(), why.end(), '\n', '|');
      std::fprintf(report_, "fail %s%s: %s\n", who.c_str(), shown(command).c_str(), why.c_str());
      std::fflush(report_);
    }
  }

  Options options_;
  std::vector<Subject> subjects_;
  Clock::time_point begin_ = Clock::now();
  std::map<int, int> statuses_;
  int commands_ = 0;
  int sampled_ = 0;
  int failures_ = 0;
  FILE* report_ = nullptr;
};

// The subjects, written by a child: LibTorch's threads do not outlive a fork.
std::vector<Subject> prepare(const fs::path& folder) {
  const fs::path list = folder / "subjects";
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 1;
    Capture out(STDOUT_FILENO);
    try {
      status = write_file(list, to_text(write_subjects(folder))).ok() ? 0 : 1;
    } catch (const std::exception& failure) {
      std::cerr << failure.what() << std::endl;
    }
    std::fflush(nullptr);
    ::_exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const auto text = read_file(list, kFileLimit);
  std::vector<Subject> subjects = status == 0 && text.ok() ? subjects_of(*text) : std::vector<Subject>();
  for (const Subject& subject : subjects) {
    fs::copy_file(subject.file, subject.file.string() + ".whole", fs::copy_options::overwrite_existing);
  }
  return subjects;
}

Options parse(int argc, char** argv) {
  Options options;
  const std::map<std::string, std::function<void(const std::string&)>> known{
      {"--files", [&](const std::string& value) { options.files = std::stoi(value); }},
      {"--seconds", [&](const std::string& value) { options.seconds = std::stoi(value); }},
      {"--seed", [&](const std::string& value) { options.seed = std::stoull(value); }},
      {"--sample", [&](const std::string& value) { options.sample = std::stoi(value); }},
      {"--locus", [&](const std::string& value) { options.locus = value; }},
      {"--keep", [&](const std::string& value) { options.keep = value; }},
      {"--only", [&](const std::string& value) { options.only = value; }},
      {"--numbers", [&](const std::string& value) { options.numbers = value != "0"; }},
      {"--list", [&](const std::string& value) { options.list = value != "0"; }},
  };
  for (int n = 1; n + 1 < argc; n += 2) {
    known.at(argv[n])(argv[n + 1]);
  }
  return options;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::string name = (fs::temp_directory_path() / "locus-mutation-XXXXXX").string();
  const fs::path folder = ::mkdtemp(name.data());
  if (!options.keep.empty()) {
    fs::create_directories(options.keep);
  }
  std::vector<Subject> subjects = prepare(folder);
  std::erase_if(subjects, [&](const Subject& subject) {
    return subject.file.string().find(options.only) == std::string::npos ||
           (options.numbers && subject.form != Form::kNumbers);
  });
  const int status = subjects.empty() ? 1 : Run(options, subjects).all();
  fs::remove_all(folder);
  return status;
}

}  // namespace
}  // namespace locus::fuzz

int main(int argc, char** argv) {
  try {
    return locus::fuzz::run(argc, argv);
  } catch (const std::exception& failure) {
    std::cerr << "mutation_run: " << failure.what() << '\n';
    return 1;
  }
}
