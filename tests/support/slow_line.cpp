// slow_line DELAY_MS MEGABITS: copies standard input to standard output as a line would that takes so long for a byte
// and carries so many bits a second.
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

struct Piece {
  std::string bytes;
  Clock::time_point due;
};

bool write_all(const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(STDOUT_FILENO, bytes.data() + done, bytes.size() - done);
    if (count <= 0) {
      return false;
    }
    done += static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    return 2;
  }
  const auto delay =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(std::atof(words[1])));
  const double bytes_a_second = std::atof(words[2]) * 1e6 / 8;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Piece> under_way;
  bool ended = false;
  std::thread writer([&] {
    auto free = Clock::now();  // when the line has carried what came before
    for (;;) {
      Piece piece;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return ended || !under_way.empty(); });
        if (under_way.empty()) {
          return;
        }
        piece = std::move(under_way.front());
        under_way.pop_front();
      }
      const std::chrono::duration<double> carried(static_cast<double>(piece.bytes.size()) / bytes_a_second);
      free = std::max(free, piece.due - delay) + std::chrono::duration_cast<Clock::duration>(carried);
      std::this_thread::sleep_until(free + delay);
      if (!write_all(piece.bytes)) {
        std::_Exit(0);
      }
    }
  });
  std::string bytes(16384, '\0');
  for (ssize_t got = 0; (got = ::read(STDIN_FILENO, bytes.data(), bytes.size())) > 0;) {
    const std::lock_guard lock(mutex);
    under_way.push_back({bytes.substr(0, static_cast<std::size_t>(got)), Clock::now() + delay});
    changed.notify_all();
  }
  {
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
  }
  writer.join();
  return 0;
}
