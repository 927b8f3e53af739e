// Stands here for models, traces and tables of another computer, and lists them.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/api/model.h"
#include "models/remote/codec/codec.h"
#include "models/remote/connection/connection.h"

namespace locus::remote {

// One of the other machine's objects, which it keeps as long as this lives.
class Handle {
 public:
  Handle(std::shared_ptr<Connection> line, std::int64_t number) : line_(std::move(line)), number_(number) {}
  ~Handle() { line_->tell("release", number_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  const std::shared_ptr<Connection>& line() const { return line_; }
  std::int64_t number() const { return number_; }

 private:
  std::shared_ptr<Connection> line_;
  std::int64_t number_;
};

// All of a trace that is small: what a window asks for without waiting.
struct TraceSummary {
  std::int64_t number = 0;
  models::ModelInfo model;
  std::vector<models::TokenInfo> tokens;
  bool crosses = false;
  std::vector<models::TokenInfo> key_tokens;  // of cross-attention alone
  models::ImageGrid grid;
  std::vector<models::ImageSpan> images;
  models::Picture picture;
  std::vector<std::array<double, 3>> position_vectors;
  std::vector<models::Picture> pictures;
  std::string text;
  std::string key_text;
  double time_ms = 0;
  std::int64_t memory_mb = 0;
  std::int64_t reused = 0;
  std::int64_t kept_layers = 0;
  models::Edits edits;
  std::vector<models::Prediction> top;  // the kSentTop best
  std::vector<float> token_scores;
  models::SentenceVector sentence;
  std::vector<std::pair<models::Side, TraceSummary>> sides;
};
constexpr std::int64_t kSentTop = 16;

TraceSummary summary_of(const models::Trace& trace);
// Whether what a server says of a trace, or a model, holds together, so that nobody who trusts a Trace reads beyond its
// ends. Errors: kBadInput with `peer` as context.
Status check_summary(const TraceSummary& summary, const std::string& peer);
Status check_info(const models::ModelInfo& info, const std::string& peer);

void members(Structs, Is<TraceSummary> auto& x, auto& visit) {
  visit("number", x.number);
  visit("model", x.model);
  visit("tokens", x.tokens);
  visit("crosses", x.crosses);
  visit("key_tokens", x.key_tokens);
  visit("grid", x.grid);
  visit("images", x.images);
  visit("picture", x.picture);
  visit("position_vectors", x.position_vectors);
  visit("pictures", x.pictures);
  visit.bytes("text", x.text);
  visit.bytes("key_text", x.key_text);
  visit("time_ms", x.time_ms);
  visit("memory_mb", x.memory_mb);
  visit("reused", x.reused);
  visit("kept_layers", x.kept_layers);
  visit("edits", x.edits);
  visit("top", x.top);
  visit("token_scores", x.token_scores);
  visit("sentence", x.sentence);
  visit("sides", x.sides);
}

class RemoteTrace final : public models::Trace {
 public:
  RemoteTrace(std::shared_ptr<Connection> line, TraceSummary summary);

  const Handle& handle() const { return handle_; }
  // Says what the run was given, in the paths of this machine: before anyone else has the trace.
  void set_input(models::Input input) { input_ = std::move(input); }

  const models::ModelInfo& model() const override { return own_.model; }
  const std::vector<models::TokenInfo>& tokens() const override { return own_.tokens; }
  const std::vector<models::TokenInfo>& key_tokens() const override {
    return own_.crosses ? own_.key_tokens : own_.tokens;
  }
  std::shared_ptr<const Trace> side(models::Side side) const override;
  const models::ImageGrid& image_grid() const override { return own_.grid; }
  const std::vector<models::ImageSpan>& images() const override { return own_.images; }
  models::Picture picture() const override { return own_.picture; }
  std::vector<std::array<double, 3>> position_vectors() const override { return own_.position_vectors; }
  std::vector<models::Picture> pictures() const override { return own_.pictures; }
  const std::string& text() const override { return own_.text; }
  const models::Input* input() const override { return input_ ? &*input_ : nullptr; }
  const std::string& key_text() const override { return own_.crosses ? own_.key_text : own_.text; }
  double time_ms() const override { return own_.time_ms; }
  std::int64_t memory_mb() const override { return own_.memory_mb; }
  std::int64_t reused() const override { return own_.reused; }
  std::int64_t kept_layers() const override { return own_.kept_layers; }
  const models::Edits& edits() const override { return own_.edits; }
  std::vector<float> token_scores() const override { return own_.token_scores; }
  models::SentenceVector sentence() const override { return own_.sentence; }

  // More than kSentTop of them are asked for; none where the line is lost.
  std::vector<models::Prediction> top(std::int64_t count) const override;
  Result<Field> map(const models::MapRequest& request, StopToken stop) const override;
  Result<Field> overview(const models::MapRequest& request, std::int64_t height, std::int64_t width,
                         Reduction reduction, StopToken stop) const override;
  Result<Field> preview(const models::MapRequest& request, std::int64_t height, std::int64_t width,
                        StopToken stop) const override;
  Result<Field> overview_band(const models::MapRequest& request, std::int64_t height, std::int64_t width,
                              Reduction reduction, Range band, StopToken stop) const override;
  Result<Field> dot_product(std::int64_t layer, std::int64_t head, Range rows, Range columns,
                            const models::Similarity& similarity) const override;
  // A path here is written here, one of the same machine there.
  Status write(const std::filesystem::path& path, const std::set<std::string>& keep, const Progress& progress,
               StopToken stop) const override;
  Result<Field> sink(std::int64_t layer, std::int64_t head, Range rows, StopToken stop) const override;
  Result<Field> state_numbers(std::int64_t layer, models::StateNumber number, StopToken stop) const override;

 private:
  TraceSummary own_;
  std::optional<models::Input> input_;
  Handle handle_;
  std::vector<std::pair<models::Side, std::shared_ptr<const Trace>>> sides_;
};

}  // namespace locus::remote
