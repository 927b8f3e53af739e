#include "app/cli/input_options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/model.h"
#include "models/formats/hub_cache.h"

namespace locus::cli {

namespace {

constexpr std::size_t kLongestText = std::size_t{256} << 20;
constexpr double kSmallestBase = 1.000001;  // RoPE turns with bases above 1 alone
constexpr double kLargestBase = 1e12;
constexpr double kMaxStage = 8;

Result<std::vector<std::int64_t>> parse_ids(const std::string& text, const std::string& flag) {
  if (text.empty()) {
    return bad_input("empty input: expected at least one id", flag);
  }
  std::vector<std::int64_t> ids;
  for (const std::string_view part : split(text)) {
    const auto id = parse_number<std::int64_t>(part);
    if (!id || *id < 0) {
      return usage(flag + ": expected whole numbers from 0 separated by commas, found " +
                   (part.empty() ? "nothing between two of them, or at an end" : std::string(part)));
    }
    ids.push_back(*id);
  }
  return ids;
}

// "linear:4@global" -> "linear:4" and "global".
Result<std::pair<std::string, std::string>> split_layers(const std::string& typed, const char* option) {
  const std::size_t sign = typed.find('@');
  if (sign == std::string::npos) {
    return std::pair{typed, std::string()};
  }
  if (sign == 0 || sign + 1 == typed.size()) {
    return usage(std::string(option) +
                 ": expected a value, or one and layers as in VALUE@global, VALUE@local or "
                 "VALUE@5,11, found " +
                 shown(typed));
  }
  return std::pair{typed.substr(0, sign), typed.substr(sign + 1)};
}

// The text of a file, a pipe (/dev/stdin, a shell's `<(…)`), or standard input ("-").
Result<std::string> read_text(const std::string& name) {
  const bool standard = name == "-";
  std::error_code ignored;
  const auto type = std::filesystem::status(name, ignored).type();
  if (!standard && type != std::filesystem::file_type::fifo && type != std::filesystem::file_type::character &&
      type != std::filesystem::file_type::socket) {
    return read_file(name, kLongestText);
  }
  std::ifstream file;
  if (!standard) {
    file.open(name, std::ios::binary);
  }
  std::istream& stream = standard ? std::cin : file;
  std::string text;
  std::array<char, 1 << 16> chunk{};
  while (stream.read(chunk.data(), chunk.size()) || stream.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > kLongestText) {
      return bad_input("expected at most " + std::to_string(kLongestText) + " bytes, found more",
                       standard ? "standard input" : name);
    }
  }
  if (!stream.eof()) {
    return bad_input("cannot read", standard ? "standard input" : name);
  }
  return text;
}

Result<std::string> nonempty(std::string text, const std::string& where) {
  if (text.empty()) {
    return bad_input("empty input: expected text", where);
  }
  return text;
}

}  // namespace

void InputOptions::declare(Arguments& arguments) {
  arguments.text("--text", text_, "input text, with the special tokens of the checkpoint's tokenizer");
  arguments.text("--text-file", text_file_, "input text from a file or a pipe; -: standard input", FileUse::kRead);
  arguments.text("--ids", ids_, "token ids, without special tokens");
  arguments.repeated("--image", images_,
                     "input image (PNG, JPEG, WebP, TIFF); beside a text, for each mark <image> in it one", "FILE");
  arguments.files("--image", FileUse::kRead, [this] { return images_; });
  arguments.repeated(
      "--video", videos_,
      "input video (MP4, WebM, GIF) of a model that reads videos; beside a text, for each mark <video> in "
      "it one",
      "FILE");
  arguments.files("--video", FileUse::kRead, [this] { return videos_; });
  arguments.number("--video-fps", frames_.fps, {models::kMinVideoFps, models::kMaxVideoFps},
                   "frames a second that are taken of videos, within the least and the most of the model's processor "
                   "(default: its own, mostly 2)");
  arguments.integer("--video-frames", frames_.count, {1, static_cast<double>(models::kMaxTakenFrames)},
                    "frames that are taken of each video (default: by frames a second)");
  arguments.text("--pixels", pixels_,
                 "safetensors file with pixel_values [3, H, W], already normalised; beside a text, of all its images",
                 FileUse::kRead);
  arguments.text("--picture", picture_,
                 "change the images first: shift 8 0; rotate 15, with steps shift, rotate, scale, mirror, crop, "
                 "occlude, blur, noise, brightness and border");
  arguments.text("--decoder-text", decoder_text_, "text that the decoder has read, after its start token");
  arguments.text("--decoder-ids", decoder_ids_, "the same as token ids; without either option, only the start token");
  arguments.integer("--position-start", position_start_, {}, "position of the first token");
}

bool InputOptions::given() const {
  return text_ || text_file_ || ids_ || !images_.empty() || !videos_.empty() || pixels_ || decoder_text_ ||
         decoder_ids_;
}

Result<models::Input> InputOptions::read() const {
  const int texts = int{text_.has_value()} + int{text_file_.has_value()} + int{ids_.has_value()};
  const int pictures = static_cast<int>(images_.size() + videos_.size()) + int{pixels_.has_value()};
  if (texts > 1 || (texts == 0 && pictures != 1)) {
    return usage("expected exactly one of --text, --text-file, --ids, --image, --video, --pixels, found " +
                 std::to_string(texts + pictures));
  }
  if (pixels_ && !(images_.empty() && videos_.empty())) {
    return usage(std::string("expected ") + (images_.empty() ? "--video" : "--image") +
                 " or --pixels beside a text, found both");
  }
  if (picture_ && images_.empty()) {
    return usage("--picture: expected an --image to change, found none");
  }
  if (!frames_.empty() && videos_.empty()) {
    return usage(std::string(frames_.fps ? "--video-fps" : "--video-frames") +
                 ": expected a --video whose frames to take, found none");
  }
  if (frames_.fps && frames_.count) {
    return usage("expected at most one of --video-fps, --video-frames, found 2");
  }
  if (decoder_text_ && decoder_ids_) {
    return usage("expected at most one of --decoder-text, --decoder-ids, found 2");
  }
  models::Input input;
  input.position_start = position_start_;
  if (decoder_text_) {
    LOCUS_TRY(input.decoder_text, nonempty(*decoder_text_, "--decoder-text"));
  } else if (decoder_ids_) {
    LOCUS_TRY(input.decoder_ids, parse_ids(*decoder_ids_, "--decoder-ids"));
  }
  if (text_) {
    LOCUS_TRY(input.text, nonempty(*text_, "--text"));
  } else if (text_file_) {
    LOCUS_TRY(std::string text, read_text(*text_file_));
    LOCUS_TRY(input.text, nonempty(std::move(text), *text_file_));
  } else if (ids_) {
    LOCUS_TRY(input.ids, parse_ids(*ids_, "--ids"));
  } else if (!images_.empty()) {
    input.image = images_.front();
  }
  input.pixels = pixels_;
  if (picture_) {
    LOCUS_TRY(input.picture, models::parse_picture_changes(*picture_));
  }
  input.videos.assign(videos_.begin(), videos_.end());
  input.video_frames = frames_;
  if (texts == 1) {
    input.images.assign(images_.begin(), images_.end());
  }
  return input;
}

void OverrideOptions::declare(Arguments& arguments) {
  arguments.text("--rope-base", rope_base_,
                 "RoPE base to use instead of the checkpoint's; X@global, X@local or X@5,11 in these layers alone");
  arguments.text("--rope-scaling", rope_scaling_,
                 "RoPE scaling to use instead of the checkpoint's: linear:S, ntk:S, dynamic:S, yarn:S, yarn-turns "
                 "(by the length of the input), proportional:P (this share of the pairs turns), clipped:N or "
                 "clipped:N:hard (the N slowest pairs turn slower, or not at all); layers as with --rope-base");
  arguments.integer("--stage", stage_, {0, kMaxStage},
                    "the stage whose layers are seen, of a tower in stages (Swin, Hiera), from 1 on; 0: the last");
  arguments.choice("--half", half_, {"picture", "text"},
                   "half of a checkpoint with a picture tower and a text tower (CLIP, SigLIP) to open");
}

void OverrideOptions::declare_speed(Arguments& arguments) {
  arguments.choice(
      "--speed", speed_, {"exact", "fast"},
      "products with weights in blocks: exact, or fast, with tokens rounded: to 8 bits where one is computed "
      "alone, as each that is generated, to 14 where many are computed at once");
}

Result<models::Overrides> OverrideOptions::read() const {
  models::Overrides overrides;
  if (rope_base_) {
    LOCUS_TRY(const auto typed, split_layers(*rope_base_, "--rope-base"));
    overrides.rope_base = parse_number<double>(typed.first);
    overrides.rope_base_layers = typed.second;
    if (!overrides.rope_base || !(*overrides.rope_base >= kSmallestBase && *overrides.rope_base <= kLargestBase)) {
      return usage("--rope-base: expected a number from " + number_text(kSmallestBase) + " to " +
                   number_text(kLargestBase) + ", found " + shown(typed.first));
    }
  }
  if (!rope_scaling_.empty()) {
    LOCUS_TRY(const auto typed, split_layers(rope_scaling_, "--rope-scaling"));
    overrides.rope_scaling = typed.first;
    overrides.rope_scaling_layers = typed.second;
  }
  overrides.fast = speed_ == "fast";
  overrides.stage = stage_;
  overrides.half = half_ == "text" ? half_ : "";
  return overrides;
}

void EditOptions::declare(Arguments& arguments) {
  arguments.repeated("--edit", typed_, "edit the run, as in 'head 3.1 zero' or 'shift 40:41 by -32'; may be repeated",
                     "EDIT");
  arguments.text("--edits", file_, "a JSON file of edits, {\"edits\": [ … ]}; edits of --edit follow them",
                 FileUse::kRead);
}

Result<models::Edits> EditOptions::read() const {
  constexpr std::size_t kLargestFile = std::size_t{16} << 20;
  models::Edits edits;
  if (file_) {
    LOCUS_TRY(const std::string text, read_file(*file_, kLargestFile));
    LOCUS_TRY(edits, models::parse_edits(text, *file_));
  }
  for (const std::string& words : typed_) {
    LOCUS_TRY(const models::Edits own, models::parse_edit_line(words, edits.size()));
    edits.insert(edits.end(), own.begin(), own.end());
  }
  return edits;
}

void InputAndChanges::declare_input(Arguments& arguments) {
  input.declare(arguments);
  overrides.declare(arguments);
  edits.declare(arguments);
}

void warn_of_slow_products(const Context& context) {
  if (const std::string warning = models::products().warning; !warning.empty()) {
    context.console.warn(warning);
  }
}

Result<std::shared_ptr<const models::Model>> open_model(const std::filesystem::path& path,
                                                        const models::Overrides& overrides, const Context& context,
                                                        const models::Edits& edits, bool weights) {
  models::OpenOptions options;
  options.weights = weights;
  options.overrides = overrides;
  return open_with(path, std::move(options), context, edits);
}

Result<std::shared_ptr<const models::Model>> open_with(const std::filesystem::path& path, models::OpenOptions options,
                                                       const Context& context, const models::Edits& edits) {
  options.device = context.globals.device;
  options.memory_limit_mb = context.globals.memory_limit_mb;
  options.base = options.base.empty() ? context.globals.base : options.base;
  LOCUS_TRY(const std::filesystem::path found, formats::find_checkpoint(path.string()));
  LOCUS_TRY(std::shared_ptr<const models::Model> model, models::open(found, options));
  for (const std::string& warning : model->info().warnings) {
    context.console.warn(warning);
  }
  warn_of_slow_products(context);
  return edits.empty() ? Result<std::shared_ptr<const models::Model>>(model) : model->edited(edits);
}

void warn_of_run(const models::Model& model, const models::Trace& trace, const Context& context) {
  const std::vector<std::string>& warnings = trace.model().warnings;  // the first are those of opening
  for (std::size_t n = model.info().warnings.size(); n < warnings.size(); ++n) {
    context.console.warn(warnings[n]);
  }
}

Result<std::shared_ptr<const models::Trace>> run_model(const models::Model& model, const models::Input& input,
                                                       const models::RunOptions& options, const Context& context,
                                                       StopToken stop) {
  LOCUS_TRY(std::shared_ptr<const models::Trace> trace, model.run(input, options, std::move(stop)));
  warn_of_run(model, *trace, context);
  return trace;
}

}  // namespace locus::cli
