#include "app/workbench/canvas/instruments/instruments.h"

#include <QTimer>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/views/shared/score_maps/score_map.h"
#include "app/workbench/canvas/instruments/free_places.h"
#include "app/workbench/canvas/instruments/head_squares.h"
#include "app/workbench/canvas/instruments/head_thumbnails.h"
#include "app/workbench/canvas/instruments/paint.h"
#include "core/base/numbers.h"
#include "renderers/figure/colormap.h"

namespace locus::workbench {

namespace {

constexpr double kWidestMatrix = 15;  // in heights of text
constexpr double kHighestMatrix = 20;
constexpr double kLeastMatrix = 3;  // a smaller one folds
constexpr double kLargestSquare = 1.2;
constexpr double kThumbnailSize = 9;

class HeadNavigator final : public Instrument {
 public:
  std::string name() const override { return "heads"; }
  std::string title() const override { return "Heads"; }
  int toggle_key() const override { return Qt::Key_H; }
  void toggle(const InstrumentFrame& frame) override {
    session::ViewState state = frame.state();
    state.navigator.fold = folded_ ? Fold::kOpen : Fold::kFolded;
    frame.gesture.change(state);
  }

  bool offered(const InstrumentFrame& frame) const override {
    const views::ViewInfo& info = frame.view.info();
    return column_of(frame) != nullptr && (info.uses_head || info.uses_layer) && info.uses_input;
  }

  void update(const InstrumentFrame& frame) override {
    const views::Column* column = column_of(frame);
    if (column == nullptr || !offered(frame) || column->trace->crosses()) {
      return;
    }
    frame.studio.fingerprints().survey(*column);
    if (const views::Column* reference = reference_for(frame); choice_of(frame).difference && reference != nullptr) {
      frame.studio.fingerprints().survey(*reference);
    }
  }

  std::vector<figure::Rect> areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& taken) override {
    const models::ModelInfo& model = column_of(frame)->trace->model();
    const figure::Point canvas{frame.canvas.width, frame.canvas.height};
    const double text = frame.canvas.text;
    const Fold fold = choice_of(frame).fold;
    folded_ = fold == Fold::kFolded;
    for (double part = 1; !folded_ && part > 0.2; part *= 0.8) {
      squares_ = squares_within(model.layers, model.heads, part * kWidestMatrix * text, part * kHighestMatrix * text,
                                part * kLargestSquare * text);
      const bool tiny = squares_.side < 3 * frame.canvas.dpr || squares_.width() < kLeastMatrix * text;
      if (tiny && part < 1) {
        break;
      }
      const figure::Point size = open_size(frame);
      if (const auto place = free_place(size, canvas, frame.pad(), taken)) {
        return {*place};
      }
      if (fold == Fold::kOpen) {  // over the figure, above the diagonal, where a causal map is empty
        return {over_map(frame, size)};
      }
    }
    folded_ = true;
    const figure::Point line = paint::text_size(folded_text(frame));
    return {place_or_corner({line.x + 2 * frame.pad(), frame.line() + frame.pad()}, canvas, frame.pad(), taken)};
  }

  void draw(const InstrumentFrame& frame, std::size_t /*n*/, const figure::Rect& area) override {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    paint::ground(list, area);
    const double head_line = frame.line() + frame.pad() / 2;
    ImGui::SetCursorScreenPos(paint::from(area));
    if (ImGui::InvisibleButton("title", paint::at(area.width, head_line))) {
      if (folded_) {
        toggle(frame);
      } else {
        ImGui::OpenPopup("numbers");
      }
    }
    if (ImGui::IsItemClicked(1)) {
      toggle(frame);
    }
    const std::string words = folded_ ? folded_text(frame) : title_text(frame);
    paint::text(frame, list, {area.x + frame.pad(), area.y + frame.pad() / 2}, words);
    draw_menu(frame);
    if (folded_) {
      return;
    }
    squares_.origin = {std::round(area.center_x() - squares_.width() / 2),
                       std::round(area.y + head_line + frame.pad() / 2)};
    ImGui::SetCursorScreenPos(paint::at(squares_.origin));
    ImGui::InvisibleButton("heads", paint::at(std::max(1.0, squares_.width()), std::max(1.0, squares_.height())));
    draw_squares(frame, list);
    if (ImGui::IsItemActive()) {
      const views::HeadRef nearest = squares_.nearest(paint::pointer());
      pressed_ = ImGui::IsItemActivated() ? std::optional(nearest) : pressed_;
      if (pressed_ != nearest) {
        pressed_.reset();  // a drag over heads is no click on one
      }
      choose(frame, nearest);
    } else if (std::exchange(pressed_, std::nullopt)) {
      frame.gesture.click_head();
    }
    if (const auto pointed = squares_.at(paint::pointer()); ImGui::IsItemHovered() && pointed) {
      draw_pointed(frame, *pointed, area);
    }
  }

  std::string said(const InstrumentFrame& frame) const override {
    const views::Column* column = column_of(frame);
    return column == nullptr ? std::string() : words_of_head(frame, head_now(frame)) + (folded_ ? "; folded" : "");
  }

  bool press(const InstrumentFrame& frame, const InstrumentKey& key) override {
    const views::Column* column = column_of(frame);
    if (column == nullptr) {
      return false;
    }
    HeadSquares all;
    all.layers = column->trace->model().layers;
    all.heads = column->trace->model().heads;
    const views::HeadRef now = head_now(frame);
    switch (key.key) {
      case Qt::Key_Left:
        choose(frame, moved(now, 0, -1, all));
        return true;
      case Qt::Key_Right:
        choose(frame, moved(now, 0, 1, all));
        return true;
      case Qt::Key_Up:
        choose(frame, moved(now, -1, 0, all));
        return true;
      case Qt::Key_Down:
        choose(frame, moved(now, 1, 0, all));
        return true;
      case Qt::Key_Home:  // the one that does it most
        if (const auto best = strongest_head(values(frame), all.heads)) {
          choose(frame, *best);
        }
        return true;
      case Qt::Key_PageDown:
      case Qt::Key_PageUp:
        color_by(frame, next_number(frame, key.key == Qt::Key_PageDown ? 1 : kHeadNumbers.size() - 1));
        return true;
      case Qt::Key_D:
        compare(frame);
        return true;
      case Qt::Key_Return:
      case Qt::Key_Enter:
        toggle(frame);
        return true;
      default:
        return false;
    }
  }

 private:
  using Fold = session::NavigatorChoice::Fold;

  static const session::NavigatorChoice& choice_of(const InstrumentFrame& frame) { return frame.state().navigator; }
  static std::size_t number_in(const InstrumentFrame& frame) { return head_number(choice_of(frame).statistic); }
  // The weight on pictures is for texts that have some.
  static bool offers(const InstrumentFrame& frame, std::size_t number) {
    return kHeadNumbers[number].value != &views::Fingerprint::images || !column_of(frame)->trace->images().empty();
  }
  static std::size_t next_number(const InstrumentFrame& frame, std::size_t step) {
    std::size_t number = (number_in(frame) + step) % kHeadNumbers.size();
    while (!offers(frame, number)) {
      number = (number + step) % kHeadNumbers.size();
    }
    return number;
  }
  static void color_by(const InstrumentFrame& frame, std::size_t number) {
    session::ViewState state = frame.state();
    state.navigator.statistic = kHeadNumbers[number].name;
    frame.gesture.change(state);
  }
  static void compare(const InstrumentFrame& frame) {
    session::ViewState state = frame.state();
    state.navigator.difference = !state.navigator.difference;
    frame.gesture.change(state);
  }

  static const views::Column* column_of(const InstrumentFrame& frame) {
    const auto& columns = frame.input.columns;
    return columns.empty() ? nullptr : &columns[std::min(frame.column, columns.size() - 1)];
  }
  // The column the chosen one is compared with; null: none.
  static const views::Column* reference_for(const InstrumentFrame& frame) {
    const views::Column& reference = frame.input.columns[views::reference_of(frame.input)];
    return &reference == column_of(frame) ? nullptr : &reference;
  }
  static views::HeadRef head_now(const InstrumentFrame& frame) {
    const auto columns = frame.input.columns.size();
    return columns == 0 ? views::HeadRef{} : views::head_of_column(frame.input, std::min(frame.column, columns - 1));
  }

  static std::vector<float> values(const InstrumentFrame& frame) {
    const HeadSurvey* survey = frame.studio.fingerprints().known(*column_of(frame));
    if (survey == nullptr) {
      return {};
    }
    if (compares(frame)) {
      const HeadSurvey* other = frame.studio.fingerprints().known(*reference_for(frame));
      return other == nullptr ? std::vector<float>() : head_differences(*survey, *other, number_in(frame));
    }
    return head_values(*survey, number_in(frame));
  }
  static bool compares(const InstrumentFrame& frame) {
    return choice_of(frame).difference && reference_for(frame) != nullptr;
  }

  static std::string title_text(const InstrumentFrame& frame) {
    return std::string(compares(frame) ? "Δ " : "") + kHeadNumbers[number_in(frame)].name;
  }
  std::string folded_text(const InstrumentFrame& frame) const {
    const models::ModelInfo& model = column_of(frame)->trace->model();
    return "heads " + std::to_string(model.layers) + " × " + std::to_string(model.heads);
  }
  static std::string words_of_head(const InstrumentFrame& frame, const views::HeadRef& head) {
    const models::ModelInfo& model = column_of(frame)->trace->model();
    std::string words = "layer " + std::to_string(head.layer) +
                        (head.head == views::kMean ? ", mean of heads" : ", head " + std::to_string(head.head));
    const auto index = static_cast<std::size_t>(std::max<std::int64_t>(0, head.layer * model.heads + head.head));
    const std::vector<float> all = values(frame);
    if (head.head >= 0 && index < all.size()) {
      words += ", " + title_text(frame) + " " + share_text(static_cast<double>(all[index]));
    }
    return words;
  }

  figure::Point open_size(const InstrumentFrame& frame) const {
    const double title = paint::text_size(title_text(frame)).x;
    return {std::max(squares_.width(), title) + 2 * frame.pad(), squares_.height() + frame.line() + 2 * frame.pad()};
  }
  static figure::Rect over_map(const InstrumentFrame& frame, const figure::Point& size) {
    figure::Rect plot{0, 0, frame.canvas.width, frame.canvas.height};
    if (frame.layout() != nullptr && !frame.layout()->panels.empty()) {
      plot = frame.layout()->panels.front().plot;
    }
    return {std::max(0.0, plot.right() - size.x - frame.pad()), plot.y + frame.pad(), size.x, size.y};
  }

  void choose(const InstrumentFrame& frame, const views::HeadRef& head) const {
    const auto columns = frame.input.columns.size();
    const std::size_t column = std::min(frame.column, columns - 1);
    if (views::has_own_head(frame.input, column)) {
      if (head != views::head_of_column(frame.input, column)) {
        QTimer::singleShot(0, &frame.gesture, [&studio = frame.studio, column, head] {
          studio.column_actions().set_own_head(column, head);
        });
      }
      return;
    }
    session::ViewState state = frame.state();
    state.layer = views::linked_layer(frame.input, column, head.layer);
    state.head = head.head;
    frame.gesture.change(state);
  }

  void draw_squares(const InstrumentFrame& frame, ImDrawList& list) const {
    const std::vector<float> all = values(frame);
    figure::ColorScale scale = scale_of_heads(all, number_in(frame), compares(frame));
    scale.mask_color = frame.canvas.dark ? 0x3A3D42FF : 0xDADDE2FF;
    const double gap = squares_.side >= 6 ? 1 : 0;
    for (std::int64_t layer = 0; layer < squares_.layers; ++layer) {
      for (std::int64_t head = 0; head < squares_.heads; ++head) {
        const auto index = static_cast<std::size_t>(layer * squares_.heads + head);
        const figure::Color color = index < all.size() ? figure::color_of(scale, all[index]) : scale.mask_color;
        const figure::Rect square = squares_.square(layer, head);
        list.AddRectFilled(paint::from(square), paint::at(square.right() - gap, square.bottom() - gap),
                           viewport::imgui_color(color));
      }
    }
    const views::HeadRef now = head_now(frame);
    const double wide = 2 * frame.canvas.dpr;
    const bool row = now.head < 0;  // the mean of a layer
    figure::Rect chosen =
        squares_.square(std::clamp<std::int64_t>(now.layer, 0, squares_.layers - 1), row ? 0 : now.head);
    chosen.width = row ? squares_.width() : chosen.width;
    list.AddRect(paint::from(chosen.grown(wide / 2)), paint::to(chosen.grown(wide / 2)), IM_COL32(255, 157, 46, 255), 0,
                 0, static_cast<float>(wide));
  }

  // Draws measurements and map of the head under the pointer beside the matrix.
  void draw_pointed(const InstrumentFrame& frame, const views::HeadRef& head, const figure::Rect& area) {
    const std::vector<std::string> lines{words_of_head(frame, head)};
    const double size = kThumbnailSize * frame.canvas.text;
    figure::Rect box = paint::box_of(frame, lines);
    box.width = std::max(box.width, size + 2 * frame.pad());
    box.height += size + frame.pad();
    const bool left = area.center_x() > frame.canvas.width / 2;
    box.x = left ? area.x - box.width - frame.pad() : area.right() + frame.pad();
    box.x = std::clamp(box.x, 0.0, std::max(0.0, frame.canvas.width - box.width));
    box.y = std::clamp(paint::pointer().y - box.height / 2, 0.0, std::max(0.0, frame.canvas.height - box.height));
    ImDrawList& list = *ImGui::GetForegroundDrawList();
    paint::box(frame, list, box, lines);
    const auto map = thumbnails_.of(frame.studio.worker(), *column_of(frame), head, frame.redraw);
    if (map == nullptr) {
      return;
    }
    const figure::Rect place{box.x + frame.pad(), box.bottom() - size - frame.pad(), size, size};
    figure::ColorScale scale;
    scale.transfer = figure::Transfer::kGamma;
    scale.gamma = 0.5F;
    const double wide = size / static_cast<double>(map->columns);
    const double high = size / static_cast<double>(map->rows);
    for (std::int64_t row = 0; row < map->rows; ++row) {
      for (std::int64_t column = 0; column < map->columns; ++column) {
        const figure::Rect cell{place.x + wide * static_cast<double>(column), place.y + high * static_cast<double>(row),
                                wide, high};
        list.AddRectFilled(paint::from(cell), paint::to(cell),
                           viewport::imgui_color(figure::color_of(scale, map->at(row, column))));
      }
    }
  }

  void draw_menu(const InstrumentFrame& frame) {
    if (!ImGui::BeginPopup("numbers")) {
      return;
    }
    if (frame.closes_menus) {
      ImGui::CloseCurrentPopup();
    }
    for (std::size_t n = 0; n < kHeadNumbers.size(); ++n) {
      if (offers(frame, n) && ImGui::MenuItem(kHeadNumbers[n].name, nullptr, n == number_in(frame))) {
        color_by(frame, n);
      }
    }
    ImGui::Separator();
    if (ImGui::MenuItem("difference of the columns", "D", choice_of(frame).difference,
                        reference_for(frame) != nullptr)) {
      compare(frame);
    }
    if (ImGui::MenuItem("the strongest head", "Home")) {
      const auto best = strongest_head(values(frame), column_of(frame)->trace->model().heads);
      choose(frame, best.value_or(head_now(frame)));
    }
    if (ImGui::MenuItem("fold", "H")) {
      toggle(frame);
    }
    ImGui::EndPopup();
  }

  bool folded_ = false;                    // in the last frame
  std::optional<views::HeadRef> pressed_;  // where the button went down, until the pointer is on another head
  HeadSquares squares_;
  HeadThumbnails thumbnails_;
};

}  // namespace

std::unique_ptr<Instrument> make_head_navigator() {
  return std::make_unique<HeadNavigator>();
}

}  // namespace locus::workbench
