// Values of the facade on the line: what is written is read again, and whatever bytes arrive instead are read or
// refused with one line, within the memory that was allowed.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "models/remote/client/remote_trace.h"
#include "models/remote/frames.h"
#include "models/remote/message_pack.h"
#include "tests/support/far_same.h"
#include "tests/support/waits.h"

namespace locus {
namespace {

using remote::json;
using test::bytes_of;

constexpr float kHidden = std::numeric_limits<float>::quiet_NaN();

std::string packed_tree(const json& tree) {
  std::string bytes;
  json::to_msgpack(tree, bytes);
  return bytes;
}

// The value that `tree` and its long rows are, with no more memory than `most_bytes` of numbers.
template <class T>
Result<T> read_back(const json& tree, const std::string& parts, std::size_t most_bytes = std::size_t{1} << 20) {
  test::NoObjects things;
  remote::Reader reader(things, parts, most_bytes, "node7");
  T value{};
  remote::read(reader, tree, value);
  return reader.error() ? Result<T>(*reader.error()) : Result<T>(std::move(value));
}

template <class T>
void expect_same_again(const T& value) {
  test::NoObjects things;
  std::string parts;
  remote::Writer writer(things, &parts);
  const json tree = *remote::parse_message_pack(packed_tree(remote::written(writer, value)), "node7");
  const auto again = read_back<T>(tree, parts);
  ASSERT_TRUE(again.ok()) << again.error().describe();
  EXPECT_EQ(bytes_of(*again), bytes_of(value));
}

Field field_of(std::int64_t rows, std::int64_t columns, float (*cell)(std::int64_t, std::int64_t)) {
  Field field = Field::zeros(rows, columns);
  field.row_axis = {"query", "token", 3, 0.5};
  field.quantity = "logit";
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      field.at(r, c) = cell(r, c);
    }
  }
  return field;
}

// Of a small text with a picture, another side and everything else that a summary may have.
remote::TraceSummary summary() {
  remote::TraceSummary own;
  own.number = 7;
  own.model.name = "model";
  models::EncodingUse rope;
  rope.name = "rope";
  rope.options = {{"base", 10000.0}, {"pairs", std::int64_t{4}}, {"scaling", std::string("none")}};
  own.model.encodings = {rope};
  own.model.layers = 2;
  own.model.heads = 3;
  own.model.layer_info = {{0, 64, 0, 0, false}, {-1, 0, 0, 50, true}};
  own.text = "a\xFF<b";
  own.tokens = {{4, "a", {0, 1}, 0}, {5, "<0xFF>", {1, 2}, 1}, {6, "b", {2, 4}, 2}};
  own.images = {{1, 2, 1, 2, 2}};
  own.pictures = {{1, 2, std::make_shared<const std::vector<std::uint8_t>>(8, std::uint8_t{9})}};
  own.position_vectors = {{0, 0, 0}, {1, 1, 1}, {1, 1, 2}};
  own.edits = {*models::parse_edit("head 0.1 zero", 0)};
  own.top = {{5, "b", 0.5F}};
  own.token_scores = {1, 2, kHidden};
  own.sentence = {{0.5F, -1}, {0.25F, 0.25F, 0.5F}};
  remote::TraceSummary encoder = own;
  encoder.number = 8;
  own.sides.emplace_back(models::Side::kEncoder, encoder);
  return own;
}

TEST(FarMessages, ValuesAreTheSameAgain) {
  expect_same_again(summary());
  EXPECT_TRUE(remote::check_summary(summary(), "node7").ok());
  expect_same_again(models::MapRequest{3, models::kMeanHead, Quantity::kC2p, {1, 9}, {}});
  models::Input input;
  input.text = std::string("any \xFE bytes\0 here", 17);
  input.ids = {{1, 2, 3}};
  expect_same_again(input);
  expect_same_again(std::vector<double>{1, -0.0, std::numeric_limits<double>::infinity()});
  expect_same_again(std::optional<std::pair<double, double>>({0.5, -1e300}));
  models::Effect effect;
  effect.kl = {1, 2};
  effect.loss = std::numeric_limits<double>::quiet_NaN();
  const auto written = bytes_of(effect);
  EXPECT_NE(written.find("loss"), std::string::npos);
}

TEST(FarMessages, FieldsAreTheSameToTheBitAndCausalOnesHalfAsLong) {
  const auto causal = [](std::int64_t r, std::int64_t c) {
    return c > r ? kHidden : static_cast<float>(r) - 0.1F * static_cast<float>(c);
  };
  const Field map = field_of(200, 200, causal);
  expect_same_again(map);
  EXPECT_LT(bytes_of(map).size(), 200U * 200 * 4 * 6 / 10);
  expect_same_again(field_of(200, 200, [](std::int64_t r, std::int64_t c) { return static_cast<float>(r ^ c); }));
  expect_same_again(field_of(1, 1, [](std::int64_t, std::int64_t) { return -0.0F; }));
  expect_same_again(field_of(50, 3, [](std::int64_t, std::int64_t) { return kHidden; }));
  expect_same_again(Field::zeros(0, 7));
  expect_same_again(Field::zeros(7, 0));
}

TEST(FarMessages, FieldsThatPromiseMoreThanIsAllowedTakeNoMemory) {
  json field = *remote::parse_message_pack(
      bytes_of(field_of(4, 4, [](std::int64_t r, std::int64_t c) { return c > r ? 0.0F : 1.0F; })), "node7");
  const auto refused = [&](const char* name, const json& value) {
    json bad = field;
    bad[name] = value;
    const auto read = read_back<Field>(bad, "");
    ASSERT_FALSE(read.ok()) << name << " " << value.dump();
    EXPECT_EQ(read.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(read.error().describe().find('\n'), std::string::npos);
  };
  ASSERT_TRUE(read_back<Field>(field, "").ok());
  for (const std::int64_t size : {std::int64_t{3}, std::int64_t{-1}, std::int64_t{1} << 39, std::int64_t{1} << 62}) {
    refused("rows", size);
    refused("columns", size);
  }
  refused("values", json::binary({1, 2, 3}));
  refused("values", "text");
  refused("values", {{"at", 0}, {"bytes", 64}});
  refused("values", {{"at", -1}, {"bytes", 0}});
  refused("row_axis", json::array());
  refused("unit", 3);
  json fill = *remote::parse_message_pack(
      bytes_of(field_of(40, 40, [](std::int64_t r, std::int64_t c) { return c > r ? kHidden : 1.0F; })), "node7");
  ASSERT_TRUE(fill.contains("fill"));
  for (const json& counts : {json::binary(std::vector<std::uint8_t>(320, 0xFF)), json::binary({}), json(3)}) {
    json bad = fill;
    bad["given"] = counts;
    EXPECT_FALSE(read_back<Field>(bad, "").ok());
  }
  // Rows of nothing but the value that fills, more than there is room for.
  json vast = fill;
  vast["rows"] = 1;
  vast["columns"] = std::int64_t{1} << 38;
  vast["given"] = json::binary(std::vector<std::uint8_t>(8, 0));
  vast["values"] = json::binary({});
  EXPECT_FALSE(read_back<Field>(vast, "").ok());
}

TEST(FarMessages, SummariesThatDoNotHoldTogetherAreRefused) {
  const auto refused = [](auto change) {
    remote::TraceSummary bad = summary();
    change(bad);
    const Status status = remote::check_summary(bad, "node7");
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().describe().rfind("node7: ", 0), 0U) << status.error().describe();
  };
  using Summary = remote::TraceSummary;
  refused([](Summary& bad) { bad.tokens.clear(); });
  refused([](Summary& bad) { bad.tokens[2].bytes = {2, 99}; });
  refused([](Summary& bad) { bad.tokens[2].bytes = {3, 2}; });
  refused([](Summary& bad) { bad.crosses = true; });
  refused([](Summary& bad) { bad.grid = {2, 2, 0, 0}; });
  refused([](Summary& bad) { bad.grid = {-1, 0, 4, 0}; });
  refused([](Summary& bad) { bad.grid = {std::int64_t{1} << 40, std::int64_t{1} << 40, 0, 0}; });
  refused([](Summary& bad) { bad.images[0].first = 2; });
  refused([](Summary& bad) { bad.images[0].count = std::int64_t{1} << 40; });
  refused([](Summary& bad) { bad.images[0] = {0, 2, 1, 2, 0}; });
  refused([](Summary& bad) { bad.pictures.resize(2); });
  refused([](Summary& bad) { bad.position_vectors.pop_back(); });
  refused([](Summary& bad) { bad.token_scores.pop_back(); });
  refused([](Summary& bad) { bad.sentence.weights.pop_back(); });
  refused([](Summary& bad) { bad.model.layer_info[0].encoding = 1; });
  refused([](Summary& bad) { bad.model.layer_info.pop_back(); });
  refused([](Summary& bad) { bad.model.layers = std::int64_t{1} << 50; });
  refused([](Summary& bad) { bad.model.heads = -1; });
  refused([](Summary& bad) { bad.sides[0].second.sides.push_back(bad.sides[0]); });
  refused([](Summary& bad) { bad.sides[0].second.tokens.clear(); });
}

// Bytes changed, cut and put in at random in what an honest end sends.
TEST(FarMessages, DamagedAnswersAreReadOrRefused) {
  std::mt19937 random(5);
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  const std::string honest = bytes_of(summary());
  const std::string field = bytes_of(
      field_of(40, 40, [](std::int64_t r, std::int64_t c) { return c > r ? kHidden : static_cast<float>(c); }));
  int read_count = 0;
  for (int n = 0; n < 20'000 / test::kSlower; ++n) {
    std::string bytes = n % 2 == 0 ? honest : field;
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
      const std::size_t at = below(bytes.size());
      switch (below(3)) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + below(8));
          break;
        default:
          bytes.insert(at, 1, static_cast<char>(random()));
      }
      if (bytes.empty()) {
        bytes = "\xC0";
      }
    }
    const auto tree = remote::parse_message_pack(bytes, "node7");
    if (!tree.ok()) {
      continue;
    }
    if (n % 2 == 0) {
      const auto read = read_back<remote::TraceSummary>(*tree, "");
      read_count += read.ok() ? 1 : 0;
      if (read.ok() && remote::check_summary(*read, "node7").ok()) {
        for (const models::ImageSpan& span : read->images) {
          EXPECT_LT(span.token(span.count - 1), static_cast<std::int64_t>(read->tokens.size()));
        }
      }
    } else {
      const auto read = read_back<Field>(*tree, "");
      read_count += read.ok() ? 1 : 0;
      if (read.ok()) {
        EXPECT_EQ(static_cast<std::int64_t>(read->values.size()), read->rows * read->columns);
      }
    }
  }
  EXPECT_GT(read_count, 100);  // not all of it is refused at once
}

}  // namespace
}  // namespace locus
