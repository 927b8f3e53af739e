#include "app/views/curves/token_pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "app/views/shared/plots/data_file.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/score_maps/score_map.h"
#include "core/base/shown.h"

namespace locus::views {

namespace {

constexpr std::int64_t kListColumns = 4;
constexpr std::size_t kLabelCharacters = 12;

std::string pair_text(const models::TokenPair& pair) {
  return "“" + shown(pair.query_label, kLabelCharacters) + "” to “" + shown(pair.key_label, kLabelCharacters) + "”  " +
         short_number(pair.logit);
}

}  // namespace

figure::Panel token_pairs_panel(const ViewInput& input, const std::vector<models::TokenPair>& pairs,
                                std::int64_t distance) {
  const std::int64_t rows = (std::ssize(pairs) + kListColumns - 1) / kListColumns;
  auto field = std::make_shared<Field>(Field::zeros(std::max<std::int64_t>(rows, 1), kListColumns));
  std::fill(field->values.begin(), field->values.end(), std::numeric_limits<float>::quiet_NaN());
  std::vector<std::string> texts(field->values.size());
  for (std::int64_t n = 0; n < std::ssize(pairs); ++n) {
    const auto cell = static_cast<std::size_t>(n % rows * kListColumns + n / rows);
    field->values[cell] = static_cast<float>(pairs[static_cast<std::size_t>(n)].logit);
    texts[cell] = pair_text(pairs[static_cast<std::size_t>(n)]);
  }
  figure::Panel panel;
  panel.follows_camera = false;
  panel.show_axes = false;
  panel.title = "the pairs of tokens with the highest logits at Δ = " + std::to_string(distance) + ": query to key";
  panel.x = cells_across("", kListColumns);
  panel.y = cells_down("", field->rows);
  const Fields fields{field};
  panel.layers.emplace_back(figure::HeatMap{
      .field = field, .scale = scale_of(input, Sign::kAny, fields), .texts = shared_names(std::move(texts))});
  return panel;
}

Data token_pairs_table(const std::vector<models::TokenPair>& pairs) {
  std::vector<std::string> names;
  for (const models::TokenPair& pair : pairs) {
    names.insert(names.end(), {pair.query_label, pair.key_label});
  }
  return with_words(table_of({{"query", numbers_of(pairs, &models::TokenPair::query)},
                              {"key", numbers_of(pairs, &models::TokenPair::key)},
                              {"logit", numbers_of(pairs, &models::TokenPair::logit)}}),
                    {"query_token", "key_token"}, std::move(names));
}

}  // namespace locus::views
