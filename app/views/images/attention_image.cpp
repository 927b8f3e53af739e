// `attention-image`: the image in its own colours, darkened where the chosen patch, the class token or a word does not
// look.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "app/views/images/image_rows.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

constexpr double kSinkFactor = 5;
constexpr double kMaxSinkFactor = 1e6;
constexpr const char* kNeutralText = "Describe the image.";
constexpr std::uint32_t kAreaColor = 0x4CC9F0FF;  // apart from the frame of the query

// Measures (layers · heads, T): a row per head, layer by layer.
class AttentionImage final : public MeasuredView<AttentionImageKey, Field> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override {
    return patch_areas(*column.trace).empty()
               ? unsupported(info_.title + " needs an image; " + column.name + " read text without a picture in it")
               : Status();
  }
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override;
  Token tinting_query(const ViewInput& input) const override { return patch_query(input, input.columns.front()); }

 protected:
  Result<AttentionImageKey> measure_key(const ViewInput& input, std::size_t column) const override;
  Result<Field> measure(const AttentionImageKey& key, const MeasureContext& context) const override {
    return measure_image(key, context);
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& all) const override;
  // [rows, columns] of the patch grid; of several pictures [n, rows, columns], or the cells of all where their grids
  // differ; [H, …] in front when the head is kAll or all heads are shown, and [L, …] when the layer is kAll.
  Result<Data> table(const ViewInput& input, const Numbers& all) const override;

 private:
  figure::Panel tile_panel(const ViewInput& input, const ImageTile& tile, const figure::ColorScale& scale) const;
  ImageOptions options_of(const ViewInput& input) const {
    const bool rollout = option<bool>(input, "rollout");
    const auto neutral = option<std::string>(input, "neutral");
    return {(option<bool>(input, "all-heads") || input.head == kAll) && !rollout,
            rollout,
            !option<bool>(input, "relative") || rollout ? ""
            : neutral.empty()                           ? kNeutralText
                                                        : neutral,
            option<bool>(input, "plain"),
            option<std::string>(input, "outline") == "both",
            option<bool>(input, "area"),
            rollout ? 0 : option<double>(input, "sinks"),
            option<std::int64_t>(input, "frame")};
  }

  ViewInfo info_ = described({
      .name = "attention-image",
      .caption = "The image itself, darkened where the chosen patch does not attend to it.",
      .shows =
          "The image as the model saw it, in its own colours: patches that the query does not attend to are dark, and "
          "the fewest with half of its weight on the picture are outlined; beside it the picture itself. A click "
          "chooses the query patch; without one, the query is the class token. The weights of the class token and of "
          "registers are written below the image. Of a text with pictures, the pictures beside each other, and the "
          "query is a word, with an arrow to the patch that it reads most, or a cell that is clicked. With a colormap "
          "the patches are painted over instead, as they are for signed quantities.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_quantity = true,
      .of_scores = true,
      .controls =
          {toggle("all-heads", "All heads", "One image per head of the layer"),
           toggle(
               "rollout", "Rollout",
               "Attention through all layers and residual connections (Abnar and Zuidema 2020), instead of one head"),
           toggle(
               "relative", "Relative",
               "Of a text with pictures: divide each cell's weight by what a neutral text gives to it, so that cells "
               "that every text reads stand back"),
           words("neutral", "Neutral text", "The text that is read in place of what stands behind the pictures",
                 kNeutralText),
           choice("outline", "Outline", "half: the patches with half of the weight; both: those with 80 % of it too",
                  {"half", "both"}),
           toggle("area", "Largest area",
                  "Frame the largest area within the outline of half of the weight, and say its box and share"),
           number("sinks", "Sink cells over",
                  "Mark the cells that all queries together read over so many times as much as with equal weights, in "
                  "the mean over the layer's heads; 0: none are marked",
                  kSinkFactor, 0.0, kMaxSinkFactor),
           toggle("plain", "Picture too", "The picture itself, beside the others", true),
           whole("frame", "Frame",
                 "Of a text with videos: this group of frames of each video alone, counted from 0; -1: all beside each "
                 "other",
                 -1, -1, 9999),
           number("opacity", "Tint", "How dark is what is not read, or how much of the image a colormap covers", 0.7,
                  0.0, 1.0)},
  });
};

Selection AttentionImage::pick(const ViewInput& input, const Hit& hit) const {
  Selection selection;
  const ImageOptions options = options_of(input);
  std::vector<ImagePanel> panels = image_panels(input, options);
  const std::size_t read = panels.size();
  std::ranges::copy(plain_panels(input, options), std::back_inserter(panels));
  if (hit.panel >= panels.size()) {
    return selection;
  }
  const ImagePanel& panel = panels[hit.panel];
  if (const auto token = patch_at(panel.area.cells, hit)) {
    selection.column = static_cast<std::int64_t>(panel.column);
    selection.query = *token;
    if (options.all_heads && hit.panel < read) {
      selection.head = panel.head;
    }
  }
  return selection;
}

Result<AttentionImageKey> AttentionImage::measure_key(const ViewInput& input, std::size_t column) const {
  const Column& of = input.columns[column];
  const ImageOptions options = options_of(input);
  AttentionImageKey key;
  key.query = patch_query(input, of);
  key.rollout = options.rollout;
  if (!key.rollout) {
    key.layers = shown_layers(input, column);
    key.heads = shown_heads(input, column, options);
    key.quantity = input.quantity;
    key.neutral = options.neutral;
    key.sinks = options.sinks > 0;
  }
  if (!key.neutral.empty() && key.quantity != models::Quantity::kWeight) {
    return usage("option relative: expected the weight, found the " + quantity_label(key.quantity));
  }
  return key;
}

// Weights are not painted over the picture unless a colormap is asked for.
figure::Panel AttentionImage::tile_panel(const ViewInput& input, const ImageTile& tile,
                                         const figure::ColorScale& scale) const {
  const auto opacity = option<double>(input, "opacity");
  const bool own = is_seen(tile.area.picture) && input.scale.colormap.empty() && !scale.centred &&
                   options_of(input).of_weights(input.quantity);
  return own ? darkened_panel(tile.area.picture, tile.patches, scale, opacity)
             : patch_panel(tile.area.picture, tile.patches, scale, opacity);
}

namespace {

void add_outline(const ViewInput& input, const ImageOptions& options, const ImageTile& tile, figure::Panel& panel) {
  if (!has_outlines(input, options) || !is_seen(tile.area.picture)) {
    return;
  }
  const Field& patches = *tile.patches;
  if (options.wide) {
    constexpr double kWide = 0.8;
    add_lines(outline_of(most_of_weight(patches, kWide), patches.columns), panel, true);
  }
  add_lines(outline_of(half_of_weight(patches), patches.columns), panel);
  if (const auto blob = options.area ? largest_blob(patches, half_of_weight(patches)) : std::nullopt) {
    const auto top = static_cast<double>(blob->top);
    const auto left = static_cast<double>(blob->left);
    panel.layers.emplace_back(figure::Box{
        {left, left + static_cast<double>(blob->columns)}, {top, top + static_cast<double>(blob->rows)}, kAreaColor});
  }
}

// From the word of each column to the patch that it reads most.
void add_arrows(const ViewInput& input, const ImageOptions& options, const std::vector<ImageTile>& tiles,
                figure::Figure& figure) {
  std::vector<std::optional<std::int64_t>> patches(tiles.size());
  bool any = false;
  for (std::size_t n = 0; n < input.columns.size() && !options.all_heads && options.of_weights(input.quantity); ++n) {
    if (const auto most = most_read(tiles, input, n); most && is_seen(tiles[most->tile].area.picture)) {
      patches[most->tile] = most->patch;
      any = true;
    }
  }
  for (std::size_t n = 0; n < tiles.size() && any; ++n) {
    const Column& column = input.columns[tiles[n].column];
    const std::int64_t query = patch_query(input, column);
    add_arrow("“" + column.trace->tokens()[static_cast<std::size_t>(query)].label + "”",
              "query: " + query_label(*column.trace, query), tiles[n].area.cells, patches[n], figure.panels[n]);
  }
}

// The pictures themselves, with the same room above them as the others have.
void add_plain(const ViewInput& input, const ImageOptions& options, figure::Figure& figure) {
  for (const ImagePanel& each : plain_panels(input, options)) {
    figure::Panel panel = picture_panel(each.area.picture, each.area.cells);
    panel.title = "picture" + (each.area.name.empty() ? "" : " · " + each.area.name);
    panel.y.view.high = figure.panels.front().y.view.high;
    mark_patch(each.area.cells, patch_query(input, input.columns[each.column]), panel);
    figure.panels.push_back(std::move(panel));
  }
}

}  // namespace

Result<figure::Figure> AttentionImage::draw(const ViewInput& input, const Numbers& all_rows) const {
  const ImageOptions options = options_of(input);
  const std::vector<ImageTile> tiles = image_tiles(input, options, all_rows);
  Fields fields;
  fields.reserve(tiles.size());
  for (const ImageTile& tile : tiles) {
    fields.push_back(tile.patches);
  }
  const Sign sign = options.rollout ? Sign::kPositive : sign_of(input.quantity);
  figure::Figure figure;
  for (std::size_t n = 0; n < tiles.size(); ++n) {
    const ImageTile& tile = tiles[n];
    const Column& column = input.columns[tile.column];
    figure::Panel panel = tile_panel(input, tile, color_scale(input, sign, colored_with(input, fields, n)));
    const std::int64_t layer = head_of_column(input, tile.column).layer;
    const std::string where = options.rollout ? "rollout of " + std::to_string(column.trace->model().layers) + " layers"
                                              : head_label(column.trace->model(), layer, tile.head);
    panel.names = {column.name};
    panel.title = options.all_heads
                      ? (input.columns.size() > 1 ? column.name + " · " : "") + "head " + std::to_string(tile.head)
                      : column.name + " · " + where;
    panel.title += tile.area.name.empty() ? "" : " · " + tile.area.name;
    if (!options.rollout) {
      strike_silent(column, {layer, tile.head}, panel);
    }
    if (options.all_heads && !panel.struck.empty()) {
      panel.struck = "head " + std::to_string(tile.head);
    }
    if (!options.all_heads) {
      panel.note = note_of_tile(tile, column, input, options) + note_of_sinks(tile, column, options);
    }
    if (!options.all_heads && (!input.scale.shared || n + 1 == tiles.size())) {
      panel.color_bar_label = image_label(input, options);
    }
    add_outline(input, options, tile, panel);
    add_sinks(tile.sinks, tile.area.cells, panel);
    mark_patch(tile.area.cells, patch_query(input, column), panel);
    figure.panels.push_back(std::move(panel));
  }
  add_arrows(input, options, tiles, figure);
  add_plain(input, options, figure);
  const auto count = static_cast<int>(figure.panels.size());
  const auto checkpoints = static_cast<int>(input.columns.size());
  const int heads = checkpoints > 1 ? count / checkpoints : count;  // and the picture
  constexpr int kOneRow = 5;  // that stand in one row; more make a grid that is wider than high
  const int across = heads <= kOneRow ? heads : static_cast<int>(std::ceil(std::sqrt(1.6 * heads)));
  figure.columns = options.all_heads ? (checkpoints > 1 ? heads : across) : count;
  if (options.all_heads) {
    figure.names = {input.columns[0].name};
    figure.title = (checkpoints > 1 ? "" : input.columns[0].name + " · ") + "layer " +
                   std::to_string(head_of_column(input, 0).layer) + ", every head · query: " +
                   query_label(*input.columns[0].trace, patch_query(input, input.columns[0]));
    const std::size_t right = std::min<std::size_t>(static_cast<std::size_t>(figure.columns), tiles.size()) - 1;
    figure.panels[right].color_bar_label = image_label(input, options);
  }
  if (!options.all_heads && !options.rollout && input.quantity == models::Quantity::kWeight) {
    figure.statement =
        about_columns(input, [&](std::size_t n) { return statement_of_image(tiles, input, n, options); });
  }
  return figure;
}

Result<Data> AttentionImage::table(const ViewInput& input, const Numbers& all) const {
  const Column& column = input.columns[0];
  const ImageOptions options = options_of(input);
  const models::ModelInfo& model = column.trace->model();
  const std::vector<PatchArea> areas = shown_areas(*column.trace, options);
  const models::ImageSpan& first = areas.front().cells;
  const bool alike = std::ranges::all_of(areas, [&](const PatchArea& area) {
    return area.cells.rows == first.rows && area.cells.columns == first.columns;
  });
  Data data;
  if (input.layer == kAll && !options.rollout) {
    data.shape.push_back(model.layers);
  }
  if (options.all_heads) {
    data.shape.push_back(model.heads);
  }
  if (!alike) {
    const std::int64_t cells =
        std::accumulate(areas.begin(), areas.end(), std::int64_t{0},
                        [](std::int64_t sum, const PatchArea& area) { return sum + area.cells.count; });
    data.shape.push_back(cells);
  } else {
    if (areas.size() > 1) {
      data.shape.push_back(static_cast<std::int64_t>(areas.size()));
    }
    data.shape.insert(data.shape.end(), {first.rows, first.columns});
  }
  const Field& rows = *all.front();
  const std::int64_t sink_rows = options.sinks > 0 ? std::ssize(shown_layers(input, 0)) : 0;  // behind the heads'
  for (std::int64_t n = 0; n < rows.rows - sink_rows; ++n) {
    const auto row =
        options.rollout ? all.front() : query_row(rows, static_cast<std::size_t>(n), patch_query(input, column));
    const bool of_quantity = !options.rollout && options.neutral.empty();
    for (const PatchArea& area : areas) {
      for (const float value : patches_of(*row, area.cells).values) {
        data.values.push_back(of_quantity ? as_data(input.quantity, value) : value);
      }
    }
    const std::int64_t heads = options.all_heads ? model.heads : 1;
    std::string areas_said;
    for (const PatchArea& area : areas) {
      const std::string said =
          options.area && has_outlines(input, options) ? area_text(patches_of(*row, area.cells)) : "";
      areas_said += said.empty() ? "" : "; " + (area.name.empty() ? "" : area.name + ", ") + said;
      if (sink_rows > 0) {
        const std::int64_t row = rows.rows - sink_rows + n / heads;
        const std::string sinks = sinks_text(sink_cells(rows, row, area.cells, options.sinks), area.cells);
        areas_said += sinks.empty() ? "" : "; " + (area.name.empty() ? "" : area.name + ", ") + sinks;
      }
    }
    const HeadRef own = head_of_column(input, 0);
    const std::int64_t layer = input.layer == kAll ? n / heads : own.layer;
    data.titles.push_back(column.name + ", " +
                          (options.rollout ? std::string("rollout")
                                           : head_label(model, layer, options.all_heads ? n % heads : own.head)) +
                          areas_said);
  }
  return data;
}

std::vector<Place> AttentionImage::places(const ViewInput& input, const Selection& selection) const {
  std::vector<Place> places;
  if (!selection.query) {
    return places;
  }
  std::vector<ImagePanel> panels = image_panels(input, options_of(input));
  std::ranges::copy(plain_panels(input, options_of(input)), std::back_inserter(panels));
  for (std::size_t n = 0; n < panels.size(); ++n) {
    if (const auto place = patch_place(panels[n].area.cells, selection.query->index)) {
      places.push_back({n, place->x, place->y});
    }
  }
  return places;
}

}  // namespace

const View& attention_image_view() {
  return made_once<AttentionImage>();
}

}  // namespace locus::views
