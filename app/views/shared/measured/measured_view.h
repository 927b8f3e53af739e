// MeasuredView: a view that measures, and then draws or makes a table.
//
//   measure_key  from the input: what is measured of a column, a plain struct with a defaulted ==. A colour, a size or
//   a
//                theme is no part of it, so that none of them ever measures again.
//   measure      from the key and the runs alone: the numbers. Called on the worker, once for the figure and its data,
//                with progress and a token to stop; kept in the input's cache under the key and the traces.
//   measure_in_parts  measure() of a long measurement, which also gives what it has so far
//   draw         the figure of these numbers
//   table        the data of these numbers
//
// The smallest one:
//
//   struct EntropyKey {
//     std::int64_t layer = 0;
//
//     friend bool operator==(const EntropyKey&, const EntropyKey&) = default;
//   };
//   class Entropy final : public MeasuredView<EntropyKey, Field> {
//     const ViewInfo& info() const override;
//     Result<EntropyKey> measure_key(const ViewInput& input, std::size_t) const override { return
//     EntropyKey{input.layer}; } Result<Field> measure(const EntropyKey& key, const MeasureContext& context) const
//     override; Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
//     Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;
//   };
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "app/views/shared/plots/flat_columns.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/view.h"

namespace locus::views {

// The input of a measurement: a run, and the first of the view, which it may be compared with. The column's name is for
// what is reported; it is no part of the key.
class MeasureContext {
 public:
  MeasureContext(const ViewInput& input, std::size_t column)
      : column(input.columns[column]),
        first(input.columns.front()),
        stop(input.stop),
        progress(column_progress(input, column)),
        input_(input) {}

  const Column& column;
  const Column& first;
  StopToken stop;
  Progress progress;

  // Something that is measured on the way and serves other measurements too, kept under its own key and the column's
  // trace.
  template <class T>
  Result<std::shared_ptr<const T>> kept(const MeasureKey& key, const std::function<Result<T>()>& make) const {
    return analysed<T>(input_, column, {column.trace}, key, make);
  }

 private:
  const ViewInput& input_;
};

template <class Key, class Measured>
class MeasuredView : public View {
 public:
  Result<figure::Figure> figure(const ViewInput& input) const final {
    LOCUS_TRY(const Numbers numbers, all(input));
    LOCUS_TRY(figure::Figure figure, draw(input, numbers));
    note_flat_columns(input, figure);
    return figure;
  }
  Result<Data> data(const ViewInput& input) const final {
    LOCUS_TRY(const Numbers numbers, all(input));
    return table(input, numbers);
  }

 protected:
  using Pointer = std::shared_ptr<const Measured>;
  using Numbers = std::vector<Pointer>;  // one per measured column

  // Errors: kUsage for options that make no sense together, kUnsupported for a column.
  virtual Result<Key> measure_key(const ViewInput& input, std::size_t column) const = 0;
  virtual Result<Measured> measure(const Key& key, const MeasureContext& context) const = 0;
  // measure() for views that have numbers early: it gives those to `so_far`, which is null where nobody looks on; `last`:
  // the next ones come much later, so these are shown however soon they follow others.
  using SoFar = std::function<void(Measured numbers, bool last)>;
  virtual Result<Measured> measure_in_parts(const Key& key, const MeasureContext& context,
                                            const SoFar& /*so_far*/) const {
    return measure(key, context);
  }
  virtual Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const = 0;
  virtual Result<Data> table(const ViewInput& input, const Numbers& numbers) const = 0;
  // The first column that is measured: 1 where each is compared with the first.
  virtual std::size_t first_measured() const { return 0; }

  // The same measurement under another key, for draw() and table() that show more than one: another layer, another
  // head.
  Result<Pointer> measured(const ViewInput& input, std::size_t column, const Key& key) const {
    if (input.stop.stop_requested()) {
      return cancelled();
    }
    return analysed<Measured>(input, input.columns[column], traces(input, column), {info().name, key},
                              [&] { return measure(key, MeasureContext(input, column)); });
  }
  // The kept measurement of a column, null where there is none: for pick(), places() and step(), which run on the
  // window's thread and measure nothing.
  Pointer kept(const ViewInput& input, std::size_t column) const {
    const auto key = measure_key(input, column);
    return key.ok() && input.cache ? input.cache->template peek<Measured>(traces(input, column), {info().name, *key})
                                   : nullptr;
  }

 private:
  Traces traces(const ViewInput& input, std::size_t column) const {
    return first_measured() > 0 ? Traces{input.columns.front().trace, input.columns[column].trace}
                                : Traces{input.columns[column].trace};
  }
  Result<Numbers> all(const ViewInput& input) const {
    LOCUS_CHECK(check(*this, input));
    Numbers numbers;
    for (std::size_t n = first_measured(); n < input.columns.size(); ++n) {
      LOCUS_CHECK(available(input.columns[n]));
      LOCUS_TRY(const Key key, measure_key(input, n));
      if (input.stop.stop_requested()) {
        return cancelled();
      }
      const SoFar so_far = shown_so_far(input, n, numbers);
      LOCUS_TRY(Pointer made, analysed<Measured>(input, input.columns[n], traces(input, n), {info().name, key}, [&] {
                  return measure_in_parts(key, MeasureContext(input, n), so_far);
                }));
      numbers.push_back(std::move(made));
    }
    return numbers;
  }
  // Draws the columns up to `column`, whose numbers are not all there, beside those that are done. Null where nobody
  // looks on.
  SoFar shown_so_far(const ViewInput& input, std::size_t column, const Numbers& done) const {
    if (!input.so_far || first_measured() > 0) {
      return {};
    }
    using Clock = std::chrono::steady_clock;
    const std::chrono::duration<double, std::milli> interval(input.so_far_ms);
    const Clock::time_point begun = Clock::now();
    return [this, &input, &done, column, interval, begun, shown_at = begun](Measured numbers, bool last) mutable {
      const Clock::time_point now = Clock::now();
      if (now - (last ? begun : shown_at) < interval) {
        return;
      }
      shown_at = now;
      ViewInput part = input;
      part.columns.resize(column + 1);
      part.so_far = nullptr;
      Numbers shown = done;
      shown.push_back(std::make_shared<const Measured>(std::move(numbers)));
      if (auto figure = draw(part, shown); figure.ok()) {
        input.so_far(*std::move(figure));
      }
    };
  }
};

}  // namespace locus::views
