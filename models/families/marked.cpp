// BERT with embeddings of what a text is part of: the cells of a table (TAPAS), boxes on a page (LayoutLM), elements of
// a markup tree (MarkupLM). Of a text alone they are the same vector for every token, which is added as its type is.
#include <ATen/ATen.h>

#include "core/base/shown.h"
#include "models/families/engine/computed.h"
#include "models/families/list.h"
#include "models/transformer/weights.h"

namespace locus::families {

namespace {

constexpr const char* kConstant = "embeddings.constant";

// Makes the constant, the sum of these rows of `embeddings.…` and of `also`, the only token type.
Status add_constant(const CheckpointFiles& checkpoint, const std::string& prefix, const std::vector<OneRow>& rows,
                    Plan& plan, const std::vector<float>& also = {}) {
  plan.spec.token_types = 1;
  if (checkpoint.tensors == nullptr) {
    return {};
  }
  std::vector<OneRow> of_file;
  for (const OneRow& each : rows) {
    of_file.push_back({prefix + "embeddings." + each.tensor + ".weight", each.row, each.factor});
    plan.skipped.push_back("embeddings." + each.tensor + ".weight");
  }
  plan.warnings.push_back(checkpoint.path.string() +
                          ": the text is read by itself: embeddings of cells, boxes or markup are those of none");
  return compute_sum(checkpoint, prefix + kConstant, of_file, plan, also);
}

std::string prefix_of(const CheckpointFiles& checkpoint, const std::vector<std::string_view>& prefixes) {
  return checkpoint.prefix_of(prefixes, "embeddings.word_embeddings.weight");
}

Family marked(std::string_view name, std::vector<std::string_view> prefixes) {
  Family family = bert(name);
  family.prefixes = std::move(prefixes);
  family.rename({"token_type.weight", kConstant});
  return family;
}

const std::vector<std::string_view> kTapasPrefixes{"tapas.", ""};

Status finish_tapas(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  plan.spec.encodings = {{"learned", {{"length", plan.spec.trained_length}}}};
  std::vector<std::int64_t> tables{3, 256, 256, 2, 256, 256, 10};
  if (config.has("type_vocab_sizes")) {
    LOCUS_TRY(tables, config.integers("type_vocab_sizes"));
  }
  constexpr std::size_t kMaxTables = 64;
  if (tables.empty() || tables.size() > kMaxTables) {
    return bad_input("expected 1 to 64 tables, found " + std::to_string(tables.size()),
                     config.context("type_vocab_sizes"));
  }
  std::vector<OneRow> rows;
  for (std::size_t n = 0; n < tables.size(); ++n) {
    rows.push_back({"token_type_embeddings_" + std::to_string(n)});
  }
  return add_constant(checkpoint, prefix_of(checkpoint, kTapasPrefixes), rows, plan);
}

const std::vector<std::string_view> kLayoutPrefixes{"layoutlm.", ""};

// A text without boxes has the box (0, 0, 0, 0): left and right edges read one table, upper and lower ones another.
Status finish_layoutlm(const CheckpointFiles& checkpoint, Plan& plan) {
  plan.spec.encodings = {{"learned", {{"length", plan.spec.trained_length}}}};
  return add_constant(checkpoint, prefix_of(checkpoint, kLayoutPrefixes),
                      {{"token_type_embeddings"},
                       {"x_position_embeddings", 0, 2},
                       {"y_position_embeddings", 0, 2},
                       {"h_position_embeddings"},
                       {"w_position_embeddings"}},
                      plan);
}

const std::vector<std::string_view> kMarkupPrefixes{"markuplm.", ""};

// The embedding of a token outside all elements: W'·ReLU(W·u + b) + b', u the rows of the padding's tag and subscript
// in the tables of every depth.
Result<std::vector<float>> outside_elements(const CheckpointFiles& checkpoint, const std::string& prefix) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const std::int64_t depth, integer_or(config, "max_depth", 50));
  LOCUS_TRY(const std::int64_t tag, integer_or(config, "tag_pad_id", 216, 0));
  LOCUS_TRY(const std::int64_t subscript, integer_or(config, "subs_pad_id", 1001, 0));
  const std::string tree = prefix + "embeddings.xpath_embeddings.";
  const auto read = [&](const std::string& name, std::size_t rank) -> Result<at::Tensor> {
    const formats::TensorInfo* const tensor = checkpoint.find(tree + name);
    if (tensor == nullptr || tensor->shape.size() != rank) {
      return bad_input("expected a tensor with " + std::to_string(rank) + " dimensions, found " +
                           (tensor == nullptr ? "none" : std::to_string(tensor->shape.size())),
                       checkpoint.path.string() + ": tensor " + tree + name);
    }
    return transformer::to_tensor(*tensor, checkpoint.tensors);
  };
  std::vector<at::Tensor> read_rows;
  for (std::int64_t n = 0; n < depth; ++n) {
    const std::string end = "_sub_embeddings." + std::to_string(n) + ".weight";
    LOCUS_TRY(const at::Tensor tags, read("xpath_tag" + end, 2));
    LOCUS_TRY(const at::Tensor subscripts, read("xpath_subs" + end, 2));
    if (tag >= tags.size(0) || subscript >= subscripts.size(0) || tags.size(1) != subscripts.size(1)) {
      return bad_input("expected rows of one width for tag_pad_id " + std::to_string(tag) + " and subs_pad_id " +
                           std::to_string(subscript),
                       checkpoint.path.string() + ": tensors " + tree + "…" + end);
    }
    read_rows.push_back(tags.select(0, tag) + subscripts.select(0, subscript));
  }
  const at::Tensor u = at::cat(read_rows);
  LOCUS_TRY(const at::Tensor inner, read("xpath_unitseq2_inner.weight", 2));
  LOCUS_TRY(const at::Tensor inner_bias, read("xpath_unitseq2_inner.bias", 1));
  LOCUS_TRY(const at::Tensor outer, read("inner2emb.weight", 2));
  LOCUS_TRY(const at::Tensor outer_bias, read("inner2emb.bias", 1));
  if (inner.size(1) != u.size(0) || inner_bias.size(0) != inner.size(0) || outer.size(1) != inner.size(0) ||
      outer_bias.size(0) != outer.size(0)) {
    return bad_input("expected matrices that follow each other from " + std::to_string(u.size(0)) + " numbers",
                     checkpoint.path.string() + ": tensors " + tree + "xpath_unitseq2_inner and inner2emb");
  }
  const at::Tensor found = (outer.mv(at::relu(inner.mv(u) + inner_bias)) + outer_bias).contiguous();
  return std::vector<float>(found.data_ptr<float>(), found.data_ptr<float>() + found.numel());
}

Status finish_markuplm(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(count_from_padding(checkpoint.config, 0, plan));
  const std::string prefix = prefix_of(checkpoint, kMarkupPrefixes);
  plan.skipped.push_back(prefix + "embeddings.xpath_embeddings.*");
  std::vector<float> outside;
  if (checkpoint.tensors != nullptr) {
    LOCUS_TRY(outside, outside_elements(checkpoint, prefix));
  }
  return add_constant(checkpoint, prefix, {{"token_type_embeddings"}}, plan, outside);
}

}  // namespace

const Family kTapas = [] {
  Family family = marked("tapas", kTapasPrefixes);
  family.finish = finish_tapas;
  // Positions begin anew in each cell; a text alone is one. The others are fields of its answers.
  family.harmless = {"reset_position_index_per_cell",
                     "type_vocab_size",
                     "aggregation_labels",
                     "aggregation_loss_weight",
                     "aggregation_temperature",
                     "allow_empty_column_selection",
                     "answer_loss_cutoff",
                     "answer_loss_importance",
                     "average_approximation_function",
                     "average_logits_per_cell",
                     "cell_selection_preference",
                     "disable_per_token_loss",
                     "huber_loss_delta",
                     "init_cell_selection_weights_to_zero",
                     "max_num_columns",
                     "max_num_rows",
                     "no_aggregation_label_index",
                     "num_aggregation_labels",
                     "positive_label_weight",
                     "select_one_column",
                     "use_answer_as_supervision",
                     "use_gumbel_for_aggregation",
                     "use_gumbel_for_cells",
                     "use_normalized_answer_loss"};
  return family;
}();

const Family kLayoutLm = [] {
  Family family = marked("layoutlm", kLayoutPrefixes);
  family.finish = finish_layoutlm;
  family.harmless = {"max_2d_position_embeddings"};
  return family;
}();

const Family kMarkupLm = [] {
  Family family = marked("markuplm", kMarkupPrefixes);
  family.finish = finish_markuplm;
  family.harmless = {"max_xpath_tag_unit_embeddings", "max_xpath_subs_unit_embeddings", "xpath_unit_hidden_size"};
  return family;
}();

}  // namespace locus::families
