// View: one way of looking at runs of models. A view turns traces and a few parameters into a Figure; it holds no state
// and no data, so the workbench, the command line and a recipe that name the same input show the same picture.
//
// To add one: a source in app/views/{maps,curves,heads,images} that defines a View and the function NAME_view(), and
// its page assets/manual/NAME.md, whose head has its title, group and place among the views.
//
// Letters: T tokens, H heads, L layers; i is a query (a row), j a key (a column), Δ = i − j. Layers and heads count
// from 0.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/views/shared/field_cache.h"
#include "app/views/shared/parameters.h"
#include "app/views/shared/token.h"
#include "core/base/parameter.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/base/settings.h"
#include "models/api/model.h"
#include "renderers/figure/figure.h"
#include "renderers/figure/layout.h"

namespace locus::views {

// ---- what is looked at

// One run that is compared with the others, side by side.
struct Column {
  std::string name;                            // above its panels; names of one input differ
  std::shared_ptr<const models::Model> model;  // null for a trace that was opened from a file
  std::shared_ptr<const models::Trace> trace;  // never null
  // The layer and head it shows, whatever the others do; empty: it follows them.
  std::optional<HeadRef> own{};
};

struct ViewInput : ViewParameters {
  std::vector<Column> columns;  // at least one
  // Maps too large to reduce at once come from sampled cells and become exact in steps of about so many milliseconds,
  // 0 the sample alone; they say how far they are. Empty: every map is exact.
  std::optional<double> step_ms;
  Settings options;     // the view's own controls
  int width_px = 1024;  // of the whole figure: how many cells can be told apart
  int height_px = 768;
  std::shared_ptr<FieldCache> cache;  // null: every field is computed
  StopToken stop;
  Progress progress;
  // Told what a long measurement has so far, as a figure to be shown meanwhile: from `so_far_ms` after its beginning on,
  // and not more often. Null: nobody looks on.
  std::function<void(figure::Figure)> so_far = {};
  double so_far_ms = 300;
};

// ---- what a view says of itself

// A parameter of a view: a widget in the workbench, `--option name=value` on the command line.
using Control = Parameter;

// The purpose of a view; lists of views have those of one group below each other.
enum class Group {
  kLook,       // at what attends to what
  kPosition,   // what positions alone do
  kFrequency,  // what rotary pairs do
  kChange,     // something, and see what it does
  kMeasure,    // numbers of heads and models
};
// "Look", "Position", …: the heading of its views in menus and in the manual.
std::string title_of(Group group);

// Numbers that are set by hand on the figure: one, or the ends of a range. They are options of the view.
struct RangeBrush {
  std::string label;  // "λ"
  std::string low;    // empty: one number alone
  std::string high;
  std::string unit{};  // the option that names their unit, "tokens" or "percent"; empty: none is written
};

struct ViewInfo {
  std::string name;            // "pe-dot-product", on the command line and in sessions
  std::string title{};         // "Position dot product", of its page
  Group group = Group::kLook;  // of its page
  std::string caption;         // one line, for who has never seen it and knows no term of the field but "head"
  std::string shows;           // one or two sentences; the rest is in its page of the manual
  bool uses_layer = false;
  bool uses_head = false;
  bool uses_query = false;
  bool uses_quantity = false;
  bool uses_camera = false;  // can be zoomed and panned
  bool uses_difference = false;
  bool uses_cross = false;  // also of cross-attention, whose keys are another text's than its queries
  bool needs_text = false;
  bool uses_input = true;   // shows the runs; otherwise what lies beside the checkpoints
  bool of_runs = true;      // shows runs of models, and traces of files
  bool of_atlases = false;  // shows atlases
  bool uses_lasso = false;  // a loop that is pulled on it chooses what is inside
  bool of_scores = false;   // its cells are a query's and a key's, with the scores of the run
  bool of_edits = false;    // shows what edits change, and nothing where no column has one
  std::vector<Control> controls;
  std::vector<RangeBrush> brushes{};
};

// The same with the title and the group of the view's page (app/views/list.h).
ViewInfo described(ViewInfo info);

// ---- what a view gives

// Numbers for NPY (shape) and CSV (one column per name), at full resolution, whatever the figure shows.
struct Data {
  std::vector<std::int64_t> shape;
  std::vector<float> values;          // row-major
  std::vector<std::string> columns;   // names of the last axis of a table; empty for maps
  std::vector<std::string> tokens{};  // names of the last axis of maps over tokens
  std::vector<std::string> titles{};  // of each map, in order; empty where they are not known
};

// The same numbers in parts, for those that are too many to hold at once: part n is computed when it is asked for.
struct DataParts {
  std::vector<std::int64_t> shape;  // of the whole
  std::vector<std::string> columns;
  std::int64_t count = 0;
  std::function<Result<std::vector<float>>(std::int64_t n)> part;  // row-major; n from 0 to count − 1, in order
  std::vector<std::string> tokens{};                               // as Data has them
  std::vector<std::string> titles{};
};

// A point of a figure: data units of a panel, or a token of its strip.
using figure::Hit;

// Tokens that a checkpoint of this name is to read.
struct RunOfIds {
  std::string checkpoint;
  std::vector<std::int64_t> ids;

  friend bool operator==(const RunOfIds&, const RunOfIds&) = default;
};

// The selection that a point stands for; empty parts are not touched by it.
struct Selection {
  std::optional<std::int64_t> layer;
  std::optional<std::int64_t> head;
  std::optional<Token> query;
  std::optional<Token> key;
  std::optional<std::int64_t> column;  // of ViewInput::columns
  std::vector<HeadRef> partners;       // of that head, as ViewInput has them
  bool open = false;                   // choosing it opens the `attention` view there
  // Choosing it sets this option of the view: an anchor, a pinned query.
  std::optional<std::pair<std::string, SettingValue>> option;
  // Choosing it shows the text in the open checkpoint of that name, tinted by the query.
  std::optional<RunOfIds> run{};

  friend bool operator==(const Selection&, const Selection&) = default;
};

// The value that a view that is not `of_scores` draws for a query and a key.
struct DrawnValue {
  std::string name;  // of the quantity, as the colour bar has it
  float value = 0;   // NaN: masked

  friend bool operator==(const DrawnValue&, const DrawnValue&) = default;
};

// A rectangle of a panel, in its data units.
struct Place {
  std::size_t panel = 0;
  figure::Interval x;
  figure::Interval y;
};

class View {
 public:
  virtual ~View() = default;

  virtual const ViewInfo& info() const = 0;
  // Why this view has nothing to show for a run: kUnsupported, one line ("CoPE's gates; text-rope has rope").
  Status available(const Column& column) const;
  // Errors: kUsage for a parameter out of range or an unknown option, what the traces report, kCancelled.
  virtual Result<figure::Figure> figure(const ViewInput& input) const = 0;
  // The numbers of the first column, or of the difference when `difference` is set. Errors as figure().
  virtual Result<Data> data(const ViewInput& input) const = 0;
  // data() in parts, one per map where there is one per head; in one otherwise. The errors of a part come with it.
  virtual Result<DataParts> data_parts(const ViewInput& input) const;
  virtual Selection pick(const ViewInput& /*input*/, const Hit& /*hit*/) const { return {}; }
  // The selection of pulling the pointer from one place to another, in views that are not zoomed: by default none.
  virtual Selection drag(const ViewInput& /*input*/, const Hit& /*from*/, const Hit& /*to*/) const { return {}; }
  // The selection of a closed loop of one panel, in views that use a lasso; `add`: beside what is chosen already. A
  // loop without a point chooses nothing.
  virtual Selection lasso(const ViewInput& /*input*/, const std::vector<Hit>& /*loop*/, bool /*add*/) const {
    return {};
  }
  // Where a selection is seen, in every panel that shows it: the inverse of pick().
  virtual std::vector<Place> places(const ViewInput& /*input*/, const Selection& /*selection*/) const { return {}; }
  // The whole of the axes, for views that can be zoomed; empty for others.
  virtual std::optional<Camera> home(const ViewInput& /*input*/) const { return {}; }
  // Lines of the tooltip of a place under the pointer, from what has been measured; empty: nothing of its own.
  virtual std::vector<std::string> said_of(const ViewInput& /*input*/, const Hit& /*hit*/) const { return {}; }
  // Whether rows and columns of its cells are tokens; otherwise positions, whatever stands there.
  virtual bool names_tokens() const { return true; }
  // The exact value that it draws where a column's own query and key meet; empty in views that are `of_scores`, and in
  // those without such cells. Errors: figure()'s.
  virtual Result<std::optional<DrawnValue>> drawn_at(const ViewInput& /*input*/, std::size_t /*column*/,
                                                     std::int64_t /*query*/, std::int64_t /*key*/) const {
    return std::optional<DrawnValue>();
  }
  // Why an option changes nothing of what is shown ("Only weights are divided …"); empty: it has an effect.
  virtual std::string why_idle(const ViewInput& /*input*/, const std::string& /*option*/) const { return {}; }
  // In views that are lists of heads: the head `by` rows below the input's, with the option that brings it into view;
  // empty where there is none, and in other views.
  virtual std::optional<Selection> step(const ViewInput& /*input*/, std::int64_t /*by*/) const { return {}; }
  // In views that tint tokens or patches by the attention of one query: that query, whose keys pick() gives as queries;
  // none in other views.
  virtual Token tinting_query(const ViewInput& /*input*/) const { return kNone; }
  // In views whose cells are runs with an edit each: "head 3.1 zero", in models/edits' short form; empty for no single
  // head, and in other views.
  virtual std::optional<models::Edit> edit_of_cell(const ViewInput& /*input*/, std::int64_t /*layer*/,
                                                   std::int64_t /*head*/) const {
    return {};
  }

 protected:
  // The answer of available() for a column of the kinds that the view shows.
  virtual Status fits(const Column& column) const;
  // The value of an option of this view: the input's, else the default of its control. T is bool, std::int64_t, double
  // or std::string, as the control has it.
  template <class T>
  T option(const ViewInput& input, const std::string& name) const {
    return std::get<T>(option_value(input, name));
  }

 private:
  SettingValue option_value(const ViewInput& input, const std::string& name) const;
};

// The layer and head that a column shows: its own, its partner, or the input's (by depth, the layer that lies as deep).
HeadRef head_of_column(const ViewInput& input, std::size_t column);
// The input's layer at which a column shows this one of its layers: the inverse of head_of_column().
std::int64_t linked_layer(const ViewInput& input, std::size_t column, std::int64_t layer);
// Layers of the deepest column that follows the others; of the deepest of all where none does.
std::int64_t deepest_linked(const std::vector<Column>& columns);
// The layer of `layers` that lies as deep as layer `of` of `among`: round(of / (among − 1) · (layers − 1)). Beyond the
// last one it is beyond the last.
std::int64_t layer_at_depth(std::int64_t of, std::int64_t among, std::int64_t layers);
bool has_own_head(const ViewInput& input, std::size_t column);
// The input with that column's layer and head.
ViewInput of_column(const ViewInput& input, std::size_t column);

// Whether there is a difference to show: it is asked for, and there are columns to compare.
bool shows_difference(const ViewInput& input);
// The column that differences are taken from, and the others in their order.
std::size_t reference_of(const ViewInput& input);
std::vector<std::size_t> compared_columns(const ViewInput& input);
// Panels behind those of the columns: one, where two columns are compared.
std::size_t difference_panels(const ViewInput& input);

// The one view of this kind, made when it is first asked for.
template <class Kind>
const View& made_once() {
  static const Kind view;
  return view;
}

// All views, in the order in which they are shown.
const std::vector<const View*>& views();

// Errors: kUsage naming the known views.
Result<const View*> find_view(const std::string& name);

// `name=value` pairs as typed, checked against the view's controls. Errors: kUsage naming the option, what is expected
// and what was found.
Result<Settings> parse_options(const View& view, const std::vector<std::pair<std::string, std::string>>& typed);

// kUsage unless the input has a column, its layer and head exist in every column and its options are the view's own;
// called first by every figure() and data().
Status check(const View& view, const ViewInput& input);

}  // namespace locus::views
