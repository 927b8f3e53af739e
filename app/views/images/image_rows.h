// Measurement of the view `attention-image` and its places: rows of attention of one query, on the patches of an
// image or on the cells of the pictures within a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/views/images/sink_cells.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/plots/patch_grid.h"

namespace locus::views {

struct AttentionImageKey {
  std::vector<std::int64_t> layers;
  std::vector<std::int64_t> heads;
  models::Quantity quantity = models::Quantity::kWeight;
  std::int64_t query = 0;
  bool rollout = false;  // through all layers: of no layer, head or quantity
  std::string neutral;   // the text whose reading divides that of the query; empty: none
  bool sinks = false;    // the ratios of sink_ratios() too

  friend bool operator==(const AttentionImageKey&, const AttentionImageKey&) = default;
};

struct ImageOptions {
  bool all_heads = false;
  bool rollout = false;
  std::string neutral;
  bool plain = false;       // the pictures themselves too
  bool wide = false;        // the outline of 80 % of the weight too
  bool area = false;        // the largest area within the outline of half is framed, with its numbers
  double sinks = 0;         // cells that are read over so many times as much as with equal weights are marked; 0: none
  std::int64_t frame = -1;  // of each video the group of frames that is shown; -1: all

  bool of_weights(models::Quantity quantity) const { return rollout || quantity == models::Quantity::kWeight; }
};

// patch_areas() with the chosen frames of videos alone; of a video with fewer its last one.
std::vector<PatchArea> shown_areas(const models::Trace& trace, const ImageOptions& options);

// The content of one panel: of a column, head by head, the pictures beside each other.
struct ImagePanel {
  std::size_t column = 0;
  std::size_t number = 0;  // of the head in its row list
  std::int64_t head = 0;
  PatchArea area;
};
std::vector<ImagePanel> image_panels(const ViewInput& input, const ImageOptions& options);
// The panels behind them, of the pictures themselves: each that is known, once. None where the heads of several columns
// stand in rows.
std::vector<ImagePanel> plain_panels(const ViewInput& input, const ImageOptions& options);

std::vector<std::int64_t> shown_heads(const ViewInput& input, std::size_t column, const ImageOptions& options);
std::vector<std::int64_t> shown_layers(const ViewInput& input, std::size_t column);

// (layers · heads, T): a row per head, layer by layer; with sinks then a row of sink_ratios() per layer. With a neutral
// text each cell's weight is divided by what the last token of that text gives to the cell, 1 being as much; all other
// tokens are NaN then. Errors: the trace's; neutral_run()'s.
Result<Field> measure_image(const AttentionImageKey& key, const MeasureContext& context);

// A panel with its numbers.
struct ImageTile : ImagePanel {
  FieldPointer row;  // (1, T)
  FieldPointer patches;
  std::vector<SinkCell> sinks;
};
std::vector<ImageTile> image_tiles(const ViewInput& input, const ImageOptions& options, const Fields& all);

// Whether outlines are drawn: of weights as they are.
bool has_outlines(const ViewInput& input, const ImageOptions& options);
// "rows 2 to 5, columns 3 to 7: 0.31 of the weight on the picture": the largest area of the patches with half of it;
// empty where there is none.
std::string area_text(const Field& patches);

// The name of the colours.
std::string image_label(const ViewInput& input, const ImageOptions& options);
// Below a tile: the query, and what it gives to tokens that are no patches; of a text what it gives to the picture.
std::string note_of_tile(const ImageTile& tile, const Column& column, const ViewInput& input,
                         const ImageOptions& options);
// Behind it: how many sink cells are marked, or why none are looked for.
std::string note_of_sinks(const ImageTile& tile, const Column& column, const ImageOptions& options);
// The patch of a text's pictures that a word reads most; none for a query that is a patch itself, and where several tie.
struct ReadPatch {
  std::size_t tile = 0;
  std::int64_t patch = 0;
};
std::optional<ReadPatch> most_read(const std::vector<ImageTile>& tiles, const ViewInput& input, std::size_t column);
// The weight that the query gives to a column's pictures, and the cell that it reads most, unless others tie with it.
std::string statement_of_image(const std::vector<ImageTile>& tiles, const ViewInput& input, std::size_t column,
                               const ImageOptions& options);

}  // namespace locus::views
