// The device of the ctests device.*: its numbers are the CPU's, and what a graphics card would not allow is an error.
#include "tests/support/twin_device.h"

#include <gtest/gtest.h>

#include "models/engine/device.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

TEST(TwinDevice, GivesTheNumbersOfTheCpu) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({3, 5, 4});
  const at::Tensor w = at::randn({6, 4});
  const auto compute = [](const at::Tensor& x, const at::Tensor& w) {
    at::Tensor y = at::linear(x, w).transpose(0, 1).slice(1, 1);
    y.mul_(2).select(0, 2).zero_();
    return at::softmax(at::cat({y, y + 1}, -1), -1);
  };
  const at::Tensor there = compute(x.to(twin_device()), w.to(twin_device()));
  EXPECT_EQ(there.device(), twin_device());
  EXPECT_TRUE(there.cpu().equal(compute(x, w)));
  EXPECT_TRUE(at::arange(7, at::TensorOptions(at::kLong).device(twin_device())).cpu().equal(at::arange(7)));
}

TEST(TwinDevice, DoesNotMixWithTheCpu) {
  const at::Tensor here = at::ones({3});
  const at::Tensor there = here.to(twin_device());
  EXPECT_THROW(here + there, c10::Error);
  EXPECT_THROW(there.index_select(0, at::zeros({1}, at::kLong)), c10::Error);
  EXPECT_NO_THROW(there * 2);
}

TEST(TwinDevice, HasMemoryThatTheCpuCannotRead) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const at::Tensor there = at::ones({3}).to(twin_device());
  EXPECT_DEATH(EXPECT_EQ(*static_cast<const float*>(there.data_ptr()), 1), "");
}

TEST(TwinDevice, OtherNamesOfDevicesAreRefused) {
  EXPECT_EQ(models::device_of("tpu").error().code, ErrorCode::kUsage);
  EXPECT_EQ(models::device_of("cuda:").error().code, ErrorCode::kUsage);
  EXPECT_EQ(models::device_of("cuda:-1").error().code, ErrorCode::kUsage);
  EXPECT_EQ(models::device_of("cuda:99").error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(models::device_of("cpu")->is_cpu());
}

}  // namespace
}  // namespace locus::test
