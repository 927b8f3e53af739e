#include "app/workbench/docks/inspector_dock.h"

#include <QEvent>
#include <QGroupBox>
#include <QHeaderView>
#include <QLabel>
#include <QScrollArea>
#include <QSet>
#include <QTableWidget>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/workbench/docks/inspector_table.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/fold_box.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/widgets/state_form.h"
#include "app/workbench/work/cell_values.h"
#include "app/workbench/work/token_words.h"
#include "core/base/listed.h"
#include "core/base/shown.h"

namespace locus::workbench {

namespace {

constexpr int kLeastWidth = 170;  // narrower, its numbers are cut
constexpr int kContentRow = 3;
constexpr int kContributionRow = 4;
constexpr int kLogitRow = 5;
constexpr int kWeightRow = 6;
constexpr int kGateRow = 7;
constexpr int kPositionRow = 8;
constexpr int kC2pRow = 9;
constexpr int kP2cRow = 10;
constexpr int kImpliedRow = 11;
constexpr int kDeviationRow = 12;
constexpr int kCarriedRow = 13;
constexpr int kSinkRow = 14;
constexpr int kEncodingRow = 15;
constexpr int kDrawnRow = 16;
constexpr int kFirstValueRow = 3;

// The cells' values with as many digits as have room in the table, and how wide they are then.
struct FittedValues {
  int digits = 1;
  int width = 0;
};

std::optional<float> drawn_value(const Cell& cell) {
  if (!cell.drawn) {
    return std::nullopt;
  }
  return cell.drawn->value;
}

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
      widen(drawn_value(cell));
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
  // Greys the predictions of the previous run while the map already shows layers of the present one.
  connect(&studio_, &Studio::figure_changed, this,
          [this] { predictions_->setEnabled(!studio_.scheduler().is_early()); });
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
  box->setObjectName(QStringLiteral("cell-box"));
  cell_box_ = box;
  auto* layout = make_layout<QVBoxLayout>(box, 4);
  cell_ = make_table("cell", QStringLiteral("Values of the selected cell"), box);
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
  box->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);  // its title does not widen the dock
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
  auto* box = new FoldBox("colours", QStringLiteral("Colours"), this);
  colors_box_ = box;
  auto* layout = make_layout<QVBoxLayout>(box, 0);
  colors_ = new StateForm(session::state_fields(), session::StateField::Place::kColors, box);
  layout->addWidget(colors_);
  box->set_folded(true);
  connect(colors_, &StateForm::changed, this, [this] { studio_.change(colors_->edited(studio_.state())); });
  return box;
}

void InspectorDock::show_cell() {
  const auto& cells = studio_.scheduler().cells();
  cell_seen_ = cell_seen_ || !cells.empty();
  const std::vector<CellRow> rows = cell_rows();
  cell_->clearContents();
  cells.size() < kRowsFrom ? fill_by_values(rows) : fill_by_models(rows);
  fit_height(cell_);
  show_context();
  ask_width();
}

// The names of the values, in the order of the rows.
QStringList InspectorDock::cell_names() const {
  const bool tokens = studio_.view().names_tokens();
  return {tokens ? QStringLiteral("query") : QStringLiteral("position i"),
          tokens ? QStringLiteral("key") : QStringLiteral("position j"),
          QStringLiteral("Δ = i − j"),
          QStringLiteral("content"),
          QStringLiteral("contribution"),
          QStringLiteral("logit"),
          QStringLiteral("weight"),
          QStringLiteral("gate"),
          QStringLiteral("position"),
          QStringLiteral("c2p"),
          QStringLiteral("p2c"),
          QStringLiteral("implied"),
          QStringLiteral("deviation"),
          QStringLiteral("carried"),
          QStringLiteral("sink"),
          QStringLiteral("encoding"),
          QStringLiteral("value")};
}

// What the columns have for each value, and whether any can have it.
std::vector<InspectorDock::CellRow> InspectorDock::cell_rows() const {
  const auto& cells = studio_.scheduler().cells();
  std::vector<CellRow> rows(kDrawnRow + 1);
  constexpr int kDigits = 4;  // in a row of each model, whose columns are as wide as that
  const int digits = cells.size() < kRowsFrom ? fitted(cell_, cells, 5).digits : kDigits;
  const bool names_tokens = studio_.view().names_tokens();
  for (const Cell& cell : cells) {
    const auto token = [&](std::int64_t index, const std::string& word) {
      return names_tokens ? QStringLiteral("%1  “%2”").arg(index).arg(qt(word)) : QString::number(index);
    };
    const auto put = [&](int row, const QString& text, const QString& tip = {}) {
      rows[static_cast<std::size_t>(row)].texts << text;
      rows[static_cast<std::size_t>(row)].tips << (tip.isEmpty() ? text : tip);
    };
    const auto put_value = [&](int row, const std::optional<float>& value) {
      put(row, value ? qt(value_text(*value, digits)) : QStringLiteral("–"),
          value ? qt(value_text(*value)) : QString());
    };
    put(0, token(cell.query, cell.query_token));
    put(1, token(cell.key, cell.key_token));
    put(2, cell.has_distance ? QString::number(cell.query - cell.key) : QStringLiteral("–"));
    for (int row = 0; row < static_cast<int>(cell.values.size()); ++row) {
      put_value(kFirstValueRow + row, cell.values[static_cast<std::size_t>(row)].value);
    }
    put(kEncodingRow, qt(cell.encoding));
    put_value(kDrawnRow, drawn_value(cell));
  }
  const auto columns_shown = studio_.checkpoints().shown();
  const auto any = [&](const auto& has) {
    return std::any_of(columns_shown.begin(), columns_shown.end(),
                       [&](const Checkpoint* column) { return has(*column->info()); });
  };
  const auto hide = [&](int row, bool hidden) { rows[static_cast<std::size_t>(row)].shown = !hidden; };
  const bool gates = any([](const models::ModelInfo& info) { return info.has_gates(); });
  const bool parts = any([](const models::ModelInfo& info) { return info.has_parts(); });
  const bool transforms = any([](const models::ModelInfo& info) { return info.transforms(); });
  const bool sinks = any([](const models::ModelInfo& info) {
    return std::any_of(info.layer_info.begin(), info.layer_info.end(),
                       [](const models::LayerInfo& layer) { return layer.sink; });
  });
  const bool drawn = !cells.empty() && cells.front().drawn.has_value();  // the view's own number, and no score
  for (int row = kFirstValueRow; row < kEncodingRow; ++row) {
    hide(row, drawn);
  }
  hide(kGateRow, !gates || drawn);
  hide(kPositionRow, !gates || drawn);
  hide(kC2pRow, !parts || drawn);
  hide(kP2cRow, !parts || drawn);
  hide(kDeviationRow, !transforms || drawn);
  hide(kCarriedRow, !transforms || drawn);
  const auto given = [&](int row) {
    return std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) {
      return cell.values[static_cast<std::size_t>(row - kFirstValueRow)].value.has_value();
    });
  };
  const bool implied = given(kImpliedRow);
  hide(kImpliedRow, !implied || drawn);
  hide(kLogitRow, (implied && !given(kLogitRow)) || drawn);
  hide(kSinkRow, !sinks || drawn);
  hide(kDrawnRow, !drawn);
  return rows;
}

// A row for each value; before the first cell there is one line that says how to come to it.
void InspectorDock::fill_by_values(const std::vector<CellRow>& rows) {
  const auto& cells = studio_.scheduler().cells();
  const QStringList values = cell_names();
  cell_->setColumnCount(std::max(1, static_cast<int>(cells.size())));
  cell_->setRowCount(static_cast<int>(rows.size()));
  cell_->setVerticalHeaderLabels(values);
  if (cells.empty()) {
    show_query();
  }
  const bool has_rows = cell_seen_ && studio_.checkpoints().shown().size() < kRowsFrom;
  for (int row = 0; row < static_cast<int>(rows.size()); ++row) {
    const CellRow& own = rows[static_cast<std::size_t>(row)];
    for (int n = 0; n < static_cast<int>(own.texts.size()); ++n) {
      set_text(cell_, row, n, own.texts[n]);
      cell_->item(row, n)->setToolTip(own.tips[n]);
    }
    cell_->setRowHidden(row, !own.shown || (row > 0 && !has_rows));
  }
  QStringList names;
  for (const Cell& cell : cells) {
    names << qt(cell.column);
  }
  name_columns(cell_, names);
  fit_columns(cell_, fitted(cell_, cells, 5).width);
}

// A row for each model. What is the same in all of them stands in the line below.
void InspectorDock::fill_by_models(const std::vector<CellRow>& rows) {
  const auto& cells = studio_.scheduler().cells();
  const QStringList values = cell_names();
  std::vector<int> seen;
  for (const int row : {kDrawnRow, kWeightRow, kLogitRow, kContributionRow, kContentRow, kGateRow, kPositionRow,
                        kC2pRow, kP2cRow, kImpliedRow, kDeviationRow, kCarriedRow, kSinkRow, 0, 1, 2}) {
    const CellRow& own = rows[static_cast<std::size_t>(row)];
    const bool said_once = row < kFirstValueRow && QSet<QString>(own.texts.begin(), own.texts.end()).size() == 1;
    const bool nowhere = std::all_of(own.texts.begin(), own.texts.end(),
                                     [](const QString& text) { return text == QStringLiteral("–"); });
    if (own.shown && !said_once && !nowhere) {
      seen.push_back(row);
    }
  }
  cell_->setRowCount(static_cast<int>(cells.size()));
  cell_->setColumnCount(static_cast<int>(seen.size()));
  QStringList names;
  for (int n = 0; n < static_cast<int>(cells.size()); ++n) {
    names << qt(cells[static_cast<std::size_t>(n)].column);
    cell_->setRowHidden(n, false);
    for (int column = 0; column < static_cast<int>(seen.size()); ++column) {
      const CellRow& own = rows[static_cast<std::size_t>(seen[static_cast<std::size_t>(column)])];
      set_text(cell_, n, column, own.texts[n]);
      cell_->item(n, column)->setToolTip(own.tips[n]);
    }
  }
  for (int column = 0; column < static_cast<int>(seen.size()); ++column) {
    cell_->setHorizontalHeaderItem(column, new QTableWidgetItem(values[seen[static_cast<std::size_t>(column)]]));
  }
  fit_rows_of_models(cell_, names);
}

// From the number of columns alone: the figure keeps its size while the pointer comes and goes.
void InspectorDock::ask_width() {
  int wanted = 0;
  if (studio_.checkpoints().shown().size() >= kRowsFrom) {
    const int around = width() - cell_->width();  // margins, and the scroll bar's room
    wanted = width_of_rows(cell_, {cell_names()[kWeightRow], cell_names()[kLogitRow], cell_names()[kContributionRow],
                                   cell_names()[kContentRow]}) +
             std::clamp(around, 20, 60);
  }
  if (wanted != asked_width_) {
    asked_width_ = wanted;
    Q_EMIT wants_width(wanted);
  }
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
  if (const auto& cells = studio_.scheduler().cells(); cells.size() >= kRowsFrom) {
    const std::vector<CellRow> rows = cell_rows();
    const QStringList names = cell_names();
    QStringList alike;
    for (int row = 0; row < kFirstValueRow; ++row) {
      const QStringList& texts = rows[static_cast<std::size_t>(row)].texts;
      if (std::all_of(texts.begin(), texts.end(), [&](const QString& text) { return text == texts.front(); })) {
        alike << QStringLiteral("%1 %2").arg(names[row].section(QLatin1Char(' '), 0, 0), texts.front()).toHtmlEscaped();
      }
    }
    if (!alike.isEmpty()) {
      lines << alike.join(QStringLiteral(" · "));
    }
  }
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
  // Where a view has no cell, there is the box of what is chosen, or none.
  const views::ViewInfo& info = studio_.view().info();
  const bool cells = info.of_scores || info.uses_query || !studio_.scheduler().cells().empty();
  cell_->setVisible(cells);
  cell_box_->setTitle(cells                  ? QStringLiteral("Cell")
                      : asked_query.chosen() ? QStringLiteral("Token")
                                             : QStringLiteral("Head"));
  cell_box_->setVisible(cells || !lines.isEmpty());
}

// "head 1.2: previous 0.82, …", where heads are what is chosen among; empty elsewhere, and while it is measured.
QString InspectorDock::chosen_head() {
  const views::ViewInput input = studio_.view_input();
  views::Selection chosen;
  const auto [layer, head] = views::head_of_column(input, 0);
  chosen.layer = layer;
  chosen.head = head;
  const views::View& view = studio_.view();
  if (input.columns.empty() || head < 0 || view.info().uses_head || view.places(input, chosen).empty()) {
    return {};
  }
  const auto print = studio_.fingerprints().of(input.columns.front(), layer, head);
  return print && *print ? QStringLiteral("head %1.%2: %3").arg(layer).arg(head).arg(qt(words_of(**print))) : QString();
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

bool is_picture(const Checkpoint& column) {
  return column.trace->model().image;
}

// The first picture beside each text of the same checkpoint's other half, by their vectors; empty: there is no such pair.
QStringList pairs_of(const std::vector<const Checkpoint*>& columns) {
  const auto picture = std::ranges::find_if(
      columns, [](const Checkpoint* each) { return is_picture(*each) && each->trace->model().logit_scale; });
  if (picture == columns.end()) {
    return {};
  }
  std::vector<const Checkpoint*> texts;
  std::vector<std::vector<float>> vectors;
  for (const Checkpoint* const column : columns) {
    if (!is_picture(*column) && column->trace->model().logit_scale && column->entry.path == (*picture)->entry.path) {
      texts.push_back(column);
      vectors.push_back(column->trace->sentence().values);
    }
  }
  const auto scores = models::pair_scores((*picture)->trace->model(), (*picture)->trace->sentence().values, vectors);
  QStringList lines;
  for (std::size_t n = 0; scores.ok() && n < scores->size(); ++n) {
    const models::PairScore& score = (*scores)[n];
    constexpr int kLongest = 40;
    const std::string& text = texts[n]->trace->text();
    const QString whole = qt(text.empty() ? texts[n]->name : printable(text));
    lines << QStringLiteral("picture and “") + whole.left(kLongest) +
                 (whole.size() > kLongest ? QStringLiteral("…") : QString()) +
                 QStringLiteral("”: cosine %1, logit %2, %3 %")
                     .arg(score.cosine, 0, 'f', 4)
                     .arg(score.logit, 0, 'f', 4)
                     .arg(100 * score.probability, 0, 'f', 2);
  }
  return lines;
}

// Steps, length and largest weight of the vectors of the columns' inputs, and how similar they are: a picture and texts by
// the halves of one checkpoint, else the cosine of the first two. Empty: a column has none.
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
  const QStringList pairs = pairs_of(columns);
  if (!pairs.empty()) {
    lines << pairs;
  } else if (vectors.size() > 1 && vectors[0].values.size() == vectors[1].values.size() &&
             is_picture(*columns[0]) == is_picture(*columns[1])) {
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
    const auto last = [this](const Checkpoint* each) {
      constexpr int kShortest = 6;
      constexpr int kLongest = 16;
      const QFontMetrics metrics = predictions_box_->fontMetrics();
      const int letter = metrics.averageCharWidth();
      const int room = predictions_box_->width() - metrics.horizontalAdvance(QStringLiteral("Next token after “” "));
      return metrics.elidedText(qt(shown_token(*each->trace, each->trace->length() - 1)), Qt::ElideRight,
                                std::clamp(room, kShortest * letter, kLongest * letter));
    };
    const bool alike =
        std::ranges::all_of(columns, [&](const Checkpoint* each) { return last(each) == last(columns.front()); });
    title = alike ? QStringLiteral("Next token after “%1”").arg(last(columns.front()))
                  : QStringLiteral("Next token after the last");
  }
  const QString vectors = vectors_of(columns);
  if (!any && !vectors.isEmpty()) {
    const bool all = std::ranges::all_of(columns, [](const Checkpoint* each) { return is_picture(*each); });
    title = image && all ? QStringLiteral("Vector of the picture")
            : std::ranges::any_of(columns, [](const Checkpoint* each) { return is_picture(*each); })
                ? QStringLiteral("Vectors of picture and text")
                : QStringLiteral("Vector of the text");
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
  const bool by_models = columns.size() >= kRowsFrom;
  const int models = std::max(1, static_cast<int>(columns.size()));
  std::size_t most = 0;
  for (const auto& list : lists) {
    most = std::max(most, list.size());
  }
  const int ranks = static_cast<int>(most);
  predictions_->clear();
  predictions_->setColumnCount(by_models ? ranks : models);
  predictions_->setRowCount(by_models ? models : ranks);
  QStringList names;
  for (int n = 0; n < static_cast<int>(columns.size()); ++n) {
    names << qt(columns[static_cast<std::size_t>(n)]->name);
    const std::vector<models::Prediction>& top = lists[static_cast<std::size_t>(n)];
    for (int rank = 0; rank < static_cast<int>(top.size()); ++rank) {
      show_prediction(top[static_cast<std::size_t>(rank)], by_models ? n : rank, by_models ? rank : n);
    }
  }
  if (by_models) {
    QStringList headers;
    for (int rank = 1; rank <= ranks; ++rank) {
      headers << QString::number(rank);
    }
    predictions_->setHorizontalHeaderLabels(headers);
    fit_rows_of_models(predictions_, names);
  } else {
    predictions_->verticalHeader()->hide();
    name_columns(predictions_, names);
    fit_columns(predictions_);
  }
  fit_height(predictions_);
}

void InspectorDock::show_prediction(const models::Prediction& prediction, int row, int column) {
  const QString share = QStringLiteral("%1 %").arg(static_cast<double>(prediction.probability) * 100, 0, 'f', 1);
  set_text(predictions_, row, column, qt(prediction.token));
  QTableWidgetItem* item = predictions_->item(row, column);
  item->setToolTip(QStringLiteral("%1  %2, id %3").arg(item->text(), share).arg(prediction.id));
  set_share(item, static_cast<double>(prediction.probability), share);
  item->setData(Qt::AccessibleDescriptionRole, share);
}

}  // namespace locus::workbench
