// MapView: the views that are one (T, T) map per column, (queries, keys) of cross-attention: attention, dot products,
// gates, positions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/views/shared/alignment.h"
#include "app/views/shared/plots/data_file.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"

namespace locus::views {

// Axes of other tokens than the first column's; null: the same.
struct MapAxes {
  AxisTable x;
  AxisTable y;
};

class MapView : public View {
 public:
  Result<figure::Figure> figure(const ViewInput& input) const override;
  // [T, T]; [L, T, T], [H, T, T] or [L, H, T, T] when layer or head is kAll.
  Result<Data> data(const ViewInput& input) const override;
  // One map per part.
  Result<DataParts> data_parts(const ViewInput& input) const override;
  Selection pick(const ViewInput& input, const Hit& hit) const override { return pick_cell(input, hit); }
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override {
    return cell_places(input, selection);
  }
  std::optional<Camera> home(const ViewInput& input) const override;
  Result<std::optional<DrawnValue>> drawn_at(const ViewInput& input, std::size_t column, std::int64_t query,
                                             std::int64_t key) const override;

 protected:
  // The window's cells of one column's map, for the screen.
  virtual Result<RefinedMap> field(const ViewInput& input, const Column& column, const MapWindow& window) const = 0;
  // The whole map of the input's layer and head (never kAll), for export.
  virtual Result<Field> whole(const ViewInput& input, const Column& column) const = 0;
  // Rows of the whole map, and columns but in cross-attention.
  virtual std::int64_t length(const ViewInput& /*input*/, const Column& column) const { return column.trace->length(); }
  virtual Sign sign(const ViewInput& input) const = 0;
  // Whether a row's values are shares of a whole, which a key that another tokenizer cuts in two divides.
  virtual bool additive(const ViewInput& /*input*/) const { return false; }
  virtual std::string quantity(const ViewInput& input) const = 0;  // beside the colour bar
  // Under the panel's title, after the column's name.
  virtual std::string subtitle(const ViewInput& input, const Column& column) const {
    return head_label(column.trace->model(), input.layer, input.head);
  }
  // How many keys wide the column left of key 0 is, without its values; 0: none. See sink_column().
  virtual double sink_width(const ViewInput& /*input*/, const Column& /*column*/) const { return 0; }
  // The column left of key 0 with the sink's values, one per query; null: none. Its axis says where it stands.
  virtual Result<FieldPointer> sink_column(const ViewInput& /*input*/, const Column& /*column*/) const {
    return FieldPointer();
  }
  // Lines over the map, a note.
  virtual void decorate(const ViewInput& /*input*/, const Column& /*column*/, figure::Panel& /*panel*/) const {}
  // More panels, row by row, below the maps.
  virtual Status append_rows(const ViewInput& /*input*/, figure::Figure& /*figure*/) const { return {}; }

  std::int64_t keys(const ViewInput& input, const Column& column) const {
    return column.trace->crosses() ? column.trace->keys() : length(input, column);
  }

  // The camera counts the first column's tokens; other tokens of the same text have axes of their own.
  MapAxes axes_of(const ViewInput& input, const Column& column) const;
  static ViewInput on_axes(ViewInput input, const MapAxes& axes);

 private:
  // A column's map less the reference's.
  struct Difference {
    std::size_t column = 0;
    RefinedMap map;
    bool aligned_by_text = false;
    std::string note;
  };
  std::string difference_title(const ViewInput& input, std::size_t column) const;
  void name_difference(const ViewInput& input, std::size_t column, figure::Panel& panel) const;
  figure::Panel reason_panel(const ViewInput& input, std::size_t column, const Error& reason) const;
  Result<Field> reference_laid_out(const ViewInput& input, std::size_t on, const MapWindow& window) const;
  Result<Difference> difference_of(const ViewInput& input, std::size_t column, const MapWindow& window,
                                   const std::vector<RefinedMap>& maps) const;
  // map_panel() on the column's own axes.
  figure::Panel panel_of(const ViewInput& input, const Column& column, const MapWindow& window, const RefinedMap& map,
                         const figure::ColorScale& scale) const;
  void explain_hidden(const ViewInput& input, std::size_t column, figure::Panel& panel) const;
  figure::Panel difference_panel(const ViewInput& input, const Difference& made, const MapWindow& window,
                                 const figure::ColorScale& scale) const;
  Status add_differences(const ViewInput& input, const std::vector<MapWindow>& windows,
                         const std::vector<RefinedMap>& maps, figure::Figure& figure) const;
  // The whole map of the input's layer and head as data; with a difference, that of the first column that is not the
  // reference less the reference's.
  Result<std::vector<float>> map_values(const ViewInput& input) const;
};

// Parts of the views of position dot products: kUnsupported for an encoding without a vector for a position; their
// options "cosine" and "centred", the latter over `positions`; and what is multiplied: "⟨eᵢ, eⱼ⟩", "cosine of eᵢ − ē
// and eⱼ − ē".
Status needs_dot_product(const Column& column);
Control cosine_control();
Control centred_control();
models::Similarity similarity_of(const ViewInput& input, Range positions);
std::string similarity_label(const models::Similarity& similarity, const std::string& first, const std::string& second);
// head_label(), but where all heads of the layer have the same vectors ("layer 3, every head"), which no head and no
// mean tells apart.
std::string positions_label(const ViewInput& input, const Column& column);

// A window of the whole map.
MapWindow whole_window(std::int64_t length);

}  // namespace locus::views
