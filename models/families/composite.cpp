// Composite checkpoints whose other halves have no table here: the text of text_config alone, under the names that
// transformers and the authors of such models use.
#include <algorithm>

#include "models/families/list.h"

namespace locus::families {

namespace {

std::string text_type(const CheckpointFiles& checkpoint) {
  return text_or_nothing(checkpoint.config, "text_config.model_type");
}

bool has_known_text(const CheckpointFiles& checkpoint) {
  return checkpoint.config.kind("text_config") == "object" &&
         family_named(text_type(checkpoint), checkpoint.config).ok();
}

}  // namespace

const Family kComposite{.name = "composite",
                        .recognises = has_known_text,
                        .read =
                            [](const CheckpointFiles& checkpoint) {
                              return read_text_half(
                                  checkpoint, "model_type " + model_type(checkpoint) + " is not one that Locus reads");
                            },
                        .harmless = {"vision_config",        "audio_config",
                                     "mtp_config",           "audio_bos_token_id",
                                     "image_bos_token_id",   "image_token_id",
                                     "image_token_index",    "audio_token_id",
                                     "video_token_index",    "boi_token_id",
                                     "eoi_token_id",         "boi_token_index",
                                     "eoi_token_index",      "vision_start_token_id",
                                     "vision_end_token_id",  "image_start_token_id",
                                     "image_end_token_id",   "boa_token_id",
                                     "eoa_token_id",         "mm_tokens_per_image",
                                     "vision_feature_layer", "vision_feature_select_strategy",
                                     "projector_hidden_act", "image_seq_length"}};

}  // namespace locus::families
