// open(): headers, config, family, shapes, tokenizer; then weights.
#include <algorithm>
#include <map>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/guarded.h"
#include "core/base/shown.h"
#include "models/api/local.h"
#include "models/engine/device.h"
#include "models/engine/loaded_model.h"
#include "models/engine/model_info.h"
#include "models/engine/overrides.h"
#include "models/engine/paired_halves.h"
#include "models/engine/read_checkpoint.h"
#include "models/engine/vision.h"
#include "models/families/engine/family.h"
#include "models/families/engine/heads.h"
#include "models/families/list.h"
#include "models/formats/gguf/gguf_metadata.h"
#include "models/formats/json/json.h"
#include "models/text/token_tables.h"

namespace locus::models {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kConfigLimit = 16 << 20;
// Checkpoints up to this many bytes are converted and checked for values that are not finite on opening, larger ones at
// the first run.
constexpr double kEagerBytes = 256e6;

// A file beside the weights that cannot be read leaves what does not need it.
std::vector<std::string> degrade_with_warning(const Error& error, const std::string& what, CheckpointParts& parts) {
  parts.unread = error;
  return {error.describe() + " (" + what + ")"};
}

// The tokenizer in a GGUF file, which has tables of its own; else the folder's.
Result<std::shared_ptr<const text::Tokenizer>> tokenizer_of(const families::CheckpointFiles& checkpoint) {
  const std::shared_ptr<const formats::GgufMetadata> metadata = checkpoint.tensors->gguf();
  if (metadata == nullptr || !metadata->has("tokenizer.ggml.tokens")) {
    return text::open_tokenizer(checkpoint.folder);
  }
  text::TokenTables tables;
  tables.file = metadata->file();
  LOCUS_TRY(const auto model, metadata->text("tokenizer.ggml.model"));
  LOCUS_TRY(const auto pre, metadata->text("tokenizer.ggml.pre"));
  tables.model = model.value_or("");
  tables.pre = pre.value_or("");
  LOCUS_TRY(tables.tokens, metadata->texts("tokenizer.ggml.tokens"));
  LOCUS_TRY(tables.scores, metadata->numbers("tokenizer.ggml.scores"));
  LOCUS_TRY(tables.types, metadata->integers("tokenizer.ggml.token_type"));
  LOCUS_TRY(tables.merges, metadata->texts("tokenizer.ggml.merges"));
  LOCUS_TRY(tables.begin, metadata->integer("tokenizer.ggml.bos_token_id"));
  LOCUS_TRY(tables.end, metadata->integer("tokenizer.ggml.eos_token_id"));
  LOCUS_TRY(tables.unknown, metadata->integer("tokenizer.ggml.unknown_token_id"));
  LOCUS_TRY(tables.add_begin, metadata->boolean("tokenizer.ggml.add_bos_token"));
  LOCUS_TRY(tables.add_end, metadata->boolean("tokenizer.ggml.add_eos_token"));
  LOCUS_TRY(tables.space_before, metadata->boolean("tokenizer.ggml.add_space_prefix"));
  LOCUS_TRY(tables.remove_extra_spaces, metadata->boolean("tokenizer.ggml.remove_extra_whitespaces"));
  LOCUS_TRY(const std::vector<std::int64_t> charsmap, metadata->integers("tokenizer.ggml.precompiled_charsmap"));
  std::transform(charsmap.begin(), charsmap.end(), std::back_inserter(tables.charsmap),
                 [](std::int64_t byte) { return static_cast<char>(byte); });
  return text::tokenizer_of(tables);
}

// Warnings as from open_image().
Result<std::vector<std::string>> open_text(const families::CheckpointFiles& checkpoint, CheckpointParts& parts) {
  Result<std::shared_ptr<const text::Tokenizer>> tokenizer = tokenizer_of(checkpoint);
  if (tokenizer.ok()) {
    parts.tokenizer = *std::move(tokenizer);
  } else {
    return degrade_with_warning(tokenizer.error(), "the tokenizer is not read: no texts, only ids", parts);
  }
  LOCUS_TRY(const std::string named, checkpoint.config.text("tokenizer", ""));
  if (!parts.tokenizer && named == "bytes") {
    parts.tokenizer = text::byte_tokenizer();
  }
  if (parts.encoder && parts.tokenizer) {
    LOCUS_TRY(parts.decoder_tokenizer, text::open_decoder_tokenizer(checkpoint.folder));
  }
  const std::int64_t vocabulary = (parts.encoder ? parts.encoder : parts.transformer)->spec().vocabulary;
  std::vector<std::string> warnings;
  // Special tokens without an embedding are no fault: families have some for pictures, which only their larger models
  // read (Gemma 3's <image_soft_token>). A text that names one is refused.
  std::int64_t id = vocabulary;
  while (parts.tokenizer && id < parts.tokenizer->vocabulary() && parts.tokenizer->is_special(id)) {
    ++id;
  }
  if (parts.tokenizer && id < parts.tokenizer->vocabulary()) {
    warnings.push_back("the tokenizer has " + std::to_string(parts.tokenizer->vocabulary()) +
                       " tokens, the model only " + std::to_string(vocabulary));
  }
  return warnings;
}

// The file of a folder with the fields of a processor, "image_processor" or "video_processor": processor_config.json, into
// which transformers 5 writes them, where it has that part; else the first of `others` that exists; empty: none does.
// Errors: kBadInput for a processor_config.json that cannot be read.
Result<fs::path> processor_file(const fs::path& folder, const std::string& part,
                                const std::vector<const char*>& others) {
  std::error_code failure;
  const fs::path all = folder / "processor_config.json";
  if (fs::exists(all, failure)) {
    LOCUS_TRY(const std::string text, read_file(all, kConfigLimit));
    LOCUS_TRY(const nlohmann::json document, parse_json(text, all.string()));
    LOCUS_TRY(const JsonObject object, JsonObject::of(document, all.string()));
    if (object.find(part) != nullptr) {
      return all;
    }
  }
  for (const char* const name : others) {
    if (fs::exists(folder / name, failure)) {
      return folder / name;
    }
  }
  return fs::path();
}

Result<image::Preprocessing> read_preprocessor(const fs::path& file) {
  LOCUS_TRY(const std::string text, read_file(file, kConfigLimit));
  return image::parse_preprocessor(text, file.string());
}

// Refuses a processor that counts other cells than the model pools (Gemma 4). `cell`: the model's patches along a side.
Status check_cells(const image::Preprocessing& read, const transformer::ImageStem& stem, std::int64_t cell,
                   const fs::path& file) {
  if (read.rule != image::ResizeRule::kCells) {
    return {};
  }
  if (read.patch != stem.patch) {
    return bad_input("patch_size: expected that of the model, " + std::to_string(stem.patch) + ", found " +
                         std::to_string(read.patch),
                     file.string());
  }
  return read.cell == read.patch * cell
             ? Status()
             : Status(bad_input("pooling_kernel_size: expected that of the model, " + std::to_string(cell) +
                                    ", found " + std::to_string(read.cell / read.patch),
                                file.string()));
}

// How pictures become pixels for a stem, where the folder says; a file that cannot be read, or that is made for another
// model, refuses pictures alone. `cell`: patches along a side of what becomes one vector.
Result<std::vector<std::string>> read_pictures(const families::CheckpointFiles& checkpoint,
                                               const transformer::ImageStem& stem, std::int64_t cell,
                                               const families::Plan& plan, image::Preprocessing& preprocessing,
                                               std::optional<Error>& unread) {
  image::Preprocessing standard;
  standard.height = standard.crop_height = stem.rows * stem.patch;
  standard.width = standard.crop_width = stem.columns * stem.patch;
  preprocessing = plan.preprocessing.value_or(standard);
  const Result<fs::path> file = processor_file(checkpoint.folder, "image_processor", {"preprocessor_config.json"});
  if (file.ok() && file->empty()) {
    return std::vector<std::string>();
  }
  Result<image::Preprocessing> read = file.ok() ? read_preprocessor(*file) : file.error();
  if (const Status same = read.ok() ? check_cells(*read, stem, cell, *file) : Status(); !same.ok()) {
    read = same.error();
  }
  if (!read.ok()) {
    unread = read.error();
    return std::vector<std::string>{read.error().describe() +
                                    " (how pictures are prepared is not read: no images, only pixels)"};
  }
  preprocessing = *read;
  return std::vector<std::string>();
}

Result<std::vector<std::string>> open_image(const families::CheckpointFiles& checkpoint, const families::Plan& plan,
                                            CheckpointParts& parts) {
  parts.labels = read_labels(checkpoint.config);
  return read_pictures(checkpoint, parts.transformer->spec().image, 1, plan, parts.preprocessing, parts.unread);
}

// How videos become frames, where the folder says; a file that cannot be read refuses videos alone.
Result<std::vector<std::string>> read_videos(const families::CheckpointFiles& checkpoint, image::VideoRule rule,
                                             CheckpointParts& parts) {
  parts.video = image::video_options(rule);
  if (rule == image::VideoRule::kNone) {
    return std::vector<std::string>();
  }
  const Result<fs::path> file = processor_file(checkpoint.folder, "video_processor",
                                               {"video_preprocessor_config.json", "preprocessor_config.json"});
  if (file.ok() && file->empty()) {
    return std::vector<std::string>();
  }
  const Result<std::string> text = file.ok() ? read_file(*file, kConfigLimit) : file.error();
  const Result<image::VideoOptions> read =
      text.ok() ? image::parse_video_preprocessor(*text, file->string(), rule) : text.error();
  if (!read.ok()) {
    parts.unread_videos = read.error();
    return std::vector<std::string>{read.error().describe() + " (how videos are prepared is not read: no videos)"};
  }
  parts.video = *read;
  return std::vector<std::string>();
}

// Both: texts, and the pictures in them.
Result<std::vector<std::string>> open_mixed(const families::CheckpointFiles& checkpoint, const families::Plan& plan,
                                            CheckpointParts& parts) {
  LOCUS_TRY(std::vector<std::string> warnings, open_text(checkpoint, parts));
  LOCUS_TRY(const std::vector<std::string> more,
            read_pictures(checkpoint, plan.vision->tower.spec.image, plan.vision->connector.cell(), plan.vision->tower,
                          parts.preprocessing, parts.unread_pictures));
  warnings.insert(warnings.end(), more.begin(), more.end());
  LOCUS_TRY(const std::vector<std::string> of_videos, read_videos(checkpoint, plan.vision->videos, parts));
  warnings.insert(warnings.end(), of_videos.begin(), of_videos.end());
  return warnings;
}

// The encoder beside a decoder: the weights of both are one weight binding.
Status open_encoder(const families::CheckpointFiles& checkpoint, const families::Plan& plan, const std::string& where,
                    CheckpointParts& parts) {
  LOCUS_TRY(parts.encoder, within(transformer::Transformer::create(plan.encoder.front().spec, false), where));
  parts.start_token = plan.start_token;
  LOCUS_TRY(transformer::WeightBinding binding,
            transformer::bind_weights(*parts.encoder, plan.encoder.front(), checkpoint));
  parts.binding.add(std::move(binding));
  return {};
}

// The picture tower beside a text model.
Status open_vision(const families::CheckpointFiles& checkpoint, const families::Plan& plan, const std::string& where,
                   CheckpointParts& parts) {
  LOCUS_TRY(std::unique_ptr<Vision> vision, within(Vision::create(*plan.vision, plan.spec.width), where));
  LOCUS_TRY(transformer::WeightBinding binding, vision->bind_weights(*plan.vision, checkpoint));
  parts.binding.add(std::move(binding));
  parts.vision = std::move(vision);
  return {};
}

// Tensors that no parameter of this configuration is made of: biases beside `bias: false`, layers behind the last one.
std::optional<Error> unexpected_tensors(const families::CheckpointFiles& checkpoint,
                                        const transformer::WeightBinding& binding) {
  constexpr std::size_t kNamed = 3;
  const std::vector<std::string>& names = binding.unexpected;
  if (names.empty()) {
    return std::nullopt;
  }
  std::string list;
  for (std::size_t n = 0; n < std::min(names.size(), kNamed); ++n) {
    list += (n == 0 ? "" : ", ") + shown(names[n]);
  }
  if (names.size() > kNamed) {
    list += " and " + std::to_string(names.size() - kNamed) + " more";
  }
  return bad_input(
      "expected no tensors beside those that the configuration says, found " + list + "; locus info names them all",
      checkpoint.path.string());
}

// The steps to one vector, of states: an output head is left out. Modules of unknown kinds leave them out, with a
// warning.
Status open_sentence(const families::CheckpointFiles& checkpoint, families::Plan& plan, CheckpointParts& parts) {
  std::error_code failure;
  if (!fs::is_directory(checkpoint.path, failure) || !has_sentence_steps(checkpoint.path) || plan.spec.is_image() ||
      plan.vision || !plan.encoder.empty()) {
    return {};
  }
  Result<SentenceSteps> steps = SentenceSteps::read(checkpoint.path, plan.spec.output_width());
  if (!steps.ok() && steps.error().code != ErrorCode::kUnsupported) {
    return steps.error();
  }
  const std::vector<std::string> warnings =
      steps.ok() ? sentence_warnings(checkpoint.path)
                 : std::vector<std::string>{steps.error().describe() + " (no vector of the text is computed)"};
  plan.warnings.insert(plan.warnings.end(), warnings.begin(), warnings.end());
  if (steps.ok()) {
    parts.sentence = *std::move(steps);
    families::leave_out_head(checkpoint, plan);
  }
  return {};
}

Result<std::shared_ptr<const Model>> open_checkpoint(const fs::path& path, const OpenOptions& options) {
  const std::string& half = options.overrides.half;
  if (!half.empty() && half != "text") {
    return bad_input("half: expected text or none, found " + shown(half), path.string());
  }
  LOCUS_TRY(families::CheckpointFiles checkpoint, read_checkpoint(path, options.base));
  checkpoint.stage = options.overrides.stage;
  LOCUS_TRY(const families::Family* const family,
            half.empty() ? families::family_of(checkpoint) : families::text_half_of(checkpoint));
  return open_as(*family, checkpoint, options);
}

}  // namespace

Result<std::shared_ptr<const Model>> open_as(const families::Family& family,
                                             const families::CheckpointFiles& checkpoint, const OpenOptions& options) {
  LOCUS_TRY(families::Plan plan, families::read_plan(family, checkpoint));
  LOCUS_TRY(const Overrides applied, apply_overrides(options.overrides, plan.spec));
  const fs::path& path = checkpoint.path;
  const std::string where = checkpoint.config.file().empty() ? path.string() : checkpoint.config.file();
  CheckpointParts parts;
  LOCUS_TRY(parts.device, device_of(options.device));
  LOCUS_CHECK(open_sentence(checkpoint, plan, parts));
  LOCUS_CHECK(open_half(checkpoint, plan, parts));
  LOCUS_TRY(parts.transformer, within(transformer::Transformer::create(plan.spec, false), where));
  parts.options = options;
  parts.options.overrides = applied;
  LOCUS_TRY(parts.binding, transformer::bind_weights(*parts.transformer, plan, checkpoint));
  if (!plan.encoder.empty()) {
    LOCUS_CHECK(open_encoder(checkpoint, plan, where, parts));
  }
  if (plan.vision) {
    LOCUS_CHECK(open_vision(checkpoint, plan, where, parts));
  }
  parts.unexpected_tensors = unexpected_tensors(checkpoint, parts.binding);
  LOCUS_TRY(const std::vector<std::string> warnings, plan.spec.is_image() ? open_image(checkpoint, plan, parts)
                                                     : plan.vision        ? open_mixed(checkpoint, plan, parts)
                                                                          : open_text(checkpoint, parts));
  LOCUS_CHECK(open_padding(checkpoint, parts));
  parts.info = checkpoint_info(parts, checkpoint, plan, family.name);
  if (applied.fast && !(parts.device.is_cpu() && transformer::has_fast_products(parts.binding))) {
    parts.info.warnings.push_back(
        "fast products: none here, all are exact; expected weights in blocks (Q8_0, Q4_K, …), on the CPU, of a model "
        "above 16 million parameters");
  }
  parts.info.warnings.insert(parts.info.warnings.end(), warnings.begin(), warnings.end());
  if (const std::vector<std::string> unused = families::unused_fields(family, checkpoint); !unused.empty()) {
    if (!family.file.empty()) {
      return families::unread_by_file(family, unused, checkpoint.config.file());
    }
    parts.info.warnings.push_back(families::unused_fields_warning(unused, checkpoint.config.file()));
  }

  auto opened = std::make_shared<Checkpoint>(std::move(parts));
  const double bytes = opened->weight_bytes_there();
  if (options.memory_limit_mb > 0 && bytes > 1e6 * static_cast<double>(options.memory_limit_mb)) {
    return too_large("the weights need " + std::to_string(static_cast<std::int64_t>(bytes / 1e6)) + " MB, " +
                         std::to_string(options.memory_limit_mb) + " MB are allowed",
                     path.string());
  }
  if (options.weights && bytes <= kEagerBytes) {
    LOCUS_CHECK(opened->load());
  }
  return std::shared_ptr<const Model>(std::make_shared<LoadedModel>(std::move(opened)));
}

Result<std::shared_ptr<const Model>> local::open(const fs::path& path, const OpenOptions& options, StopToken stop,
                                                 const Progress& progress) {
  if (stop.stop_requested()) {
    return cancelled();
  }
  report(progress, -1, "opening " + path.filename().string());
  return guarded([&] { return open_checkpoint(path, options); });
}

}  // namespace locus::models
