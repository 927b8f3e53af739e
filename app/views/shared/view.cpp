#include "app/views/shared/view.h"

#include <algorithm>

#include "core/base/listed.h"
#include "core/base/shown.h"
#include "models/api/atlas_trace.h"

namespace locus::views {

namespace {

const Control* find_control(const View& view, const std::string& name) {
  const auto& controls = view.info().controls;
  const auto found = std::find_if(controls.begin(), controls.end(), [&](const Control& c) { return c.name == name; });
  return found == controls.end() ? nullptr : &*found;
}

Error unknown_option(const View& view, const std::string& name) {
  std::vector<std::string> known;
  for (const Control& control : view.info().controls) {
    known.push_back(control.name);
  }
  return usage("view " + view.info().name + ": unknown option " + shown(name) +
               "; known: " + (known.empty() ? "none" : listed_known(known, view.info().name)));
}

Error no_such(const std::string& what, std::int64_t index, std::int64_t count, const Column& column) {
  return usage(what + ": expected 0 to " + std::to_string(count - 1) + " (" + column.name + "), found " +
               std::to_string(index));
}

}  // namespace

std::string title_of(Group group) {
  switch (group) {
    case Group::kLook:
      return "Look";
    case Group::kPosition:
      return "Position";
    case Group::kFrequency:
      return "Frequency";
    case Group::kChange:
      return "Change";
    case Group::kMeasure:
      return "Measure";
  }
  return {};
}

namespace {

std::string views_of_atlases() {
  std::string names;
  for (const View* view : views()) {
    if (view->info().of_atlases) {
      names += (names.empty() ? "" : ", ") + view->info().name;
    }
  }
  return names;
}

}  // namespace

Status View::available(const Column& column) const {
  const bool atlas = models::atlas_of(*column.trace) != nullptr;
  if (atlas && !info().of_atlases) {
    return unsupported(info().title + " shows runs of a model; " + column.name +
                       " is an atlas, which has means alone and is shown by " + views_of_atlases());
  }
  if (!atlas && !info().of_runs) {
    return unsupported(info().title + " needs an atlas, which locus atlas makes; " + column.name + " is none");
  }
  return fits(column);
}

Status View::fits(const Column& column) const {
  const bool image = column.trace->image_grid().rows > 0;
  if (info().needs_text && image) {
    return unsupported(info().title + " needs a text; " + column.name + " read an image");
  }
  return {};
}

SettingValue View::option_value(const ViewInput& input, const std::string& name) const {
  const Control& control = *find_control(*this, name);
  const auto set = input.options.values().find(name);
  const auto value = set != input.options.values().end() ? checked(control, set->second) : control.fallback;
  return value ? *value : control.fallback;
}

bool has_own_head(const ViewInput& input, std::size_t column) {
  return column < input.columns.size() && input.columns[column].own.has_value();
}

HeadRef head_of_column(const ViewInput& input, std::size_t column) {
  if (has_own_head(input, column) && input.layer != kAll && input.head != kAll) {
    return *input.columns[column].own;
  }
  HeadRef own{input.layer, input.head};
  if (column < input.partners.size() && input.partners.front() == own) {
    return input.partners[column];
  }
  if (input.by_depth && input.layer >= 0 && column < input.columns.size()) {
    own.layer = layer_at_depth(own.layer, deepest_linked(input.columns), input.columns[column].trace->model().layers);
  }
  return own;
}

std::int64_t linked_layer(const ViewInput& input, std::size_t column, std::int64_t layer) {
  if (!input.by_depth || layer < 0 || column >= input.columns.size() || has_own_head(input, column)) {
    return layer;
  }
  return layer_at_depth(layer, input.columns[column].trace->model().layers, deepest_linked(input.columns));
}

std::int64_t deepest_linked(const std::vector<Column>& columns) {
  const bool any = std::ranges::any_of(columns, [](const Column& column) { return !column.own; });
  std::int64_t most = 0;
  for (const Column& column : columns) {
    most = any && column.own ? most : std::max(most, column.trace->model().layers);
  }
  return most;
}

std::int64_t layer_at_depth(std::int64_t of, std::int64_t among, std::int64_t layers) {
  if (of >= among) {
    return layers + (of - among);
  }
  return among < 2 ? 0 : (2 * of * (layers - 1) + among - 1) / (2 * (among - 1));
}

ViewInput of_column(const ViewInput& input, std::size_t column) {
  ViewInput one = input;
  const HeadRef head = head_of_column(input, column);
  one.layer = head.layer;
  one.head = head.head;
  one.partners.clear();
  one.by_depth = false;
  for (Column& each : one.columns) {
    each.own.reset();
  }
  return one;
}

bool shows_difference(const ViewInput& input) {
  return input.difference && input.columns.size() > 1;
}

std::size_t reference_of(const ViewInput& input) {
  const std::size_t last = input.columns.empty() ? 0 : input.columns.size() - 1;
  return input.reference < 0 ? last : std::min(static_cast<std::size_t>(input.reference), last);
}

std::vector<std::size_t> compared_columns(const ViewInput& input) {
  std::vector<std::size_t> list;
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    if (n != reference_of(input)) {
      list.push_back(n);
    }
  }
  return list;
}

std::size_t difference_panels(const ViewInput& input) {
  return input.difference && input.columns.size() == 2 ? 1 : 0;
}

Result<const View*> find_view(const std::string& name) {
  std::vector<std::string> known;
  for (const View* view : views()) {
    if (view->info().name == name) {
      return view;
    }
    known.push_back(view->info().name);
  }
  return usage("unknown view " + shown(name) + "; known: " + listed_known(known, "contents"));
}

Result<Settings> parse_options(const View& view, const std::vector<std::pair<std::string, std::string>>& typed) {
  Settings options;
  for (const auto& [name, text] : typed) {
    const Control* control = find_control(view, name);
    if (control == nullptr) {
      return unknown_option(view, name);
    }
    LOCUS_TRY(SettingValue value, parse(*control, text));
    options.set(name, std::move(value));
  }
  return options;
}

Status check(const View& view, const ViewInput& input) {
  if (input.columns.empty()) {
    return usage("view " + view.info().name + ": expected a run to show, found none");
  }
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const Column& column = input.columns[n];
    const models::ModelInfo& model = column.trace->model();
    if (view.info().uses_input && !view.info().uses_cross && column.trace->crosses()) {
      return unsupported("view " + view.info().name + ": expected queries and keys of one text, found cross-attention",
                         column.name);
    }
    const auto [layer, head] = head_of_column(input, n);
    if (view.info().uses_layer && (layer < kAll || layer == -1 || layer >= model.layers)) {
      return no_such("layer", layer, model.layers, column);
    }
    if (view.info().uses_head && (head < kAll || head >= model.heads)) {
      return no_such("head", head, model.heads, column);
    }
  }
  const models::Trace& first = *input.columns.front().trace;
  for (const auto& [what, token, length] :
       {std::tuple("query", input.query.index, first.length()), std::tuple("key", input.key.index, first.keys())}) {
    if (view.info().uses_query && (token < kNone || token >= length)) {
      return no_such(what, token, length, input.columns.front());
    }
  }
  for (const auto& [name, value] : input.options.values()) {
    const Control* control = find_control(view, name);
    if (control == nullptr) {
      return unknown_option(view, name);
    }
    LOCUS_CHECK(checked(*control, value));
  }
  return {};
}

}  // namespace locus::views
