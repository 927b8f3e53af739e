// `knock-out`: which heads a prediction needs, beside what the same edits do where the text says nothing.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <tuple>

#include "app/views/shared/alignment.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/measured/text_folder.h"
#include "app/views/shared/score_maps/head_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "models/api/knock_out.h"
#include "models/api/run_estimate.h"

namespace locus::views {

namespace {

struct KnockOutKey {
  models::HeadTo to = models::HeadTo::kMean;
  models::KnockOutMeasure measure = models::KnockOutMeasure::kLoss;
  std::string token;
  std::int64_t at = -1;
  std::int64_t positions = 0;  // 0: all
  std::int64_t null = 0;       // shuffled copies
  std::int64_t seed = 1;
  std::string folder;  // of texts; empty: the input

  friend bool operator==(const KnockOutKey&, const KnockOutKey&) = default;
};

// (L, H) each.
struct KnockedOut {
  Field effect;  // the mean over texts
  Field spread;  // their standard deviation; empty for a single one
  Field margin;  // half the 95 % interval of the mean: over texts, of one over its tokens; empty where it has none
  Field low;     // what a shuffled text's effect is expected in; empty without null
  Field high;
  std::int64_t texts = 1;
  bool sampled_null = false;  // the null reads a sample of the outputs
  std::string missing;        // what is still to be measured, for the note; empty: nothing is

  bool has_null() const { return !low.values.empty(); }
  bool has_margin() const { return !margin.values.empty(); }
  // Whether a shuffled text has such an effect too.
  bool without_order(std::size_t cell) const {
    return has_null() && effect.values[cell] >= low.values[cell] && effect.values[cell] <= high.values[cell];
  }
  // Whether the effect cannot be told from 0.
  bool none(std::size_t cell) const { return has_margin() && std::abs(effect.values[cell]) <= margin.values[cell]; }
  // The cells without a mark, those of the largest effects first.
  std::vector<std::size_t> unmarked() const {
    std::vector<std::size_t> cells;
    for (std::size_t cell = 0; cell < effect.values.size(); ++cell) {
      if (std::isfinite(effect.values[cell]) && !none(cell) && !without_order(cell)) {
        cells.push_back(cell);
      }
    }
    std::ranges::stable_sort(cells, std::ranges::greater(),
                             [this](std::size_t cell) { return std::abs(effect.values[cell]); });
    return cells;
  }
};
std::size_t cached_bytes(const KnockedOut& made) {
  return sizeof made + made.missing.size() + 5 * sizeof(float) * made.effect.values.size();
}

// A choice of the option `to`.
models::HeadTo head_to(const std::string& choice) {
  return choice == "zero"      ? models::HeadTo::kZero
         : choice == "uniform" ? models::HeadTo::kUniform
         : choice == "content" ? models::HeadTo::kContent
         : choice == "first"   ? models::HeadTo::kFirst
                               : models::HeadTo::kMean;
}

class KnockOut final : public MeasuredView<KnockOutKey, KnockedOut> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override { return needs_model(column, info_.title); }
  Selection pick(const ViewInput& input, const Hit& hit) const override { return pick_head(input, hit); }
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override {
    return head_places(selection, input.columns.size());
  }
  std::optional<models::Edit> edit_of_cell(const ViewInput& input, std::int64_t layer,
                                           std::int64_t head) const override {
    if (layer < 0 || head < 0) {
      return std::nullopt;
    }
    models::Edit edit;
    edit.kind = models::EditKind::kHead;
    edit.layer = {{layer}};
    edit.head = {{head}};
    edit.to = head_to(option<std::string>(input, "to"));
    return edit;
  }

 protected:
  Result<KnockOutKey> measure_key(const ViewInput& input, std::size_t column) const override;
  Result<KnockedOut> measure(const KnockOutKey& key, const MeasureContext& context) const override {
    return measure_in_parts(key, context, {});
  }
  // Heads as they come, then the shuffled copies.
  Result<KnockedOut> measure_in_parts(const KnockOutKey& key, const MeasureContext& context,
                                      const SoFar& so_far) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  ViewInfo info_ = described({
      .name = "knock-out",
      .caption = "How the prediction changes when one head at a time is removed.",
      .shows = "How the prediction changes when one head at a time is ablated (mean or zero) or made to attend "
               "differently: each cell is a separate run on this input.",
      .controls = {choice("to", "Head becomes",
                          "What the head is replaced with. mean: its mean over queries; zero: no output; uniform: "
                          "equal weights; content: logits without positions; first: weight 1 on token 0",
                          {"mean", "zero", "uniform", "content", "first"}),
                   choice("measure", "Measure",
                          "loss: the loss of the actual next tokens; kl: KL(unedited ‖ edited) of the outputs; logit: "
                          "the log-probability of a token at a position",
                          {"loss", "kl", "logit"}),
                   words("token", "Token", "For logit: a token id, or a text of one token; empty: the likeliest token",
                         "the likeliest"),
                   whole("at", "Position", "For logit: the position that predicts the token; -1: the last", -1, -1,
                         1 << 20, "last"),
                   whole(
                       "positions", "Positions measured",
                       "For loss and kl: the mean is taken over so many of the text's positions, spread evenly, which "
                       "saves time with a large vocabulary; 0: all",
                       0, 0, 1 << 20, "all"),
                   whole("null", "Shuffled copies",
                         "Number of copies of the text with shuffled tokens (of an image: patches) on which the same "
                         "is measured: a stroke marks cells within their 95 % range; 0: none",
                         40, 0, 200, "none"),
                   whole("seed", "Seed", "Seed of the shuffled copies", 1, 0, 1000000),
                   words("texts", "Folder of texts",
                         "A folder whose .txt files are read instead of the input: cells are the mean over them",
                         "the input; a folder"),
                   choice("export", "Export", "What Export data writes, with shape (L, H)",
                          {"effect", "margin", "spread", "null-low", "null-high"})},
  });
};

Result<KnockOutKey> KnockOut::measure_key(const ViewInput& input, std::size_t column) const {
  KnockOutKey key;
  const auto measure = option<std::string>(input, "measure");
  const auto token = option<std::string>(input, "token");
  LOCUS_TRY(const std::int64_t at, token_option(input, "at", input.columns[column]));
  key.to = head_to(option<std::string>(input, "to"));
  key.measure = measure == "kl"      ? models::KnockOutMeasure::kKl
                : measure == "logit" ? models::KnockOutMeasure::kLogit
                                     : models::KnockOutMeasure::kLoss;
  key.positions = option<std::int64_t>(input, "positions");
  key.null = option<std::int64_t>(input, "null");
  key.folder = option<std::string>(input, "texts");
  if (key.null == 1) {
    return usage("knock-out: a range needs at least two shuffled copies, or none (0), found null=1");
  }
  key.seed = key.null > 0 ? option<std::int64_t>(input, "seed") : 0;
  if (key.measure == models::KnockOutMeasure::kLogit) {  // nothing else measures it again
    key.token = token;
    key.at = at;
  } else if (!token.empty() || at != -1) {
    return usage("knock-out: token and at are of measure=logit, found measure=" + measure);
  }
  if (key.measure == models::KnockOutMeasure::kLogit && key.positions > 0) {
    return usage("knock-out: positions is of measure=loss and kl, found measure=logit");
  }
  return key;
}

// The mean over texts, how they spread, and the 95 % interval of that mean; of one text over so many changes of loss.
void average(const std::vector<models::KnockOutEffects>& effects, std::int64_t changes, KnockedOut& made) {
  const auto count = static_cast<double>(effects.size());
  made.effect = effects.front().effect;
  if (effects.size() == 1) {
    made.margin = effects.front().error;
    for (float& each : made.margin.values) {
      each *= static_cast<float>(analysis::t_quantile(changes - 1));
    }
    return;
  }
  made.spread = made.margin = made.effect;
  const double quantile = analysis::t_quantile(static_cast<std::int64_t>(effects.size()) - 1);
  for (std::size_t cell = 0; cell < made.effect.values.size(); ++cell) {
    double mean = 0;
    double squares = 0;
    for (const models::KnockOutEffects& each : effects) {
      mean += static_cast<double>(each.effect.values[cell]) / count;
    }
    for (const models::KnockOutEffects& each : effects) {
      squares += std::pow(static_cast<double>(each.effect.values[cell]) - mean, 2);
    }
    const double spread = std::sqrt(squares / (count - 1));
    made.effect.values[cell] = static_cast<float>(mean);
    made.spread.values[cell] = static_cast<float>(spread);
    made.margin.values[cell] = static_cast<float>(quantile * spread / std::sqrt(count));
  }
}

// Progress of one of several parts, each of which counts for `weight` of `whole`.
Progress part_of(const MeasureContext& context, double before, double weight, double whole) {
  return [&context, before, weight, whole](const ProgressReport& news) {
    report(context.progress, (before + weight * std::max(news.fraction, 0.0)) / whole, news.what);
  };
}

// Times of a map of all heads on one text, and on a shuffled copy, in milliseconds.
struct MapTimes {
  double text = 0;
  double copy = 0;
};

// From the run's estimate: each head runs the layers above its own, half of them on average, and reads the outputs that
// are measured.
MapTimes map_times(const KnockOutKey& key, const models::Model& model, std::int64_t tokens) {
  constexpr double kSideBySide = 0.75;  // time of heads that share runs and passes, relative to one after the other
  constexpr double kSampled = 0.1;      // of reading a sample of the outputs, relative to all of them
  const models::ModelInfo& info = model.info();
  const auto layers = static_cast<double>(std::max<std::int64_t>(info.layers, 1));
  const double heads = kSideBySide * layers * static_cast<double>(info.heads);
  const models::RunOptions last{.keep = {}};
  const models::RunOptions all{.keep = {}, .all_logits = true};
  const double run = models::run_estimate(model, tokens, last).time_ms;
  const bool one = key.measure == models::KnockOutMeasure::kLogit || info.image;
  const double share =
      key.positions > 0 ? std::min(1.0, static_cast<double>(key.positions) / static_cast<double>(tokens)) : 1;
  const double outputs = one ? 0 : share * std::max(models::run_estimate(model, tokens, all).time_ms - run, 0.0);
  const double runs = run + heads * run * (layers + 1) / (2 * layers);
  const double exact = outputs + heads * outputs;
  if (!models::knock_out_has_estimates(info, key.measure, tokens)) {
    return {runs + exact, runs + exact};
  }
  const double estimated = runs + 2 * outputs + heads * kSampled * outputs;
  return {estimated + exact, estimated};
}

// "then 12 min for 40 shuffled copies"; empty without copies.
std::string copies_text(double copies_ms, std::int64_t copies) {
  return copies == 0
             ? ""
             : "then " + models::duration_text(copies_ms) + " for " + std::to_string(copies) + " shuffled copies";
}

// "12 of 72 heads so far, 12 estimated (standard error ≤ 0.0003)".
std::string so_far_text(std::int64_t done, const models::KnockOutEstimates& estimates, std::int64_t heads) {
  const std::string text = std::to_string(done) + " of " + std::to_string(heads) + " heads so far";
  return estimates.heads == 0 ? text
                              : text + ", " + std::to_string(estimates.heads) + " estimated (standard error ≤ " +
                                    short_number(estimates.error) + ")";
}

Result<KnockedOut> KnockOut::measure_in_parts(const KnockOutKey& key, const MeasureContext& context,
                                              const SoFar& so_far) const {
  constexpr double kLongMs = 1000;  // from which on the estimate is said before anything is measured
  const models::Model& model = *context.column.model;
  models::KnockOutOptions options{key.to, key.measure, -1, key.at, key.positions};
  if (!key.token.empty()) {
    LOCUS_TRY(options.token, models::token_named(model, key.token));
  }
  LOCUS_TRY(const auto texts, texts_of(key.folder, context));
  const auto count = static_cast<std::int64_t>(texts->size());
  const std::int64_t heads = model.info().layers * model.info().heads;
  const MapTimes times = map_times(key, model, texts->front()->length());
  const double texts_ms = times.text * static_cast<double>(count);
  const double copies_ms = times.copy * static_cast<double>(key.null);
  const double whole_ms = std::max(texts_ms + copies_ms, 1.0);
  std::string afterwards;
  if (so_far && whole_ms > kLongMs) {
    afterwards = copies_text(copies_ms, key.null);
    const std::string expected =
        "about " + models::duration_text(texts_ms) + " for " + std::to_string(heads * count) + " heads";
    report(context.progress, 0, expected + (afterwards.empty() ? "" : ", " + afterwards));
  }
  const auto begin = std::chrono::steady_clock::now();
  std::vector<models::KnockOutEffects> effects;
  const auto show = [&](const models::KnockOutEffects& some, const std::string& missing) {
    KnockedOut part;
    part.effect = some.effect;
    part.missing = missing;
    so_far(std::move(part), false);
  };
  for (std::int64_t n = 0; n < count; ++n) {
    if (so_far && count == 1) {
      options.so_far = [&](const models::KnockOutEffects& some, const models::KnockOutEstimates& estimates) {
        const auto done = std::ranges::count_if(some.effect.values, [](float each) { return !std::isnan(each); });
        show(some, joined_notes(so_far_text(done, estimates, heads), afterwards));
      };
    }
    LOCUS_TRY(effects.emplace_back(),
              models::knock_out(model, *(*texts)[static_cast<std::size_t>(n)], options, context.stop,
                                part_of(context, times.text * static_cast<double>(n), times.text, whole_ms)));
  }
  KnockedOut made;
  made.texts = count;
  const std::int64_t changes = texts->front()->length() - 1;
  average(effects, key.positions > 0 ? std::min(key.positions, changes) : changes, made);
  if (so_far && key.null > 0) {
    KnockedOut part = made;
    part.missing = "the shuffled copies are still to come";
    if (!afterwards.empty()) {  // they take as much longer than estimated as the texts did
      const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
      part.missing += ", about " + models::duration_text(copies_ms * taken.count() / std::max(texts_ms, 1.0));
    }
    so_far(std::move(part), true);
  }
  std::vector<Field> null;
  for (std::int64_t n = 0; n < count; ++n) {
    // The copies are shared out between the texts.
    const std::int64_t copies = key.null / count + (n < key.null % count ? 1 : 0);
    if (copies == 0) {
      continue;
    }
    const double before = texts_ms + times.copy * static_cast<double>(null.size());
    LOCUS_TRY(std::vector<Field> shuffled,
              models::knock_out_shuffled(model, *(*texts)[static_cast<std::size_t>(n)], options, copies,
                                         static_cast<std::uint64_t>(key.seed + n), context.stop,
                                         part_of(context, before, times.copy * static_cast<double>(copies), whole_ms)));
    null.insert(null.end(), shuffled.begin(), shuffled.end());
  }
  if (!null.empty()) {
    made.sampled_null = models::knock_out_has_estimates(model.info(), key.measure, texts->front()->length());
    std::tie(made.low, made.high) = analysis::expected_range(null);
  }
  return made;
}

figure::Curve marks() {
  figure::Curve lines;
  lines.color = 0x707070C0;
  lines.width_px = 1;
  return lines;
}

template <class Draw>
void each_marked(const KnockedOut& made, bool (KnockedOut::*marked)(std::size_t) const, const Draw& draw) {
  for (std::int64_t row = 0; row < made.effect.rows; ++row) {
    for (std::int64_t column = 0; column < made.effect.columns; ++column) {
      if ((made.*marked)(static_cast<std::size_t>(row * made.effect.columns + column))) {
        draw(static_cast<double>(column), static_cast<double>(row));
      }
    }
  }
}

// A stroke through every cell whose effect shuffled texts have too.
figure::Curve strokes(const KnockedOut& made) {
  constexpr double kInset = 0.06;
  constexpr double kLong = 0.3;  // of a cell; the number stands between the two halves
  figure::Curve lines = marks();
  each_marked(made, &KnockedOut::without_order, [&](double x, double y) {
    for (const double from : {kInset, 1 - kLong}) {
      lines.x.insert(lines.x.end(), {x + from, x + from + kLong - kInset, x});
      lines.y.insert(lines.y.end(), {y + 1 - from, y + 1 - from - kLong + kInset, kNaN});
    }
  });
  return lines;
}

// A ring in the upper left corner of every cell whose effect cannot be told from 0.
figure::Curve rings(const KnockedOut& made) {
  constexpr int kSides = 16;
  constexpr double kRadius = 0.07;
  constexpr double kMiddle = 0.14;
  figure::Curve lines = marks();
  each_marked(made, &KnockedOut::none, [&](double x, double y) {
    for (int n = 0; n <= kSides; ++n) {
      const double angle = 2 * std::numbers::pi * n / kSides;
      lines.x.push_back(x + kMiddle + kRadius * std::cos(angle));
      lines.y.push_back(y + kMiddle + kRadius * std::sin(angle));
    }
    lines.x.push_back(x);
    lines.y.push_back(kNaN);
  });
  return lines;
}

// How many cells have the marks, and which have none: "heads 1.0, 3.2".
std::string marks_note(const KnockedOut& made, const KnockOutKey& key) {
  constexpr std::size_t kMaxNamed = 6;
  std::size_t none = 0;
  std::size_t without_order = 0;
  for (std::size_t cell = 0; cell < made.effect.values.size(); ++cell) {
    none += made.none(cell) ? 1 : 0;
    without_order += made.without_order(cell) ? 1 : 0;
  }
  const std::string of = " of " + std::to_string(made.effect.values.size());
  std::string note;
  if (made.has_margin()) {
    note = "ring: " + std::to_string(none) + of + ", the 95 % interval over " + (made.texts > 1 ? "texts" : "tokens") +
           " holds 0";
  }
  if (made.has_null()) {
    note = joined_notes(note, "stroke: " + std::to_string(without_order) + of + " as in " + std::to_string(key.null) +
                                  " shuffled copies" + (made.sampled_null ? ", by a sample of the outputs" : ""));
  }
  if (note.empty()) {
    return note;
  }
  std::vector<std::size_t> beyond = made.unmarked();
  std::ranges::sort(beyond);
  std::string heads;
  for (std::size_t n = 0; n < beyond.size() && beyond.size() <= kMaxNamed; ++n) {
    heads += (n > 0                ? ", "
              : beyond.size() == 1 ? " (head "
                                   : " (heads ") +
             head_name_at(beyond[n], made.effect.columns);
  }
  return note + "; neither: " + std::to_string(beyond.size()) + heads + (heads.empty() ? "" : ")");
}

// "head 3.2, 0.562 ± 0.10": the largest effect that has no mark; empty where all have one.
std::string largest_text(const KnockedOut& made) {
  const std::vector<std::size_t> beyond = made.unmarked();
  if (beyond.empty()) {
    return {};
  }
  const std::size_t cell = beyond.front();
  const auto number = [cell](const Field& field) { return short_number(static_cast<double>(field.values[cell])); };
  const std::string text = "head " + head_name_at(cell, made.effect.columns) + ", " + number(made.effect);
  if (!made.spread.values.empty()) {
    return text + " ± " + number(made.spread) + " over " + std::to_string(made.texts) + " texts";
  }
  return text + (made.has_margin() ? " ± " + number(made.margin) : "");
}

// The note under the map, which names no effect that is marked.
std::string note_of(const KnockedOut& made, const KnockOutKey& key) {
  const std::string largest = largest_text(made);
  const std::string sampled =
      key.positions > 0 ? "over at most " + std::to_string(key.positions) + " positions of the text" : "";
  return joined_notes(joined_notes(made.missing, sampled),
                      joined_notes(largest.empty() ? "" : "largest: " + largest, marks_note(made, key)));
}

// "change of loss (nats a token): largest of head 3.2, 0.562 ± 0.10; 3 of 16 heads are outside the null".
std::string statement_of(const KnockedOut& made, const std::string& quantity) {
  const std::string heads = std::to_string(made.effect.values.size()) + " heads ";
  const std::string beyond = made.has_null()     ? "outside the null"
                             : made.has_margin() ? "told from 0 by its interval"
                                                 : "";
  const std::string largest = largest_text(made);
  if (largest.empty() && beyond.empty()) {
    return quantity + ": no head is measured yet";
  }
  if (largest.empty()) {
    return quantity + ": none of the " + heads + "is " + beyond;
  }
  const std::size_t count = made.unmarked().size();
  return quantity + ": largest of " + largest +
         (beyond.empty() ? ""
                         : "; " + std::to_string(count) + " of " + heads + (count == 1 ? "is " : "are ") +
                               (made.has_null() ? beyond : "told from 0 by their intervals"));
}

Result<figure::Figure> KnockOut::draw(const ViewInput& input, const Numbers& numbers) const {
  LOCUS_TRY(const KnockOutKey key, measure_key(input, 0));
  const bool kl = key.measure == models::KnockOutMeasure::kKl;
  Fields effects;
  for (const auto& made : numbers) {
    effects.emplace_back(made, &made->effect);
  }
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    figure::Panel panel = head_map(effects[n], scale_of(input, kl ? Sign::kPositive : Sign::kZeroCentred, effects, n));
    name_after(input.columns[n], panel, " · " + option<std::string>(input, "to"));
    panel.color_bar_label = kl                                              ? "mean KL (nats)"
                            : key.measure == models::KnockOutMeasure::kLoss ? "change of loss (nats a token)"
                                                                            : "change of log-probability (nats)";
    for (figure::Curve& lines : std::vector<figure::Curve>{rings(*numbers[n]), strokes(*numbers[n])}) {
      if (!lines.x.empty()) {
        panel.layers.emplace_back(std::move(lines));
      }
    }
    panel.note = note_of(*numbers[n], key);
    figure.panels.push_back(std::move(panel));
  }
  figure.statement =
      about_columns(input, [&](std::size_t n) { return statement_of(*numbers[n], figure.panels[n].color_bar_label); });
  return figure;
}

Result<Data> KnockOut::table(const ViewInput& input, const Numbers& numbers) const {
  const auto what = option<std::string>(input, "export");
  const KnockedOut& made = *numbers.front();
  const Field& field = what == "margin"      ? made.margin
                       : what == "spread"    ? made.spread
                       : what == "null-low"  ? made.low
                       : what == "null-high" ? made.high
                                             : made.effect;
  if (field.values.empty()) {
    return usage(what == "spread"   ? "knock-out: a spread needs a folder of at least two texts (texts=FOLDER)"
                 : what == "margin" ? "knock-out: a margin needs measure=loss, or a folder of at least two texts"
                                    : "knock-out: " + what + " needs shuffled copies (null=40)");
  }
  return Data{{field.rows, field.columns}, field.values, {}};
}

}  // namespace

const View& knock_out_view() {
  return made_once<KnockOut>();
}

}  // namespace locus::views
