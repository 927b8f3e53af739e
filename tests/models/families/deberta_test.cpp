// DeBERTa's field `legacy`, which names one of two prediction heads. That the numbers are the library's is in
// tests/conformance.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/conformance.h"

namespace locus {
namespace {

std::vector<std::string> warnings_of(const std::string& type, bool legacy) {
  const test::ConformanceType stored(type);
  const test::TemporaryFolder folder;
  nlohmann::json config = stored.data().at("config");
  config["legacy"] = legacy;
  folder.write("config.json", config.dump());
  stored.write_tensors(folder.path());
  const models::OpenOptions options;
  const auto model = test::open(folder.path(), options);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
  return model.ok() ? (*model)->info().warnings : std::vector<std::string>{"not opened"};
}

// The stored files hold the head of `legacy: true`.
TEST(Deberta, AHeadOtherThanTheConfigurationsIsNamed) {
  for (const char* const type : {"deberta", "deberta-v2"}) {
    EXPECT_EQ(warnings_of(type, true), std::vector<std::string>()) << type;
    const std::vector<std::string> other = warnings_of(type, false);
    ASSERT_EQ(other.size(), 1U) << type;
    EXPECT_NE(other.front().find("legacy: expected true for the prediction head of the file "
                                 "(cls.predictions.transform.dense.weight), found false"),
              std::string::npos)
        << other.front();
  }
}

}  // namespace
}  // namespace locus
