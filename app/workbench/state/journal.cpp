#include "app/workbench/state/journal.h"

#include <QDateTime>
#include <algorithm>
#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "app/workbench/widgets/qt_text.h"
#include "core/base/atomic_file.h"
#include "models/formats/json/json.h"

namespace locus::workbench {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "file";
constexpr const char* kEnding = ".locus.json";
constexpr std::size_t kLongestState = 64U << 20;
constexpr qsizetype kShownText = 32;

// Files of a folder that end so.
std::vector<fs::path> sessions_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    if (entry->path().string().ends_with(kEnding)) {
      files.push_back(entry->path());
    }
  }
  return files;
}

fs::file_time_type time_of(const fs::path& file) {
  std::error_code code;
  const auto time = fs::last_write_time(file, code);
  return code ? fs::file_time_type::min() : time;
}

QString lock_of(const fs::path& file) {
  return qt(file.string() + ".lock");
}

Status write_beside(const fs::path& file, const std::string& text) {
  const fs::path part = file.string() + ".part";
  std::ofstream stream(part, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  std::error_code code;
  if (stream) {
    fs::rename(part, file, code);
  }
  return stream && !code ? Status() : Status(bad_input("cannot be written", file.string()));
}

// Sessions skip what they do not know: the file stands before their own members.
std::string with_file(std::string text, const fs::path& of) {
  if (!of.empty()) {
    const std::string name = nlohmann::json(of.string()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    text.insert(1, "\n  \"" + std::string(kFile) + "\": " + name + ",");
  }
  return text;
}

}  // namespace

Journal::Journal(fs::path folder) : folder_(std::move(folder)) {
  static std::atomic<int> count = 0;  // of this program
  std::error_code code;
  fs::create_directories(folder_ / "journal", code);
  fs::create_directories(folder_ / "states", code);
  file_ = folder_ / "journal" / (std::to_string(::getpid()) + "-" + std::to_string(++count) + kEnding);
  lock_ = std::make_unique<QLockFile>(lock_of(file_));
  lock_->setStaleLockTime(0);
  lock_->tryLock(0);
}

Journal::~Journal() {
  discard();
}

void Journal::discard() {
  std::error_code code;
  fs::remove(file_, code);
  written_.clear();
}

Status Journal::write(const session::Session& session, const fs::path& of) {
  std::string text = with_file(to_json(session, file_.parent_path()), of);
  if (text != written_) {
    LOCUS_CHECK(write_beside(file_, text));
    written_ = std::move(text);
  }
  return {};
}

fs::path Journal::state_file(fs::file_time_type time) const {
  const auto stamp = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  fs::path file;
  std::error_code code;
  for (int n = 0; file.empty() || fs::exists(file, code); ++n) {
    file = folder_ / "states" / (std::to_string(stamp) + "-" + std::to_string(n) + kEnding);
  }
  return file;
}

std::optional<fs::path> Journal::take_left_behind() {
  std::vector<fs::path> left;
  for (const fs::path& file : sessions_in(folder_ / "journal")) {
    QLockFile lock(lock_of(file));
    lock.setStaleLockTime(0);
    if (file != file_ && lock.tryLock(0)) {  // removes the lock of a program that has ended
      const fs::path state = state_file(time_of(file));
      std::error_code code;
      fs::rename(file, state, code);
      if (!code) {
        left.push_back(state);
      }
    }
  }
  std::sort(left.begin(), left.end(), [](const fs::path& a, const fs::path& b) { return time_of(a) > time_of(b); });
  prune();
  std::error_code code;
  return left.empty() || !fs::exists(left.front(), code) ? std::nullopt : std::optional(left.front());
}

std::vector<Journal::State> Journal::states() const {
  std::vector<State> states;
  for (const fs::path& file : sessions_in(folder_ / "states")) {
    const auto age = fs::file_time_type::clock::now() - time_of(file);
    states.push_back({file, std::chrono::system_clock::now() -
                                std::chrono::duration_cast<std::chrono::system_clock::duration>(age)});
  }
  std::sort(states.begin(), states.end(), [](const State& a, const State& b) {
    return std::pair(time_of(a.file), a.file) > std::pair(time_of(b.file), b.file);
  });
  return states;
}

Status Journal::keep(const session::Session& session, const fs::path& of) {
  const std::string text = with_file(to_json(session, folder_ / "states"), of);
  const auto before = states();
  if (!before.empty()) {
    if (const auto newest = read_file(before.front().file, kLongestState); newest && *newest == text) {
      return {};
    }
  }
  LOCUS_CHECK(write_beside(state_file(fs::file_time_type::clock::now()), text));
  prune();
  return {};
}

void Journal::prune() const {
  const auto all = states();
  std::error_code code;
  for (std::size_t n = kMaxStates; n < all.size(); ++n) {
    fs::remove(all[n].file, code);
  }
}

fs::path file_of(const fs::path& state) {
  const auto text = read_file(state, kLongestState);
  const auto document = text ? parse_json(*text, state.string()) : Result<nlohmann::json>(text.error());
  const auto file = document && document->is_object() ? document->find(kFile) : nlohmann::json::const_iterator();
  return document && document->is_object() && file != document->end() && file->is_string()
             ? fs::path(file->get<std::string>())
             : fs::path();
}

std::string summary_of(const Journal::State& state) {
  const auto session = session::load_session(state.file);
  if (!session) {
    return {};
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(state.time.time_since_epoch()).count();
  const QDateTime time = QDateTime::fromSecsSinceEpoch(seconds);
  QString line = time.toString(time.date() == QDate::currentDate() ? QStringLiteral("hh:mm:ss")
                                                                   : QStringLiteral("yyyy-MM-dd hh:mm"));
  const models::Input& input = session->input;
  if (input.text) {
    QString text = qt(*input.text).simplified();
    if (text.size() > kShownText) {
      text = text.left(kShownText) + QStringLiteral("…");
    }
    line += QStringLiteral("  “%1”").arg(text);
  } else if (input.image) {
    line += QStringLiteral("  ") + qt(input.image->filename().string());
  }
  const auto shown = std::count_if(session->checkpoints.begin(), session->checkpoints.end(),
                                   [](const session::CheckpointEntry& entry) { return entry.shown; });
  line += QStringLiteral("  · columns: %1, figures: %2").arg(shown).arg(session->bookmarks.size());
  return line.toStdString();
}

}  // namespace locus::workbench
