#include "app/workbench/work/head_card.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "app/views/shared/plots/patch_grid.h"
#include "app/views/shared/plots/series.h"
#include "app/workbench/work/token_words.h"
#include "core/base/numbers.h"
#include "models/api/effect.h"
#include "models/api/knock_out.h"
#include "models/api/pairs.h"

namespace locus::workbench {

namespace {

constexpr std::int64_t kRowsAtOnce = 256;

std::string key_name(const models::Trace& trace, std::int64_t key) {
  return trace.image_grid().rows > 0 ? views::patch_label(trace.image_grid(), key) : shown_key(trace, key);
}

// One column of a view's table, by its name.
std::vector<double> values_of(const views::Data& data, const std::string& name) {
  const auto found = std::ranges::find(data.columns, name);
  std::vector<double> values;
  const auto width = data.columns.size();
  for (auto n = static_cast<std::size_t>(found - data.columns.begin());
       found != data.columns.end() && width > 0 && n < data.values.size(); n += width) {
    values.push_back(static_cast<double>(data.values[n]));
  }
  return values;
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double each : values) {
    sum += each;
  }
  return sum;
}

std::string pairs_text(const analysis::PairList& list) {
  double least = kNaN;
  double largest = kNaN;
  std::int64_t count = 0;
  for (const analysis::PairRow& row : list.rows) {
    if (std::isfinite(row.wavelength)) {
      least = std::fmin(least, row.wavelength);
      largest = std::fmax(largest, row.wavelength);
      ++count;
    }
  }
  return count == 0 ? std::string()
                    : std::to_string(count) + (count == 1 ? " rotary pair" : " rotary pairs") + ", wavelengths " +
                          views::short_number(least) + " to " + views::short_number(largest) + " tokens";
}

}  // namespace

Result<std::vector<ReadKey>> most_read(const models::Trace& trace, const views::HeadRef& head, std::size_t count,
                                       const StopToken& stop, const Progress& progress) {
  std::vector<std::size_t> word_of;
  std::vector<ReadKey> words;
  std::map<std::string, std::size_t> known;
  for (std::int64_t key = 0; key < trace.keys(); ++key) {
    const std::string name = key_name(trace, key);
    const auto [at, added] = known.try_emplace(name, words.size());
    if (added) {
      words.push_back({name, 0, 0});
    }
    ++words[at->second].count;
    word_of.push_back(at->second);
  }
  std::int64_t queries = 0;
  for (std::int64_t begin = 0; begin < trace.length(); begin += kRowsAtOnce) {
    report(progress, static_cast<double>(begin) / static_cast<double>(trace.length()), "what it reads");
    models::MapRequest request;
    request.layer = head.layer;
    request.head = head.head;
    request.rows = {begin, std::min(begin + kRowsAtOnce, trace.length())};
    request.mark_masked = true;
    LOCUS_TRY(const Field rows, trace.map(request, stop));
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      std::int64_t visible = 0;
      for (std::int64_t key = 0; key < rows.columns; ++key) {
        visible += std::isfinite(rows.at(row, key)) ? 1 : 0;
      }
      if (visible < 2) {
        continue;
      }
      ++queries;
      for (std::int64_t key = 0; key < rows.columns; ++key) {
        const float weight = rows.at(row, key);
        words[word_of[static_cast<std::size_t>(key)]].share += std::isfinite(weight) ? static_cast<double>(weight) : 0;
      }
    }
  }
  for (ReadKey& each : words) {
    each.share /= static_cast<double>(std::max<std::int64_t>(queries, 1));
  }
  std::ranges::stable_sort(words, std::ranges::greater(), &ReadKey::share);
  words.resize(std::min(words.size(), count));
  return words;
}

Result<HeadCard> head_card(const models::Trace& trace, const views::HeadRef& head, std::int64_t side,
                           const StopToken& stop, const Progress& progress) {
  constexpr std::size_t kReads = 5;
  HeadCard card;
  models::MapRequest request;
  request.layer = head.layer;
  request.head = head.head;
  request.mark_masked = true;
  LOCUS_TRY(card.map, trace.overview(request, std::min(side, trace.length()), std::min(side, trace.keys()),
                                     Reduction::kMax, stop));
  LOCUS_TRY(card.reads, most_read(trace, head, kReads, stop, progress));
  return card;
}

Result<PlaceAndWord> place_and_word(const views::ViewInput& input) {
  const models::Trace& trace = *input.columns.front().trace;
  LOCUS_TRY(const views::View* view, views::find_view("addressing"));
  LOCUS_CHECK(view->available(input.columns.front()));
  PlaceAndWord made;
  views::ViewInput asked = input;
  const auto list = models::pair_list(trace, input.layer, input.head);
  if (list.ok()) {
    made.pairs = pairs_text(*list);
    asked.options = {{"of", std::string("pairs")}};
    LOCUS_TRY(const views::Data data, view->data(asked));
    LOCUS_TRY(const figure::Figure figure, view->figure(asked));  // of what data() has measured
    made.place = sum_of(values_of(data, "place"));
    made.word = sum_of(values_of(data, "word"));
    made.both = sum_of(values_of(data, "both"));
    made.said = figure.statement;
    return made;
  }
  asked.options = {{"of", std::string("heads")}};
  LOCUS_TRY(const views::Data data, view->data(asked));
  const auto at = static_cast<std::size_t>(input.layer * trace.model().heads + input.head);
  const auto share = [&](const char* name) {
    const std::vector<double> values = values_of(data, name);
    return at < values.size() ? values[at] : kNaN;
  };
  made.place = share("place");
  made.word = share("word");
  made.both = share("both");
  return made;
}

Result<HeadEffect> head_effect(const views::Column& column, const views::HeadRef& head, const StopToken& stop,
                               const Progress& progress) {
  if (column.model == nullptr) {
    return unsupported("a trace has no model that could run without the head");
  }
  models::Edits edits = column.model->edits();
  models::Edit edit;
  edit.kind = models::EditKind::kHead;
  edit.layer = {{head.layer}};
  edit.head = {{head.head}};
  edit.to = models::HeadTo::kMean;
  edits.push_back(edit);
  LOCUS_TRY(const auto edited, column.model->edited(edits));
  LOCUS_TRY(const models::EffectOnTrace with, models::effect_on(*edited, *column.trace, stop, progress));
  std::vector<double> changes = with.delta;
  if (!column.model->edits().empty()) {  // the effect is that of all edits: less that of the column's own
    LOCUS_TRY(const models::EffectOnTrace own, models::effect_on(*column.model, *column.trace, stop, progress));
    if (own.delta.size() != changes.size()) {
      return unsupported("the column's own edits change what it predicts");
    }
    for (std::size_t n = 0; n < changes.size(); ++n) {
      changes[n] -= own.delta[n];
    }
  }
  HeadEffect effect;
  effect.of_loss = !changes.empty();
  if (!effect.of_loss && !column.model->edits().empty()) {
    return unsupported("the column has edits of its own, and its model does not predict the next token");
  }
  if (!effect.of_loss) {
    changes = with.kl;
  }
  std::erase_if(changes, [](double each) { return std::isnan(each); });
  effect.tokens = std::ssize(changes);
  const auto count = static_cast<double>(changes.size());
  effect.value = changes.empty() ? kNaN : sum_of(changes) / count;
  double squares = 0;
  for (const double each : changes) {
    squares += (each - effect.value) * (each - effect.value);
  }
  effect.half = effect.of_loss && count > 1
                    ? analysis::t_quantile(effect.tokens - 1) * std::sqrt(squares / (count - 1) / count)
                    : kNaN;
  return effect;
}

}  // namespace locus::workbench
