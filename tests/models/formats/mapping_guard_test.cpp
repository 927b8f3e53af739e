#include "core/base/mapping_guard.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "core/base/guarded.h"
#include "models/formats/mapped_file.h"

namespace locus::formats {
namespace {

namespace fs = std::filesystem;

class MappingGuard : public testing::Test {
 protected:
  void SetUp() override {
    page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    file_ = fs::path(testing::TempDir()) / ("mapping_guard_" + std::to_string(::getpid()));
    write(file_);
  }
  void TearDown() override { fs::remove(file_); }
  void write(const fs::path& file) const { std::ofstream(file, std::ios::binary) << std::string(4 * page_, 'x'); }
  static std::size_t count(std::span<const std::byte> bytes) {
    return static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), std::byte{'x'}));
  }

  std::size_t page_ = 0;
  fs::path file_;
};

// Whether each page is in this process's memory, from bit 63 of /proc/self/pagemap; empty where the system does not say.
std::vector<bool> present(std::span<const std::byte> bytes, std::size_t page) {
  std::ifstream file("/proc/self/pagemap", std::ios::binary);
  file.seekg(
      static_cast<std::streamoff>(reinterpret_cast<std::uintptr_t>(bytes.data()) / page * sizeof(std::uint64_t)));
  std::vector<bool> pages;
  std::uint64_t entry = 0;
  while (pages.size() * page < bytes.size() && file.read(reinterpret_cast<char*>(&entry), sizeof entry)) {
    pages.push_back((entry >> 63) != 0);
  }
  return pages;
}

TEST_F(MappingGuard, ReleasedPagesAreReadAgainAndOtherMemoryIsLeftAlone) {
  const auto map = MappedFile::open(file_);
  ASSERT_TRUE(map.ok());
  const std::span<const std::byte> bytes = (*map)->bytes();
  EXPECT_EQ(count(bytes), bytes.size());
  const std::vector<bool> all(4, true);
  if (const std::vector<bool> before = present(bytes, page_); before == all) {
    release_mapping(bytes.subspan(1, page_));  // no whole page
    EXPECT_EQ(present(bytes, page_), all);
    release_mapping(bytes.subspan(1, 3 * page_ - 1));
    EXPECT_EQ(present(bytes, page_), (std::vector<bool>{true, false, false, true}));
  }
  release_mapping(bytes);
  EXPECT_EQ(count(bytes), bytes.size());
  std::string own(8 * page_, 'x');  // of the heap: its numbers would be lost
  release_mapping(std::as_bytes(std::span(own)));
  EXPECT_EQ(count(std::as_bytes(std::span(own))), own.size());
}

TEST_F(MappingGuard, AFileThatShrinksReadsAsZerosAndIsLost) {
  {
    const auto map = MappedFile::open(file_);
    ASSERT_TRUE(map.ok());
    ASSERT_EQ(count((*map)->bytes().first(page_)), page_);
    EXPECT_FALSE(lost_file());
    fs::resize_file(file_, page_);
    EXPECT_EQ(count((*map)->bytes()), page_);
    const auto lost = lost_file();
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->code, ErrorCode::kBadInput);
    EXPECT_EQ(lost->context, file_.string());
    // What was made meanwhile is refused, whatever it is.
    const auto refused = guarded([]() -> Result<int> { return 7; });
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().context, file_.string());
    const Status other = guarded([]() -> Status { return usage("first"); });
    EXPECT_EQ(other.error().message, "first");
  }
  EXPECT_FALSE(lost_file()) << "the mapping is gone";
  EXPECT_TRUE(guarded([]() -> Result<int> { return 7; }).ok());
}

TEST_F(MappingGuard, OthersAndOtherThreadsReadOn) {
  const fs::path second = file_.string() + ".second";
  write(second);
  const auto a = MappedFile::open(file_);
  const auto b = MappedFile::open(second);
  ASSERT_TRUE(a.ok() && b.ok());
  fs::resize_file(second, 0);
  std::size_t in_a = 0;
  std::size_t in_b = 1;
  {
    const std::jthread first([&] { in_a = count((*a)->bytes()); });
    const std::jthread other([&] { in_b = count((*b)->bytes()); });
  }
  EXPECT_EQ(in_a, 4 * page_);
  EXPECT_EQ(in_b, 0U);
  ASSERT_TRUE(lost_file());
  EXPECT_EQ(lost_file()->context, second.string());
  fs::remove(second);
}

TEST_F(MappingGuard, AFaultElsewhereEndsTheProgramAsBefore) {
#ifdef __SANITIZE_ADDRESS__
  const testing::ExitedWithCode kDies(1);  // AddressSanitizer's own handler, which was there before ours
#else
  const testing::KilledBySignal kDies(SIGBUS);
#endif
  const auto ours = MappedFile::open(file_);  // the handler is installed
  ASSERT_TRUE(ours.ok());
  EXPECT_EXIT(
      {
        const fs::path other = file_.string() + ".other";
        write(other);
        FILE* const opened = std::fopen(other.c_str(), "rb");
        void* const place = ::mmap(nullptr, 4 * page_, PROT_READ, MAP_PRIVATE, ::fileno(opened), 0);
        fs::resize_file(other, 0);
        fs::remove(other);
        std::signal(SIGALRM, SIG_DFL);
        ::alarm(20);  // a handler that never lets go hangs
        std::exit(static_cast<int>(*static_cast<volatile char*>(place)));
      },
      kDies, "");
}

}  // namespace
}  // namespace locus::formats
