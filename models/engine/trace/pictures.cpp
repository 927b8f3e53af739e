#include "models/engine/trace/pictures.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "core/base/checked.h"
#include "models/transformer/transformer.h"

namespace locus::models::trace {

namespace {

using nlohmann::json;

constexpr std::int64_t kMaxAdded = 4096;  // tensors deepstack.K
constexpr std::int64_t kMaxStep = std::int64_t{1} << 40;
constexpr double kMaxSeconds = 1e9;

// Metadata `blocks` of blocks that are not alone.
struct BlockWord {
  attention::BlocksInWindows windows;
  std::string_view word;
};
constexpr BlockWord kBlockWords[] = {{attention::BlocksInWindows::kWhole, "beside the order"},
                                     {attention::BlocksInWindows::kCut, "cut by the window"},
                                     {attention::BlocksInWindows::kCutOnly, "within the window"}};

std::int64_t last_token(const ImageSpan& span) {
  return span.token(span.count - 1) + (span.ended ? 1 : 0);
}

// One entry of `images`, behind the tokens of the one before.
Result<ImageSpan> read_span(const JsonObject& object, std::int64_t from, std::int64_t length) {
  ImageSpan span;
  LOCUS_TRY(span.first, size_of(object, "first", -1, length));
  LOCUS_TRY(span.count, size_of(object, "count", -1, length));
  LOCUS_TRY(span.rows, size_of(object, "rows", 0, length));
  LOCUS_TRY(span.columns, size_of(object, "columns", 0, length));
  LOCUS_TRY(span.pitch, size_of(object, "pitch", span.columns, length));
  if (object.find("video") != nullptr) {
    LOCUS_TRY(span.video, size_of(object, "video", -1, length));
    LOCUS_TRY(span.frame, size_of(object, "frame", -1, length));
    LOCUS_TRY(span.step, size_of(object, "step", 0, kMaxStep));
    LOCUS_TRY(span.seconds, object.number("seconds", 0));
    if (!(span.seconds >= 0 && span.seconds <= kMaxSeconds)) {
      return bad_input("expected seconds from 0 to 1e9, found another number", object.where());
    }
  }
  LOCUS_TRY(span.tile_rows, size_of(object, "tile_rows", 0, length));
  LOCUS_TRY(span.tile_columns, size_of(object, "tile_columns", 0, length));
  LOCUS_TRY(span.tile_pitch, size_of(object, "tile_pitch", 0, length));
  LOCUS_TRY(span.whole, object.boolean("whole", false));
  LOCUS_TRY(span.ended, object.boolean("ended", false));
  if (!span.tiles_fit()) {
    return bad_input("expected tiles that divide " + std::to_string(span.rows) + " × " + std::to_string(span.columns) +
                         " cells one after another, and rows with room for their ends, found tile_rows " +
                         std::to_string(span.tile_rows) + ", tile_columns " + std::to_string(span.tile_columns) +
                         ", tile_pitch " + std::to_string(span.tile_pitch) + ", pitch " + std::to_string(span.pitch),
                     object.where());
  }
  const std::int64_t across = span.tile_rows > 0 ? span.tile_columns : span.columns;
  const bool grid = span.rows > 0 && span.rows * span.columns == span.count && span.pitch >= across;
  const bool none = span.rows == 0 && span.columns == 0;
  if (span.count < 1 || span.first < from || !(grid || none) || last_token(span) >= length) {
    return bad_input("expected count = rows × columns cells (rows 0: no grid) behind token " +
                         std::to_string(from - 1) + " and before token " + std::to_string(length) + ", found first " +
                         std::to_string(span.first) + ", count " + std::to_string(span.count) + ", " +
                         std::to_string(span.rows) + " × " + std::to_string(span.columns) + ", pitch " +
                         std::to_string(span.pitch),
                     object.where());
  }
  return span;
}

Result<std::vector<ImageSpan>> read_spans(const OpenTrace& trace) {
  LOCUS_TRY(const json stored, trace.file.value("images"));
  std::vector<ImageSpan> spans;
  if (stored.is_null()) {
    return spans;
  }
  const std::string where = trace.file.metadata("images");
  if (!stored.is_array()) {
    return bad_input(std::string("expected a list of pictures, found ").append(stored.type_name()), where);
  }
  std::int64_t from = 0;
  for (const json& entry : stored) {
    LOCUS_TRY(const JsonObject object, JsonObject::of(entry, where + "[" + std::to_string(spans.size()) + "]"));
    LOCUS_TRY(const ImageSpan span, read_span(object, from, trace.length()));
    from = last_token(span) + 1;
    spans.push_back(span);
  }
  return spans;
}

at::Tensor cell_tokens(const std::vector<ImageSpan>& spans) {
  std::vector<std::int64_t> tokens;
  for (const ImageSpan& span : spans) {
    for (std::int64_t cell = 0; cell < span.count; ++cell) {
      tokens.push_back(span.token(cell));
    }
    for (std::int64_t row = 0; span.ended && row < span.rows; ++row) {
      tokens.push_back(span.row_end(row));
    }
  }
  std::ranges::sort(tokens);  // of tiles, cells of a row stand apart
  return at::tensor(at::ArrayRef<std::int64_t>(tokens), at::kLong);
}

}  // namespace

std::vector<std::pair<std::string, at::Tensor>> picture_tensors(const TraceData& data) {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  const auto add = [&tensors](const std::string& name, const at::Tensor& tensor) {
    if (tensor.defined()) {
      tensors.emplace_back(name, tensor);
    }
  };
  if (data.images.empty()) {
    return tensors;
  }
  add("pixel_values", data.pixels);
  add("image_grid_thw", data.image_grids);
  add("pixel_values_videos", data.video_pixels);
  add("video_grid_thw", data.video_grids);
  if (data.image_rows) {
    add("image_embeds", data.image_rows->vectors);
    for (std::size_t k = 0; k < data.image_rows->added.size(); ++k) {
      add("deepstack." + std::to_string(k), data.image_rows->added[k]);
    }
  }
  const at::Tensor mask = at::zeros({static_cast<std::int64_t>(data.tokens.size())}, at::kLong);
  mask.index_fill_(0, cell_tokens(data.images), 1);
  add("mm_mask", mask);
  return tensors;
}

json picture_list(const TraceData& data) {
  json list = json::array();
  for (const ImageSpan& span : data.images) {
    list.push_back({{"first", span.first},
                    {"count", span.count},
                    {"rows", span.rows},
                    {"columns", span.columns},
                    {"pitch", span.pitch}});
    if (span.video >= 0) {
      list.back().update(
          {{"video", span.video}, {"frame", span.frame}, {"step", span.step}, {"seconds", span.seconds}});
    }
    if (span.tile_rows > 0) {
      list.back()["tile_rows"] = span.tile_rows;
      list.back()["tile_columns"] = span.tile_columns;
      list.back()["tile_pitch"] = span.tile_pitch;
    }
    if (span.whole) {
      list.back()["whole"] = true;
    }
    if (span.ended) {
      list.back()["ended"] = true;
    }
  }
  return list;
}

Status read_pictures(OpenTrace& trace) {
  LOCUS_TRY(trace.data.images, read_spans(trace));
  if (trace.data.images.empty()) {
    return {};
  }
  const at::Tensor tokens = cell_tokens(trace.data.images);
  LOCUS_TRY(const at::Tensor mask, trace.file.tensor("mm_mask", {trace.length()}));
  if (mask.defined() && !at::equal(mask.to(at::kLong).nonzero().flatten(), tokens)) {
    return bad_input("expected 1 at the cells of metadata images and 0 elsewhere, found another",
                     trace.file.where("mm_mask"));
  }
  LOCUS_TRY(trace.data.pixels,
            trace.file.find("pixel_values") != nullptr && has_elements(trace.file.find("pixel_values"), 2)
                ? trace.file.float_tensor("pixel_values", {-1, -1})
                : trace.file.float_tensor("pixel_values", {-1, -1, -1, -1}));
  LOCUS_TRY(trace.data.image_grids, trace.file.tensor("image_grid_thw", {-1, 3}));
  LOCUS_TRY(trace.data.video_pixels, trace.file.float_tensor("pixel_values_videos", {-1, -1}));
  LOCUS_TRY(trace.data.video_grids, trace.file.tensor("video_grid_thw", {-1, 3}));
  LOCUS_TRY(const at::Tensor vectors, trace.file.float_tensor("image_embeds", {tokens.size(0), -1}));
  if (!vectors.defined()) {
    return {};
  }
  auto rows = std::make_shared<transformer::ImageRows>();
  rows->tokens = tokens;
  rows->vectors = vectors;
  for (std::int64_t k = 0; k < kMaxAdded; ++k) {
    LOCUS_TRY(at::Tensor added,
              trace.file.float_tensor("deepstack." + std::to_string(k), {vectors.size(0), vectors.size(1)}));
    if (!added.defined()) {
      break;
    }
    rows->added.push_back(std::move(added));
  }
  trace.data.image_rows = std::move(rows);
  return {};
}

std::string blocks_word(const attention::Blocks& blocks) {
  if (blocks.alone) {
    return "alone";
  }
  return std::string(std::ranges::find(kBlockWords, blocks.windows, &BlockWord::windows)->word);
}

Result<std::shared_ptr<const attention::Blocks>> read_blocks(const TraceContents& file, const std::string& prefix,
                                                             std::int64_t length) {
  LOCUS_TRY(const at::Tensor stored, file.tensor(prefix + "blocks", {length}));
  if (!stored.defined()) {
    return std::shared_ptr<const attention::Blocks>();
  }
  const std::string form = file.text("blocks");
  const auto* const word = std::ranges::find(kBlockWords, form, &BlockWord::word);
  if (form != "alone" && word == std::end(kBlockWords)) {
    return bad_input("expected alone, beside the order, cut by the window or within the window, found another",
                     file.metadata("blocks"));
  }
  const at::Tensor numbers = stored.to(at::kLong).contiguous();
  std::vector<std::int64_t> of(numbers.data_ptr<std::int64_t>(), numbers.data_ptr<std::int64_t>() + length);
  const auto wrong = std::ranges::find_if(of, [length](std::int64_t block) { return block < -1 || block >= length; });
  if (wrong != of.end()) {
    return bad_input("expected numbers from -1 to " + std::to_string(length - 1) + ", found " + std::to_string(*wrong),
                     file.where(prefix + "blocks"));
  }
  auto blocks = attention::Blocks::make(std::move(of), form == "alone",
                                        form == "alone" ? attention::BlocksInWindows::kWhole : word->windows);
  if (blocks->scattered && !blocks->alone) {
    return bad_input("expected blocks of tokens that stand one after another, found one with others between them",
                     file.where(prefix + "blocks"));
  }
  return blocks;
}

}  // namespace locus::models::trace
