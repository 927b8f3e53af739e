// `atlas`: all heads of a model as points, by two statistics over many texts, with their intervals.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "app/views/heads/atlas_points.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"

namespace locus::views {

namespace {

constexpr const char* kNoSize = "none";

struct AtlasKey {
  std::string x, y, size;

  friend bool operator==(const AtlasKey&, const AtlasKey&) = default;
};

// The first one is the default.
std::vector<std::string> names_from(const std::string& first) {
  std::vector<std::string> names = atlas_statistic_names();
  const auto found = std::ranges::find(names, first);
  std::rotate(names.begin(), found, found + 1);
  return names;
}

std::vector<std::string> size_names() {
  std::vector<std::string> names = atlas_statistic_names();
  names.insert(names.begin(), kNoSize);
  return names;
}

class AtlasView final : public MeasuredView<AtlasKey, AtlasPoints> {
 public:
  const ViewInfo& info() const override { return info_; }
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  Selection lasso(const ViewInput& input, const std::vector<Hit>& loop, bool add) const override;
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override;
  std::vector<std::string> said_of(const ViewInput& input, const Hit& hit) const override;

 protected:
  Result<AtlasKey> measure_key(const ViewInput& input, std::size_t /*column*/) const override {
    return AtlasKey{option<std::string>(input, "x"), option<std::string>(input, "y"),
                    option<std::string>(input, "size")};
  }
  Result<AtlasPoints> measure(const AtlasKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  struct Axes {
    figure::Interval x, y;
  };
  // The axes that all columns share, from what is measured.
  Axes axes(const ViewInput& input, const Numbers& numbers) const;
  Axes kept_axes(const ViewInput& input) const;
  // The heads of every column that the option names.
  using Chosen = std::vector<std::vector<std::size_t>>;
  Result<Chosen> chosen_heads(const ViewInput& input) const;
  // The head under a place of a panel; −1: none.
  std::int64_t head_at(const ViewInput& input, const Hit& hit) const;

  ViewInfo info_ = described({
      .name = "atlas",
      .caption = "Every head as a point: what kinds of heads a model has, measured over many texts.",
      .shows =
          "Every head of an atlas as a point, by any two statistics, coloured by layer; a third statistic may be its "
          "size. Crosses are 95 % intervals of the means over the windows. The left half of a point is empty where the "
          "interval across contains the value for shuffled tokens, the lower half where the interval upwards does, and "
          "both where both do: what the head does needs no text. A click chooses a head; a loop that is pulled around "
          "points names them, and leaves the others pale; Shift adds to them.",
      .of_runs = false,
      .of_atlases = true,
      .uses_lasso = true,
      .controls = {choice("x", "Across", "The statistic of the horizontal axis", names_from("previous")),
                   choice("y", "Up", "The statistic of the vertical axis", names_from("induction")),
                   choice("size", "Size", "The statistic that a point's diameter shows", size_names()),
                   toggle("intervals", "Intervals", "The 95 % intervals, as crosses", true),
                   words("heads", "Heads",
                         "The heads that are named in every column, by layer and head (1.2) or by layer (1)",
                         "no names; 1.2 3")},
  });
};

Result<AtlasPoints> AtlasView::measure(const AtlasKey& key, const MeasureContext& context) const {
  const models::Atlas& atlas = *models::atlas_of(*context.column.trace);
  report(context.progress, 0, "statistics");
  if (context.stop.stop_requested()) {
    return cancelled();
  }
  AtlasPoints points;
  LOCUS_TRY(points.x, head_intervals(atlas, key.x));
  LOCUS_TRY(points.y, head_intervals(atlas, key.y));
  if (key.size != kNoSize) {
    LOCUS_TRY(points.size, head_intervals(atlas, key.size));
  }
  return points;
}

AtlasView::Axes AtlasView::axes(const ViewInput& input, const Numbers& numbers) const {
  const bool intervals = option<bool>(input, "intervals");
  Extent x;
  Extent y;
  const auto add = [&](const std::vector<HeadInterval>& list, Extent& extent) {
    for (const HeadInterval& each : list) {
      extent.add(each.mean);
      extent.add(intervals ? each.low : each.mean);
      extent.add(intervals ? each.high : each.mean);
    }
  };
  for (const Pointer& heads : numbers) {
    add(heads->x, x);
    add(heads->y, y);
  }
  return {x.padded(0.06), y.padded(0.06)};
}

AtlasView::Axes AtlasView::kept_axes(const ViewInput& input) const {
  Numbers all;
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    if (Pointer heads = kept(input, n)) {
      all.push_back(std::move(heads));
    }
  }
  return axes(input, all);
}

Result<AtlasView::Chosen> AtlasView::chosen_heads(const ViewInput& input) const {
  std::vector<HeadGrid> models;
  for (const Column& column : input.columns) {
    const models::AtlasInfo& info = models::atlas_of(*column.trace)->info();
    models.push_back({info.layers, info.heads});
  }
  return heads_named_in(option<std::string>(input, "heads"), models);
}

Result<figure::Figure> AtlasView::draw(const ViewInput& input, const Numbers& numbers) const {
  const Axes both = axes(input, numbers);
  const AtlasKey key = *measure_key(input, 0);
  Extent sizes;
  for (const Pointer& heads : numbers) {
    sizes.add(numbers_of(heads->size, &HeadInterval::mean));
  }
  LOCUS_TRY(const Chosen chosen, chosen_heads(input));
  const bool any = std::ranges::any_of(chosen, [](const auto& list) { return !list.empty(); });
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const models::AtlasInfo& info = models::atlas_of(*input.columns[n].trace)->info();
    figure::Panel panel;
    name_after(input.columns[n], panel);
    panel.x.label = meaning_of(key.x);
    panel.x.view = both.x;
    panel.y.label = meaning_of(key.y);
    panel.y.view = both.y;
    panel.follows_camera = false;
    panel.layers.emplace_back(
        points_of(*numbers[n], info,
                  {option<bool>(input, "intervals"), sizes.padded(0), any ? std::optional(chosen[n]) : std::nullopt}));
    panel.color_bar_label = "layer";
    const std::string alike = like_null_text(*numbers[n], key.x, key.y, true);
    panel.note = windows_text(info) + (alike.empty() ? "" : "; as with shuffled tokens: " + alike) +
                 (key.size == kNoSize ? "" : "; size: " + std::string(meaning_of(key.size)));
    figure.panels.push_back(std::move(panel));
  }
  figure.statement = about_columns(input, [&](std::size_t n) {
    return strongest_line(*numbers[n], models::atlas_of(*input.columns[n].trace)->info().heads, key.x, key.y);
  });
  return figure;
}

Result<Data> AtlasView::table(const ViewInput& input, const Numbers& numbers) const {
  const AtlasPoints& heads = *numbers.front();
  const AtlasKey key = *measure_key(input, 0);
  const std::int64_t count = input.columns.front().trace->model().heads;
  std::vector<Series> series{{"layer", {}}, {"head", {}}};
  for (std::int64_t n = 0; n < std::ssize(heads.x); ++n) {
    const std::int64_t layer = n / count;
    series[0].values.push_back(static_cast<double>(layer));
    series[1].values.push_back(static_cast<double>(n % count));
  }
  const auto add = [&](const std::string& name, const std::vector<HeadInterval>& list) {
    series.push_back({name, numbers_of(list, &HeadInterval::mean)});
    series.push_back({name + " low", numbers_of(list, &HeadInterval::low)});
    series.push_back({name + " high", numbers_of(list, &HeadInterval::high)});
    series.push_back({name + " shuffled", numbers_of(list, &HeadInterval::null)});
  };
  add("x " + key.x, heads.x);
  add("y " + key.y, heads.y);
  if (!heads.size.empty()) {
    add("size " + key.size, heads.size);
  }
  return table_of(std::move(series));
}

std::int64_t AtlasView::head_at(const ViewInput& input, const Hit& hit) const {
  const Pointer heads = hit.panel < input.columns.size() ? kept(input, hit.panel) : nullptr;
  if (!heads) {
    return -1;
  }
  const Axes both = kept_axes(input);
  return nearest_head(*heads, both.x, both.y, hit.x, hit.y);
}

Selection AtlasView::pick(const ViewInput& input, const Hit& hit) const {
  const std::int64_t head = head_at(input, hit);
  Selection selection;
  if (head >= 0) {
    const std::int64_t count = input.columns[hit.panel].trace->model().heads;
    selection.layer = head / count;
    selection.head = head % count;
    selection.column = static_cast<std::int64_t>(hit.panel);
  }
  return selection;
}

// A loop around points names them; one around none names none.
Selection AtlasView::lasso(const ViewInput& input, const std::vector<Hit>& loop, bool add) const {
  Selection selection;
  const std::size_t panel = loop.empty() ? 0 : loop.front().panel;
  const Pointer heads = panel < input.columns.size() ? kept(input, panel) : nullptr;
  if (!heads) {
    return selection;
  }
  std::vector<PointPlace> places;
  places.reserve(loop.size());
  for (const Hit& each : loop) {
    places.push_back({each.x, each.y});
  }
  std::set<std::pair<std::int64_t, std::int64_t>> named;  // by layer and head, of whichever model
  const auto add_heads = [&](const std::vector<std::size_t>& list, std::size_t column) {
    const std::int64_t count = input.columns[column].trace->model().heads;
    for (const std::size_t head : list) {
      named.insert({static_cast<std::int64_t>(head) / count, static_cast<std::int64_t>(head) % count});
    }
  };
  add_heads(heads_within(*heads, places), panel);
  const auto before = chosen_heads(input);
  for (std::size_t n = 0; add && before.ok() && n < before->size(); ++n) {
    add_heads((*before)[n], n);
  }
  std::string words;
  for (const auto& [layer, head] : named) {
    words += (words.empty() ? "" : " ") + head_name(layer, head);
  }
  selection.option = {"heads", words};
  return selection;
}

std::vector<std::string> AtlasView::said_of(const ViewInput& input, const Hit& hit) const {
  const std::int64_t head = head_at(input, hit);
  if (head < 0) {
    return {};
  }
  const Pointer points = kept(input, hit.panel);
  if (points == nullptr) {
    return {};
  }
  const AtlasPoints& heads = *points;
  const AtlasKey key = *measure_key(input, hit.panel);
  std::vector<std::string> lines;
  const auto say = [&](const std::string& name, const std::vector<HeadInterval>& list) {
    const HeadInterval& at = list[static_cast<std::size_t>(head)];
    lines.push_back(std::string(meaning_of(name)) + " " + with_interval(at.mean, at.low, at.high));
    if (!std::isnan(at.null)) {
      lines.push_back("  of shuffled tokens " + short_number(at.null));
    }
  };
  say(key.x, heads.x);
  say(key.y, heads.y);
  if (!heads.size.empty()) {
    say(key.size, heads.size);
  }
  return lines;
}

std::vector<Place> AtlasView::places(const ViewInput& input, const Selection& selection) const {
  std::vector<Place> places;
  if (!selection.layer || !selection.head || *selection.head < 0) {
    return places;
  }
  const Axes both = kept_axes(input);
  const double wide = 0.012 * (both.x.high - both.x.low);
  const double high = 0.016 * (both.y.high - both.y.low);
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const Pointer heads = kept(input, n);
    const models::ModelInfo& model = input.columns[n].trace->model();
    const auto at = static_cast<std::size_t>(*selection.layer * model.heads + *selection.head);
    if (heads && *selection.head < model.heads && at < heads->x.size()) {
      const double x = heads->x[at].mean;
      const double y = heads->y[at].mean;
      places.push_back({n, {x - wide, x + wide}, {y - high, y + high}});
    }
  }
  return places;
}

}  // namespace

const View& atlas_view() {
  return made_once<AtlasView>();
}

}  // namespace locus::views
