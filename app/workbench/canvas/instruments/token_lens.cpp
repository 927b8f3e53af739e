#include "app/workbench/canvas/instruments/instruments.h"

#include <algorithm>
#include <cmath>

#include "app/views/shared/plots/map_lines.h"
#include "app/views/shared/plots/read_out.h"
#include "app/views/shared/plots/series.h"
#include "app/workbench/canvas/instruments/paint.h"
#include "app/workbench/work/token_words.h"
#include "renderers/figure/colormap.h"

namespace locus::workbench {

namespace {

constexpr std::int64_t kLensCells = 15;
constexpr std::int64_t kLargeMap = 500;  // tokens: smaller maps are read without
constexpr double kLensCell = 1.45;       // in heights of text
constexpr double kLensWord = 6;
constexpr std::int64_t kSaidWords = 3;  // words on either side that are said

class TokenLens final : public Instrument {
 public:
  std::string name() const override { return "lens"; }
  std::string title() const override { return "Token lens"; }
  bool takes_keys() const override { return false; }
  int toggle_key() const override { return Qt::Key_L; }
  void toggle(const InstrumentFrame& /*frame*/) override { shown_ = !shown_; }

  bool offered(const InstrumentFrame& frame) const override {
    const auto& columns = frame.input.columns;
    const auto at = place_of(frame);
    return shown_ && at && frame.figure() != nullptr && frame.layout() != nullptr &&
           at->panel < frame.figure()->panels.size() && at->panel < frame.layout()->panels.size() &&
           at->panel < columns.size() && columns[at->panel].trace->length() > kLargeMap;
  }
  // None of the screen is its own; that it is seen, the canvas knows by it: no other box stands at the pointer then.
  std::vector<figure::Rect> areas(const InstrumentFrame& /*frame*/,
                                  const std::vector<figure::Rect>& /*taken*/) override {
    return {{}};
  }
  void draw(const InstrumentFrame& /*frame*/, std::size_t /*n*/, const figure::Rect& /*area*/) override {}

  // The words of the cell in its middle, and of the cells around it along both axes.
  std::string said(const InstrumentFrame& frame) const override {
    const auto at = place_of(frame);
    if (!at || at->panel >= frame.input.columns.size()) {
      return shown_ ? "shown; point at a cell, or pin one" : "hidden";
    }
    const models::Trace& trace = *frame.input.columns[at->panel].trace;
    const auto around = [](double place, std::int64_t count, const auto& word) {
      const auto middle = static_cast<std::int64_t>(std::floor(place));
      std::string words;
      for (std::int64_t n = std::max<std::int64_t>(0, middle - kSaidWords);
           n <= std::min(count - 1, middle + kSaidWords); ++n) {
        words += (words.empty() ? "" : " ") + (n == middle ? "[" + word(n) + "]" : word(n));
      }
      return std::to_string(middle) + " of " + words;
    };
    return "query " + around(at->y, trace.length(), [&](std::int64_t n) { return shown_token(trace, n); }) + "; key " +
           around(at->x, trace.keys(), [&](std::int64_t n) { return shown_key(trace, n); });
  }

  // The map itself where the screen has its cells, else the cells are read from the run.
  void draw_below(const InstrumentFrame& frame) override {
    const figure::Hit at = *place_of(frame);
    const figure::Panel& panel = frame.figure()->panels[at.panel];
    const figure::HeatMap* shown = views::map_of(panel);
    if (shown == nullptr) {
      return;
    }
    const bool whole = shown->field->row_axis.step == 1 && shown->field->column_axis.step == 1;
    const auto cell = whole ? views::cell_at(*shown->field, at.x, at.y) : std::nullopt;
    std::shared_ptr<const Field> field = shown->field;
    views::CellBlock block;
    if (cell) {
      block = views::block_around(*field, *cell, kLensCells);
    } else if ((field = read(frame, at)) != nullptr) {
      block = {0, 0, field->rows, field->columns};
    } else {
      return;
    }
    draw_block(frame, at, *field, block, shown->scale);
  }

 private:
  // The pointed cell, else the pinned one.
  static std::optional<figure::Hit> place_of(const InstrumentFrame& frame) {
    if (frame.hit || !frame.input.query.chosen() || frame.input.columns.empty()) {
      return frame.hit;
    }
    views::Selection pinned;
    pinned.query = frame.input.query;
    pinned.key = frame.input.key.chosen() ? frame.input.key : frame.input.query;
    const auto places = frame.view.places(frame.input, pinned);
    if (places.empty()) {
      return std::nullopt;
    }
    const views::Place& place = places.front();
    return figure::Hit{place.panel, (place.x.low + place.x.high) / 2, (place.y.low + place.y.high) / 2, -1};
  }

  // The cells around the pointer, read exactly: fifteen rows of few cells take no time worth waiting for.
  std::shared_ptr<const Field> read(const InstrumentFrame& frame, const figure::Hit& hit) {
    const views::Column& column = frame.input.columns[hit.panel];
    if (!frame.view.info().uses_quantity || column.trace->image_grid().rows > 0) {
      return nullptr;  // cells of something else
    }
    models::MapRequest request;
    const views::HeadRef head = views::head_of_column(frame.input, hit.panel);
    request.layer = head.layer;
    request.head = head.head;
    request.quantity = frame.input.quantity;
    request.mark_masked = true;
    const auto range = [](double at, std::int64_t count) {
      const auto begin = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(at)) - kLensCells / 2, 0,
                                                  std::max<std::int64_t>(0, count - kLensCells));
      return Range{begin, std::min(begin + kLensCells, count)};
    };
    request.rows = range(hit.y, column.trace->length());
    request.columns = range(hit.x, column.trace->keys());
    if (trace_.lock() == column.trace && request == request_) {
      return cells_;
    }
    if (!(asked_ && *asked_ == request)) {
      asked_ = request;
      QMetaObject::invokeMethod(
          &frame.gesture,
          [this, &worker = frame.studio.worker(), column, request, redraw = frame.redraw] {
            ask(worker, column, request, redraw);
          },
          Qt::QueuedConnection);
    }
    return nullptr;
  }

  void ask(Worker& worker, const views::Column& column, const models::MapRequest& request,
           const std::function<void()>& redraw) {
    worker.submit<Field>(
        Priority::kPreview, "lens", "",
        [column, request](StopToken stop, const Progress& /*progress*/) {
          auto made = column.trace->map(request, std::move(stop));
          if (made) {
            made->row_axis.first = static_cast<double>(request.rows.begin);
            made->column_axis.first = static_cast<double>(request.columns.begin);
          }
          return made;
        },
        [this, trace = std::weak_ptr(column.trace), request, redraw](Result<Field> made) {
          if (!made) {
            return;
          }
          trace_ = trace;
          request_ = request;
          cells_ = std::make_shared<const Field>(*std::move(made));
          redraw();
        });
  }

  static void draw_block(const InstrumentFrame& frame, const figure::Hit& hit, const Field& field,
                         const views::CellBlock& block, const figure::ColorScale& scale) {
    const models::Trace& trace = *frame.input.columns[hit.panel].trace;
    const double side = std::floor(kLensCell * frame.canvas.text);
    std::vector<std::string> queries;
    std::vector<std::string> keys;
    for (std::int64_t r = 0; r < block.rows; ++r) {
      const auto query = static_cast<std::int64_t>(field.row_axis.first) + block.row + r;
      queries.push_back(query >= 0 && query < trace.length() ? shown_token(trace, query) : "");
    }
    for (std::int64_t c = 0; c < block.columns; ++c) {
      const auto key = static_cast<std::int64_t>(field.column_axis.first) + block.column + c;
      keys.push_back(key >= 0 && key < trace.keys() ? shown_key(trace, key) : "");
    }
    const double beside = room_of(frame, queries);
    const double above = room_of(frame, keys);
    const figure::Point size{side * static_cast<double>(block.columns) + beside + frame.pad(),
                             side * static_cast<double>(block.rows) + above + frame.line() + frame.pad()};
    const figure::Rect canvas{0, 0, frame.canvas.width, frame.canvas.height};
    const figure::PanelLayout& place = frame.layout()->panels[hit.panel];
    const figure::Point at =
        frame.hit ? frame.canvas.pointer : figure::Point{place.x.place(hit.x), place.y.place(hit.y)};
    const figure::Rect box = viewport::box_beside(at, size, {canvas});
    ImDrawList& list = *ImGui::GetForegroundDrawList();
    paint::ground(list, box, 1);
    const figure::Point first{box.x + beside, box.y + above};
    for (std::size_t c = 0; c < keys.size(); ++c) {
      const double left = first.x + side * static_cast<double>(c);
      paint::upright_text(frame, list, {left, box.y + frame.pad(), side, above - 1.5 * frame.pad()}, keys[c]);
    }
    for (std::int64_t r = 0; r < block.rows; ++r) {
      const double top = first.y + side * static_cast<double>(r);
      draw_word(frame, list, {box.x + frame.pad(), top, beside - 1.5 * frame.pad(), side},
                queries[static_cast<std::size_t>(r)]);
      for (std::int64_t c = 0; c < block.columns; ++c) {
        const figure::Rect cell{first.x + side * static_cast<double>(c), top, side, side};
        const float value = field.at(block.row + r, block.column + c);
        list.AddRectFilled(paint::from(cell), paint::to(cell), viewport::imgui_color(figure::color_of(scale, value)));
        const double x = field.column_axis.first + static_cast<double>(block.column + c);
        const double y = field.row_axis.first + static_cast<double>(block.row + r);
        if (std::floor(hit.x) == x && std::floor(hit.y) == y) {
          draw_value(frame, list, box, hit, value);
          list.AddRect(paint::from(cell), paint::to(cell), IM_COL32(255, 255, 255, 255), 0, 0, 2.0F);
          list.AddRect(paint::from(cell.grown(1.5)), paint::to(cell.grown(1.5)), IM_COL32(0, 0, 0, 200));
        }
      }
    }
  }

  // Width of the longest of these words as shown, with padding.
  static double room_of(const InstrumentFrame& frame, const std::vector<std::string>& words) {
    double room = 0;
    for (const std::string& word : words) {
      frame.imgui.need(word);
      room = std::max(room, paint::text_size(word).x);
    }
    return std::min(std::ceil(room), std::floor(kLensWord * frame.canvas.text)) + 1.5 * frame.pad();
  }

  // At the right of its place, beside the cells; what is too long loses its end.
  static void draw_word(const InstrumentFrame& frame, ImDrawList& list, const figure::Rect& place,
                        const std::string& word) {
    list.PushClipRect(paint::from(place), paint::to(place), true);
    paint::text(frame, list, {std::max(place.x, place.right() - paint::text_size(word).x), place.y}, word);
    list.PopClipRect();
  }

  static void draw_value(const InstrumentFrame& frame, ImDrawList& list, const figure::Rect& box,
                         const figure::Hit& hit, float value) {
    const auto token = [](double at) { return std::to_string(static_cast<std::int64_t>(std::floor(at))); };
    const auto read = views::read_out(*frame.figure(), hit);
    paint::text(frame, list, {box.x + frame.pad(), box.bottom() - frame.line()},
                (read ? read->name + " " : std::string()) +
                    (std::isfinite(value) ? views::short_number(static_cast<double>(value)) : "masked") + ", query " +
                    token(hit.y) + ", key " + token(hit.x));
  }

  bool shown_ = false;
  std::weak_ptr<const models::Trace> trace_;
  models::MapRequest request_;
  std::optional<models::MapRequest> asked_;
  std::shared_ptr<const Field> cells_;
};

}  // namespace

std::unique_ptr<Instrument> make_token_lens() {
  return std::make_unique<TokenLens>();
}

}  // namespace locus::workbench
