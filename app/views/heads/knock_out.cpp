// `knock-out`: which heads a prediction needs.
#include <algorithm>
#include <cmath>

#include "app/views/controls.h"
#include "app/views/head_map.h"
#include "app/views/list.h"
#include "app/views/measured_view.h"
#include "models/knock_out.h"

namespace locus::views {

namespace {

struct KnockOutAsk {
  models::HeadTo to = models::HeadTo::kZero;
  models::KnockOutMeasure measure = models::KnockOutMeasure::kLoss;
  std::string token;
  std::int64_t at = -1;
};

class KnockOut final : public MeasuredView<KnockOutAsk, Field> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status available(const Column& column) const override { return needs_model(column, info_.title); }
  Selection pick(const ViewInput& input, const Hit& hit) const override {
    return hit.panel < input.columns.size() ? pick_head(input.columns[hit.panel].trace->model(), hit, hit.panel)
                                            : Selection{};
  }
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override {
    std::vector<Place> places;
    for (std::size_t panel = 0; selection.layer && selection.head.value_or(-1) >= 0 && panel < input.columns.size();
         ++panel) {
      places.push_back(head_place(panel, *selection.layer, *selection.head));
    }
    return places;
  }

 protected:
  Result<KnockOutAsk> ask(const ViewInput& input, std::size_t column) const override;
  Result<Field> measure(const KnockOutAsk& ask, const Work& work) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& /*input*/, const Numbers& numbers) const override {
    const Field& field = *numbers.front();
    return Data{{field.rows, field.columns}, field.values, {}};
  }

 private:
  ViewInfo info_{
      .name = "knock-out",
      .title = "Knock-out",
      .shows =
          "What happens to the prediction when one head after the other is silenced or made to attend otherwise: each "
          "cell is a run of its own, of this input.",
      .look_for =
          "Few heads with large effects: this text needs them. A head that attends strikingly and has no effect is not "
          "needed here, or another stands in for it. A negative loss is a head that misleads on this text. A click "
          "opens "
          "the head.",
      .paper = "",
      .controls = {choice("to", "Head becomes",
                          "zero: no output; mean: its mean over queries; uniform: equal weights; content: logits "
                          "without positions; first: weight 1 on token 0",
                          {"zero", "mean", "uniform", "content", "first"}),
                   choice("measure", "Measure",
                          "loss: of the actual next tokens; kl: KL(untouched ‖ edited) of the outputs; logit: a "
                          "token's log-probability at a position",
                          {"loss", "kl", "logit"}),
                   words("token", "Token", "Of logit: an id, or a text of one token; empty: the likeliest"),
                   whole("at", "Position", "Of logit: the query that predicts it; -1: the last", -1, -1, 1 << 20,
                         "last")},
  };
};

Result<KnockOutAsk> KnockOut::ask(const ViewInput& input, std::size_t /*column*/) const {
  KnockOutAsk ask;
  LOCUS_TRY(const std::string to, input.options.text("to", "zero"));
  LOCUS_TRY(const std::string measure, input.options.text("measure", "loss"));
  LOCUS_TRY(const std::string token, input.options.text("token", ""));
  LOCUS_TRY(const std::int64_t at, input.options.integer("at", -1));
  ask.to = to == "mean"      ? models::HeadTo::kMean
           : to == "uniform" ? models::HeadTo::kUniform
           : to == "content" ? models::HeadTo::kContent
           : to == "first"   ? models::HeadTo::kFirst
                             : models::HeadTo::kZero;
  ask.measure = measure == "kl"      ? models::KnockOutMeasure::kKl
                : measure == "logit" ? models::KnockOutMeasure::kLogit
                                     : models::KnockOutMeasure::kLoss;
  if (ask.measure == models::KnockOutMeasure::kLogit) {  // nothing else measures it again
    ask.token = token;
    ask.at = at;
  } else if (!token.empty() || at != -1) {
    return usage("knock-out: token and at are of measure=logit, found measure=" + measure);
  }
  return ask;
}

Result<Field> KnockOut::measure(const KnockOutAsk& ask, const Work& work) const {
  models::KnockOutOptions options{ask.to, ask.measure, -1, ask.at};
  if (!ask.token.empty()) {
    LOCUS_TRY(options.token, models::token_named(*work.column.model, ask.token));
  }
  return models::knock_out(*work.column.model, *work.column.trace, options, work.stop, work.progress);
}

Result<figure::Figure> KnockOut::draw(const ViewInput& input, const Numbers& numbers) const {
  LOCUS_TRY(const KnockOutAsk asked, ask(input, 0));
  LOCUS_TRY(const std::string to, input.options.text("to", "zero"));
  const bool kl = asked.measure == models::KnockOutMeasure::kKl;
  figure::Figure figure;
  figure.columns = static_cast<int>(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    figure::Panel panel =
        head_map(numbers[n], head_scale(input, kl ? Sign::kPositive : Sign::kZeroCentred, numbers, n));
    panel.title = input.columns[n].name + " · " + to;
    panel.color_bar_label = kl                                                ? "mean KL (nats)"
                            : asked.measure == models::KnockOutMeasure::kLoss ? "change of loss (nats a token)"
                                                                              : "change of log-probability (nats)";
    const auto largest = std::max_element(numbers[n]->values.begin(), numbers[n]->values.end(),
                                          [](float a, float b) { return std::abs(a) < std::abs(b); });
    const auto index = largest - numbers[n]->values.begin();
    panel.note = "largest: head " + std::to_string(index / numbers[n]->columns) + "." +
                 std::to_string(index % numbers[n]->columns) + ", " + short_number(static_cast<double>(*largest));
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

}  // namespace

const View& knock_out_view() {
  static const KnockOut view;
  return view;
}

}  // namespace locus::views
