// `repeated-text`: how much easier tokens are to predict when the model has read the same text before.
#include <algorithm>
#include <cmath>

#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "models/api/repeated_text.h"

namespace locus::views {

namespace {

struct Repeated : models::RepeatedLoss {};
std::size_t cached_bytes(const Repeated& loss) {
  return sizeof loss + views::cached_bytes(loss.first) + views::cached_bytes(loss.second);
}

// Means over the inputs at each token, and half of the 95 % interval of the mean, NaN of one input.
struct Means {
  std::vector<double> mean, half;
};

class RepeatedText final : public MeasuredView<models::RepeatedTextOptions, Repeated> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override {
    LOCUS_CHECK(View::fits(column));
    return needs_causal_text(column, info_.title);
  }

 protected:
  Result<models::RepeatedTextOptions> measure_key(const ViewInput& input, std::size_t /*column*/) const override {
    models::RepeatedTextOptions key;
    key.own_text = option<std::string>(input, "of") == "text";
    key.period = option<std::int64_t>(input, "period");
    key.inputs = key.own_text ? 1 : option<std::int64_t>(input, "inputs");
    return key;
  }
  Result<Repeated> measure(const models::RepeatedTextOptions& key, const MeasureContext& context) const override {
    LOCUS_TRY(models::RepeatedLoss loss,
              models::repeated_loss(*context.column.model, *context.column.trace, key, context.stop, context.progress));
    return Repeated{std::move(loss)};
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  ViewInfo info_ = described({
      .name = "repeated-text",
      .caption = "How much easier each token is to predict when the text has been read once before.",
      .shows =
          "The loss of each token of the second copy of a text that is given twice, less the loss of the same token in "
          "the first copy. On random tokens only the copy tells the next token: what falls there is induction. An "
          "edited column shows what its edits take away.",
      .needs_text = true,
      .controls = {choice("of", "Of", "Random tokens, or the input's own text, given twice", {"random", "text"}),
                   choice("curves", "Curves", "The second copy less the first, or both copies (the first dashed)",
                          {"difference", "both"}),
                   whole("period", "Tokens", "Number of tokens of a copy; of the input's own text at most", 64, 2,
                         1 << 20),
                   whole("inputs", "Inputs", "Number of random inputs", 8, 1, 1024)},
  });
};

// `less` is taken from the values where it is given.
Means means_of(const Field& values, const Field* less) {
  Means means;
  const auto inputs = static_cast<double>(values.rows);
  for (std::int64_t token = 0; token < values.columns; ++token) {
    double sum = 0;
    double squares = 0;
    for (std::int64_t input = 0; input < values.rows; ++input) {
      const double value = static_cast<double>(values.at(input, token)) -
                           (less == nullptr ? 0 : static_cast<double>(less->at(input, token)));
      sum += value;
      squares += value * value;
    }
    const double mean = sum / inputs;
    means.mean.push_back(mean);
    means.half.push_back(
        values.rows > 1 ? 1.96 * std::sqrt(std::max(squares / inputs - mean * mean, 0.0) / (inputs - 1)) : kNaN);
  }
  return means;
}

// 1, 2, …: the token of the copy.
std::vector<double> tokens_of(std::size_t count) {
  std::vector<double> places = counted(count);
  std::ranges::for_each(places, [](double& place) { place += 1; });
  return places;
}

figure::Curve curve_of(std::string name, const Means& means, bool dashed) {
  figure::Curve curve = curve_through(std::move(name), tokens_of(means.mean.size()), means.mean);
  curve.dashed = dashed;
  if (!means.half.empty() && std::isfinite(means.half.front())) {
    for (std::size_t n = 0; n < means.mean.size(); ++n) {
      curve.low.push_back(means.mean[n] - means.half[n]);
      curve.high.push_back(means.mean[n] + means.half[n]);
    }
  }
  return curve;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

// Means of all tokens: the difference with its interval over the inputs, and both copies.
std::string statement_of(const Repeated& loss) {
  const std::vector<double> first = means_of(loss.first, nullptr).mean;
  const std::vector<double> second = means_of(loss.second, nullptr).mean;
  const double less = mean_of(first) - mean_of(second);
  return "a token of the second copy costs " + short_number(std::abs(less)) + " nats " + (less < 0 ? "more" : "less") +
         " than in the first: " + short_number(mean_of(second)) + " against " + short_number(mean_of(first));
}

Result<figure::Figure> RepeatedText::draw(const ViewInput& input, const Numbers& numbers) const {
  const bool both = option<std::string>(input, "curves") == "both";
  figure::Panel panel;
  Extent x;
  Extent y;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const Repeated& loss = *numbers[n];
    const std::string& name = input.columns[n].name;
    if (both) {
      add_curve(curve_of(name + ", second copy", means_of(loss.second, nullptr), false), x, y, panel);
    } else {
      add_curve(curve_of(name, means_of(loss.second, &loss.first), false), x, y, panel);
    }
  }
  for (std::size_t n = 0; n < (both ? numbers.size() : 0); ++n) {
    add_curve(curve_of(input.columns[n].name + ", first copy", means_of(numbers[n]->first, nullptr), true), x, y,
              panel);
  }
  const Repeated& first = *numbers.front();
  const bool own = option<std::string>(input, "of") == "text";
  panel.note = own ? "the first " + std::to_string(first.first.columns + 1) + " tokens of the input, given twice"
                   : std::to_string(first.first.rows) + " inputs of " + std::to_string(first.first.columns + 1) +
                         " random tokens, given twice; bands: 95 % of the mean over the inputs";
  y.add(both ? kNaN : 0.0);
  for (const figure::Layer& layer : panel.layers) {
    y.add(std::get<figure::Curve>(layer).low);
    y.add(std::get<figure::Curve>(layer).high);
  }
  panel.x.label = "token of the copy";
  panel.x.view = x.padded(0.02);
  panel.y.label = both ? "loss (nats)" : "loss of the second copy − first (nats)";
  panel.y.view = y.padded();
  figure::Figure figure = figure_of(std::move(panel));
  figure.statement = about_columns(input, [&](std::size_t n) { return statement_of(*numbers[n]); });
  return figure;
}

Result<Data> RepeatedText::table(const ViewInput& input, const Numbers& numbers) const {
  std::size_t longest = 0;
  for (const Pointer& loss : numbers) {
    longest = std::max(longest, static_cast<std::size_t>(loss->first.columns));
  }
  std::vector<Series> series{{"token", tokens_of(longest)}};
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const std::string& name = input.columns[n].name;
    const Means difference = means_of(numbers[n]->second, &numbers[n]->first);
    series.push_back({name + " first copy", means_of(numbers[n]->first, nullptr).mean});
    series.push_back({name + " second copy", means_of(numbers[n]->second, nullptr).mean});
    series.push_back({name + " difference", difference.mean});
    series.push_back({name + " difference ±", difference.half});
  }
  return table_of(std::move(series));
}

}  // namespace

const View& repeated_text_view() {
  return made_once<RepeatedText>();
}

}  // namespace locus::views
