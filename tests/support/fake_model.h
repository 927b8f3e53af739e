// A model whose maps are known in closed form: what tests of views and of the workbench run on.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "models/api/model.h"

namespace locus::test {

// Logits are −s·(i−j) + content, s growing with the head; content is (i·j mod 7)/7 + layer/10.
struct FakeShape {
  std::string name = "fake";
  std::string unverified = {};  // says that its family is not verified
  std::int64_t layers = 3;
  std::int64_t heads = 4;
  bool gates = false;
  double slope = 0.2;
  double states = 1;  // what the positions' states are multiplied by
  std::size_t bytes_per_token = 1;
  bool rope = false;  // says that it rotates
  double p_max = 0;   // says that positions end there; they do not
  std::int64_t trained_length = 0;
  // An image of this grid behind a class token and registers, instead of text; 4 pixels a patch.
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t registers = 0;
  std::string dtype = "float32";  // says that its weights are stored so
};

class FakeTrace : public models::Trace {
 public:
  FakeTrace(FakeShape shape, std::string text) : shape_(std::move(shape)), text_(std::move(text)) {
    info_.name = shape_.name;
    info_.unverified = shape_.unverified;
    info_.family = "locus";
    info_.encodings = {{"alibi", {}, shape_.gates, true, "q·k/√D"}};
    if (shape_.p_max > 0) {
      info_.encodings[0].options.set("p_max", shape_.p_max);
    }
    if (shape_.rope) {
      info_.encodings = {{"rope", {{"base", 10000.0}, {"scaling", std::string("none")}}, shape_.gates, true, "q·k/√D"}};
    }
    info_.layer_info.resize(static_cast<std::size_t>(shape_.layers));
    info_.layers = shape_.layers;
    info_.heads = shape_.heads;
    info_.kv_heads = shape_.heads;
    info_.width = 64;
    info_.head_width = 16;
    info_.vocabulary = 256;
    info_.trained_length = shape_.trained_length;
    info_.parameters = 123456;
    info_.dtype = shape_.dtype;
    info_.tokenizer = true;
    if (shape_.rows > 0) {
      make_image();
      return;
    }
    for (std::size_t n = 0; n < text_.size(); n += shape_.bytes_per_token) {
      const std::string part = text_.substr(n, shape_.bytes_per_token);
      tokens_.push_back({static_cast<unsigned char>(part[0]),
                         part == " " ? "·" : part,
                         {static_cast<std::int64_t>(n), static_cast<std::int64_t>(n + part.size())},
                         static_cast<double>(tokens_.size())});
    }
  }

  const models::ModelInfo& model() const override { return info_; }
  const std::vector<models::TokenInfo>& tokens() const override { return tokens_; }
  const models::ImageGrid& image_grid() const override { return grid_; }
  models::Picture picture() const override { return picture_; }
  const std::string& text() const override { return text_; }
  double time_ms() const override { return 1; }
  std::int64_t memory_mb() const override { return 2; }
  std::vector<models::Prediction> top(std::int64_t count) const override {
    std::vector<models::Prediction> list;
    for (std::int64_t n = 0; n < count; ++n) {
      list.push_back({97 + n, std::string(1, static_cast<char>('a' + n)), 0.5F / static_cast<float>(n + 1)});
    }
    return list;
  }

  double content(std::int64_t layer, std::int64_t i, std::int64_t j) const {
    return static_cast<double>(i * j % 7) / 7 + static_cast<double>(layer) / 10;
  }
  double contribution(std::int64_t head, std::int64_t i, std::int64_t j) const {
    return -shape_.slope * static_cast<double>((head + 1) * (i - j));
  }
  double logit(std::int64_t layer, std::int64_t head, std::int64_t i, std::int64_t j) const {
    return content(layer, i, j) + contribution(head, i, j);
  }
  double weight(std::int64_t layer, std::int64_t head, std::int64_t i, std::int64_t j) const {
    if (j > i && info_.causal) {
      return 0;
    }
    if (head == models::kMeanHead) {
      double sum = 0;
      for (std::int64_t h = 0; h < shape_.heads; ++h) {
        sum += weight(layer, h, i, j);
      }
      return sum / static_cast<double>(shape_.heads);
    }
    return std::exp(logit(layer, head, i, j)) / row_total(layer, head, i);
  }
  double gate(std::int64_t i, std::int64_t j) const { return 1 / (1 + std::exp(static_cast<double>((i + j) % 5) - 2)); }
  double position(std::int64_t i, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t k = j; k <= i; ++k) {
      sum += gate(i, k);
    }
    return sum;
  }

  Result<Field> map(const models::MapRequest& request, StopToken stop) const override {
    if (request.layer < 0 || request.layer >= shape_.layers || request.head < -1 || request.head >= shape_.heads) {
      return bad_input("no such layer or head");
    }
    const bool of_gates =
        request.quantity == models::Quantity::kGate || request.quantity == models::Quantity::kPosition;
    if ((of_gates && !shape_.gates) || (request.head < 0 && request.quantity != models::Quantity::kWeight)) {
      return unsupported("this encoding has no such quantity");
    }
    const Range all{0, length()};
    const Range rows = request.rows.empty() ? all : request.rows;
    const Range columns = request.columns.empty() ? all : request.columns;
    Field field = Field::zeros(rows.size(), columns.size());
    field.row_axis.first = static_cast<double>(rows.begin);
    field.column_axis.first = static_cast<double>(columns.begin);
    for (std::int64_t r = 0; r < rows.size(); ++r) {
      if (stop.stop_requested()) {
        return cancelled();
      }
      for (std::int64_t c = 0; c < columns.size(); ++c) {
        field.at(r, c) = static_cast<float>(value(request, rows.begin + r, columns.begin + c));
      }
    }
    return field;
  }

  Result<Field> overview(const models::MapRequest& request, std::int64_t height, std::int64_t width,
                         Reduction reduction, StopToken stop) const override {
    auto whole = map(request, std::move(stop));
    if (!whole) {
      return whole;
    }
    Field out = Field::zeros(height, width);
    for (std::int64_t r = 0; r < height; ++r) {
      for (std::int64_t c = 0; c < width; ++c) {
        double best = -1e30;
        double sum = 0;
        int count = 0;
        for (std::int64_t i = r * whole->rows / height; i < (r + 1) * whole->rows / height; ++i) {
          for (std::int64_t j = c * whole->columns / width; j < (c + 1) * whole->columns / width; ++j) {
            const double value = static_cast<double>(whole->at(i, j));
            if (!std::isnan(value)) {
              best = std::max(best, value);
              sum += value;
              ++count;
            }
          }
        }
        const double value = reduction == Reduction::kMax ? best : sum / count;
        out.at(r, c) = count > 0 ? static_cast<float>(value) : std::numeric_limits<float>::quiet_NaN();
      }
    }
    return out;
  }

  // e_i = states·(cos i/10, sin i/10, √(layer/100)): states²·(cos((i − j)/10) + layer/100).
  Result<Field> dot_product(std::int64_t layer, std::int64_t /*head*/, Range rows, Range columns,
                            const models::Similarity& similarity) const override {
    Field field = products(0.1, std::sqrt(static_cast<double>(layer) / 100), rows, columns, similarity);
    for (float& value : field.values) {
      value *= similarity.cosine ? 1 : static_cast<float>(shape_.states * shape_.states);
    }
    return field;
  }

  // ⟨e_i, e_j⟩ of e_i = (cos i·speed, sin i·speed, rest).
  static Field products(double speed, double rest, Range rows, Range columns, const models::Similarity& similarity) {
    const Range centre = similarity.centred;
    std::array<double, 3> mean{};
    for (std::int64_t n = centre.begin; n < centre.end; ++n) {
      const double share = 1 / static_cast<double>(centre.size());
      mean[0] += share * std::cos(static_cast<double>(n) * speed);
      mean[1] += share * std::sin(static_cast<double>(n) * speed);
      mean[2] += share * rest;
    }
    const auto state = [&](std::int64_t n) {
      std::array<double, 3> e{std::cos(static_cast<double>(n) * speed) - mean[0],
                              std::sin(static_cast<double>(n) * speed) - mean[1], rest - mean[2]};
      const double length = similarity.cosine ? std::hypot(e[0], e[1], e[2]) : 1;
      return std::array<double, 3>{e[0] / length, e[1] / length, e[2] / length};
    };
    Field field = Field::zeros(rows.size(), columns.size());
    for (std::int64_t r = 0; r < rows.size(); ++r) {
      for (std::int64_t c = 0; c < columns.size(); ++c) {
        const auto a = state(rows.begin + r);
        const auto b = state(columns.begin + c);
        field.at(r, c) = static_cast<float>(a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
      }
    }
    return field;
  }

  Status write(const std::filesystem::path& /*path*/, const std::set<std::string>& /*keep*/,
               const Progress& /*progress*/, StopToken /*stop*/) const override {
    return unsupported("a fake");
  }

 private:
  void make_image() {
    info_.image = true;
    info_.causal = false;
    info_.tokenizer = false;
    text_.clear();
    grid_ = {shape_.rows, shape_.columns, 1, shape_.registers};
    for (std::int64_t n = 0; n < 1 + shape_.registers + shape_.rows * shape_.columns; ++n) {
      tokens_.push_back({n, std::to_string(n), {}, 0});
    }
    picture_.width = 4 * shape_.columns;
    picture_.height = 4 * shape_.rows;
    std::vector<std::uint8_t> rgba;
    for (std::int64_t n = 0; n < picture_.width * picture_.height; ++n) {
      const auto red = static_cast<std::uint8_t>(255 * (n % picture_.width) / picture_.width);
      const auto green = static_cast<std::uint8_t>(255 * (n / picture_.width) / picture_.height);
      rgba.insert(rgba.end(), {red, green, 128, 255});
    }
    picture_.rgba = std::make_shared<const std::vector<std::uint8_t>>(std::move(rgba));
  }
  double value(const models::MapRequest& request, std::int64_t i, std::int64_t j) const {
    const bool masked = j > i && info_.causal;
    if (request.quantity == models::Quantity::kWeight && !(masked && request.mark_masked)) {
      return weight(request.layer, request.head, i, j);
    }
    if (masked) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    switch (request.quantity) {
      case models::Quantity::kContent:
        return content(request.layer, i, j);
      case models::Quantity::kContribution:
        return contribution(request.head, i, j);
      case models::Quantity::kGate:
        return gate(i, j);
      case models::Quantity::kPosition:
        return position(i, j);
      default:
        return logit(request.layer, request.head, i, j);
    }
  }

  // Σ_k exp(logit) of a row, kept: a map of T² cells would need T³ of them.
  double row_total(std::int64_t layer, std::int64_t head, std::int64_t i) const {
    const std::lock_guard lock(totals_mutex_);
    std::vector<double>& totals = totals_[{layer, head}];
    totals.resize(static_cast<std::size_t>(length()), -1);
    double& total = totals[static_cast<std::size_t>(i)];
    if (total < 0) {
      total = 0;
      for (std::int64_t k = 0; k < (info_.causal ? i + 1 : length()); ++k) {
        total += std::exp(logit(layer, head, i, k));
      }
    }
    return total;
  }

  FakeShape shape_;
  mutable std::mutex totals_mutex_;
  mutable std::map<std::pair<std::int64_t, std::int64_t>, std::vector<double>> totals_;  // by layer and head
  std::string text_;
  models::ModelInfo info_;
  std::vector<models::TokenInfo> tokens_;
  models::ImageGrid grid_;
  models::Picture picture_;
};

// cos((i − j)·1000/base), base 10,000 unless overridden.
class FakeTable final : public models::PositionTable {
 public:
  FakeTable(std::int64_t length, double base) : length_(length), base_(base) {}
  std::int64_t length() const override { return length_; }
  Result<Field> dot_product(std::int64_t /*head*/, Range rows, Range columns,
                            const models::Similarity& similarity) const override {
    return FakeTrace::products(1000 / base_, 0, rows, columns, similarity);
  }

 private:
  std::int64_t length_;
  double base_;
};

class FakeModel final : public models::Model {
 public:
  explicit FakeModel(FakeShape shape) : shape_(shape), info_(FakeTrace(std::move(shape), "x").model()) {}

  const models::ModelInfo& info() const override { return info_; }
  double macs(std::int64_t length) const override { return static_cast<double>(length); }
  Result<std::vector<models::TokenInfo>> tokenize(const models::Input& input) const override {
    return FakeTrace(shape_, input.text.value_or("")).tokens();
  }
  Result<std::shared_ptr<const models::Trace>> run(const models::Input& input, const models::RunOptions& /*options*/,
                                                   StopToken stop, const Progress& progress) const override {
    report(progress, 0.5, "layer 1 of 2");
    if (stop.stop_requested()) {
      return cancelled();
    }
    if (input.image && shape_.rows > 0) {
      return std::shared_ptr<const models::Trace>(std::make_shared<FakeTrace>(shape_, ""));
    }
    if (!input.text || input.text->empty()) {
      return bad_input("the input is empty");
    }
    return std::shared_ptr<const models::Trace>(std::make_shared<FakeTrace>(shape_, *input.text));
  }
  Result<std::shared_ptr<const models::PositionTable>> position_table(const models::PositionRequest& request,
                                                                      std::int64_t /*layer*/) const override {
    const std::int64_t length =
        request.rows > 0 ? 1 + shape_.registers + request.rows * request.columns : request.length;
    return std::shared_ptr<const models::PositionTable>(
        std::make_shared<FakeTable>(length, request.overrides.rope_base.value_or(10000)));
  }
  // As many "+" as asked for.
  Result<models::Generation> generate(const models::Input& input, const models::GenerateOptions& options,
                                      const models::RunOptions& /*run_options*/, StopToken /*stop*/,
                                      const Progress& /*progress*/) const override {
    models::Generation made;
    made.ids.assign(static_cast<std::size_t>(options.count), '+');
    made.text.assign(static_cast<std::size_t>(options.count), '+');
    made.trace = std::make_shared<FakeTrace>(shape_, input.text.value_or("") + made.text);
    return made;
  }

 private:
  FakeShape shape_;
  models::ModelInfo info_;
};

}  // namespace locus::test
