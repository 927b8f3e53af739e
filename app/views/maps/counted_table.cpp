#include "app/views/maps/counted_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "app/views/maps/contextual_map.h"
#include "app/views/shared/plots/data_file.h"
#include "app/views/shared/plots/panel.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/score_maps/score_map.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

constexpr std::size_t kMaxFrequent = 12;
constexpr std::size_t kKinds = 6;

// The index of a byte's kind in the names of character_classes().
std::size_t kind_of(unsigned char byte) {
  const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
  const bool digit = byte >= '0' && byte <= '9';
  return letter ? 0 : digit ? 1 : byte == '\n' ? 4 : byte == ' ' || byte == '\t' ? 3 : byte > ' ' && byte < 127 ? 2 : 5;
}

struct Counted : analysis::CountedClasses {};

std::size_t cached_bytes(const Counted& counted) {
  std::size_t bytes = sizeof counted;
  for (const analysis::CountedClass& each : counted.classes) {
    bytes += sizeof each + each.name.size();
  }
  return bytes;
}

using CountedPointer = std::shared_ptr<const Counted>;

HeadRef counted_head(const ViewInput& input, std::size_t column) {
  const HeadRef head = head_of_column(input, column);
  return {head.layer, std::max<std::int64_t>(head.head, 0)};
}

Result<CountedPointer> counted_of(const ViewInput& input, std::size_t n, bool of_tokens) {
  if (input.layer == kAll || input.head == kAll) {
    return usage("as: expected one layer and one head for a table, found all");
  }
  const Column& column = input.columns[n];
  const HeadRef head = counted_head(input, n);
  return analysed<Counted>(
      input, column, {column.trace}, {"counted classes", std::pair(head, of_tokens)}, [&]() -> Result<Counted> {
        const models::Trace& trace = *column.trace;
        const auto positions = [&](Range rows) {
          return trace.map({head.layer, head.head, models::Quantity::kPosition, rows, {0, rows.end}}, input.stop);
        };
        LOCUS_TRY(auto counted,
                  analysis::counted_classes(of_tokens ? frequent_classes(trace) : character_classes(trace),
                                            trace.length(), positions, input.stop));
        return Counted{std::move(counted)};
      });
}

// "positions of head 3.3 follow the number of all tokens with R² = 0.683; that of line feeds with R² = 0.64". A class
// that holds every token is all tokens.
std::string best_line(const HeadRef& head, const analysis::CountedClasses& counted) {
  const analysis::CountedClass& all = counted.classes.back();
  const analysis::CountedClass* best = nullptr;
  for (const analysis::CountedClass& each : counted.classes) {
    const bool counts = each.count < all.count && !std::isnan(each.r_squared);
    best = counts && (best == nullptr || each.r_squared > best->r_squared) ? &each : best;
  }
  if (best == nullptr || std::isnan(all.r_squared)) {
    return {};
  }
  const auto said = [](const analysis::CountedClass& of) {
    return of.name + " with R² = " + short_number(of.r_squared);
  };
  const bool is_all = all.r_squared >= best->r_squared;
  return "positions of head " + head_name(head.layer, head.head) + " follow the number of " +
         said(is_all ? all : *best) + "; that of " + said(is_all ? *best : all);
}

figure::Panel counted_panel(const ViewInput& input, std::size_t n, const analysis::CountedClasses& counted) {
  const Column& column = input.columns[n];
  const HeadRef head = counted_head(input, n);
  const std::int64_t length = column.trace->length();
  Field field = Field::zeros(std::ssize(counted.classes), 1);
  std::vector<std::string> names;
  std::vector<std::string> texts;
  std::vector<std::string> said;
  for (std::size_t row = 0; row < counted.classes.size(); ++row) {
    const analysis::CountedClass& each = counted.classes[row];
    const std::string count = std::to_string(each.count);
    field.values[row] = static_cast<float>(each.r_squared);
    names.push_back(each.name + " · " + count);
    texts.push_back(std::isnan(each.r_squared) ? "–" : fixed_text(each.r_squared, 3));
    said.push_back(each.name + ": " + count + " of " + std::to_string(length) + " tokens, R² " + texts.back());
  }
  figure::Panel panel;
  name_after(column, panel, " · " + head_label(column.trace->model(), head.layer, head.head));
  panel.follows_camera = false;
  panel.x = cells_across("", 1, shared_names({"R²"}));
  panel.y = cells_down("", field.rows, shared_names(std::move(names)));
  panel.color_bar_label = n + 1 == input.columns.size() ? "R²" : "";
  panel.layers.emplace_back(figure::HeatMap{.field = std::make_shared<const Field>(std::move(field)),
                                            .scale = {.low = 0, .high = 1},
                                            .texts = shared_names(std::move(texts)),
                                            .said = shared_names(std::move(said))});
  panel.note = counted.every > 1 ? "each of " + std::to_string(counted.every) + " queries" : "";
  return panel;
}

}  // namespace

std::vector<analysis::TokenClass> character_classes(const models::Trace& trace) {
  static constexpr std::array<const char*, kKinds> kNames{"letters", "digits",     "punctuation",
                                                          "spaces",  "line feeds", "other characters"};
  const std::size_t length = trace.tokens().size();
  std::vector<analysis::TokenClass> all;
  all.reserve(kNames.size());
  for (const char* const name : kNames) {
    all.push_back({name, std::vector<bool>(length)});
  }
  for (std::size_t n = 0; n < length; ++n) {
    for (const char byte : token_bytes(trace, trace.tokens()[n])) {
      all[kind_of(static_cast<unsigned char>(byte))].holds[n] = true;
    }
  }
  std::erase_if(all, [](const analysis::TokenClass& each) { return std::ranges::count(each.holds, true) == 0; });
  return all;
}

std::vector<analysis::TokenClass> frequent_classes(const models::Trace& trace) {
  const std::vector<models::TokenInfo>& tokens = trace.tokens();
  struct Found {
    std::int64_t count = 0;
    std::size_t first = 0;
  };
  std::map<std::int64_t, Found> by_id;
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    Found& found = by_id.try_emplace(tokens[n].id, Found{0, n}).first->second;
    ++found.count;
  }
  std::vector<std::pair<std::int64_t, Found>> list(by_id.begin(), by_id.end());
  std::ranges::sort(list, [](const auto& a, const auto& b) {
    return a.second.count != b.second.count ? a.second.count > b.second.count : a.second.first < b.second.first;
  });
  list.resize(std::min(list.size(), kMaxFrequent));
  std::vector<analysis::TokenClass> classes;
  classes.reserve(list.size());
  for (const auto& [id, found] : list) {
    std::vector<bool> holds;
    holds.reserve(tokens.size());
    for (const models::TokenInfo& token : tokens) {
      holds.push_back(token.id == id);
    }
    classes.push_back({"“" + tokens[found.first].label + "”", std::move(holds)});
  }
  return classes;
}

Result<figure::Figure> counted_figure(const ViewInput& input, bool of_tokens) {
  figure::Figure figure = figure_across(input.columns.size());
  std::vector<std::string> lines;
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    LOCUS_TRY(const CountedPointer counted, counted_of(input, n, of_tokens));
    figure.panels.push_back(counted_panel(input, n, *counted));
    lines.push_back(best_line(counted_head(input, n), *counted));
  }
  figure.statement = about_columns(input, [&](std::size_t n) { return lines[n]; });
  return figure;
}

Result<Data> counted_data(const ViewInput& input, bool of_tokens) {
  LOCUS_TRY(const CountedPointer counted, counted_of(input, 0, of_tokens));
  std::vector<std::string> names;
  for (const analysis::CountedClass& each : counted->classes) {
    names.push_back(each.name);
  }
  return with_words(table_of({{"tokens", numbers_of(counted->classes, &analysis::CountedClass::count)},
                              {"r_squared", numbers_of(counted->classes, &analysis::CountedClass::r_squared)}}),
                    {"class"}, std::move(names));
}

}  // namespace locus::views
