// Data as the file that the program writes of it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "app/views/shared/plots/data_file.h"
#include "core/base/atomic_file.h"

namespace locus::test {

// `ending`: ".npy" or ".csv".
inline std::string written(const views::Data& data, const std::string& ending) {
  const std::filesystem::path file = testing::TempDir() + "data-" + std::to_string(getpid()) + ending;
  EXPECT_TRUE(views::write_data(views::in_one_part(data), "", file).ok());
  const auto text = read_file(file, std::size_t{1} << 26);
  EXPECT_TRUE(text.ok());
  std::filesystem::remove(file);
  return text ? *text : std::string();
}

}  // namespace locus::test
