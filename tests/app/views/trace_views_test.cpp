// Views of traces that another program wrote: of q and k alone, and of maps alone. Each draws, or says in a line what
// it needs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "app/views/shared/view.h"
#include "tests/support/exported_views.h"
#include "tests/support/trace_parts.h"

namespace locus::views {
namespace {

// What needs the model itself, a picture, files beside weights or a second column, whatever the trace holds.
std::map<std::string, std::string> with_what_no_trace_has(std::map<std::string, std::string> more) {
  for (const char* view : {"knock-out", "move", "effect", "length-curve", "logit-lens", "logit-attribution",
                           "score-sources", "shift-stability", "repeated-text", "state-norms"}) {
    more[view] = "runs the model again; part is a trace without one";
  }
  for (const char* view : {"attention-image", "pe-dot-product-2d", "picture-stability"}) {
    more[view] = "needs an image; part read text without a picture in it";
  }
  for (const char* view : {"atlas", "examples", "loss-by-position", "mean-map", "needle", "training"}) {
    more[view] = "needs an atlas, which locus atlas makes; part is none";
  }
  more["kernel"] = "runs the model again; part is a trace without one";
  more["training-curve"] = "no loss.csv beside the weights";
  more["task-accuracy"] = "no training.json beside the weights";
  more["learned-positions"] = "Learned positions are RePo's; part learns none";
  more["transform"] = ": part changes no keys on their way, as PaTH does";
  more["transform-steps"] = ": part changes no keys on their way, as PaTH does";
  more["memory"] = "is of layers without a softmax and of forget gates; part has neither";
  more["head-difference"] = "expected two checkpoints";
  return more;
}

class TraceViews : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("locus_trace_views_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    run_ = test_views::input_of().columns[0].trace;
    ASSERT_TRUE(run_->write(folder_ / "run.safetensors", {"q", "k", "attention"}).ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  ViewInput input(const std::string& names, const std::vector<std::string>& texts) {
    test::write_part(folder_ / "run.safetensors", folder_ / "part.safetensors", names, texts);
    const auto trace = models::open_trace(folder_ / "part.safetensors");
    EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
    ViewInput input;
    input.columns.push_back({"part", nullptr, trace.ok() ? *trace : nullptr});
    input.layer = 1;
    input.head = 2;
    return input;
  }

  // Why a view shows nothing of these columns; empty: it draws them.
  static std::string reason(const View& view, const ViewInput& input) {
    for (const Column& column : input.columns) {
      if (const Status status = view.available(column); !status.ok()) {
        return status.error().describe();
      }
    }
    const auto figure = view.figure(input);
    return figure.ok() ? "" : figure.error().describe();
  }

  // With a second column of the same trace, views of pairs draw too.
  static void expect_differences(ViewInput input) {
    input.columns.push_back(input.columns.front());
    input.columns.back().name = "other";
    EXPECT_EQ(reason(test_views::view_of("head-difference"), input), "");
    input.difference = true;
    EXPECT_EQ(reason(test_views::view_of("attention"), input), "");
  }

  // What every view says, against what is expected of those that do not draw.
  static void expect_reasons(const ViewInput& input, const std::map<std::string, std::string>& expected) {
    for (const View* view : views()) {
      const std::string said = reason(*view, input);
      EXPECT_EQ(said.find('\n'), std::string::npos) << view->info().name << ": " << said;
      const auto known = expected.find(view->info().name);
      if (known == expected.end()) {
        EXPECT_EQ(said, "") << view->info().name;
      } else {
        EXPECT_NE(said.find(known->second), std::string::npos) << view->info().name << ": " << said;
      }
    }
  }

  std::filesystem::path folder_;
  std::shared_ptr<const models::Trace> run_;
};

TEST_F(TraceViews, QueriesAndKeysAlone) {
  const ViewInput alone = input("layers\\.\\d+\\.[qk]|input_ids", {"locus.format"});
  ASSERT_NE(alone.columns[0].trace, nullptr);
  const std::string no_pairs = "encoding none turns no pairs of channels";
  expect_reasons(alone,
                 with_what_no_trace_has({{"gates", "Gates are CoPE's; part has none"},
                                         {"positions", "Contextual positions are CoPE's; part has none"},
                                         {"pe-dot-product", "(none) has no vector for a position"},
                                         {"perceived-distance", "no distance between tokens is defined in part (none)"},
                                         {"pair-energy", no_pairs},
                                         {"pair-scores", no_pairs},
                                         {"pair-profile", no_pairs},
                                         {"pair-plane", no_pairs}}));
  expect_differences(alone);
}

TEST_F(TraceViews, QueriesAndKeysWithTheirEncodingAndTokens) {
  const ViewInput known = input("layers\\.\\d+\\.[qk]|input_ids", {"locus.format", "encoding", "tokens"});
  ASSERT_NE(known.columns[0].trace, nullptr);
  expect_reasons(known, with_what_no_trace_has({{"gates", "Gates are CoPE's; part has rope"},
                                                {"positions", "Contextual positions are CoPE's; part has rope"}}));
  expect_differences(known);
}

TEST_F(TraceViews, MapsAlone) {
  const ViewInput maps = input("layers\\.\\d+\\.attention", {"locus.format"});
  ASSERT_NE(maps.columns[0].trace, nullptr);
  const std::string no_pairs = "a stored map has no queries and keys to take pairs of";
  expect_reasons(maps, with_what_no_trace_has({{"gates", "Gates are CoPE's; part names no encoding"},
                                               {"positions", "Contextual positions are CoPE's; part names no encoding"},
                                               {"pe-dot-product", "(not named) has no vector for a position"},
                                               {"perceived-distance", "in part (no encoding is named)"},
                                               {"position-attention", "(no encoding is named)"},
                                               {"distance-bias", "does not store the logit"},
                                               {"pair-energy", no_pairs},
                                               {"pair-scores", no_pairs},
                                               {"pair-profile", no_pairs},
                                               {"pair-plane", no_pairs},
                                               {"addressing", no_pairs}}));
  expect_differences(maps);
}

TEST_F(TraceViews, TheTextComesBackWithTheBytesOfItsTokens) {
  const auto trace = models::open_trace(folder_ / "run.safetensors");
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  EXPECT_EQ((*trace)->text(), run_->text());
  ASSERT_EQ((*trace)->length(), run_->length());
  for (std::size_t n = 0; n < run_->tokens().size(); ++n) {
    EXPECT_EQ((*trace)->tokens()[n].bytes, run_->tokens()[n].bytes) << n;
  }
  // Bytes beyond the text, and a text without them.
  test::write_part(folder_ / "run.safetensors", folder_ / "part.safetensors", "layers.*[qk]|input_ids|token_bytes",
                   {"locus.format"}, {{"text", "short"}});
  const auto beyond = models::open_trace(folder_ / "part.safetensors");
  ASSERT_FALSE(beyond.ok());
  EXPECT_NE(beyond.error().describe().find("tensor token_bytes: token 5: expected bytes of the text from 4 to 5"),
            std::string::npos)
      << beyond.error().describe();
  const ViewInput without = input("layers.*[qk]|input_ids", {"locus.format", "text"});
  EXPECT_EQ(without.columns[0].trace->text(), "");
}

TEST_F(TraceViews, AFileIsAlignedWithOtherTokensAsItsRunIs) {
  const Column words = test::column_of(test::bundled("text-words-rope"), test_views::kText);
  ASSERT_NE(words.trace->length(), run_->length());
  ASSERT_TRUE(words.trace->write(folder_ / "words.safetensors", {"q", "k"}).ok());
  const auto opened = models::open_trace(folder_ / "words.safetensors");
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  ViewInput runs = test_views::input_of();
  runs.difference = true;
  ViewInput files = runs;
  runs.columns.push_back(words);
  files.columns.push_back({"words", nullptr, *opened});
  const Data wanted = test_views::exported("attention", runs);
  const Data found = test_views::exported("attention", files);
  ASSERT_EQ(found.shape, wanted.shape);
  for (std::size_t n = 0; n < wanted.values.size(); ++n) {
    const auto [a, b] = std::pair(found.values[n], wanted.values[n]);
    ASSERT_TRUE(std::isnan(b) ? std::isnan(a) : std::abs(a - b) <= 2e-5F * (1 + std::abs(b)))
        << n << ": " << a << ", " << b;
  }
}

}  // namespace
}  // namespace locus::views
