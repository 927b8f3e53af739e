// The device that a program of tests opens models on: the CPU; with LOCUS_TEST_DEVICE in the environment the one it
// names, cuda or cuda:N, or the twin of twin_device.h (the ctests device.*).
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "models/engine/device.h"
#include "tests/support/twin_device.h"

namespace locus::test {

namespace {

class TestDevice final : public testing::Environment {
 public:
  void SetUp() override {
    const char* const name = std::getenv("LOCUS_TEST_DEVICE");
    if (name != nullptr && std::string(name) == "twin") {
      models::set_auto_device(twin_device());
      return;
    }
    const Result<at::Device> device = models::device_of(name == nullptr ? "cpu" : name);
    ASSERT_TRUE(device.ok()) << device.error().describe();
    models::set_auto_device(*device);
  }
};

const testing::Environment* const registered = testing::AddGlobalTestEnvironment(new TestDevice);

}  // namespace

}  // namespace locus::test
