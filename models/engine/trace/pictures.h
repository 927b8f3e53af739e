// The pictures of a text in a trace file:
//   pixel_values, image_grid_thw   what the tower took, as the family has them
//   pixel_values_videos, video_grid_thw   the same of videos
//   image_embeds [N, C], mm_mask [T], deepstack.K [N, C]   what stands in the text, where, and what is added there
//   layers.N.blocks [T] int64      tokens of one number (not below 0) see each other whatever their order; metadata
//                                  `blocks`: "alone" where they see nothing else, "cut by the
//                                  window" where the layer's window hides tokens of the block
//                                  too, "within the window" where layers without one have no
//                                  blocks besides, else "beside the order"
//   metadata images                a list of {first, count, rows, columns, pitch}, as ImageSpan has them; of each group of
//                                  a video's frames also {video, frame, step, seconds}, of tiles {tile_rows,
//                                  tile_columns, tile_pitch}; {whole: true} of the whole picture beside
//                                  them, {ended: true} where a token behind each row has a vector too
//   vision.…                       the tower's side: position_ids, layers.N.…, metadata vision.encoding, …
#pragma once

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "models/engine/trace/open_trace.h"
#include "models/engine/trace/recorded_trace.h"

namespace locus::models::trace {

std::vector<std::pair<std::string, at::Tensor>> picture_tensors(const TraceData& data);
nlohmann::json picture_list(const TraceData& data);

// Fills in where pictures stand and what they put there. Errors: kBadInput naming file, entry, expected and found.
Status read_pictures(OpenTrace& trace);

// The word of the metadata `blocks`.
std::string blocks_word(const attention::Blocks& blocks);

// The blocks of a layer; null: none. Errors: as above.
Result<std::shared_ptr<const attention::Blocks>> read_blocks(const TraceContents& file, const std::string& prefix,
                                                             std::int64_t length);

}  // namespace locus::models::trace
