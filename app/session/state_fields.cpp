#include "app/session/state_fields.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/shown.h"
#include "renderers/figure/colormap.h"

namespace locus::session {

namespace {

using Place = StateField::Place;
using figure::Transfer;

constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kLargestByte = 1e15;
constexpr double kLargest = 1e30;  // of what a float holds with room to spare

// A whole number from `low`, which is the default, or one of the words.
Parameter index(const char* name, const char* label, const char* help,
                std::vector<std::pair<std::string, std::int64_t>> words, double low = 0) {
  Parameter parameter = whole(name, label, help, static_cast<std::int64_t>(low), low, kEndless);
  parameter.words = std::move(words);
  return parameter;
}

std::vector<std::string> view_names() {
  std::vector<std::string> names;
  for (const views::View* view : views::views()) {
    names.push_back(view->info().name);
  }
  return names;
}

std::vector<std::string> colormap_names() {
  std::vector<std::string> names;
  for (const figure::Colormap& map : figure::colormaps()) {
    names.emplace_back(map.name);
  }
  return names;
}

Parameter colormap_choice() {
  Parameter parameter = choice(
      "scale.colormap", "Colormap",
      "Colormap to use instead of the view's own: viridis, or a zero-centred one for signed values", colormap_names());
  parameter.fallback = std::string();
  parameter.lowest = "automatic";
  return parameter;
}

// One axis of the camera. Where only one has been set, the other is as a fresh one.
template <class Axis>
StateField camera_field(const char* name, const char* label, const char* flag, const char* help, Axis axis) {
  const auto get = [axis](const ViewState& state) -> std::optional<SettingValue> {
    if (!state.camera) {
      return std::nullopt;
    }
    const figure::Interval& interval = axis(*state.camera);
    return SettingValue(std::vector<double>{interval.low, interval.high});
  };
  const auto put = [axis](ViewState& state, const std::optional<SettingValue>& value) {
    const auto* ends = list_in(value);
    if (ends == nullptr) {
      state.camera.reset();
      return;
    }
    state.camera = state.camera.value_or(views::Camera{});
    axis(*state.camera) = {ends->at(0), ends->at(1)};
  };
  return {numbers(name, label, help, -kEndless), flag, Place::kCanvas, 2, true, get, put};
}

// A token by its index, which files have where there is no text.
StateField token_field(const char* name, const char* label, const char* help, const char* flag,
                       views::Token ViewState::*token) {
  const auto get = [token](const ViewState& state) { return to_value((state.*token).index); };
  const auto put = [token](ViewState& state, const std::optional<SettingValue>& value) {
    std::int64_t at = views::kNone;
    from_value(value, at);
    state.*token = at;
  };
  return {index(name, label, help, {{"none", views::kNone}}, -1), flag, Place::kCanvas, 0, false, get, put};
}

// The same token by what it stands for: where its bytes begin and end, and which of several tokens of these it is.
StateField token_text_field(const char* name, const char* label, const char* help, views::Token ViewState::*token) {
  const auto get = [token](const ViewState& state) -> std::optional<SettingValue> {
    const auto& text = (state.*token).text;
    if (!text) {
      return std::nullopt;
    }
    return SettingValue(std::vector<double>{static_cast<double>(text->bytes.begin),
                                            static_cast<double>(text->bytes.end), static_cast<double>(text->nth)});
  };
  const auto put = [token](ViewState& state, const std::optional<SettingValue>& value) {
    const auto* list = list_in(value);
    (state.*token).text.reset();
    if (list != nullptr) {
      const auto at = [list](std::size_t n) { return static_cast<std::int64_t>(std::min(list->at(n), kLargestByte)); };
      (state.*token).text = views::TokenText{{at(0), at(1)}, at(2)};
    }
  };
  return {numbers(name, label, help, 0), "", Place::kCanvas, 3, true, get, put};
}

// A layer and a head for each column.
StateField heads_field(const char* name, const char* label, const char* flag, const char* help,
                       std::vector<views::HeadRef> ViewState::*heads) {
  const auto get = [heads](const ViewState& state) -> std::optional<SettingValue> {
    std::vector<double> list;
    for (const views::HeadRef& each : state.*heads) {
      list.insert(list.end(), {static_cast<double>(each.layer), static_cast<double>(each.head)});
    }
    return list.empty() ? std::nullopt : std::optional<SettingValue>(std::move(list));
  };
  const auto put = [heads](ViewState& state, const std::optional<SettingValue>& value) {
    (state.*heads).clear();
    const auto* list = list_in(value);
    for (std::size_t n = 0; list != nullptr && n + 1 < list->size(); n += 2) {
      (state.*heads).push_back({static_cast<std::int64_t>((*list)[n]), static_cast<std::int64_t>((*list)[n + 1])});
    }
  };
  return {numbers(name, label, help, -1), flag, Place::kCanvas, 2, false, get, put};
}

StateField only_with(StateField field, std::function<bool(const ViewState&)> applies) {
  field.applies = std::move(applies);
  return field;
}

Parameter mask_color() {
  Parameter parameter = whole("scale.mask", "Masked", "Colour of cells that the mask hides", 0xD0D0D0FF, 0,
                              static_cast<double>(0xFFFFFFFFU));
  parameter.words = {{"grey", 0xD0D0D0FF}, {"white", 0xFFFFFFFF}, {"black", 0x000000FF}};
  return parameter;
}

StateFields make_own_fields() {
  constexpr Place kBar = Place::kBar;
  constexpr Place kColors = Place::kColors;
  const auto gamma = [](const ViewState& state) { return state.scale.transfer == Transfer::kGamma; };
  return {
      state_field(choice("view", "View", "The view to draw", view_names()), "", &ViewState::view, kBar),
      state_field(index("layer", "Layer", "A layer, counted from 0, or all", {{"all", views::kAll}}), "--layer",
                  &ViewState::layer, kBar),
      state_field(
          index("head", "Head", "A head, counted from 0, mean or all", {{"mean", views::kMean}, {"all", views::kAll}}),
          "--head", &ViewState::head, kBar),
      enumerated<Quantity>("quantity", "Quantity", "What a cell shows", "--quantity", named(kQuantities),
                           &ViewState::quantity, kBar),
      enumerated<models::Side>(
          "side", "Side",
          "For an encoder–decoder: the maps of its decoder, of its encoder, or of the decoder over the encoder; for a "
          "vision-language model: of its text (decoder) or of the patches in its image tower; for a model with layers "
          "without a softmax: the maps that those imply (mixer)",
          "--side", named(models::kSides), &ViewState::side, kBar),
      state_field(
          toggle("difference", "Difference",
                 "Differences from the reference column: with two columns as an additional panel, with more in place "
                 "of their maps"),
          "--difference", &ViewState::difference, kBar),
      state_field(index("reference", "Reference", "The reference column of differences, counted from 0",
                        {{"last", views::kNone}}, -1),
                  "", &ViewState::reference, kBar),
      token_field("query", "Query", "A query token, counted from 0 in the first column; -1: none", "--query",
                  &ViewState::query),
      token_text_field("query_text", "Query's text", "The bytes of the text that the query token covers",
                       &ViewState::query),
      token_field("key", "Key", "A key token, counted from 0 in the first column; -1: none", "--key", &ViewState::key),
      token_text_field("key_text", "Key's text", "The bytes of the text that the key token covers", &ViewState::key),
      heads_field("partners", "Partners", "--partners",
                  "A layer and a head for each column, where corresponding heads have different numbers",
                  &ViewState::partners),
      heads_field("unlinked", "Unlinked", "--unlinked",
                  "A layer and a head for each column that shows its own; -1,-1 for a column that follows the others",
                  &ViewState::unlinked),
      unless_default(state_field(
          toggle("by_depth", "Layers by depth",
                 "Columns of different depth show the layers that lie as deep; the layer is one of the deepest column"),
          "--by-depth", [](auto& s) -> auto& { return s.by_depth; }, Place::kCanvas)),
      camera_field(
          "camera.x", "Across", "--camera-x",
          "Visible part of the horizontal axis, in the units of the view: left and right",
          [](auto& camera) -> auto& { return camera.x; }),
      camera_field(
          "camera.y", "Down", "--camera-y",
          "Visible part of the vertical axis, in the units of the view: bottom and top",
          [](auto& camera) -> auto& { return camera.y; }),
      state_field(
          colormap_choice(), "--colormap", [](auto& s) -> auto& { return s.scale.colormap; }),
      enumerated<std::optional<Transfer>>(
          "scale.transfer", "Scale",
          "Mapping from values to colours; auto: logarithmic, or a gamma for one query, where fewer than one weight in "
          "a hundred is 0.1 or more, else linear",
          "--scale",
          {{"auto", std::nullopt}, {"linear", Transfer::kLinear}, {"log", Transfer::kLog}, {"gamma", Transfer::kGamma}},
          [](auto& s) -> auto& { return s.scale.transfer; }, kColors),
      only_with(state_field(
                    number("scale.gamma", "Gamma", "Exponent of the scale gamma, 0.05 to 4", 0.5, 0.05, 4), "--gamma",
                    [](auto& s) -> auto& { return s.scale.gamma; }),
                gamma),
      state_field(
          number("scale.percentile", "Percentile",
                 "Central share of the values that an automatic range covers, in percent", 100.0, 0.1, 100),
          "--percentile", [](auto& s) -> auto& { return s.scale.percentile; }),
      state_field(
          number("scale.low", "From", "Lower end of the colour range; empty: from the data", std::string(), -kLargest,
                 kLargest),
          "--low", [](auto& s) -> auto& { return s.scale.low; }),
      state_field(
          number("scale.high", "To", "Upper end of the colour range; empty: from the data", std::string(), -kLargest,
                 kLargest),
          "--high", [](auto& s) -> auto& { return s.scale.high; }),
      state_field(
          mask_color(), "--mask", [](auto& s) -> auto& { return s.scale.mask_color; }),
      enumerated<Reduction>("reduction", "Reduction", "Reduction where a pixel covers several cells", "--reduction",
                            {{"max", Reduction::kMax}, {"mean", Reduction::kMean}}, &ViewState::reduction, kColors),
      state_field(toggle("ignore_first", "Ignore the first token",
                         "Exclude the first token, a frequent attention sink, from the colour range"),
                  "--ignore-first", &ViewState::ignore_first),
      state_field(
          typed_toggle("scale.shared", "One range for all", "Colour range: one for all columns, or one per column",
                       true, "own", "shared"),
          "--range", [](auto& s) -> auto& { return s.scale.shared; }),
  };
}

StateFields make_fields() {
  StateFields fields = make_own_fields();
  for (StateField& field : canvas_fields()) {
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace

const StateFields& state_fields() {
  static const StateFields fields = make_fields();
  return fields;
}

Status detail::check_groups(const SettingValue& value, std::size_t group, bool one_group, const std::string& name) {
  const auto* list = std::get_if<std::vector<double>>(&value);
  if (group == 0 || list == nullptr || (one_group ? list->size() == group : list->size() % group == 0)) {
    return {};
  }
  return usage(name + ": expected " + (one_group ? "" : "groups of ") + std::to_string(group) + " numbers, found " +
               shown(to_text(value)));
}

}  // namespace locus::session
