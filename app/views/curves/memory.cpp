// `memory`: how many tokens the heads of layers without a soft-max keep half of what they wrote, from the decays of a
// run; with forget gates, how soon they halve the weight of a key.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/plots/panel.h"
#include "app/views/shared/view.h"

namespace locus::views {

namespace {

constexpr double kLow = 0.1;  // the band holds all but a tenth of the tokens at each end
constexpr double kHigh = 0.9;
constexpr double kRoomOfLasting = 0.04;  // of the axis, below and above heads that forget nothing

// The whole run is measured, all layers and heads.
struct MemoryKey {
  friend bool operator==(const MemoryKey&, const MemoryKey&) = default;
};

// Half-lives of a head over the tokens, in tokens; of a short convolution its reach.
struct HeadMemory {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  double low = 0;
  double median = 0;
  double high = 0;
  bool reach = false;
};

struct Memory {
  std::vector<HeadMemory> heads;  // layer by layer
};
std::size_t cached_bytes(const Memory& memory) {
  return sizeof memory + sizeof(HeadMemory) * memory.heads.size();
}

// The side whose heads remember: that of the mixers, or attention with forget gates; null where the run has neither.
const models::Trace* remembering(const models::Trace& trace, std::shared_ptr<const models::Trace>& held) {
  if (trace.model().of_mixers()) {
    return &trace;
  }
  held = trace.side(models::Side::kMixer);
  return held ? held.get() : trace.model().forgets() ? &trace : nullptr;
}

// Whether the heads of this side are those that the view shows: beside mixers, it does not show attention's.
bool shows_heads_of(const models::ModelInfo& model) {
  return model.of_mixers() || (model.forgets() && !model.has_mixers());
}

// The value below which a share of the sorted ones lies; the lower one of two.
double quantile(const std::vector<float>& sorted, double share) {
  return static_cast<double>(sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))]);
}

// Where a head stands in the cell of its layer.
double place_of(const HeadMemory& head, std::int64_t heads) {
  return static_cast<double>(head.layer) + (static_cast<double>(head.head) + 0.5) / static_cast<double>(heads);
}

std::string tokens_text(double count) {
  return short_number(count) + (count == 1 ? " token" : " tokens");
}

class MemoryView final : public MeasuredView<MemoryKey, Memory> {
 public:
  const ViewInfo& info() const override { return info_; }
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<std::string> said_of(const ViewInput& input, const Hit& hit) const override;
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override;

 protected:
  Status fits(const Column& column) const override;
  Result<MemoryKey> measure_key(const ViewInput& /*input*/, std::size_t /*column*/) const override {
    return MemoryKey{};
  }
  Result<Memory> measure(const MemoryKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  // The head under a place of a panel; null: none.
  const HeadMemory* head_at(const ViewInput& input, const Hit& hit, Pointer& held) const;

  ViewInfo info_ = described({
      .name = "memory",
      .caption = "After how many tokens a head that forgets has lost half of what it has read.",
      .shows =
          "The half-life of each head of the layers without a softmax: the number of tokens until half of its state is "
          "left; with forget gates (FoX), until the weight of a key is half. A point is the median over the tokens of "
          "the text, its line the middle 80 %: it is long where the text decides what is forgotten, and a point where "
          "position alone does. A ring is a short convolution, which sees a fixed number of tokens. The dashed line is "
          "the length of the text.",
      .needs_text = true,
      .controls = {},
  });
};

Status MemoryView::fits(const Column& column) const {
  LOCUS_CHECK(View::fits(column));
  std::shared_ptr<const models::Trace> held;
  return remembering(*column.trace, held) != nullptr
             ? Status()
             : unsupported(info().title + " is of layers without a softmax and of forget gates; " + column.name +
                           " has neither");
}

Result<Memory> MemoryView::measure(const MemoryKey& /*key*/, const MeasureContext& context) const {
  std::shared_ptr<const models::Trace> held;
  const models::Trace& trace = *remembering(*context.column.trace, held);
  const models::ModelInfo& model = trace.model();
  Memory memory;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    report(context.progress, static_cast<double>(layer) / static_cast<double>(model.layers),
           "layer " + std::to_string(layer));
    const models::LayerInfo& own = model.layer_info[static_cast<std::size_t>(layer)];
    const models::EncodingUse* const encoding = model.of_mixers() ? nullptr : model.encoding_of(layer);
    if (!own.attends || (!model.of_mixers() && (encoding == nullptr || !encoding->forgets))) {
      continue;
    }
    if (own.mixer_reach > 0 && model.of_mixers()) {
      const auto reach = static_cast<double>(own.mixer_reach);
      for (std::int64_t head = 0; head < own.mixer_heads; ++head) {
        memory.heads.push_back({layer, head, reach, reach, reach, true});
      }
      continue;
    }
    LOCUS_TRY(const Field lives, trace.state_numbers(layer, models::StateNumber::kHalfLife, context.stop));
    for (std::int64_t head = 0; head < lives.rows; ++head) {
      const auto begin = lives.values.begin() + head * lives.columns;
      std::vector<float> sorted(begin, begin + lives.columns);
      std::ranges::sort(sorted);
      memory.heads.push_back({layer, head, quantile(sorted, kLow), quantile(sorted, 0.5), quantile(sorted, kHigh)});
    }
  }
  return memory;
}

std::int64_t heads_of(const Memory& memory, std::int64_t layer) {
  return std::ranges::count(memory.heads, layer, &HeadMemory::layer);
}

// What is gone at once stands at the lower end of the axis, what lasts for ever at `lasting`.
figure::Points points_of(const Memory& memory, std::int64_t layers, const figure::Interval& axis, double lasting) {
  const auto within = [&](double value) {
    return std::isinf(value) ? lasting : std::clamp(value, axis.low, axis.high);
  };
  figure::Points points;
  points.scale.colormap = "viridis";
  points.scale.whole = true;
  points.scale.high = static_cast<float>(std::max<std::int64_t>(layers - 1, 1));
  for (const HeadMemory& head : memory.heads) {
    points.x.push_back(place_of(head, heads_of(memory, head.layer)));
    points.y.push_back(within(head.median));
    points.y_low.push_back(within(head.low));
    points.y_high.push_back(within(head.high));
    points.values.push_back(static_cast<float>(head.layer));
    points.hollow.push_back(head.reach ? figure::Points::kRing : figure::Points::kDisc);
  }
  return points;
}

std::string note_of(const Memory& memory) {
  const auto lasting =
      std::ranges::count_if(memory.heads, [](const HeadMemory& head) { return std::isinf(head.median); });
  const bool rings = std::ranges::any_of(memory.heads, &HeadMemory::reach);
  return joined_notes(rings ? "rings: short convolutions, at the tokens that they see" : "",
                      lasting > 0 ? std::to_string(lasting) + (lasting == 1 ? " head forgets" : " heads forget") +
                                        " nothing: at the upper end"
                                  : "");
}

// "head 2.2 remembers longest: half is left after 23.4 tokens".
std::string longest_line(const Memory& memory) {
  const HeadMemory* longest = nullptr;
  for (const HeadMemory& head : memory.heads) {
    longest = longest == nullptr || head.median > longest->median ? &head : longest;
  }
  if (longest == nullptr) {
    return {};
  }
  const auto alike = std::ranges::count(memory.heads, longest->median, &HeadMemory::median);
  const bool one = alike == 1;
  const std::string who = one ? "head " + std::to_string(longest->layer) + "." + std::to_string(longest->head)
                              : std::to_string(alike) + " of " + std::to_string(memory.heads.size()) + " heads";
  const std::string tokens = short_number(longest->median) + " tokens";
  return longest->reach ? who + (one ? " sees " : " see ") + tokens
         : std::isinf(longest->median)
             ? who + (one ? " forgets nothing" : " forget nothing")
             : who + (one ? " remembers" : " remember") + " longest: half is left after " + tokens;
}

Result<figure::Figure> MemoryView::draw(const ViewInput& input, const Numbers& numbers) const {
  Extent logarithms;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    logarithms.add(std::log2(static_cast<double>(input.columns[n].trace->length())));
    for (const HeadMemory& head : numbers[n]->heads) {
      for (const double value : {head.low, head.median, head.high}) {
        logarithms.add(std::log2(value));
      }
    }
  }
  figure::Interval padded = logarithms.padded();
  const double room = kRoomOfLasting * (padded.high - padded.low);  // a disc's
  const bool any_lasts = std::ranges::any_of(numbers, [](const Pointer& memory) {
    return std::ranges::any_of(memory->heads, [](const HeadMemory& head) { return std::isinf(head.high); });
  });
  padded.high += any_lasts ? 2 * room : 0;
  const figure::Interval axis{std::exp2(padded.low), std::exp2(padded.high)};
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const Column& column = input.columns[n];
    const std::int64_t layers = column.trace->model().layers;
    figure::Panel panel;
    name_after(column, panel);
    panel.x = cells_across("layer", layers);
    panel.y.label = "tokens until half is left";
    panel.y.view = axis;
    panel.y.logarithmic = true;
    panel.y.log_base = 2;
    panel.layers.emplace_back(points_of(*numbers[n], layers, axis, std::exp2(padded.high - room)));
    panel.layers.emplace_back(horizontal_line(static_cast<double>(column.trace->length()), "length of the text"));
    panel.color_bar_label = "layer";
    panel.note = note_of(*numbers[n]);
    figure.panels.push_back(std::move(panel));
  }
  figure.statement = about_columns(input, [&](std::size_t n) { return longest_line(*numbers[n]); });
  return figure;
}

Result<Data> MemoryView::table(const ViewInput& /*input*/, const Numbers& numbers) const {
  const std::vector<HeadMemory>& heads = numbers.front()->heads;
  return table_of({{"layer", numbers_of(heads, &HeadMemory::layer)},
                   {"head", numbers_of(heads, &HeadMemory::head)},
                   {"low", numbers_of(heads, &HeadMemory::low)},
                   {"median", numbers_of(heads, &HeadMemory::median)},
                   {"high", numbers_of(heads, &HeadMemory::high)}});
}

// The nearest across: heads of a layer stand side by side.
const HeadMemory* MemoryView::head_at(const ViewInput& input, const Hit& hit, Pointer& held) const {
  held = hit.panel < input.columns.size() ? kept(input, hit.panel) : nullptr;
  const auto layer = static_cast<std::int64_t>(std::floor(hit.x));
  const std::int64_t heads = held ? heads_of(*held, layer) : 0;
  if (heads == 0) {
    return nullptr;
  }
  const auto own = static_cast<std::int64_t>((hit.x - static_cast<double>(layer)) * static_cast<double>(heads));
  const auto found = std::ranges::find_if(held->heads, [&](const HeadMemory& head) {
    return head.layer == layer && head.head == std::min(own, heads - 1);
  });
  return &*found;
}

Selection MemoryView::pick(const ViewInput& input, const Hit& hit) const {
  Pointer held;
  Selection selection;
  if (const HeadMemory* const head = head_at(input, hit, held); head != nullptr) {
    selection.column = static_cast<std::int64_t>(hit.panel);
    selection.layer = head->layer;
    // Heads of attention are others.
    if (shows_heads_of(input.columns[hit.panel].trace->model())) {
      selection.head = head->head;
    }
  }
  return selection;
}

std::vector<std::string> MemoryView::said_of(const ViewInput& input, const Hit& hit) const {
  Pointer held;
  const HeadMemory* const head = head_at(input, hit, held);
  if (head == nullptr) {
    return {};
  }
  const std::string name = "layer " + std::to_string(head->layer) + ", head " + std::to_string(head->head);
  if (head->reach) {
    return {name + ": sees " + tokens_text(head->median)};
  }
  return {name + ": half is left after " + tokens_text(head->median),
          "10 % to 90 % of the tokens: " + short_number(head->low) + " to " + short_number(head->high)};
}

std::vector<Place> MemoryView::places(const ViewInput& input, const Selection& selection) const {
  std::vector<Place> places;
  for (std::size_t n = 0; selection.layer && selection.head && n < input.columns.size(); ++n) {
    const Pointer memory = shows_heads_of(input.columns[n].trace->model()) ? kept(input, n) : nullptr;
    for (std::size_t k = 0; memory && k < memory->heads.size(); ++k) {
      const HeadMemory& head = memory->heads[k];
      if (head.layer == *selection.layer && head.head == *selection.head && std::isfinite(head.median)) {
        const auto heads = static_cast<double>(heads_of(*memory, head.layer));
        const double x = place_of(head, heads_of(*memory, head.layer));
        places.push_back({n, {x - 0.4 / heads, x + 0.4 / heads}, {head.median / 1.1, head.median * 1.1}});
      }
    }
  }
  return places;
}

}  // namespace

const View& memory_view() {
  return made_once<MemoryView>();
}

}  // namespace locus::views
