// The tokens of a trace, their positions and the grid of an image.
#include "core/base/checked.h"
#include "models/engine/trace/open_trace.h"

namespace locus::models::trace {

namespace {

using nlohmann::json;

// How the tokens are shown; empty when the file does not say.
Result<std::vector<std::string>> read_labels(const OpenTrace& trace) {
  LOCUS_TRY(const json list, trace.file.value("tokens"));
  std::vector<std::string> labels;
  if (!list.is_null() && !list.is_array()) {
    return bad_input(std::string("expected a list of texts, found ").append(list.type_name()),
                     trace.file.metadata("tokens"));
  }
  for (const json& label : list) {
    if (!label.is_string()) {
      return bad_input("[" + std::to_string(labels.size()) + "]: expected a text, found " + label.type_name(),
                       trace.file.metadata("tokens"));
    }
    labels.push_back(label.get<std::string>());
  }
  return labels;
}

Status read_grid(OpenTrace& trace, std::int64_t length) {
  LOCUS_TRY(const json stored, trace.file.value("image_grid"));
  if (stored.is_null()) {
    return {};
  }
  LOCUS_TRY(const JsonObject object, JsonObject::of(stored, trace.file.metadata("image_grid")));
  ImageGrid& grid = trace.data.grid;
  for (const auto& [name, member] :
       {std::pair{"rows", &grid.rows}, std::pair{"columns", &grid.columns}, std::pair{"cls", &grid.cls},
        std::pair{"registers", &grid.registers}, std::pair{"detections", &grid.detections}}) {
    LOCUS_TRY(*member, size_of(object, name, 0, length));
  }
  const auto patches = checked_product({grid.rows, grid.columns});
  const auto tokens = patches ? checked_sum({*patches, grid.cls, grid.registers, grid.detections}) : std::nullopt;
  if (tokens != length || *patches == 0) {
    return bad_input("expected rows × columns + cls + registers + detections to be the " + std::to_string(length) +
                         " tokens, found " + std::to_string(grid.rows) + " × " + std::to_string(grid.columns) + " + " +
                         std::to_string(grid.cls) + " + " + std::to_string(grid.registers) + " + " +
                         std::to_string(grid.detections),
                     trace.file.metadata("image_grid"));
  }
  return {};
}

Status read_positions(OpenTrace& trace, const TensorInfo* info, std::int64_t length) {
  const ImageGrid& grid = trace.data.grid;
  trace.positions = grid.rows > 0 ? position::Positions::grid(grid.rows, grid.columns, grid.prefix(), grid.detections)
                                  : position::Positions::sequence(length);
  if (info != nullptr) {
    // Time, row and column of each token (M-RoPE) are rows of the file.
    const bool vectors = info->shape == std::vector<std::int64_t>{3, length};
    LOCUS_TRY(const at::Tensor ids, vectors                   ? trace.file.tensor("position_ids", {3, length})
                                    : info->shape.size() == 2 ? trace.file.tensor("position_ids", {length, 2})
                                                              : trace.file.tensor("position_ids", {length}));
    trace.positions.ids = (vectors ? ids.t() : ids).to(at::kDouble).contiguous();
  }
  trace.data.position_ids = trace.positions.ids;
  return {};
}

// The text and the bytes of it that each token stands for, by which runs with other tokenizers are compared. A file
// that has but one of them has neither.
Status read_text(OpenTrace& trace) {
  const std::string text = trace.file.text("text");
  LOCUS_TRY(const at::Tensor stored, trace.file.tensor("token_bytes", {trace.length(), 2}));
  if (text.empty() || !stored.defined()) {
    return {};
  }
  const at::Tensor bytes = stored.to(at::kLong).contiguous();
  const std::int64_t* const value = bytes.data_ptr<std::int64_t>();
  const auto size = static_cast<std::int64_t>(text.size());
  std::int64_t last = 0;  // where the last token with bytes begins
  for (std::int64_t n = 0; n < trace.length(); ++n) {
    const Range own{value[2 * n], value[2 * n + 1]};
    if (own.begin < 0 || own.end < own.begin || own.end > size || (!own.empty() && own.begin < last)) {
      return bad_input("token " + std::to_string(n) + ": expected bytes of the text from " + std::to_string(last) +
                           " to " + std::to_string(size) + ", found " + std::to_string(own.begin) + " to " +
                           std::to_string(own.end),
                       trace.file.where("token_bytes"));
    }
    last = own.empty() ? last : own.begin;
    trace.data.tokens[static_cast<std::size_t>(n)].bytes = own;
  }
  trace.data.text = text;
  return {};
}

}  // namespace

Status read_tokens(OpenTrace& trace) {
  LOCUS_TRY(const std::vector<std::string> labels, read_labels(trace));
  LOCUS_TRY(const at::Tensor ids, trace.file.tensor("input_ids", {-1}));
  const TensorInfo* position_info = trace.file.find("position_ids");
  const TensorInfo* query_info = trace.file.find("layers.0.q");
  const TensorInfo* map_info = trace.file.find("layers.0.attention");
  const bool has_positions = has_elements(position_info, 1) || has_elements(position_info, 2);
  const auto named = static_cast<std::int64_t>(labels.size());
  const std::int64_t length = ids.defined()                 ? ids.size(0)
                              : named > 0                   ? named
                              : has_positions               ? position_info->shape[0]
                              : has_elements(query_info, 3) ? query_info->shape[1]
                              : has_elements(map_info, 3)   ? map_info->shape[1]
                                                            : 0;
  if (length < 1 || (named > 0 && named != length)) {
    return bad_input("expected input_ids and as many tokens in the metadata, found " + std::to_string(length) +
                         " ids and " + std::to_string(named) + " tokens",
                     trace.file.path());
  }
  if (ids.defined() && !at::isIntegralType(ids.scalar_type(), false)) {
    return bad_input("expected whole numbers, found " + std::string(at::toString(ids.scalar_type())),
                     trace.file.where("input_ids"));
  }
  LOCUS_CHECK(read_grid(trace, length));
  LOCUS_CHECK(read_positions(trace, position_info, length));
  if (ids.defined()) {
    trace.data.input_ids = ids.to(at::kLong);
  }
  const at::Tensor& positions = trace.data.position_ids;
  const at::Tensor flat = (positions.dim() == 1     ? positions
                           : positions.size(1) == 3 ? positions.select(1, 0)
                                                    : at::arange(length, at::kDouble))
                              .contiguous();
  const at::Tensor own_ids = (ids.defined() ? trace.data.input_ids : at::arange(length, at::kLong)).contiguous();
  trace.data.tokens.reserve(static_cast<std::size_t>(length));
  for (std::int64_t n = 0; n < length; ++n) {
    const std::int64_t id = own_ids.data_ptr<std::int64_t>()[n];
    trace.data.tokens.push_back(
        {id, named > 0 ? labels[static_cast<std::size_t>(n)] : std::to_string(id), {}, flat.data_ptr<double>()[n]});
  }
  return read_text(trace);
}

}  // namespace locus::models::trace
