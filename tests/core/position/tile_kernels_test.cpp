// The loops of tiles against float64, value by value.
#include "core/position/shared/tile_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

namespace locus::position {
namespace {

// Gates near 0 matter too: hundreds of them add up to a position.
TEST(TileKernels, GatesAreExactInEverySize) {
  std::vector<float> x;
  for (float value = -80; value <= 80; value += 0.0137F) {
    x.push_back(value);
  }
  std::vector<float> zeros(x.size(), 0.0F);
  std::vector<float> gates(x.size());
  std::vector<float> positions(x.size());
  std::vector<float> logits(x.size());
  kernel::CopeRow row;
  row.content = zeros.data();
  row.gate_logits = x.data();
  row.p_max = INFINITY;
  row.columns = row.visible = static_cast<std::int64_t>(x.size());
  row.logits = logits.data();
  row.gates = gates.data();
  row.positions = positions.data();
  kernel::cope_row(row, 0.0F);
  for (std::size_t n = 0; n < x.size(); ++n) {
    const double exact = 1 / (1 + std::exp(-static_cast<double>(x[n])));
    ASSERT_NEAR(static_cast<double>(gates[n]) / exact, 1, 3e-7) << x[n];
  }
}

// Far from 0 a gate is open or shut; what is no number stays none.
TEST(TileKernels, GatesOfAnySizeAreOpenShutOrNothing) {
  std::vector<float> x;
  for (const float size : {88.0F, 200.0F, 1e4F, 1e10F, 1e20F, 1e30F, 3.4e38F, std::numeric_limits<float>::infinity()}) {
    x.push_back(size);
    x.push_back(-size);
  }
  x.push_back(std::nanf(""));
  x.push_back(-std::nanf(""));
  std::vector<float> gates(x.size());
  std::vector<float> positions(x.size());
  std::vector<float> logits(x.size());
  const std::vector<float> zeros(x.size(), 0.0F);
  kernel::CopeRow row{zeros.data(), x.data(), nullptr, 0, INFINITY, static_cast<std::int64_t>(x.size()), 0};
  row.visible = row.columns;
  row.logits = logits.data();
  row.gates = gates.data();
  row.positions = positions.data();
  kernel::cope_row(row, 0.0F);
  for (std::size_t n = 0; n < x.size(); ++n) {
    if (std::isnan(x[n])) {
      EXPECT_TRUE(std::isnan(gates[n])) << n;
    } else {
      EXPECT_NEAR(gates[n], x[n] > 0 ? 1 : 0, 2e-38) << x[n];
    }
  }
}

// A gate that is no number leaves all positions to its left without one: no entry of z is read for them, and their
// logits are none. Forward in every form, and backward.
template <class Number>
void expect_nothing_from(std::size_t broken, const std::function<void(kernel::CopeRowOf<Number>&)>& run) {
  constexpr std::size_t kColumns = 37;
  const std::vector<Number> content(kColumns, 1);
  std::vector<Number> gate_logits(kColumns, 0);
  gate_logits[broken] = std::numeric_limits<Number>::quiet_NaN();
  const std::vector<Number> z{0, 1, 2, 3, 4, 5};
  std::vector<Number> logits(kColumns);
  std::vector<Number> gates(kColumns);
  std::vector<Number> positions(kColumns);
  kernel::CopeRowOf<Number> row;
  row.content = content.data();
  row.gate_logits = gate_logits.data();
  row.z = z.data();
  row.p_max = 5;
  row.columns = row.visible = kColumns;
  row.logits = logits.data();
  row.gates = gates.data();
  row.positions = positions.data();
  run(row);
  for (std::size_t c = 0; c < kColumns; ++c) {
    const Number position = static_cast<Number>(kColumns - c) / 2;
    EXPECT_EQ(std::isnan(positions[c]), c <= broken) << c;
    EXPECT_EQ(std::isnan(logits[c]), c <= broken) << c;
    if (c > broken) {
      EXPECT_NEAR(logits[c], 1 + std::min(position, Number{5}), 1e-5) << c;
    }
  }
  kernel::CopeGradientRow<Number> back;
  std::vector<Number> z_gradient(z.size());
  back.logits = content.data();
  back.gates = gates.data();
  back.positions = positions.data();
  back.z = z.data();
  back.last = 5;
  back.visible = kColumns;
  back.gate_logits = gate_logits.data();
  back.z_gradient = z_gradient.data();
  kernel::cope_row_gradient(back);
  EXPECT_TRUE(std::isnan(z_gradient[0]) && std::isnan(z_gradient[1]));
}

TEST(TileKernels, CopeRowsWithoutANumberHaveNoPosition) {
  for (const std::size_t broken : {0, 5, 36}) {
    expect_nothing_from<float>(broken, [](kernel::CopeRow& row) { kernel::cope_row(row, 0.0F); });
    expect_nothing_from<float>(broken, [](kernel::CopeRow& row) { kernel::cope_row_exact(row, 0.0); });
    expect_nothing_from<double>(broken, [](kernel::CopeRowOf<double>& row) { kernel::cope_row(row, 0.0); });
  }
}

TEST(TileKernels, TurnsAreExactAtEveryDistance) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> phase(-40, 40);
  constexpr std::size_t kColumns = 4001;
  std::vector<float> logits(kColumns);
  std::vector<float> amplitude(kColumns, 2.0F);
  std::vector<float> phases(kColumns);
  std::vector<float> distances(kColumns);
  for (std::size_t n = 0; n < kColumns; ++n) {
    phases[n] = phase(random);
    distances[n] = static_cast<float>(n % 97);
  }
  kernel::modulate(logits, amplitude.data(), phases.data(), distances.data());
  for (std::size_t n = 0; n < kColumns; ++n) {
    // The turns are a product that is rounded, or exact where it is fused with what follows.
    const float rounded = distances[n] * phases[n];
    const double exact = static_cast<double>(distances[n]) * static_cast<double>(phases[n]);
    const auto off = [&](double turns) {
      return std::abs(static_cast<double>(logits[n]) - 2 * std::cos(2 * std::numbers::pi * turns));
    };
    ASSERT_LE(std::min(off(static_cast<double>(rounded)), off(exact)), 2e-6) << exact;
  }
}

// Rows of every width beside the stretches that are summed at once, with columns that are not visible and a carry.
TEST(TileKernels, CopeRowsAreThoseOfPlainSums) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 2);
  for (const std::int64_t columns : {1, 3, 7, 8, 9, 16, 23, 64, 203}) {
    for (const float p_max : {3.0F, 40.0F}) {
      const auto count = static_cast<std::size_t>(columns);
      const auto drawn = [&](std::size_t size) {
        std::vector<float> values(size);
        std::generate(values.begin(), values.end(), [&] { return normal(random); });
        return values;
      };
      const std::vector<float> content = drawn(count);
      const std::vector<float> gate_logits = drawn(count);
      const std::vector<float> z = drawn(static_cast<std::size_t>(p_max) + 1);
      std::vector<float> logits(count);
      std::vector<float> gates(count);
      std::vector<float> positions(count);
      kernel::CopeRow row{content.data(), gate_logits.data(), z.data(), 0, p_max, columns, columns - columns / 5};
      row.logits = logits.data();
      row.gates = gates.data();
      row.positions = positions.data();
      const float carried = kernel::cope_row(row, 1.25F);
      double sum = 1.25;
      for (std::size_t c = count; c-- > 0;) {
        const bool visible = static_cast<std::int64_t>(c) < row.visible;
        sum += visible ? 1 / (1 + std::exp(-static_cast<double>(gate_logits[c]))) : 0;
        const double position = std::min(sum, static_cast<double>(p_max));
        const auto below = static_cast<std::size_t>(position);
        const std::size_t above = std::min(below + 1, z.size() - 1);
        const double part = position - static_cast<double>(below);
        EXPECT_NEAR(positions[c], position, 3e-5) << columns << " at " << c;
        EXPECT_NEAR(logits[c], content[c] + (1 - part) * z[below] + part * z[above], 5e-4) << columns << " at " << c;
      }
      EXPECT_NEAR(carried, sum, 3e-5) << columns;
    }
  }
}

}  // namespace
}  // namespace locus::position
