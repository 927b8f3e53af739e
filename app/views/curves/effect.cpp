// `effect`: what edits change in the prediction, token by token: a curve, or the tint of the text.
#include "models/api/effect.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/plots/data_file.h"
#include "app/views/shared/plots/text_strip.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"

namespace locus::views {

namespace {

struct Effects : models::EffectOnTrace {
  bool shown = false;
};
std::size_t cached_bytes(const Effects& made) {
  return sizeof made + 8 * (made.kl.size() + made.delta.size()) + 64 * (made.top.size() + made.top_edited.size());
}

bool is_edited(const Column& column) {
  return column.model && !column.model->edits().empty();
}

// The key: whether a column is shown. Those with edits are.
class EffectView final : public MeasuredView<bool, Effects> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override {
    LOCUS_CHECK(needs_model(column, info_.title));
    return column.trace->model().image ? Status(unsupported("Effect goes token by token; " + column.name +
                                                            " reads an image (locus effect has "
                                                            "its classes)"))
                                       : Status();
  }
  Selection pick(const ViewInput& input, const Hit& hit) const override {
    Selection selection;
    const std::int64_t token = hit.token >= 0 ? hit.token : static_cast<std::int64_t>(std::floor(hit.x + 0.5));
    if ((!as_text(input) || hit.token >= 0) && token >= 0 && token < input.columns.front().trace->length()) {
      selection.query = token;
    }
    return selection;
  }
  // The text alone is zoomed and scrolled.
  std::optional<Camera> home(const ViewInput& input) const override {
    return as_text(input) ? std::optional(Camera{{0, 1}, {-1, 0}}) : std::nullopt;
  }

 protected:
  Result<bool> measure_key(const ViewInput& input, std::size_t column) const override {
    if (std::none_of(input.columns.begin(), input.columns.end(), is_edited)) {
      return usage("effect: expected a column with edits (--edit; in the window: Edits…), found none");
    }
    return is_edited(input.columns[column]);
  }
  Result<Effects> measure(const bool& shown, const MeasureContext& context) const override {
    if (!shown) {
      return Effects{};
    }
    LOCUS_TRY(models::EffectOnTrace made,
              models::effect_on(*context.column.model, *context.column.trace, context.stop, context.progress));
    return Effects{std::move(made), true};
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  bool as_text(const ViewInput& input) const { return option<std::string>(input, "as") == "text"; }

  ViewInfo info_ = described({
      .name = "effect",
      .caption = "Which tokens the edits of a column make harder or easier to predict.",
      .shows =
          "How the edits of a column change its prediction, token by token, compared with the run without edits: the "
          "change of −log p of the actual token, or KL(unedited ‖ edited) of the whole distribution.",
      .uses_camera = true,
      .needs_text = true,
      .of_edits = true,
      .controls =
          {choice("of", "Of",
                  "loss: the change of −log p of the actual token; kl: the change of the whole output distribution",
                  {"loss", "kl"}),
           choice("as", "Show as", "A curve over the tokens, or the text with tinted tokens", {"curve", "text"})},
  });
};

// One value per token: what happened to its own prediction (loss), or to the prediction after it (kl). NaN where there
// is none.
std::vector<double> by_token(const Effects& made, bool kl, std::size_t tokens) {
  std::vector<double> values(tokens, std::nan(""));
  const std::vector<double>& list = kl ? made.kl : made.delta;
  for (std::size_t n = 0; n < list.size() && n + (kl ? 0 : 1) < tokens; ++n) {
    values[n + (kl ? 0 : 1)] = list[n];
  }
  return values;
}

// The columns that are shown. Errors: kUnsupported for one that has not what is asked for.
Result<std::vector<std::size_t>> shown_columns(const ViewInput& input,
                                               const std::vector<std::shared_ptr<const Effects>>& numbers, bool kl) {
  std::vector<std::size_t> shown;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    if (!numbers[n]->shown) {
      continue;
    }
    if (!kl && numbers[n]->delta.empty()) {
      return unsupported("Effect of=loss needs a model that predicts the next of two tokens; " + input.columns[n].name +
                         " has of=kl");
    }
    shown.push_back(n);
  }
  return shown;
}

std::string loss_note(const Effects& made) {
  return std::isnan(made.loss) ? std::string()
                               : "loss " + short_number(made.loss) + " → " + short_number(made.loss_edited);
}

// "changes most at token 12 “boat”: 1.24": of the largest size alone; no token where several have it.
std::string most_line(const std::vector<float>& values, const models::Trace& trace) {
  std::optional<std::size_t> most;
  std::size_t ties = 0;
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (!std::isfinite(values[n])) {
      continue;
    }
    if (!most || std::abs(values[n]) > std::abs(values[*most])) {
      most = n;
      ties = 0;
    }
    ties += std::abs(values[n]) == std::abs(values[*most]) ? 1 : 0;
  }
  if (!most) {
    return {};
  }
  const std::string size = short_number(static_cast<double>(values[*most]));
  return ties > 1
             ? "changes by " + size + " at " + std::to_string(ties) + " tokens"
             : "changes most at token " + std::to_string(*most) + " “" + trace.tokens()[*most].label + "”: " + size;
}

Result<figure::Figure> EffectView::draw(const ViewInput& input, const Numbers& numbers) const {
  const bool kl = option<std::string>(input, "of") == "kl";
  LOCUS_TRY(const std::vector<std::size_t> shown, shown_columns(input, numbers, kl));
  Fields rows;
  for (const std::size_t n : shown) {
    rows.push_back(strip_of(by_token(*numbers[n], kl, input.columns[n].trace->tokens().size())));
  }
  const std::string label = kl ? "KL (nats)" : "change of −log p (nats)";
  figure::Figure figure;
  figure.statement = about_columns(input, [&](std::size_t n) {
    const auto at = std::ranges::find(shown, n);
    return at == shown.end()
               ? std::string()
               : most_line(rows[static_cast<std::size_t>(at - shown.begin())]->values, *input.columns[n].trace);
  });
  if (!figure.statement.empty()) {
    figure.statement = label + ", " + figure.statement;
  }
  if (as_text(input)) {
    figure.columns = static_cast<int>(shown.size());
    for (std::size_t n = 0; n < shown.size(); ++n) {
      const Column& column = input.columns[shown[n]];
      figure::Panel panel = text_strip(input, column, rows[n]->values,
                                       scale_of(input, kl ? Sign::kPositive : Sign::kZeroCentred, rows, n));
      name_after(column, panel);
      panel.note = loss_note(*numbers[shown[n]]);
      panel.color_bar_label = input.scale.shared && n + 1 < shown.size() ? "" : kl ? label : "change of loss (nats)";
      figure.panels.push_back(std::move(panel));
    }
    return figure;
  }
  figure::Panel panel;
  Extent y;
  Extent x;
  for (std::size_t n = 0; n < shown.size(); ++n) {
    const std::vector<float>& values = rows[n]->values;
    figure::Curve curve =
        curve_through(input.columns[shown[n]].name, counted(values.size()), {values.begin(), values.end()});
    panel.note = joined_notes(panel.note, loss_note(*numbers[shown[n]]));
    add_curve(std::move(curve), x, y, panel);
  }
  if (!kl) {
    panel.layers.emplace_back(horizontal_line(0));
  }
  panel.follows_camera = false;
  panel.x.label = kl ? "token after which it is predicted" : "token that is predicted";
  panel.x.view = x.padded(0.02);
  panel.y.label = label;
  panel.y.view = kl ? y.from_zero() : y.padded(0.1);
  figure.panels.push_back(std::move(panel));
  return figure;
}

// One row per position: what came after it, how that changed, and the likeliest there before and after.
Result<Data> EffectView::table(const ViewInput& input, const Numbers& numbers) const {
  LOCUS_TRY(const std::vector<std::size_t> shown, shown_columns(input, numbers, true));
  const Effects& made = *numbers[shown.front()];
  const auto& tokens = input.columns[shown.front()].trace->tokens();
  std::vector<std::string> words;
  for (std::size_t n = 0; n < made.kl.size(); ++n) {
    words.insert(words.end(), {tokens[n].label, n + 1 < tokens.size() ? tokens[n + 1].label : "", made.top[n].token,
                               made.top_edited[n].token});
  }
  const Data table = table_of({{"kl", made.kl},
                               {"delta", made.delta},
                               {"p of top", numbers_of(made.top, &models::Prediction::probability)},
                               {"p of top edited", numbers_of(made.top_edited, &models::Prediction::probability)}},
                              "position");
  return with_words(table, {"token", "next", "top", "top edited"}, std::move(words));
}

}  // namespace

const View& effect_view() {
  return made_once<EffectView>();
}

}  // namespace locus::views
