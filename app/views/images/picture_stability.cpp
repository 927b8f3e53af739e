// `picture-stability`: what changes when the picture is moved and its movement is undone, by layer and amount.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>

#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "models/api/picture_stability.h"

namespace locus::views {

namespace {

using PicturePoints = std::vector<models::PictureStabilityPoint>;
struct MovedPictures : PicturePoints {};
std::size_t cached_bytes(const MovedPictures& points) {
  std::size_t bytes = sizeof points;
  for (const models::PictureStabilityPoint& point : points) {
    bytes += sizeof point + sizeof(models::PictureStabilityRow) * point.layers.size();
  }
  return bytes;
}

struct PictureStabilityKey {
  models::PictureMove move = models::PictureMove::kRight;
  std::vector<double> by;
  bool undo = true;

  friend bool operator==(const PictureStabilityKey&, const PictureStabilityKey&) = default;
};

// A way to move the picture: its name, the largest amount where none is given, and the unit of the axis.
struct MoveKind {
  const char* name;
  models::PictureMove move;
  double most;
  double limit;
  const char* axis;
  const char* unit;  // behind an amount, in a sentence
  bool patches = false;
};
constexpr std::array<MoveKind, 4> kMoves{{
    {"right", models::PictureMove::kRight, 1, 64, "shift to the right (patches)", " to the right", true},
    {"down", models::PictureMove::kDown, 1, 64, "shift down (patches)", " down", true},
    {"rotate", models::PictureMove::kRotate, 45, 180, "rotation (degrees clockwise)", "° clockwise"},
    {"scale", models::PictureMove::kScale, 1.5, 8, "scale (factor)", " times as large"},
}};

const MoveKind& move_named(const std::string& name) {
  return *std::ranges::find_if(kMoves, [&](const MoveKind& each) { return name == each.name; });
}

// The amounts on both sides of none: even steps, of a scale even factors.
std::vector<double> amounts(const MoveKind& kind, double most, std::int64_t steps) {
  std::vector<double> by;
  for (std::int64_t n = -steps; n <= steps; ++n) {
    const double part = static_cast<double>(n) / static_cast<double>(steps);
    by.push_back(kind.move == models::PictureMove::kScale ? std::pow(most, part) : most * part);
  }
  return by;
}

Control most_control() {
  Control control = number("most", "Up to", "The largest amount; 0: 1 patch, 45 degrees, a factor of 1.5", 0.0, 0, 180);
  control.lowest = "usual";
  return control;
}

class PictureStability final : public MeasuredView<PictureStabilityKey, MovedPictures> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override {
    LOCUS_CHECK(View::fits(column));
    if (column.trace->image_grid().rows == 0 && column.trace->images().empty()) {
      return unsupported(info_.title + " needs an image; " + column.name + " read text without a picture in it");
    }
    return needs_model(column, info_.title);
  }
  std::vector<std::string> said_of(const ViewInput& input, const Hit& hit) const override;

 protected:
  Result<PictureStabilityKey> measure_key(const ViewInput& input, std::size_t column) const override;
  Result<MovedPictures> measure(const PictureStabilityKey& key, const MeasureContext& context) const override {
    LOCUS_TRY(PicturePoints points,
              models::picture_stability(*context.column.model, *context.column.trace, {key.move, key.by, key.undo},
                                        context.stop, context.progress));
    return MovedPictures{std::move(points)};
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& list) const override;
  Result<Data> table(const ViewInput& input, const Numbers& list) const override;

 private:
  bool of_states(const ViewInput& input) const { return option<std::string>(input, "measure") == "states"; }
  std::string statement_of(const ViewInput& input, const MovedPictures& points) const;

  ViewInfo info_ = described({
      .name = "picture-stability",
      .caption = "What changes inside the model when the picture is moved, once the movement is undone.",
      .shows =
          "The picture is shifted, turned or scaled in small steps and run each time. The maps and states of the moved "
          "picture are put back to where its parts were, and compared with those of the picture as it is: layers down, "
          "amounts across. An encoding that is equivariant to the movement changes nothing. The last panel is the "
          "change of the prediction.",
      .controls = {choice("move", "Move", "right, down: shift by patches; rotate: degrees clockwise; scale: a factor",
                          {"right", "down", "rotate", "scale"}),
                   most_control(),
                   whole("steps", "Steps", "Number of amounts on either side of the picture as it is", 8, 1, 32),
                   choice(
                       "measure", "Of",
                       "attention: total variation of the rows, over patches that both pictures show; states: change "
                       "of the states that enter the layer, relative to their spread",
                       {"attention", "states"}),
                   toggle("undo", "Undone",
                          "Put the moved picture's patches back before comparing; otherwise patches are compared where "
                          "they are",
                          true)},
  });
};

Result<PictureStabilityKey> PictureStability::measure_key(const ViewInput& input, std::size_t /*column*/) const {
  const MoveKind& kind = move_named(option<std::string>(input, "move"));
  const auto most = option<double>(input, "most");
  const double limit = most > 0 ? most : kind.most;
  if (limit > kind.limit || (kind.move == models::PictureMove::kScale && limit <= 1)) {
    return usage("option most: expected " +
                 std::string(kind.move == models::PictureMove::kScale ? "more than 1 and " : "") + "at most " +
                 number_text(kind.limit) + " for " + kind.name + ", found " + number_text(limit));
  }
  return PictureStabilityKey{kind.move, amounts(kind, limit, option<std::int64_t>(input, "steps")),
                             option<bool>(input, "undo")};
}

double number_of(const models::PictureStabilityRow& row, bool states) {
  return states ? row.states : row.attention;
}

// "0.5", "−1": an amount on the axis.
std::string amount_text(double by) {
  return number_text(std::round(by * 1000) / 1000);
}

// "1 patch to the right", "15° clockwise".
std::string amount_words(const MoveKind& kind, double by) {
  return amount_text(by) + (kind.patches ? (by == 1 ? " patch" : " patches") : "") + kind.unit;
}

std::string kind_text(bool states) {
  return states ? "states" : "attention";
}

// "1 patch to the right: attention changes by 0.01 (layer 0) to 0.40 (layer 5), the prediction by 0.12", of the largest
// amount.
std::string PictureStability::statement_of(const ViewInput& input, const MovedPictures& points) const {
  const bool states = of_states(input);
  const MoveKind& kind = move_named(option<std::string>(input, "move"));
  const models::PictureStabilityPoint& last = points.back();
  std::optional<std::size_t> least;
  std::optional<std::size_t> most;
  for (std::size_t n = 0; n < last.layers.size(); ++n) {
    const double value = number_of(last.layers[n], states);
    if (!std::isfinite(value)) {
      continue;
    }
    least = !least || value < number_of(last.layers[*least], states) ? n : least;
    most = !most || value > number_of(last.layers[*most], states) ? n : most;
  }
  std::string line = amount_words(kind, last.by) + ": ";
  if (!most) {
    return line + "too few patches are seen in both pictures";
  }
  const auto said = [&](std::size_t layer) {
    return short_number(number_of(last.layers[layer], states)) + " (layer " + std::to_string(layer) + ")";
  };
  line += kind_text(states) + (states ? " change by " : " changes by ") + said(*least) +
          (*least == *most ? "" : " to " + said(*most));
  return line + (std::isnan(last.prediction) ? "" : ", the prediction by " + short_number(last.prediction));
}

std::vector<std::string> PictureStability::said_of(const ViewInput& input, const Hit& hit) const {
  const Pointer points = hit.panel < input.columns.size() ? kept(input, hit.panel) : nullptr;
  const auto at =
      points && !points->empty() ? cell_at(hit, std::ssize(points->front().layers), std::ssize(*points)) : std::nullopt;
  if (!at) {
    return {};
  }
  const models::PictureStabilityPoint& point = (*points)[static_cast<std::size_t>(at->column)];
  const MoveKind& kind = move_named(option<std::string>(input, "move"));
  return {amount_words(kind, point.by) + ", layer " + std::to_string(at->row),
          "change of the " + kind_text(of_states(input)) + " " +
              short_number(number_of(point.layers[static_cast<std::size_t>(at->row)], of_states(input))),
          std::to_string(point.patches) + " patches are compared"};
}

Result<figure::Figure> PictureStability::draw(const ViewInput& input, const Numbers& list) const {
  const bool states = of_states(input);
  const MoveKind& kind = move_named(option<std::string>(input, "move"));
  Fields fields;
  for (const Pointer& points : list) {
    const std::int64_t layers = std::ssize(points->front().layers);
    auto field = std::make_shared<Field>(Field::zeros(layers, std::ssize(*points)));
    for (std::int64_t n = 0; n < field->columns; ++n) {
      for (std::int64_t layer = 0; layer < layers; ++layer) {
        const auto& row = (*points)[static_cast<std::size_t>(n)].layers[static_cast<std::size_t>(layer)];
        field->at(layer, n) = static_cast<float>(number_of(row, states));
      }
    }
    fields.push_back(std::move(field));
  }
  figure::Figure figure = figure_across(list.size() + 1);
  figure::Panel predictions;
  Extent across;
  Extent up;
  for (std::size_t n = 0; n < list.size(); ++n) {
    std::vector<std::string> names;
    std::ranges::transform(*list[n], std::back_inserter(names),
                           [](const models::PictureStabilityPoint& point) { return amount_text(point.by); });
    figure::Panel panel;
    panel.follows_camera = false;
    name_after(input.columns[n], panel);
    panel.x = cells_across(kind.axis, fields[n]->columns, shared_names(std::move(names)));
    panel.y = cells_down("layer", fields[n]->rows);
    panel.layers.emplace_back(
        figure::HeatMap{.field = fields[n], .scale = scale_of(input, Sign::kPositive, fields, n)});
    panel.color_bar_label = states ? "change of the states" : "change of the attention";
    figure.panels.push_back(std::move(panel));
    add_curve(curve_through(list.size() > 1 ? input.columns[n].name : "",
                            numbers_of(*list[n], &models::PictureStabilityPoint::by),
                            numbers_of(*list[n], &models::PictureStabilityPoint::prediction)),
              across, up, predictions);
  }
  if (!up.empty()) {
    predictions.title = "prediction";
    predictions.x.label = kind.axis;
    predictions.x.view = across.padded(0);
    predictions.y.label = "½ Σ |p' − p|";
    predictions.y.view = up.from_zero();
    predictions.y.view.high = std::max(predictions.y.view.high, 1e-2);
    figure.panels.push_back(std::move(predictions));
  }
  figure.statement = about_columns(input, [&](std::size_t n) { return statement_of(input, *list[n]); });
  return figure;
}

Result<Data> PictureStability::table(const ViewInput& input, const Numbers& list) const {
  std::vector<Series> series{{"by", numbers_of(*list.front(), &models::PictureStabilityPoint::by)}};
  for (std::size_t n = 0; n < list.size(); ++n) {
    const std::string& name = input.columns[n].name;
    series.push_back({name + " patches", numbers_of(*list[n], &models::PictureStabilityPoint::patches)});
    series.push_back({name + " prediction", numbers_of(*list[n], &models::PictureStabilityPoint::prediction)});
    for (const bool states : {false, true}) {
      for (std::size_t layer = 0; layer < list[n]->front().layers.size(); ++layer) {
        series.push_back({name + " layer " + std::to_string(layer) + " " + kind_text(states),
                          numbers_of(*list[n], [&](const models::PictureStabilityPoint& point) {
                            return number_of(point.layers[layer], states);
                          })});
      }
    }
  }
  return table_of(std::move(series));
}

}  // namespace

const View& picture_stability_view() {
  return made_once<PictureStability>();
}

}  // namespace locus::views
