// Series: what the views of curves, bars and tables share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/views/shared/plots/panel.h"
#include "app/views/shared/view.h"

namespace locus::views {

// A result computed from these traces, through the input's cache if it has one; errors name `column`.
template <class T>
Result<std::shared_ptr<const T>> analysed(const ViewInput& input, const Column& column, const Traces& traces,
                                          const MeasureKey& key, const std::function<Result<T>()>& make) {
  const auto named = [&]() -> Result<T> {
    auto made = make();
    const bool said = made.ok() || !made.error().context.empty() || made.error().code == ErrorCode::kCancelled;
    return said ? std::move(made) : made.error().within(column.name);
  };
  if (input.cache) {
    return input.cache->get<T>(traces, key, named);
  }
  LOCUS_TRY(T made, named());
  return std::make_shared<const T>(std::move(made));
}

// The input's progress, spread over its columns: column n of m reports n/m … (n+1)/m under its name.
Progress column_progress(const ViewInput& input, std::size_t column);

// "0.012", "4.10", "2e-05", "1.2e+05": few digits, for notes and cells; "–" for NaN.
std::string short_number(double value);

// The smallest interval that holds what is added and finite.
class Extent {
 public:
  void add(double value);
  void add(const std::vector<double>& values);
  bool empty() const { return !(low_ <= high_); }
  // With `share` of its length added at both ends; [0, 1] when nothing was added.
  figure::Interval padded(double share = 0.05) const;
  // From 0.
  figure::Interval from_zero(double share = 0.08) const;

 private:
  double low_ = 1;
  double high_ = 0;
};

// Bars side by side in the cells [n, n+1) of an axis: series `index` of `count`, one height per cell (NaN: none).
figure::Bars grouped_bars(std::string name, const std::vector<double>& heights, std::size_t index, std::size_t count);
// The middle of that series' bar in cell n.
double bar_middle(std::size_t cell, std::size_t index, std::size_t count);

// The models of the columns have been run and can be run again. Errors: kUnsupported for a trace from a file.
Status needs_model(const Column& column, const std::string& title);

// The run read no pictures within its text. Errors: kUnsupported, saying that `title` would cut or move them.
Status needs_text_alone(const Column& column, const std::string& title);

// A run that scores the next token is possible: needs_model, needs_text_alone, and a causal model. Errors: kUnsupported.
Status needs_causal_text(const Column& column, const std::string& title);

// The model's encoding changes keys on their way to a query (PaTH). Errors: kUnsupported.
Status needs_transforms(const Column& column, const std::string& title);

// A line through these points.
figure::Curve curve_through(std::string name, std::vector<double> x, std::vector<double> y);

// Dashes of other lengths for the curves after each round of the palette's colours, so that no two of 32 look alike.
void tell_apart(std::size_t number, figure::Curve& curve);

// One more curve of a panel, which the extents of its axes hold.
void add_curve(figure::Curve curve, Extent& x, Extent& y, figure::Panel& panel);

// Where a value stands on an axis, in words: "layer 2" on an axis of cells, else the number.
std::string place_text(const figure::Axis& axis, double at);

// Each point the mean of the `count` values that end there.
std::vector<double> running_means(const std::vector<double>& values, std::size_t count);

// (1, n), or (n, 1) where it is `down`: the numbers as a field.
std::shared_ptr<Field> strip_of(const std::vector<double>& values, bool down = false);

// A number of each element of a list: what a function or a member of it says.
template <class List, class Number>
std::vector<double> numbers_of(const List& list, const Number& number) {
  std::vector<double> values;
  values.reserve(list.size());
  for (const auto& each : list) {
    values.push_back(static_cast<double>(std::invoke(number, each)));
  }
  return values;
}
// 0, 1, … n − 1.
std::vector<double> counted(std::size_t n);

// A table: one named column a series, NaN where a series is shorter; with a name, before them one that counts the rows
// from 0.
struct Series {
  std::string name;
  std::vector<double> values;
};
Data table_of(std::vector<Series> series, const std::string& counted_name = {});

}  // namespace locus::views
