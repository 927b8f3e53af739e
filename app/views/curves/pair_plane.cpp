// `pair-plane`: the queries and keys of one rotary pair as points of its plane, before and after the rotation.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/measured/pair_rows.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "models/api/pairs.h"

namespace locus::views {

namespace {

constexpr std::int64_t kMaxPoints = 4096;  // that are drawn; more are thinned evenly
constexpr std::size_t kParts = 4;          // of the text, coloured each its own

struct PairPlaneKey {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::int64_t pair = -1;  // −1: the one of the largest norms

  friend bool operator==(const PairPlaneKey&, const PairPlaneKey&) = default;
};

struct Plane : analysis::PairPlane {
  analysis::PairList pairs;
  std::int64_t pair = 0;
};
std::size_t cached_bytes(const Plane& plane) {
  return sizeof plane + pair_bytes(plane.pairs) + 8 * plane.query.real.size() * sizeof(float);
}

class PairPlane final : public MeasuredView<PairPlaneKey, Plane> {
 public:
  const ViewInfo& info() const override { return info_; }

 protected:
  Result<PairPlaneKey> measure_key(const ViewInput& input, std::size_t column) const override {
    LOCUS_CHECK(needs_one_head(input));
    const HeadRef head = head_of_column(input, column);
    PairPlaneKey key{head.layer, head.head, option<std::int64_t>(input, "pair")};
    LOCUS_TRY(const std::optional<Range> band, band_of(input));
    if (key.pair < 0 && band) {
      key.pair = band->begin;
    }
    return key;
  }
  Result<Plane> measure(const PairPlaneKey& key, const MeasureContext& context) const override {
    const models::Trace& trace = *context.column.trace;
    Plane plane;
    LOCUS_TRY(plane.pairs, models::pair_list(trace, key.layer, key.head));
    plane.pair = key.pair;
    if (key.pair < 0) {
      LOCUS_TRY(const Field energy, models::pair_energy(trace, key.layer, analysis::PairNorm::kProduct, context.stop));
      for (std::int64_t pair = plane.pair = 0; pair < plane.pairs.pairs; ++pair) {
        plane.pair = energy.at(key.head, pair) > energy.at(key.head, plane.pair) ? pair : plane.pair;
      }
    }
    LOCUS_TRY(static_cast<analysis::PairPlane&>(plane), models::pair_plane(trace, key.layer, key.head, plane.pair));
    return plane;
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& /*input*/, const Numbers& numbers) const override {
    const Plane& plane = *numbers.front();
    const auto wide = [](const std::vector<float>& values) {
      return std::vector<double>(values.begin(), values.end());
    };
    return table_of({{"q_re", wide(plane.query.real)},
                     {"q_im", wide(plane.query.imaginary)},
                     {"k_re", wide(plane.key.real)},
                     {"k_im", wide(plane.key.imaginary)}});
  }

 private:
  ViewInfo info_ = described({
      .name = "pair-plane",
      .caption = "One rotary frequency of a head: which way its queries and keys point, before and after turning.",
      .shows =
          "One rotary pair of one head: the query and key of every token as points in the plane of the pair, before "
          "the rotation and as the score uses them, coloured by position or by class of token. The line from the "
          "centre leads to their mean. Concentration is |mean of q/|q||: 1 if all vectors have the same direction, 0 "
          "if their directions cancel.",
      .uses_layer = true,
      .uses_head = true,
      .controls = {whole("pair", "Pair",
                         "Which pair; −1: the first pair of the band, or the pair with the largest norms", -1, -1, 4095,
                         "the largest"),
                   choice("color", "Colours", "Colour of a point: by the position of the token, or by its class",
                          {"position", "class"}),
                   band_control()},
  });
};

// The class of a token, from its first visible character.
std::size_t class_of(const std::string& label) {
  const auto letter = std::ranges::find_if(
      label, [](char c) { return (static_cast<unsigned char>(c) & 0x80U) == 0 && c != ' ' && c != '_'; });
  if (letter == label.end()) {
    return 3;  // spaces, as they are shown, and other scripts
  }
  const auto c = static_cast<unsigned char>(*letter);
  return std::isalpha(c) != 0 ? (std::isupper(c) != 0 ? 1U : 0U) : std::isdigit(c) != 0 ? 2U : 4U;
}
constexpr std::array<const char*, 5> kClasses{"lower case", "upper case", "digits", "space, other scripts",
                                              "punctuation"};

// Points with NaN between them, each of which is drawn as a dot.
void add_point(figure::Curve& curve, double x, double y) {
  curve.x.insert(curve.x.end(), {x, x});
  curve.y.insert(curve.y.end(), {y, std::nan("")});
}

std::vector<std::string> group_names(bool classes, std::int64_t length) {
  std::vector<std::string> names;
  for (std::size_t n = 0; n < (classes ? kClasses.size() : kParts); ++n) {
    const auto part = static_cast<std::int64_t>(n);
    const auto parts = static_cast<std::int64_t>(kParts);
    names.push_back(classes ? std::string(kClasses[n])
                            : "tokens " + std::to_string(part * length / parts) + " to " +
                                  std::to_string(std::max((part + 1) * length / parts - 1, part * length / parts)));
  }
  return names;
}

figure::Panel points_panel(const models::Trace& trace, const analysis::PairPlane::Points& points, bool classes,
                           bool legend) {
  const auto length = static_cast<std::int64_t>(points.real.size());
  Extent extent;
  extent.add(0);
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t t = 0; t < points.real.size(); ++t) {
    extent.add(
        std::max(std::abs(static_cast<double>(points.real[t])), std::abs(static_cast<double>(points.imaginary[t]))));
    mean_x += static_cast<double>(points.real[t]) / static_cast<double>(length);
    mean_y += static_cast<double>(points.imaginary[t]) / static_cast<double>(length);
  }
  const double reach = extent.from_zero().high;
  const std::vector<std::string> names = group_names(classes, length);
  std::vector<figure::Curve> groups(names.size());
  const std::int64_t step = std::max<std::int64_t>(1, (length + kMaxPoints - 1) / kMaxPoints);
  for (std::int64_t t = 0; t < length; t += step) {
    const auto n = static_cast<std::size_t>(t);
    const std::size_t group =
        classes ? class_of(trace.tokens()[n].label) : n * kParts / static_cast<std::size_t>(length);
    add_point(groups[group], static_cast<double>(points.real[n]), static_cast<double>(points.imaginary[n]));
  }
  figure::Panel panel;
  panel.follows_camera = false;
  panel.equal_aspect = true;
  panel.x.label = "first channel";
  panel.x.view = {-reach, reach};
  panel.y.label = "second channel";
  panel.y.view = {-reach, reach};
  for (std::size_t group = 0; group < groups.size(); ++group) {
    if (!groups[group].x.empty()) {
      groups[group].name = legend ? names[group] : "";
      groups[group].width_px = 1.2F;
      panel.layers.emplace_back(std::move(groups[group]));
    }
  }
  figure::Curve mean = curve_through("", {0, mean_x}, {0, mean_y});
  mean.color = 0x404040FF;
  mean.width_px = 2;
  panel.layers.emplace_back(std::move(mean));
  if (step > 1) {
    panel.note = "one token in " + std::to_string(step);
  }
  return panel;
}

Result<figure::Figure> PairPlane::draw(const ViewInput& input, const Numbers& numbers) const {
  const bool classes = option<std::string>(input, "color") == "class";
  const bool several = numbers.size() > 1;  // then a row per checkpoint
  figure::Figure figure = figure_across(several ? 4 : 2);
  figure.statement = about_columns(input, [&](std::size_t n) {
    const Plane& plane = *numbers[n];
    const analysis::PairRow& row = plane.pairs.rows[static_cast<std::size_t>(plane.pair)];
    return "pair " + row.name + ", wavelength " + short_number(row.wavelength) + ": mean resultant length " +
           short_number(plane.query_concentration) + " of the queries, " + short_number(plane.key_concentration) +
           " of the keys";
  });
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const Plane& plane = *numbers[n];
    const models::Trace& trace = *input.columns[n].trace;
    const analysis::PairRow& row = plane.pairs.rows[static_cast<std::size_t>(plane.pair)];
    const ViewInput own = of_column(input, n);
    const std::string& name = input.columns[n].name;
    const std::string head = head_label(trace.model(), own.layer, own.head);
    const std::string where =
        several ? "mean resultant length "
                : name + ", " + head + ", wavelength " + short_number(row.wavelength) + "; mean resultant length ";
    const auto add = [&](const analysis::PairPlane::Points& points, const std::string& title, bool legend,
                         const std::string& note) {
      figure::Panel panel = points_panel(trace, points, classes, legend);
      panel.title = title;
      panel.note = joined_notes(note, panel.note);
      if (several) {  // the axes are the same everywhere, and the room is small
        panel.x.label = panel.y.label = "";
      }
      figure.panels.push_back(std::move(panel));
    };
    add(plane.query, "queries, pair " + row.name, n == 0, where + short_number(plane.query_concentration));
    if (several) {
      figure.panels.back().y.label = name;
    }
    add(plane.key, "keys", false, "mean resultant length " + short_number(plane.key_concentration));
    add(plane.turned_query, "queries, rotated", false,
        several ? head + ", wavelength " + short_number(row.wavelength) : "");
    add(plane.turned_key, "keys, rotated", false, "");
  }
  return figure;
}

}  // namespace

const View& pair_plane_view() {
  return made_once<PairPlane>();
}

}  // namespace locus::views
