// `pair-energy`: how large the queries and keys of each rotary pair are, head by head or layer by layer.
#include <algorithm>
#include <cmath>
#include <limits>

#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/measured/pair_rows.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/listed.h"
#include "models/api/pairs.h"

namespace locus::views {

namespace {

struct PairEnergyKey {
  std::int64_t layer = 0;
  std::int64_t head = 0;  // whose wavelengths are shown, where heads have their own
  std::string of;

  friend bool operator==(const PairEnergyKey&, const PairEnergyKey&) = default;
};

struct Energy {
  Field norms;  // (H, M[+1])
  analysis::PairList pairs;
};
std::size_t cached_bytes(const Energy& energy) {
  return sizeof energy + views::cached_bytes(energy.norms) + pair_bytes(energy.pairs);
}

class PairEnergy final : public MeasuredView<PairEnergyKey, Energy> {
 public:
  const ViewInfo& info() const override { return info_; }
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  Selection drag(const ViewInput& input, const Hit& from, const Hit& to) const override {
    return pick_band(pick(input, from), pick(input, to));
  }
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override {
    std::vector<Place> places;
    const std::optional<std::int64_t>& row = over_layers(input) ? selection.layer : selection.head;
    for (std::size_t n = 0; row && *row >= 0 && n < input.columns.size(); ++n) {
      if (const auto energy = kept(input, n)) {
        places.push_back({n, {0, static_cast<double>(energy->norms.columns)}, cell_interval(*row)});
      }
    }
    return places;
  }

 protected:
  Result<PairEnergyKey> measure_key(const ViewInput& input, std::size_t column) const override;
  Result<Energy> measure(const PairEnergyKey& key, const MeasureContext& context) const override {
    const auto norm = key.of == "query" ? analysis::PairNorm::kQuery
                      : key.of == "key" ? analysis::PairNorm::kKey
                                        : analysis::PairNorm::kProduct;
    Energy energy;
    LOCUS_TRY(energy.pairs, models::pair_list(*context.column.trace, key.layer, key.head));
    LOCUS_TRY(energy.norms, models::pair_energy(*context.column.trace, key.layer, norm, context.stop));
    return energy;
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  bool over_layers(const ViewInput& input) const { return option<std::string>(input, "over") == "layers"; }
  // Layers whose pairs have the same wavelengths.
  struct Kind {
    analysis::PairList list;
    std::vector<std::int64_t> layers;
  };
  // One row per layer, the mean over heads: NaN for pairs that a layer does not have, the rest in the last column.
  Result<FieldPointer> by_layer(const ViewInput& input, std::size_t column, std::vector<Kind>& kinds) const;

  ViewInfo info_ = described({
      .name = "pair-energy",
      .caption = "How large queries and keys are in every rotary frequency: fast on the left, slow on the right.",
      .shows =
          "The size of the queries and keys of each rotary pair: the mean over tokens of ‖q‖, ‖k‖ or their product, "
          "for every head of a layer, or for every layer averaged over its heads. Below: the wavelength 2π/θ of each "
          "pair, with lines at the length of the text and at the trained length; pairs above a line never complete a "
          "rotation within that many tokens.",
      .uses_layer = true,
      .uses_head = true,
      .controls = {choice("of", "Of", "What is averaged: the norms of queries, of keys, or their product",
                          {"query", "key", "product"}),
                   choice("over", "Rows", "The heads of the layer, or all layers, each averaged over its heads",
                          {"heads", "layers"}),
                   band_control()},
  });
};

// The first layer that has pairs, for pictures of all of them; 0 where none has.
std::int64_t first_with_pairs(const models::Trace& trace, std::int64_t head) {
  for (std::int64_t layer = 0; layer < trace.model().layers; ++layer) {
    if (models::pair_list(trace, layer, head).ok()) {
      return layer;
    }
  }
  return 0;
}

Result<PairEnergyKey> PairEnergy::measure_key(const ViewInput& input, std::size_t column) const {
  LOCUS_CHECK(band_of(input));
  const HeadRef own = head_of_column(input, column);
  const std::int64_t head = std::max<std::int64_t>(own.head, 0);
  const bool every = own.layer == kAll || over_layers(input);
  const std::int64_t layer = every ? first_with_pairs(*input.columns[column].trace, head) : own.layer;
  return PairEnergyKey{layer, head, option<std::string>(input, "of")};
}

// The energy of a head, or the mean over heads.
float norm_of(const Field& norms, std::int64_t head, std::int64_t pair) {
  if (head != kMean) {
    return norms.at(head, pair);
  }
  double sum = 0;
  for (std::int64_t each = 0; each < norms.rows; ++each) {
    sum += static_cast<double>(norms.at(each, pair));
  }
  return static_cast<float>(sum / static_cast<double>(norms.rows));
}

bool alike(const analysis::PairList& a, const analysis::PairList& b) {
  return a.rows.size() == b.rows.size() && a.pairs == b.pairs &&
         std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(), [](const auto& x, const auto& y) {
           return x.wavelength == y.wavelength || (std::isnan(x.wavelength) && std::isnan(y.wavelength));
         });
}

// "layers 0, 1, 2 and 17 others"
std::string named_layers(const std::vector<std::int64_t>& layers) {
  constexpr std::size_t kNamed = 3;
  const bool all = layers.size() <= kNamed + 1;
  const std::vector<std::int64_t> first(layers.begin(), all ? layers.end() : layers.begin() + kNamed);
  return (layers.size() == 1 ? "layer " : "layers ") + listed(first, [](std::int64_t n) { return std::to_string(n); }) +
         (all ? "" : " and " + std::to_string(layers.size() - kNamed) + " others");
}

std::string norm_label(const std::string& of) {
  return of == "query" ? "mean ‖q‖ of a pair" : of == "key" ? "mean ‖k‖ of a pair" : "mean ‖q‖·‖k‖ of a pair";
}

Result<FieldPointer> PairEnergy::by_layer(const ViewInput& input, std::size_t column, std::vector<Kind>& kinds) const {
  const std::int64_t layers = input.columns[column].trace->model().layers;
  std::vector<Pointer> energies(static_cast<std::size_t>(layers));
  std::int64_t pairs = 0;
  bool rest = false;
  LOCUS_TRY(PairEnergyKey key, measure_key(input, column));
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    key.layer = layer;
    const auto energy = measured(input, column, key);
    if (!energy && energy.error().code == ErrorCode::kUnsupported) {
      continue;
    }
    if (!energy) {
      return energy.error();
    }
    energies[static_cast<std::size_t>(layer)] = *energy;
    const analysis::PairList& list = (*energy)->pairs;
    pairs = std::max(pairs, list.pairs);
    rest = rest || list.has_rest();
    const auto known =
        std::find_if(kinds.begin(), kinds.end(), [&](const Kind& each) { return alike(each.list, list); });
    (known == kinds.end() ? kinds.emplace_back(Kind{list, {}}) : *known).layers.push_back(layer);
  }
  Field field = Field::zeros(layers, pairs + (rest ? 1 : 0));
  field.row_axis.name = "layer";
  field.column_axis.name = "pair";
  std::fill(field.values.begin(), field.values.end(), std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const Pointer& energy = energies[static_cast<std::size_t>(layer)];
    for (std::int64_t pair = 0; energy && pair < energy->norms.columns; ++pair) {
      field.at(layer, pair < energy->pairs.pairs ? pair : pairs) = norm_of(energy->norms, kMean, pair);
    }
  }
  return std::make_shared<const Field>(std::move(field));
}

Result<figure::Figure> PairEnergy::draw(const ViewInput& input, const Numbers& numbers) const {
  const bool layers = over_layers(input);
  LOCUS_TRY(const std::optional<Range> band, band_of(input));
  Fields fields;
  std::vector<std::vector<Kind>> kinds(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    if (layers) {
      LOCUS_TRY(auto field, by_layer(input, n, kinds[n]));
      fields.push_back(std::move(field));
    } else {
      fields.emplace_back(numbers[n], &numbers[n]->norms);
      kinds[n] = {{numbers[n]->pairs, {}}};
    }
  }
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const models::ModelInfo& model = input.columns[n].trace->model();
    const analysis::PairList& list = numbers[n]->pairs;
    figure::Panel panel;
    name_after(input.columns[n], panel,
               layers ? " · mean over heads" : " · layer " + std::to_string(measure_key(input, n)->layer));
    panel.x = cells_across("pair", fields[n]->columns);
    panel.y = cells_down(layers ? "layer" : "head", fields[n]->rows);
    panel.layers.emplace_back(figure::HeatMap{fields[n], scale_of(input, Sign::kPositive, fields, n)});
    panel.color_bar_label = norm_label(option<std::string>(input, "of"));
    for (const auto& [length, label] :
         {std::pair(list.span, spanned(list)),
          std::pair(static_cast<double>(list.grid ? 0 : model.trained_length), std::string("trained"))}) {
      const auto at = length > 0 && kinds[n].size() == 1 ? crossing(list, length) : std::nullopt;
      if (at) {
        panel.layers.emplace_back(vertical_line(*at, label));
      }
    }
    const auto rests =
        std::any_of(kinds[n].begin(), kinds[n].end(), [](const Kind& each) { return each.list.has_rest(); });
    if (rests) {
      panel.note = "pair " + std::to_string(fields[n]->columns - 1) + ": the rest, channels that do not turn";
    }
    frame_band(band, fields[n]->columns, true, panel);
    figure.panels.push_back(std::move(panel));
  }
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const analysis::PairList& first = numbers[n]->pairs;
    figure::Panel panel = wavelength_panel(first, fields[n]->columns, input.columns[n].trace->model().trained_length);
    Extent extent;
    extent.add(first.span);
    for (const Kind& kind : kinds[n]) {
      figure::Curve curve = wavelength_curve(kind.list, kinds[n].size() > 1 ? named_layers(kind.layers) : "");
      extent.add(curve.y);
      panel.layers.emplace_back(std::move(curve));
    }
    const figure::Interval range = extent.padded(0);
    panel.y.view = {range.low / 1.6, range.high * 1.6};
    frame_band(band, fields[n]->columns, true, panel);
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

Result<Data> PairEnergy::table(const ViewInput& input, const Numbers& numbers) const {
  const Field& first = numbers.front()->norms;
  const bool all_layers = input.layer == kAll;
  const bool all_heads = input.head == kAll;
  const std::int64_t layers = all_layers ? input.columns.front().trace->model().layers : 1;
  Data data;
  if (all_layers) {
    data.shape.push_back(layers);
  }
  if (all_heads) {
    data.shape.push_back(first.rows);
  }
  data.shape.push_back(first.columns);
  LOCUS_TRY(PairEnergyKey key, measure_key(input, 0));
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    Pointer energy = numbers.front();
    if (all_layers) {
      key.layer = layer;
      auto own = measured(input, 0, key);
      if (!own && own.error().code == ErrorCode::kUnsupported) {
        data.values.resize(data.values.size() + static_cast<std::size_t>((all_heads ? first.rows : 1) * first.columns),
                           std::numeric_limits<float>::quiet_NaN());
        continue;
      }
      LOCUS_CHECK(own);
      energy = *own;
      if (energy->norms.columns != first.columns) {
        return unsupported("layers of other numbers of pairs are written one by one");
      }
    }
    for (std::int64_t pair = 0; !all_heads && pair < first.columns; ++pair) {
      data.values.push_back(norm_of(energy->norms, input.head, pair));
    }
    if (all_heads) {
      data.values.insert(data.values.end(), energy->norms.values.begin(), energy->norms.values.end());
    }
  }
  return data;
}

// Only what has been measured is looked at: this runs on the window's thread.
Selection PairEnergy::pick(const ViewInput& input, const Hit& hit) const {
  const std::size_t column = hit.panel % input.columns.size();
  const auto energy = kept(input, column);
  if (!energy) {
    return {};
  }
  Selection selection = pick_pair(hit.x, energy->norms.columns, column);
  const models::ModelInfo& model = input.columns[column].trace->model();
  const bool layers = over_layers(input);
  const auto row = static_cast<std::int64_t>(std::floor(hit.y));
  if (selection.option && hit.panel < input.columns.size() && row >= 0 && row < (layers ? model.layers : model.heads)) {
    (layers ? selection.layer : selection.head) = row;
  }
  return selection;
}

}  // namespace

const View& pair_energy_view() {
  return made_once<PairEnergy>();
}

}  // namespace locus::views
