// `gates` and `positions`: what CoPE counts by, and what it counts.
#include "app/views/list.h"
#include "app/views/map_view.h"

namespace locus::views {

namespace {

constexpr std::uint32_t kBoundaryColor = 0xFFFFFFA0;
constexpr std::size_t kMostBoundaries = 200;  // more lines than this hide the map

Control boundary_control() {
  return {Control::Kind::kText,
          "boundary",
          "Mark tokens with",
          "Keys whose token holds any of these characters are marked",
          std::string(),
          0,
          1,
          {}};
}

// Lines at the keys whose token holds one of the characters of option `boundary`.
void mark_boundaries(const ViewInput& input, const Column& column, figure::Panel& panel) {
  const auto marks = input.options.text("boundary", "");
  if (!marks || marks->empty()) {
    return;
  }
  std::size_t count = 0;
  for (std::size_t n = 0; n < column.trace->tokens().size() && count < kMostBoundaries; ++n) {
    if (column.trace->tokens()[n].label.find_first_of(*marks) != std::string::npos) {
      panel.layers.emplace_back(
          figure::Marker{figure::Marker::Direction::kVertical, static_cast<double>(n) + 0.5, "", kBoundaryColor, true});
      ++count;
    }
  }
}

class ContextualMap : public MapView {
 public:
  explicit ContextualMap(models::Quantity quantity) : quantity_(quantity) {}

  Status available(const Column& column) const override {
    LOCUS_CHECK(View::available(column));
    if (!column.trace->model().has_gates) {
      return unsupported(info().title + " are CoPE's; " + column.name + " has " + column.trace->model().encoding);
    }
    return {};
  }

 protected:
  models::MapRequest request(const ViewInput& input) const {
    models::MapRequest request;
    request.layer = input.layer;
    request.head = input.head == kMean ? 0 : input.head;
    request.quantity = quantity_;
    return request;
  }
  Result<std::shared_ptr<const Field>> field(const ViewInput& input, const Column& column,
                                             const MapWindow& window) const override {
    return fetch(input, column, request(input), window);
  }
  Result<Field> whole(const ViewInput& input, const Column& column) const override {
    return column.trace->map(request(input), input.stop);
  }
  Sign sign(const ViewInput& /*input*/) const override { return Sign::kPositive; }
  std::string quantity(const ViewInput& /*input*/) const override { return quantity_label(quantity_); }
  std::string subtitle(const ViewInput& input, const Column& column) const override {
    return head_label(column.trace->model(), input.layer, input.head == kMean ? 0 : input.head);
  }
  void decorate(const ViewInput& input, const Column& column, figure::Panel& panel) const override {
    mark_boundaries(input, column, panel);
  }

 private:
  models::Quantity quantity_;
};

class Gates final : public ContextualMap {
 public:
  Gates() : ContextualMap(models::Quantity::kGate) {}
  const ViewInfo& info() const override { return info_; }

 private:
  ViewInfo info_{
      .name = "gates",
      .title = "Gates",
      .shows =
          "CoPE's gates g_ij: 1 where query i counts key j, 0 where it passes over it. A head's mean is not defined: "
          "head 0 stands for it.",
      .look_for =
          "Columns that are bright for many queries are tokens this head counts: ends of sentences, line feeds, "
          "a word the task is about.",
      .paper = "CoPE Fig. 7",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_camera = true,
      .controls = {boundary_control()},
  };
};

class Positions final : public ContextualMap {
 public:
  Positions() : ContextualMap(models::Quantity::kPosition) {}
  const ViewInfo& info() const override { return info_; }

 private:
  ViewInfo info_{
      .name = "positions",
      .title = "Contextual positions",
      .shows =
          "CoPE's positions p_ij: how many counted keys lie from j to i, the token itself included, clamped at the "
          "largest position the model knows.",
      .look_for =
          "Steps: the position changes where a gate opens and stays where it is shut. Plain relative positions "
          "would be straight stripes.",
      .paper = "CoPE Fig. 1",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_camera = true,
      .controls = {boundary_control()},
  };
};

}  // namespace

const View& gates_view() {
  static const Gates view;
  return view;
}

const View& positions_view() {
  static const Positions view;
  return view;
}

}  // namespace locus::views
