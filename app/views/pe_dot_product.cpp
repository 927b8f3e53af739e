// `pe-dot-product`: how alike the encodings of two positions are.
#include "app/views/list.h"
#include "app/views/map_view.h"

namespace locus::views {

namespace {

bool is_cosine(const ViewInput& input) {
  const auto option = input.options.boolean("cosine", false);
  return option.ok() && *option;
}

class DotProduct final : public MapView {
 public:
  const ViewInfo& info() const override { return info_; }
  Status available(const Column& column) const override {
    LOCUS_CHECK(View::available(column));
    if (!column.trace->model().has_dot_product) {
      return unsupported("the encoding of " + column.name + " (" + column.trace->model().encoding +
                         ") has no vector for a position");
    }
    return {};
  }

 protected:
  Result<std::shared_ptr<const Field>> field(const ViewInput& input, const Column& column,
                                             const MapWindow& window) const override {
    const std::string key = "dot " + std::to_string(input.layer) + " " + std::to_string(input.head) +
                            (is_cosine(input) ? " cosine " : " raw ") + key_of(window, input.reduction);
    return cached(input, column, key, [&] {
      return fetch_blocks(
          window, input.reduction,
          [&](Range rows) {
            return column.trace->dot_product(input.layer, input.head, rows, window.columns, is_cosine(input));
          },
          input.stop);
    });
  }
  Result<Field> whole(const ViewInput& input, const Column& column) const override {
    const Range all{0, column.trace->length()};
    return column.trace->dot_product(input.layer, input.head, all, all, is_cosine(input));
  }
  Sign sign(const ViewInput& /*input*/) const override { return Sign::kAny; }
  std::string quantity(const ViewInput& input) const override {
    return is_cosine(input) ? "cosine of eᵢ and eⱼ" : "⟨eᵢ, eⱼ⟩";
  }
  void decorate(const ViewInput& /*input*/, const Column& column, figure::Panel& panel) const override {
    panel.x.label = "position j";
    panel.y.label = "position i";
    const auto trained = static_cast<double>(column.trace->model().trained_length);
    if (trained > 0 && trained < static_cast<double>(column.trace->length())) {
      constexpr std::uint32_t kWhite = 0xFFFFFFFF;
      using Direction = figure::Marker::Direction;
      panel.layers.emplace_back(figure::Marker{Direction::kVertical, trained, "trained length", kWhite, true});
      panel.layers.emplace_back(figure::Marker{Direction::kHorizontal, trained, "", kWhite, true});
    }
  }

 private:
  ViewInfo info_{
      .name = "pe-dot-product",
      .title = "Position dot product",
      .shows = "The dot product of the encodings of positions i and j, in the state that enters the layer.",
      .look_for =
          "A ridge on the diagonal that falls off evenly: near positions are alike, and what counts is the "
          "distance. TAPE starts as RoPE in layer 0 and changes with the text; a learned encoding shows its "
          "trained range.",
      .paper = "TAPE Fig. 7a and 8, SeqPE Fig. 2",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_camera = true,
      .controls =
          {{Control::Kind::kToggle, "cosine", "Cosine", "Divided by the lengths of the two vectors", false, 0, 1, {}}},
  };
};

}  // namespace

const View& pe_dot_product_view() {
  static const DotProduct view;
  return view;
}

}  // namespace locus::views
