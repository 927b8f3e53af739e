// `perceived-distance`: how far from one query each encoding puts the keys before it, against their distance in tokens.
#include "models/api/perceived_distance.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "app/views/shared/alignment.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/measured/pair_rows.h"
#include "app/views/shared/plots/panel.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

struct PerceivedKey {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::int64_t query = 0;

  friend bool operator==(const PerceivedKey&, const PerceivedKey&) = default;
};

// By the distance in tokens, from 0 on.
struct Perceived {
  PerceivedKey at;
  std::string definition;
  std::vector<double> distance;
};
std::size_t cached_bytes(const Perceived& perceived) {
  return sizeof perceived + perceived.definition.size() + sizeof(double) * perceived.distance.size();
}

class PerceivedDistance final : public MeasuredView<PerceivedKey, Perceived> {
 public:
  const ViewInfo& info() const override { return info_; }

 protected:
  Status fits(const Column& column) const override;
  Result<PerceivedKey> measure_key(const ViewInput& input, std::size_t column) const override;
  Result<Perceived> measure(const PerceivedKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  ViewInfo info_ = described({
      .name = "perceived-distance",
      .caption = "How far away this head takes earlier tokens to be, against how far away they are.",
      .shows =
          "For one query, what stands in the model for the distance to each key before it, against the distance in "
          "tokens: RoPE's i − j, CoPE's positions p_ij, the distance whose RoPE is nearest to TAPE's state, the turns "
          "of TAPA's cosine, the length of the difference of SeqPE's encodings. All columns in one panel, each divided "
          "by its largest value; dashed: the distance in tokens. By default the last query.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .needs_text = true,
      .controls = {toggle("shares", "One panel",
                          "All columns in one panel, each divided by its largest value; otherwise a panel for each, in "
                          "its own unit",
                          true)},
  });
};

Status PerceivedDistance::fits(const Column& column) const {
  LOCUS_CHECK(View::fits(column));
  const models::ModelInfo& model = column.trace->model();
  if (std::ranges::any_of(model.encodings, [](const models::EncodingUse& each) { return !each.distance.empty(); })) {
    return {};
  }
  const models::EncodingUse& use = model.first_encoding();
  return unsupported("no distance between tokens is defined in " + column.name + " (" +
                     (use.name.empty() ? "no encoding is named" : use.name) + ")" +
                     (use.no_distance.empty() ? "" : ": " + use.no_distance));
}

Result<PerceivedKey> PerceivedDistance::measure_key(const ViewInput& input, std::size_t column) const {
  LOCUS_CHECK(needs_one_head(input));
  const HeadRef head = head_of_column(input, column);
  const Column& own = input.columns[column];
  const std::int64_t last = own.trace->length() - 1;
  const PerceivedKey at{head.layer, head.head, input.query.chosen() ? query_of(input, own) : last};
  if (at.query == kNone) {
    return usage("perceived-distance: " + own.name + " has tokens 0 to " + std::to_string(last) +
                 ", none of them for query " + std::to_string(input.query.index));
  }
  return at;
}

Result<Perceived> PerceivedDistance::measure(const PerceivedKey& key, const MeasureContext& context) const {
  LOCUS_TRY(models::PerceivedDistances found,
            models::perceived_distances(*context.column.trace, key.layer, key.head, key.query, context.stop));
  std::ranges::reverse(found.distance);  // from the query itself to the first key
  return Perceived{key, std::move(found.definition), std::move(found.distance)};
}

double largest_perceived(const Perceived& perceived) {
  double largest = 0;
  for (const double each : perceived.distance) {
    largest = std::isfinite(each) ? std::max(largest, std::abs(each)) : largest;
  }
  return largest;
}

// Squared correlation with the distance in tokens, over the keys that have a distance; NaN where it does not vary.
double agreement(const std::vector<double>& distance) {
  double count = 0;
  double x = 0;
  double y = 0;
  for (std::size_t n = 0; n < distance.size(); ++n) {
    if (std::isfinite(distance[n])) {
      ++count;
      x += static_cast<double>(n);
      y += distance[n];
    }
  }
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (std::size_t n = 0; n < distance.size(); ++n) {
    if (std::isfinite(distance[n])) {
      const double a = static_cast<double>(n) - x / count;
      const double b = distance[n] - y / count;
      xx += a * a;
      yy += b * b;
      xy += a * b;
    }
  }
  return xy * xy / (xx * yy);
}

// "p_ij is 12.3 at a distance of 53 tokens, and falls at 4 of 53 steps; R² with the distance in tokens 0.91".
std::string perceived_line(const Perceived& perceived) {
  std::size_t farthest = perceived.distance.size();
  while (farthest > 0 && !std::isfinite(perceived.distance[farthest - 1])) {
    --farthest;
  }
  if (farthest < 2) {
    return perceived.definition + ": no key before this query has a distance";
  }
  std::size_t falls = 0;
  for (std::size_t n = 1; n < farthest; ++n) {
    falls += perceived.distance[n] < perceived.distance[n - 1] ? 1 : 0;
  }
  const std::string steps = std::to_string(farthest - 1);
  const double agrees = agreement(perceived.distance);
  return perceived.definition + " is " + short_number(perceived.distance[farthest - 1]) + " at a distance of " + steps +
         " tokens" + (falls > 0 ? ", and falls at " + std::to_string(falls) + " of " + steps + " steps" : "") +
         (std::isnan(agrees) ? "; it does not vary" : "; R² with the distance in tokens " + short_number(agrees));
}

figure::Curve index_curve(std::size_t count, double unit) {
  std::vector<double> x = counted(count);
  std::vector<double> y = x;
  for (double& each : y) {
    each *= unit;
  }
  figure::Curve line = curve_through("distance in tokens", std::move(x), std::move(y));
  line.dashed = true;
  line.color = 0x808080FF;
  return line;
}

std::string where_of(const Column& column, const PerceivedKey& at) {
  return head_label(column.trace->model(), at.layer, at.head) + " · query " + std::to_string(at.query);
}

figure::Panel shared_panel(const ViewInput& input, const std::vector<const Perceived*>& all) {
  figure::Panel panel;
  Extent across;
  Extent up;
  std::size_t longest = 0;
  std::vector<std::string> places;
  for (std::size_t n = 0; n < all.size(); ++n) {
    const double largest = largest_perceived(*all[n]);
    std::vector<double> share = all[n]->distance;
    for (double& each : share) {
      each = largest > 0 ? each / largest : each;
    }
    longest = std::max(longest, share.size());
    const std::string name = input.columns[n].name + ": " + all[n]->definition + ", 1 is " + short_number(largest);
    figure::Curve curve = curve_through(name, counted(share.size()), share);
    tell_apart(n, curve);
    add_curve(std::move(curve), across, up, panel);
    std::string place = where_of(input.columns[n], all[n]->at);
    if (std::ranges::find(places, place) == places.end()) {
      places.push_back(std::move(place));
    }
  }
  for (const std::string& place : places) {
    panel.note = joined_notes(panel.note, place);
  }
  add_curve(index_curve(longest, longest > 1 ? 1 / static_cast<double>(longest - 1) : 1), across, up, panel);
  panel.x.label = "distance (tokens)";
  panel.x.view = across.padded();
  panel.y.label = "perceived distance, share of the largest";
  panel.y.view = up.padded();
  return panel;
}

figure::Panel own_panel(const Column& column, const Perceived& perceived) {
  figure::Panel panel;
  name_after(column, panel, " · " + where_of(column, perceived.at));
  Extent across;
  Extent up;
  add_curve(curve_through("", counted(perceived.distance.size()), perceived.distance), across, up, panel);
  panel.x.label = "distance (tokens)";
  panel.x.view = across.padded();
  panel.y.label = perceived.definition;
  panel.y.view = up.padded();
  return panel;
}

Result<figure::Figure> PerceivedDistance::draw(const ViewInput& input, const Numbers& numbers) const {
  const bool shares = option<bool>(input, "shares");
  figure::Figure figure = figure_across(shares ? 1 : numbers.size());
  if (shares) {
    std::vector<const Perceived*> all;
    for (const auto& each : numbers) {
      all.push_back(each.get());
    }
    figure.panels.push_back(shared_panel(input, all));
  } else {
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      figure.panels.push_back(own_panel(input.columns[n], *numbers[n]));
    }
  }
  figure.statement = about_columns(input, [&](std::size_t n) { return perceived_line(*numbers[n]); });
  return figure;
}

Result<Data> PerceivedDistance::table(const ViewInput& input, const Numbers& numbers) const {
  std::vector<Series> series;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const std::string before = numbers.size() > 1 ? input.columns[n].name + " " : "";
    series.push_back({before + numbers[n]->definition, numbers[n]->distance});
  }
  return table_of(std::move(series), "distance");
}

}  // namespace

const View& perceived_distance_view() {
  return made_once<PerceivedDistance>();
}

}  // namespace locus::views
