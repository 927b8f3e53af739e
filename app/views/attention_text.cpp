// `attention-text`: the text itself, each token tinted by how much a query attends to it.
#include <limits>

#include "app/views/list.h"
#include "app/views/score_map.h"

namespace locus::views {

namespace {

class AttentionText final : public View {
 public:
  const ViewInfo& info() const override { return info_; }
  Result<figure::Figure> figure(const ViewInput& input) const override;
  Result<Data> data(const ViewInput& input) const override;
  Selection pick(const ViewInput& input, const Hit& hit) const override;

 private:
  ViewInfo info_{
      .name = "attention-text",
      .title = "Attention in the text",
      .shows =
          "The text, each token tinted by how much the chosen query attends to it. A click chooses the query; "
          "without one it is the last token.",
      .look_for = "Which words a prediction draws on: repeated names, the verb's subject, the start of a quotation.",
      .paper = "",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_quantity = true,
      .needs_text = true,
      .controls = {},
  };
};

std::int64_t query_of(const ViewInput& input, const Column& column) {
  const std::int64_t last = column.trace->length() - 1;
  return input.query >= 0 ? std::min(input.query, last) : last;
}

Result<std::shared_ptr<const Field>> row_of(const ViewInput& input, const Column& column) {
  models::MapRequest request;
  request.layer = input.layer;
  request.head = input.head;
  request.quantity = input.quantity;
  const std::int64_t query = query_of(input, column);
  return fetch(input, column, request, {{query, query + 1}, {0, column.trace->length()}, 1, column.trace->length()});
}

Result<figure::Figure> AttentionText::figure(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  std::vector<std::shared_ptr<const Field>> rows;
  for (const Column& column : input.columns) {
    LOCUS_CHECK(available(column));
    LOCUS_TRY(auto row, row_of(input, column));
    rows.push_back(std::move(row));
  }
  figure::Figure figure;
  figure.columns = static_cast<int>(rows.size());
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const Column& column = input.columns[n];
    const std::span<const std::shared_ptr<const Field>> all(rows);
    figure::TokenStrip strip;
    strip.scale = color_scale(input, sign_of(input.quantity), input.scale.shared ? all : all.subspan(n, 1));
    strip.selected = query_of(input, column);
    strip.values = rows[n]->values;
    for (const models::TokenInfo& token : column.trace->tokens()) {
      strip.tokens.push_back(token.label);
    }
    figure::Panel panel;
    panel.title = column.name + " · " + head_label(column.trace->model(), input.layer, input.head);
    panel.note = "query " + std::to_string(strip.selected) + " (framed)";
    panel.show_axes = false;
    panel.color_bar_label = quantity_label(input.quantity);
    panel.layers.emplace_back(std::move(strip));
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

Result<Data> AttentionText::data(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  const Column& column = input.columns[0];
  LOCUS_CHECK(available(column));
  models::MapRequest request;
  request.layer = input.layer;
  request.head = input.head;
  request.quantity = input.quantity;
  const std::int64_t query = query_of(input, column);
  request.rows = {query, query + 1};
  auto row = column.trace->map(request, input.stop);
  if (!row) {
    return row.error().within(column.name);
  }
  Data data;
  data.shape = {column.trace->length(), 2};
  data.columns = {"key", to_text(input.quantity)};
  for (std::int64_t n = 0; n < column.trace->length(); ++n) {
    data.values.push_back(static_cast<float>(n));
    data.values.push_back(row->at(0, n));
  }
  return data;
}

Selection AttentionText::pick(const ViewInput& input, const Hit& hit) const {
  Selection selection;
  if (hit.token >= 0) {
    selection.column = static_cast<std::int64_t>(std::min(hit.panel, input.columns.size() - 1));
    selection.query = hit.token;
  }
  return selection;
}

}  // namespace

const View& attention_text_view() {
  static const AttentionText view;
  return view;
}

}  // namespace locus::views
