// The loops of tiles against float64, value by value.
#include "core/position/tile_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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
    const float turns = distances[n] * phases[n];  // rounded as the loop rounds it
    ASSERT_NEAR(logits[n], 2 * std::cos(2 * std::numbers::pi * static_cast<double>(turns)), 2e-6) << turns;
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
