// A trace that counts what is read of it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/api/model.h"

namespace locus::test {

class CountingTrace : public models::Trace {
 public:
  explicit CountingTrace(std::shared_ptr<const models::Trace> of) : of_(std::move(of)) {}
  int reads() const { return reads_; }

  const models::ModelInfo& model() const override { return of_->model(); }
  const std::vector<models::TokenInfo>& tokens() const override { return of_->tokens(); }
  const models::ImageGrid& image_grid() const override { return of_->image_grid(); }
  models::Picture picture() const override { return of_->picture(); }
  const std::string& text() const override { return of_->text(); }
  double time_ms() const override { return of_->time_ms(); }
  std::int64_t memory_mb() const override { return of_->memory_mb(); }
  std::vector<models::Prediction> top(std::int64_t count) const override { return of_->top(count); }
  Result<Field> map(const models::MapRequest& request, StopToken stop) const override {
    return counted().map(request, std::move(stop));
  }
  Result<Field> overview(const models::MapRequest& request, std::int64_t height, std::int64_t width,
                         Reduction reduction, StopToken stop) const override {
    return counted().overview(request, height, width, reduction, std::move(stop));
  }
  Result<Field> dot_product(std::int64_t layer, std::int64_t head, Range rows, Range columns,
                            const models::Similarity& similarity) const override {
    return counted().dot_product(layer, head, rows, columns, similarity);
  }
  Status write(const std::filesystem::path& path, const std::set<std::string>& keep, const Progress& progress,
               StopToken stop) const override {
    return counted().write(path, keep, progress, std::move(stop));
  }
  Result<Field> sink(std::int64_t layer, std::int64_t head, Range rows, StopToken stop) const override {
    return counted().sink(layer, head, rows, std::move(stop));
  }
  Result<Field> state_numbers(std::int64_t layer, models::StateNumber number, StopToken stop) const override {
    return counted().state_numbers(layer, number, std::move(stop));
  }

 private:
  const models::Trace& counted() const {
    ++reads_;
    return *of_;
  }

  std::shared_ptr<const models::Trace> of_;
  mutable int reads_ = 0;
};

}  // namespace locus::test
