// BART and the models that came of it: an encoder and a decoder with LayerNorms and biases, to whose tokens positions
// are added. A type differs from BART in its norms' places, its positions and a few names. A file may hold the decoder
// alone (…ForCausalLM), which then runs without cross-attention, or the encoder alone.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/shown.h"
#include "models/families/engine/sines.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::NormPlace;

// What is added to the tokens: rows of a learned table; sines, which a file may store as a table; or sines of the
// tokens' count without padding, whose slowest rate is 1/10000 and whose first row follows that of the padding's id.
enum class TableRows { kLearned, kSines, kCounted };

struct Form {
  std::string_view type;
  NormPlace place = NormPlace::kPost;
  bool embedding_norm = true;
  bool final_norm = false;
  TableRows rows = TableRows::kLearned;
  std::int64_t unused_rows = 0;  // of a learned table, before that of the first position
  bool scaled = false;           // what scale_embedding is where the file does not say it
  std::int64_t start = 2;        // what the decoder begins with where the file does not say it
  bool in_blocks = false;        // BigBird's encoder: biases and names of its own, and blocks of keys in long texts
  bool other_names = false;      // SeamlessM4T's: text_encoder, text_decoder, cross_attention, ffn
};

constexpr std::array<Form, 14> kForms{{
    {.type = "bart", .unused_rows = 2},
    {.type = "plbart", .unused_rows = 2, .scaled = true},
    {.type = "mvp", .unused_rows = 2},
    {.type = "mbart", .place = NormPlace::kPre, .final_norm = true, .unused_rows = 2},
    {.type = "blenderbot", .place = NormPlace::kPre, .embedding_norm = false, .final_norm = true, .start = 1},
    {.type = "blenderbot-small", .start = 1},
    {.type = "pegasus",
     .place = NormPlace::kPre,
     .embedding_norm = false,
     .final_norm = true,
     .rows = TableRows::kSines,
     .start = 0},
    {.type = "bigbird_pegasus",
     .place = NormPlace::kPre,
     .embedding_norm = false,
     .final_norm = true,
     .scaled = true,
     .in_blocks = true},
    {.type = "marian", .embedding_norm = false, .rows = TableRows::kSines, .start = 58100},
    {.type = "m2m_100",
     .place = NormPlace::kPre,
     .embedding_norm = false,
     .final_norm = true,
     .rows = TableRows::kCounted,
     .scaled = true},
    {.type = "seamless_m4t",
     .place = NormPlace::kPre,
     .embedding_norm = false,
     .final_norm = true,
     .rows = TableRows::kCounted,
     .scaled = true,
     .start = 3,
     .other_names = true},
    {.type = "seamless_m4t_v2",
     .place = NormPlace::kPre,
     .embedding_norm = false,
     .final_norm = true,
     .rows = TableRows::kCounted,
     .scaled = true,
     .start = 3,
     .other_names = true},
    {.type = "trocr", .unused_rows = 2},
    {.type = "whisper", .place = NormPlace::kPre, .embedding_norm = false, .final_norm = true, .start = 50257},
}};

const std::vector<std::string_view> kBartPrefixes{"model.", ""};

std::string side_of(const Form& form, bool decoder) {
  return std::string(form.other_names ? "text_" : "") + (decoder ? "decoder" : "encoder");
}

// Whether the file has layers of a side; a configuration alone has both.
bool has_side(const CheckpointFiles& checkpoint, const Form& form, bool decoder) {
  if (checkpoint.tensors == nullptr) {
    return true;
  }
  const std::string layers = side_of(form, decoder) + ".layers.";
  const std::vector<formats::TensorInfo>& all = checkpoint.tensors->tensors();
  return std::any_of(all.begin(), all.end(), [&](const formats::TensorInfo& tensor) {
    return std::any_of(kBartPrefixes.begin(), kBartPrefixes.end(),
                       [&](std::string_view prefix) { return tensor.name.starts_with(std::string(prefix) + layers); });
  });
}

std::string anchor_of(const std::string& side) {
  return side + ".layers.0.self_attn.q_proj.weight";
}

// BigBird's names where they differ: the last norm is that of BART's embedding.
void rename_blocks(const std::string& side, std::vector<Name>& names) {
  std::erase_if(names,
                [](const Name& row) { return row.parameter == "embedding_norm" || row.parameter == "final_norm"; });
  names.push_back({"final_norm", side + ".layernorm_embedding"});
  const std::string layer = side + ".layers.N.self_attn.";
  names.push_back({"layers.N.attention.{query,key,value}", layer + "self.{query,key,value}"});
  names.push_back({"layers.N.attention.output", layer + "output"});
}

std::vector<Name> names_of(const Form& form, const std::string& side, bool shares) {
  const std::string layer = side + ".layers.N.";
  const std::string words = side + ".embed_tokens.weight";
  const bool other = form.other_names;
  return {{"embedding.weight", words},
          {"embedding.weight", shares ? "shared.weight" : words},
          {"position.position_embedding", side + ".embed_positions.weight"},
          {"embedding_norm", side + ".layernorm_embedding"},
          {"layers.N.attention_norm", layer + "self_attn_layer_norm"},
          {"layers.N.attention.{query,key,value,output}", layer + "self_attn.{q,k,v,out}_proj"},
          {"layers.N.cross_norm", layer + (other ? "cross_attention_layer_norm" : "encoder_attn_layer_norm")},
          {"layers.N.cross.{query,key,value,output}",
           layer + (other ? "cross_attention.{q,k,v,out}_proj" : "encoder_attn.{q,k,v,out}_proj")},
          {"layers.N.feed_forward_norm", layer + (other ? "ffn_layer_norm" : "final_layer_norm")},
          {"layers.N.feed_forward.{up,down}", layer + (other ? "ffn.fc{1,2}" : "fc{1,2}")},
          {"final_norm", side + ".layer_norm"}};
}

// In the library, general names take precedence: they are other names of the encoder's fields, or of TrOCR's decoder's.
std::vector<Field> fields_of(const Form& form, bool decoder) {
  using namespace slot;
  const auto names = [&](std::string_view general, std::string_view encoders, std::string_view decoders) {
    const std::string_view own = decoder ? decoders : encoders;
    return !decoder || form.type == "trocr" ? std::vector{general, own} : std::vector{own};
  };
  return {{{"vocab_size"}, vocabulary},
          {{"hidden_size", "d_model"}, width},
          {names("num_hidden_layers", "encoder_layers", "decoder_layers"), layers},
          {names("num_attention_heads", "encoder_attention_heads", "decoder_attention_heads"), heads},
          {{decoder ? "decoder_ffn_dim" : "encoder_ffn_dim"}, inner},
          {{"activation_function"}, activation, "gelu"},
          {{"tie_word_embeddings"}, tied, true},
          {{form.type == "whisper" ? "max_target_positions" : "max_position_embeddings"}, trained_length}};
}

// Sines that count the tokens: position t reads row t + padding + 1, and padding reads zeros.
Status count_tokens(const Config& config, Plan& plan) {
  LOCUS_TRY(plan.spec.padding, integer_or(config, "pad_token_id", 1, 0));
  plan.spec.encodings = {
      {"sinusoidal",
       {{"layout", std::string("half")}, {"spacing", std::string("closed")}, {"first", plan.spec.padding + 1}}}};
  return {};
}

Status set_rows(const Form& form, const std::string& table, const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  const bool chosen = form.type == "trocr" && config.has("use_learned_position_embeddings");
  LOCUS_TRY(const bool learned, chosen ? config.boolean("use_learned_position_embeddings") : Result<bool>(true));
  if (form.rows == TableRows::kCounted || !learned) {
    return count_tokens(config, plan);
  }
  if (form.rows == TableRows::kSines && holds_sines(checkpoint, table)) {
    plan.spec.encodings = {{"sinusoidal", {{"layout", std::string("half")}}}};
    plan.skipped.push_back(table);
    return {};
  }
  plan.spec.encodings = {{"learned", {{"length", plan.spec.trained_length}, {"class_rows", form.unused_rows}}}};
  return {};
}

// Tokens up to which BigBird's attention in blocks is the full one; 0: it always is.
Result<std::int64_t> whole_blocks(const Config& config) {
  LOCUS_TRY(const std::string kind, config.text("attention_type", "block_sparse"));
  LOCUS_TRY(const std::int64_t size, integer_or(config, "block_size", 64));
  LOCUS_TRY(const std::int64_t random, integer_or(config, "num_random_blocks", 3, 0));
  if (kind != "block_sparse" && kind != "original_full") {
    return unsupported("expected block_sparse or original_full, found " + shown(kind),
                       config.context("attention_type"));
  }
  return kind == "block_sparse" ? (5 + 2 * random) * size : 0;
}

// The plan of one side by itself.
Result<Plan> read_side(const Form& form, const CheckpointFiles& checkpoint, bool decoder) {
  const Config& config = checkpoint.config;
  const std::string side = side_of(form, decoder);
  const bool whisper = form.type == "whisper";
  const std::string anchor = form.in_blocks && !decoder ? side + ".layers.0.self_attn.output.weight" : anchor_of(side);
  LOCUS_TRY(const bool biased, config.boolean("use_bias", !form.in_blocks));
  const char* const head = form.type == "trocr" ? "output_projection" : whisper ? "proj_out" : "lm_head";
  const bool chosen = form.type == "trocr" && config.has("layernorm_embedding");
  LOCUS_TRY(const bool normed, chosen ? config.boolean("layernorm_embedding") : Result<bool>(form.embedding_norm));
  LOCUS_TRY(const bool asked, config.boolean("scale_embedding", form.scaled));
  const bool scaled = asked && !whisper;  // the library's decoder of Whisper reads the field and does not scale
  LOCUS_TRY(const bool shares, config.boolean("share_encoder_decoder_embeddings", true));  // a field of Marian
  Family family;
  family.fixed = [&](Draft& draft) {
    draft.spec.norm = transformer::Norm::kLayer;
    draft.spec.causal = draft.spec.head = decoder;
    draft.spec.final_norm = form.final_norm;
    draft.spec.embedding_norm = normed;
    draft.spec.early_norm = decoder && form.type == "blenderbot-small";
    draft.layer.attention_norm = draft.layer.feed_forward_norm = form.place;
    draft.layer.attention.query_bias = draft.layer.attention.value_bias = draft.layer.attention.output_bias = biased;
    draft.layer.attention.key_bias = biased && !whisper;
    draft.layer.feed_forward.gated = false;
    draft.layer.feed_forward.bias = true;
  };
  family.fields = fields_of(form, decoder);
  family.fixed_fields = {{"use_prompt", {false}}};
  family.prefixes = kBartPrefixes;
  family.anchor = anchor;
  family.names = names_of(form, side, shares);
  if (form.in_blocks) {
    rename_blocks(side, family.names);
    family.set({{"activation_function"}, slot::activation, "gelu_new"});
  }
  family.outside = {{"head.weight", std::string(head) + ".weight"}};
  family.skipped = {"embed_tokens.weight",     "shared.weight",     std::string(head) + ".weight",
                    "embed_positions.weights", "final_logits_bias", "encoder.version",
                    "decoder.version"};
  family.finish = [&](const CheckpointFiles& files, Plan& plan) -> Status {
    if (scaled) {
      plan.spec.embedding_scale = std::sqrt(static_cast<double>(plan.spec.width));
    }
    if (form.in_blocks && !decoder) {
      LOCUS_TRY(plan.spec.all_seen, whole_blocks(config));
    }
    return set_rows(form, files.prefix_of(kBartPrefixes, anchor) + side + ".embed_positions.weight", files, plan);
  };
  return read_table(family, checkpoint, config);
}

// Words of Marian's decoder, where it does not share the encoder's; an embedding beside the words is a tied head's.
Status set_words(const Config& config, Plan& plan) {
  LOCUS_TRY(const bool shared, config.boolean("share_encoder_decoder_embeddings", true));
  LOCUS_TRY(const std::int64_t own, integer_or(config, "decoder_vocab_size", plan.spec.vocabulary));
  plan.spec.vocabulary = shared ? plan.spec.vocabulary : own;
  return {};
}

// Leaves cross-attention out: the file's tensors of it are not used.
void run_alone(const Form& form, const CheckpointFiles& checkpoint, Plan& plan) {
  const std::string cross = form.other_names ? "cross_attention" : "encoder_attn";
  for (const char* const part : {".q_proj", ".k_proj", ".v_proj", ".out_proj", "_layer_norm"}) {
    for (const char* const end : {".weight", ".bias"}) {
      plan.skipped.push_back(cross + part + end);
    }
  }
  const bool encodes = has_side(checkpoint, form, false);
  plan.warnings.push_back(checkpoint.path.string() + ": the decoder runs without cross-attention: " +
                          (encodes ? "the encoder reads sound" : "the file has no encoder"));
  if (encodes) {
    plan.skipped.insert(plan.skipped.end(), {"model.encoder.*", "encoder.*"});
  }
}

// Marks the fields of SeamlessM4T's speech encoder and speech generator as read.
void skip_sound(const Form& form, const Config& config) {
  constexpr std::array<std::string_view, 24> kBegins{
      "speech_",     "t2u_",      "adaptor_",  "conv_",    "num_conv_",  "num_adapter_",
      "add_adapter", "feature_",  "position_", "rotary_",  "left_max_",  "right_max_",
      "sampling_",   "upsample_", "resblock_", "leaky_",   "unit_",      "lang_embed",
      "spkr_embed",  "vocoder_",  "variance_", "var_pred", "char_vocab", "layer_norm_eps"};
  for (const std::string& name : form.other_names ? config.names() : std::vector<std::string>()) {
    const auto begins = [&](std::string_view each) { return name.starts_with(each); };
    if (std::any_of(kBegins.begin(), kBegins.end(), begins)) {
      config.has(name);
    }
  }
}

Result<Plan> read_sides(const CheckpointFiles& checkpoint) {
  const std::string type = model_type(checkpoint);
  const Form& form = *std::find_if(kForms.begin(), kForms.end(), [&](const Form& each) { return each.type == type; });
  const bool encodes = has_side(checkpoint, form, false);
  skip_sound(form, checkpoint.config);
  if (encodes && !has_side(checkpoint, form, true)) {
    return form.type == "whisper"
               ? unsupported("expected a decoder, found an encoder alone, which reads sound", checkpoint.path.string())
               : read_side(form, checkpoint, false);
  }
  LOCUS_TRY(Plan plan, read_side(form, checkpoint, true));
  LOCUS_CHECK(set_words(checkpoint.config, plan));
  LOCUS_TRY(plan.start_token, integer_or(checkpoint.config, "decoder_start_token_id", form.start, 0));
  plan.spec.head_bias = checkpoint.find("final_logits_bias") != nullptr;
  plan.name("head.bias", "final_logits_bias", Layout::kReshaped);
  if (form.other_names) {
    plan.skipped.insert(plan.skipped.end(), {"speech_encoder.*", "t2u_model.*", "vocoder.*"});
  }
  if (!encodes || form.type == "whisper") {
    run_alone(form, checkpoint, plan);
    return plan;
  }
  LOCUS_TRY(Plan encoder, read_side(form, checkpoint, false));
  plan.spec.each([](std::int64_t, transformer::LayerSpec& layer) { layer.cross = layer.attention; });
  plan.encoder.push_back(std::move(encoder));
  return plan;
}

Family family_of_form(std::string_view type) {
  return {.name = type,
          .read = read_sides,
          .harmless = {// The side that the file lacks.
                       "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim", "decoder_layers",
                       "decoder_attention_heads", "decoder_ffn_dim", "max_source_positions", "attention_type",
                       "block_size", "num_random_blocks", "cross_attention_hidden_size", "add_cross_attention",
                       "share_encoder_decoder_embeddings",
                       // Earlier versions of one class for all types.
                       "num_hidden_layers", "num_attention_heads", "normalize_before", "normalize_embedding",
                       "add_final_layer_norm", "static_position_embeddings", "add_bias_logits", "extra_pos_embeddings",
                       "do_blenderbot_90_layernorm", "layernorm_variant", "force_bos_token_to_be_generated",
                       "output_past", "save_step", "prompt_length", "prompt_mid_dim",
                       // Whisper's other tasks, word timestamps, audio, and masking in training.
                       "classifier_proj_size", "use_weighted_layer_sum", "median_filter_width", "num_mel_bins",
                       "apply_spec_augment", "mask_time_prob", "mask_time_length", "mask_time_min_masks",
                       "mask_feature_prob", "mask_feature_length", "mask_feature_min_masks"}};
}

}  // namespace

const Family kBart = family_of_form("bart");
const Family kPlbart = family_of_form("plbart");
const Family kMvp = family_of_form("mvp");
const Family kMbart = family_of_form("mbart");
const Family kBlenderbot = family_of_form("blenderbot");
const Family kBlenderbotSmall = family_of_form("blenderbot-small");
const Family kPegasus = family_of_form("pegasus");
const Family kBigBirdPegasus = family_of_form("bigbird_pegasus");
const Family kMarian = family_of_form("marian");
const Family kM2m100 = family_of_form("m2m_100");
const Family kSeamless = family_of_form("seamless_m4t");
const Family kSeamless2 = family_of_form("seamless_m4t_v2");
const Family kTrocr = family_of_form("trocr");
const Family kWhisper = family_of_form("whisper");

}  // namespace locus::families
