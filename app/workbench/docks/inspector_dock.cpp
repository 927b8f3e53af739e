#include "app/workbench/docks/inspector_dock.h"

#include <QEvent>
#include <QGroupBox>
#include <QHeaderView>
#include <QLabel>
#include <QScrollArea>
#include <QTableWidget>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/workbench/docks/inspector_table.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/widgets/state_form.h"
#include "app/workbench/work/cell_values.h"
#include "app/workbench/work/token_words.h"
#include "core/base/listed.h"

namespace locus::workbench {

namespace {

constexpr int kLeastWidth = 170;  // narrower, its numbers are cut
constexpr int kLogitRow = 5;
constexpr int kGateRow = 7;
constexpr int kPositionRow = 8;
constexpr int kC2pRow = 9;
constexpr int kP2cRow = 10;
constexpr int kImpliedRow = 11;
constexpr int kSinkRow = 12;
constexpr int kEncodingRow = 13;
constexpr int kDrawnRow = 14;
constexpr int kFirstValueRow = 3;

// The cells' values with as many digits as have room in the table, and how wide they are then.
struct FittedValues {
  int digits = 1;
  int width = 0;
};

FittedValues fitted(const QTableWidget* table, const std::vector<Cell>& cells, int most_digits) {
  const int room = room_of_value(table, static_cast<int>(cells.size()));
  FittedValues values{most_digits, 0};
  for (;; --values.digits) {
    values.width = 0;
    const auto widen = [&](const std::optional<float>& value) {
      const QString text = value ? qt(value_text(*value, values.digits)) : QString();
      values.width = std::max(values.width, table->fontMetrics().horizontalAdvance(text));
    };
    for (const Cell& cell : cells) {
      for (const Cell::Value& each : cell.values) {
        widen(each.value);
      }
      widen(cell.drawn ? std::optional(cell.drawn->value) : std::nullopt);
    }
    if (values.digits == 1 || values.width <= room) {
      return values;
    }
  }
}

}  // namespace

InspectorDock::InspectorDock(Studio& studio, QWidget* parent)
    : QDockWidget(QStringLiteral("Inspector"), parent), studio_(studio), at_token_(studio.worker()) {
  setObjectName(QStringLiteral("inspector-dock"));
  auto* body = new QWidget(this);
  auto* layout = make_layout<QVBoxLayout>(body, 4);
  layout->addWidget(make_cell());
  layout->addWidget(make_predictions());
  layout->addWidget(make_colors());
  layout->addStretch(1);
  QScrollArea* scroll = make_scroll(this, body);
  scroll->setMinimumWidth(kLeastWidth);
  setWidget(scroll);
  connect(&studio_, &Studio::cells_changed, this, &InspectorDock::show_cell);
  connect(&studio_, &Studio::state_changed, this, &InspectorDock::show_state);
  for (const auto changed : {&Studio::state_changed, &Studio::pointed_changed}) {
    connect(&studio_, changed, this, [this] {
      if (studio_.scheduler().cells().empty()) {
        show_cell();
      }
    });
  }
  connect(&studio_, &Studio::figure_changed, this, &InspectorDock::show_colors);
  connect(&studio_, &Studio::figure_changed, this, &InspectorDock::show_context);
  connect(&studio_, &Studio::fingerprints_changed, this, &InspectorDock::show_context);
  connect(&studio_, &Studio::runs_changed, this, &InspectorDock::show_predictions);
  connect(&studio_, &Studio::state_changed, this, &InspectorDock::show_predictions);  // another token is chosen
  connect(&at_token_, &TokenPredictions::changed, this, &InspectorDock::show_predictions);
  connect(&studio_, &Studio::runs_changed, this, &InspectorDock::show_cell);  // which rows there are
  show_cell();
  show_state();
  show_predictions();
}

void InspectorDock::resizeEvent(QResizeEvent* event) {
  QDockWidget::resizeEvent(event);
  QTimer::singleShot(0, this, [this] {  // once the table has its width
    if (studio_.scheduler().cells().size() > 1) {
      show_cell();
    }
  });
}

void InspectorDock::changeEvent(QEvent* event) {
  QDockWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange && predictions_ != nullptr) {
    fit_rows(cell_, fontMetrics());
    fit_rows(predictions_, fontMetrics());
    show_cell();
    show_predictions();
  }
}

QWidget* InspectorDock::make_cell() {
  auto* box = new QGroupBox(QStringLiteral("Cell"), this);
  auto* layout = make_layout<QVBoxLayout>(box, 4);
  cell_ = make_table("cell", QStringLiteral("Values of the selected cell"), box);
  cell_->setRowCount(kDrawnRow + 1);
  cell_->setVerticalHeaderLabels({QStringLiteral("query"), QStringLiteral("key"), QStringLiteral("Δ = i − j"),
                                  QStringLiteral("content"), QStringLiteral("contribution"), QStringLiteral("logit"),
                                  QStringLiteral("weight"), QStringLiteral("gate"), QStringLiteral("position"),
                                  QStringLiteral("c2p"), QStringLiteral("p2c"), QStringLiteral("implied"),
                                  QStringLiteral("sink"), QStringLiteral("encoding"), QStringLiteral("value")});
  layout->addWidget(cell_);
  context_ = new QLabel(box);
  context_->setObjectName(QStringLiteral("context"));
  context_->setWordWrap(true);
  context_->setTextFormat(Qt::RichText);
  context_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  layout->addWidget(context_);
  return box;
}

QWidget* InspectorDock::make_predictions() {
  auto* box = new QGroupBox(QStringLiteral("Next token"), this);
  predictions_box_ = box;
  auto* layout = make_layout<QVBoxLayout>(box, 4);
  predictions_title_ = new QLabel(box);
  predictions_title_->setObjectName(QStringLiteral("predictions-line"));
  predictions_title_->setWordWrap(true);
  layout->addWidget(predictions_title_);
  predictions_ = make_table("predictions", QStringLiteral("Most likely tokens"), box);
  predictions_->horizontalHeader()->hide();
  predictions_->verticalHeader()->hide();
  draw_shares(predictions_);
  layout->addWidget(predictions_);
  return box;
}

QWidget* InspectorDock::make_colors() {
  auto* box = new QGroupBox(QStringLiteral("Colours"), this);
  colors_box_ = box;
  auto* layout = make_layout<QVBoxLayout>(box, 0);
  colors_ = new StateForm(session::state_fields(), session::StateField::Place::kColors, box);
  layout->addWidget(colors_);
  connect(colors_, &StateForm::changed, this, [this] { studio_.change(colors_->edited(studio_.state())); });
  return box;
}

void InspectorDock::show_cell() {
  const auto& cells = studio_.scheduler().cells();
  cell_->clearContents();
  const int columns = std::max(1, static_cast<int>(cells.size()));
  cell_->setColumnCount(columns);
  QStringList names;
  constexpr std::size_t kWideColumns = 2;  // of so many, each has room for every digit
  const auto [digits, width] = fitted(cell_, cells, cells.size() > kWideColumns ? 3 : 5);
  const bool names_tokens = studio_.view().names_tokens();
  cell_->verticalHeaderItem(0)->setText(names_tokens ? QStringLiteral("query") : QStringLiteral("position i"));
  cell_->verticalHeaderItem(1)->setText(names_tokens ? QStringLiteral("key") : QStringLiteral("position j"));
  if (cells.empty()) {
    show_query();
  }
  for (int n = 0; n < static_cast<int>(cells.size()); ++n) {
    const Cell& cell = cells[static_cast<std::size_t>(n)];
    names << qt(cell.column);
    const auto token = [&](std::int64_t index, const std::string& word) {
      return names_tokens ? QStringLiteral("%1  “%2”").arg(index).arg(qt(word)) : QString::number(index);
    };
    set_text(cell_, 0, n, token(cell.query, cell.query_token));
    set_text(cell_, 1, n, token(cell.key, cell.key_token));
    set_text(cell_, 2, n, cell.has_distance ? QString::number(cell.query - cell.key) : QStringLiteral("–"));
    const auto set_value = [&, digits = digits](int row, const std::optional<float>& value) {
      set_text(cell_, row, n, value ? qt(value_text(*value, digits)) : QStringLiteral("–"));
      cell_->item(row, n)->setToolTip(value ? qt(value_text(*value)) : QString());
    };
    for (int row = 0; row < static_cast<int>(cell.values.size()); ++row) {
      set_value(kFirstValueRow + row, cell.values[static_cast<std::size_t>(row)].value);
    }
    set_text(cell_, kEncodingRow, n, qt(cell.encoding));
    set_value(kDrawnRow, cell.drawn ? std::optional(cell.drawn->value) : std::nullopt);
  }
  const auto columns_shown = studio_.checkpoints().shown();
  const auto any = [&](const auto& has) {
    return std::any_of(columns_shown.begin(), columns_shown.end(),
                       [&](const Checkpoint* column) { return has(*column->info()); });
  };
  const bool gates = any([](const models::ModelInfo& info) { return info.has_gates(); });
  const bool parts = any([](const models::ModelInfo& info) { return info.has_parts(); });
  const bool sinks = any([](const models::ModelInfo& info) {
    return std::any_of(info.layer_info.begin(), info.layer_info.end(),
                       [](const models::LayerInfo& layer) { return layer.sink; });
  });
  const bool drawn = !cells.empty() && cells.front().drawn.has_value();  // the view's own number, and no score
  for (int row = kFirstValueRow; row < kEncodingRow; ++row) {
    cell_->setRowHidden(row, drawn);
  }
  cell_->setRowHidden(kGateRow, !gates || drawn);
  cell_->setRowHidden(kPositionRow, !gates || drawn);
  cell_->setRowHidden(kC2pRow, !parts || drawn);
  cell_->setRowHidden(kP2cRow, !parts || drawn);
  const auto given = [&](int row) {
    return std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) {
      return cell.values[static_cast<std::size_t>(row - kFirstValueRow)].value.has_value();
    });
  };
  const bool implied = given(kImpliedRow);
  cell_->setRowHidden(kImpliedRow, !implied || drawn);
  cell_->setRowHidden(kLogitRow, (implied && !given(kLogitRow)) || drawn);
  cell_->setRowHidden(kSinkRow, !sinks || drawn);
  cell_->setRowHidden(kDrawnRow, !drawn);
  name_columns(cell_, names);
  fit_columns(cell_, width);
  fit_height(cell_);
  show_context();
}

std::pair<views::Token, views::Token> InspectorDock::asked() const {
  if (!studio_.scheduler().cells().empty()) {
    return {studio_.scheduler().cells().front().asked_query, studio_.scheduler().cells().front().asked_key};
  }
  const views::Token& pointed = studio_.pointed().query;
  return {pointed.chosen() ? pointed : studio_.state().query, views::kNone};
}

// Without a key there are no values, but a token and its words.
void InspectorDock::show_query() {
  const std::int64_t query = asked().first.index;
  const views::ViewInput input = studio_.view_input();
  const std::shared_ptr<const models::Trace> trace = input.columns.empty() ? nullptr : input.columns.front().trace;
  const bool known = trace && query >= 0 && query < trace->length();
  set_text(cell_, 0, 0,
           known ? QStringLiteral("%1  “%2”").arg(query).arg(qt(shown_token(*trace, query)))
                 : QStringLiteral("point at a cell"));
}

// "query: …what is <b>your</b> name…", of the first column's text.
void InspectorDock::show_context() {
  constexpr std::size_t kAround = 24;
  QStringList lines;
  const auto [asked_query, asked_key] = asked();
  const views::ViewInput input = studio_.view_input();
  if (const auto& cells = studio_.scheduler().cells(); !cells.empty() && cells.front().drawn) {
    lines << QStringLiteral("value: ") + qt(cells.front().drawn->name).toHtmlEscaped();
  }
  if (asked_query.chosen() && !input.columns.empty() && studio_.view().names_tokens()) {
    const models::Trace& first = *input.columns.front().trace;
    const auto bytes = [](const views::Token& token, const std::vector<models::TokenInfo>& tokens) {
      const auto own = token.text ? token.text : views::text_of(tokens, token.index);
      return own ? own->bytes : Range();
    };
    for (const auto& [role, part, text] :
         {std::tuple("query", bytes(asked_query, first.tokens()), &first.text()),
          std::tuple("key", bytes(asked_key, first.key_tokens()), &first.key_text())}) {
      const InContext words = in_context(*text, part, kAround);
      if (!words.token.empty()) {
        const auto html = [](const std::string& text) { return qt(text).simplified().toHtmlEscaped(); };
        const bool spaced = words.before.ends_with(' ') || words.token.starts_with(' ');
        const bool apart = words.behind.starts_with(' ') || words.token.ends_with(' ');
        lines << QStringLiteral("%1: %2%3<b>%4</b>%5%6")
                     .arg(QLatin1String(role), html(words.before), spaced ? QStringLiteral(" ") : QString(),
                          html(words.token).isEmpty() ? QStringLiteral("␣") : html(words.token),
                          apart ? QStringLiteral(" ") : QString(), html(words.behind));
      }
    }
  }
  for (const Cell& cell : studio_.scheduler().cells()) {
    if (!cell.pairs.empty()) {
      const QString of = studio_.scheduler().cells().size() > 1 ? qt(cell.column).toHtmlEscaped() + ", " : QString();
      lines << of + QStringLiteral("pairs: ") + qt(cell.pairs).toHtmlEscaped();
    }
  }
  if (const QString head = chosen_head(); !head.isEmpty()) {
    lines << head;
  }
  context_->setText(lines.join(QStringLiteral("<br>")));
  context_->setVisible(!lines.isEmpty());
}

// "head 1.2: previous 0.82, …", where heads are what is chosen among; empty elsewhere, and while it is measured.
QString InspectorDock::chosen_head() {
  const session::ViewState& state = studio_.state();
  const views::ViewInput input = studio_.view_input();
  views::Selection chosen;
  chosen.layer = state.layer;
  chosen.head = state.head;
  const views::View& view = studio_.view();
  if (input.columns.empty() || state.head < 0 || view.info().uses_head || view.places(input, chosen).empty()) {
    return {};
  }
  const auto print = studio_.fingerprints().of(input.columns.front(), state.layer, state.head);
  return print && *print ? QStringLiteral("head %1.%2: %3").arg(state.layer).arg(state.head).arg(qt(words_of(**print)))
                         : QString();
}

void InspectorDock::show_state() {
  colors_->show_state(studio_.state());
}

void InspectorDock::show_colors() {
  const auto& figure = studio_.scheduler().figure();
  if (!figure) {
    return;  // what was possible stays so while the next is made
  }
  const auto colored = [](const figure::Layer& layer) {
    return std::holds_alternative<figure::HeatMap>(layer) || std::holds_alternative<figure::TokenStrip>(layer);
  };
  colors_box_->setEnabled(std::any_of(figure->panels.begin(), figure->panels.end(), [&](const figure::Panel& panel) {
    return std::any_of(panel.layers.begin(), panel.layers.end(), colored);
  }));
}

namespace {

// Steps, length and largest weight of the vectors of the columns' texts, and the cosine of the first two; empty: a
// column has none.
QString vectors_of(const std::vector<const Checkpoint*>& columns) {
  QStringList lines;
  std::vector<models::SentenceVector> vectors;
  for (const Checkpoint* const column : columns) {
    const models::SentenceVector& own = vectors.emplace_back(column->trace->sentence());
    if (own.values.empty() || own.weights.empty()) {
      return {};
    }
    const auto [least, most] = std::ranges::minmax_element(own.weights);
    const auto token = most - own.weights.begin();
    const QString largest = QString::number(static_cast<double>(*most), 'f', 4);
    lines << QStringLiteral("%1: %2 numbers; ").arg(qt(listed(column->trace->model().pooling))).arg(own.values.size()) +
                 (*most - *least < 1e-6F ? QStringLiteral("every token weighs %1").arg(largest)
                                         : QStringLiteral("largest weight %1 at %2  “%3”")
                                               .arg(largest)
                                               .arg(token)
                                               .arg(qt(shown_token(*column->trace, token))));
  }
  if (vectors.size() > 1 && vectors[0].values.size() == vectors[1].values.size()) {
    lines << QStringLiteral("cosine similarity of the first two: %1")
                 .arg(models::cosine_similarity(vectors[0].values, vectors[1].values), 0, 'f', 4);
  }
  return lines.join(QStringLiteral("\n"));
}

}  // namespace

void InspectorDock::title_predictions(bool any) {
  const auto columns = studio_.checkpoints().shown();
  const views::ViewInput input = studio_.view_input();
  const auto everywhere = std::ranges::count_if(
      columns, [](const Checkpoint* each) { return TokenPredictions::predicts_everywhere(*each->trace); });
  const bool image = !columns.empty() && columns.front()->trace->image_grid().rows > 0;
  QString title = QStringLiteral("Next token");
  QString line = columns.empty()       ? QStringLiteral("Nothing has run yet.")
                 : columns.size() == 1 ? QStringLiteral("This trace contains no predictions.")
                                       : QStringLiteral("These traces contain no predictions.");
  if (image) {
    title = QStringLiteral("What the image shows");
  } else if (everywhere > 0) {
    const bool all = everywhere == static_cast<std::ptrdiff_t>(columns.size());
    title = all ? QStringLiteral("Prediction at the chosen token") : QStringLiteral("Predictions");
    const auto first = std::ranges::find_if(
        input.columns, [](const views::Column& each) { return TokenPredictions::predicts_everywhere(*each.trace); });
    const std::int64_t token = first == input.columns.end() ? views::kNone : TokenPredictions::token_of(input, *first);
    if (token != views::kNone) {
      line = QStringLiteral("at %1  “%2”").arg(token).arg(qt(shown_token(*first->trace, token)));
    } else if (!any) {
      line = QStringLiteral("Choose a token: click a cell, or a token below.");
    }
  } else if (!columns.empty() && any) {
    const auto last = [](const Checkpoint* each) { return qt(shown_token(*each->trace, each->trace->length() - 1)); };
    const bool alike =
        std::ranges::all_of(columns, [&](const Checkpoint* each) { return last(each) == last(columns.front()); });
    title = alike ? QStringLiteral("Next token after “%1”").arg(last(columns.front()))
                  : QStringLiteral("Next token after the last");
  }
  const QString vectors = vectors_of(columns);
  if (!any && !vectors.isEmpty()) {
    title = QStringLiteral("Vector of the text");
    line = vectors;
  }
  predictions_box_->setTitle(title);
  predictions_title_->setText(line);
  predictions_title_->setVisible(!any || everywhere > 0);
}

void InspectorDock::show_predictions() {
  constexpr std::int64_t kPredictions = 8;  // as many as of the last token
  const auto columns = studio_.checkpoints().shown();
  const views::ViewInput input = studio_.view_input();
  at_token_.ask(input, kPredictions);
  std::vector<std::vector<models::Prediction>> lists;
  for (std::size_t n = 0; n < columns.size(); ++n) {
    const models::Trace& trace = *columns[n]->trace;
    if (!TokenPredictions::predicts_everywhere(trace) || !columns[n]->model || n >= input.columns.size()) {
      lists.push_back(columns[n]->top);
      continue;
    }
    const auto* own = at_token_.of(trace, TokenPredictions::token_of(input, input.columns[n]));
    lists.push_back(own == nullptr ? std::vector<models::Prediction>() : *own);
  }
  title_predictions(std::ranges::any_of(lists, [](const auto& list) { return !list.empty(); }));
  predictions_->clear();
  predictions_->setColumnCount(std::max(1, static_cast<int>(columns.size())));
  predictions_->setRowCount(0);
  QStringList names;
  for (int n = 0; n < static_cast<int>(columns.size()); ++n) {
    const std::vector<models::Prediction>& top = lists[static_cast<std::size_t>(n)];
    names << qt(columns[static_cast<std::size_t>(n)]->name);
    predictions_->setRowCount(std::max(predictions_->rowCount(), static_cast<int>(top.size())));
    for (int row = 0; row < static_cast<int>(top.size()); ++row) {
      const models::Prediction& each = top[static_cast<std::size_t>(row)];
      const QString share = QStringLiteral("%1 %").arg(static_cast<double>(each.probability) * 100, 0, 'f', 1);
      set_text(predictions_, row, n, qt(each.token));
      QTableWidgetItem* item = predictions_->item(row, n);
      item->setToolTip(QStringLiteral("%1  %2, id %3").arg(item->text(), share).arg(each.id));
      set_share(item, static_cast<double>(each.probability), share);
      item->setData(Qt::AccessibleDescriptionRole, share);
    }
  }
  name_columns(predictions_, names);
  fit_columns(predictions_);
  fit_height(predictions_);
}

}  // namespace locus::workbench
