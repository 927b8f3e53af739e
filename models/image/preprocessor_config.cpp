#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/base/numbers.h"
#include "core/base/words.h"
#include "models/formats/json/json.h"
#include "models/image/image.h"
#include "models/image/video.h"

namespace locus::image {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kLargestSide = 16384;
constexpr std::int64_t kMaxTiles = 256;  // of one picture
constexpr std::size_t kMaxPinpoints = 1024;

Result<std::int64_t> side(const JsonObject& object, const std::string& name, const Json& value) {
  const std::optional<std::int64_t> pixels = whole_number(value, 1, kLargestSide);
  return pixels ? Result<std::int64_t>(*pixels)
                : object.wrong(name, "pixels from 1 to " + std::to_string(kLargestSide));
}

struct Extent {
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool shortest_edge = false;
};

// 224, [224, 224], {"height": 224, "width": 224} or {"shortest_edge": 224}.
Result<Extent> extent(const JsonObject& object, const std::string& name, const Json& value, bool number_is_shortest) {
  if (value.is_number()) {
    LOCUS_TRY(const std::int64_t pixels, side(object, name, value));
    return Extent{pixels, pixels, number_is_shortest};
  }
  if (value.is_array() && value.size() == 2) {
    LOCUS_TRY(const std::int64_t height, side(object, name, value[0]));
    LOCUS_TRY(const std::int64_t width, side(object, name, value[1]));
    return Extent{height, width, false};
  }
  if (value.is_object() && value.contains("shortest_edge")) {
    LOCUS_TRY(const std::int64_t pixels, side(object, name, value["shortest_edge"]));
    return Extent{pixels, pixels, true};
  }
  if (value.is_object() && value.contains("height") && value.contains("width")) {
    LOCUS_TRY(const std::int64_t height, side(object, name, value["height"]));
    LOCUS_TRY(const std::int64_t width, side(object, name, value["width"]));
    return Extent{height, width, false};
  }
  return object.wrong(name, "a number, height and width, or shortest_edge");
}

// One number for all channels, or three.
Status read_channels(const JsonObject& object, const std::string& name, bool divisor, std::array<double, 3>& channels) {
  const Json* value = object.find(name);
  if (value == nullptr) {
    return {};
  }
  const bool list = value->is_array() && value->size() == 3;
  for (std::size_t n = 0; n < 3; ++n) {
    const Json& entry = list ? (*value)[n] : *value;
    const double number = entry.is_number() ? entry.get<double>() : std::nan("");
    if (!std::isfinite(number) || (divisor && number <= 0)) {
      return object.wrong(name, divisor ? "three positive numbers" : "three numbers");
    }
    channels[n] = number;
  }
  return {};
}

// Pillow's numbering.
Result<Interpolation> interpolation(const JsonObject& object, std::int64_t fallback) {
  constexpr std::array kNumbered{Interpolation::kNearest, Interpolation::kLanczos, Interpolation::kBilinear,
                                 Interpolation::kBicubic};
  LOCUS_TRY(const std::int64_t number, object.integer("resample", fallback));
  if (number < 0 || number >= static_cast<std::int64_t>(kNumbered.size())) {
    return object.wrong("resample", "0 (nearest), 1 (Lanczos), 2 (bilinear) or 3 (bicubic)");
  }
  return kNumbered[static_cast<std::size_t>(number)];
}

Result<Interpolation> named_interpolation(const JsonObject& object) {
  LOCUS_TRY(const std::string name, object.text("interpolation", "bilinear"));
  constexpr WordTable<Interpolation, 5> kWords{{{"nearest", Interpolation::kNearest},
                                                {"lanczos", Interpolation::kLanczos},
                                                {"bilinear", Interpolation::kBilinear},
                                                {"random", Interpolation::kBilinear},
                                                {"bicubic", Interpolation::kBicubic}}};
  const std::optional<Interpolation> named = find_word(kWords, name);
  return named ? Result<Interpolation>(*named) : object.wrong("interpolation", "nearest, lanczos, bilinear or bicubic");
}

// timm: the shorter edge to input_size / crop_pct, then its centre ("squash": both edges).
Result<Preprocessing> parse_timm(const JsonObject& object) {
  Preprocessing options;
  const Json* input = object.find("input_size");
  if (input == nullptr || !input->is_array() || input->size() != 3) {
    return object.wrong("input_size", "[3, height, width]");
  }
  options.center_crop = true;
  LOCUS_TRY(options.crop_height, side(object, "input_size", (*input)[1]));
  LOCUS_TRY(options.crop_width, side(object, "input_size", (*input)[2]));
  LOCUS_TRY(const double part, object.number("crop_pct", 0.875));
  LOCUS_TRY(const std::string mode, object.text("crop_mode", "center"));
  if (!(part > 0.01 && part <= 1)) {
    return object.wrong("crop_pct", "a part of 1");
  }
  if (mode != "center" && mode != "squash") {
    return object.wrong("crop_mode", "center or squash");
  }
  options.shortest_edge = mode == "center" && options.crop_height == options.crop_width;
  options.height = static_cast<std::int64_t>(std::floor(static_cast<double>(options.crop_height) / part));
  options.width = static_cast<std::int64_t>(std::floor(static_cast<double>(options.crop_width) / part));
  LOCUS_TRY(options.interpolation, named_interpolation(object));
  options.mean = {0.485, 0.456, 0.406};
  options.deviation = {0.229, 0.224, 0.225};
  LOCUS_CHECK(read_channels(object, "mean", false, options.mean));
  LOCUS_CHECK(read_channels(object, "std", true, options.deviation));
  return options;
}

// The rules of vision-language models, by the processor's name; false for any other.
struct RuleOf {
  std::string_view processor;  // its beginning
  ResizeRule rule;
  std::int64_t resample;
  std::int64_t least, most;  // pixels, where the file has none
};
constexpr std::array<RuleOf, 14> kRules{{{"Qwen2VL", ResizeRule::kPixels, 3, 3136, 1003520},
                                         {"Glm4v", ResizeRule::kPixels, 3, 12544, 11760000},
                                         {"Glm46V", ResizeRule::kPixels, 3, 12544, 11760000},
                                         {"Pixtral", ResizeRule::kLongest, 3, 0, 0},
                                         {"Siglip2", ResizeRule::kPatches, 2, 0, 0},
                                         {"Idefics3", ResizeRule::kTiles, 1, 0, 0},
                                         {"SmolVLM", ResizeRule::kTiles, 1, 0, 0},
                                         {"LlavaNextImage", ResizeRule::kPinpoints, 3, 0, 0},
                                         {"LlavaOnevisionImage", ResizeRule::kPinpoints, 3, 0, 0},
                                         {"GotOcr2", ResizeRule::kSize, 3, 0, 0},
                                         {"Cohere2Vision", ResizeRule::kSize, 3, 0, 0},
                                         {"DeepseekVLImage", ResizeRule::kPadded, 3, 0, 0},
                                         {"Lfm2Vl", ResizeRule::kTokens, 2, 0, 0},
                                         {"Gemma4Image", ResizeRule::kCells, 3, 0, 0}}};

constexpr std::int64_t kOnevisionSide = 384;
constexpr std::int64_t kOnevisionTiles = 6;  // at most, in either direction

// A member of an object, or the fallback where either is absent.
Result<std::int64_t> member(const JsonObject& object, const char* name, const char* inner, std::int64_t fallback,
                            std::int64_t most) {
  const Json* const value = object.find(name);
  const Json* const found =
      value != nullptr && value->is_object() && value->contains(inner) ? &(*value)[inner] : nullptr;
  if (found == nullptr || found->is_null()) {
    return fallback;
  }
  const std::optional<std::int64_t> number = whole_number(*found, 1, most);
  return number ? Result<std::int64_t>(*number)
                : object.wrong(name, std::string(inner) + " from 1 to " + std::to_string(most));
}

// A field from `least` to `most`.
Result<std::int64_t> within_limits(const JsonObject& object, const char* name, std::int64_t fallback,
                                   std::int64_t least, std::int64_t most) {
  LOCUS_TRY(const std::int64_t number, object.integer(name, fallback));
  return number >= least && number <= most ? Result<std::int64_t>(number)
                                           : object.wrong(name, std::to_string(least) + " to " + std::to_string(most));
}

constexpr std::int64_t kLargestCell = 64;  // patches along a side, as a connector joins them

// LFM2-VL: numbers of cells, and tiles of a picture that has far more of them.
Status read_tokens(const JsonObject& object, Preprocessing& options) {
  constexpr std::int64_t kMaxTokens = std::int64_t{1} << 20;
  constexpr double kMaxTolerance = 1e6;
  options.resize = true;  // whatever do_resize says, as in the library
  LOCUS_TRY(options.patch, within_limits(object, "encoder_patch_size", 16, 1, kLargestSide));
  LOCUS_TRY(const std::int64_t joined, within_limits(object, "downsample_factor", 2, 1, kLargestCell));
  options.cell = options.patch * joined;
  LOCUS_TRY(const std::int64_t most, within_limits(object, "max_image_tokens", 256, 1, kMaxTokens));
  LOCUS_TRY(const std::int64_t least, within_limits(object, "min_image_tokens", 64, 0, most));
  options.least_pixels = least * options.cell * options.cell;
  options.most_pixels = most * options.cell * options.cell;
  LOCUS_TRY(options.tolerance, object.number("max_pixels_tolerance", 2.0));
  if (!(options.tolerance > 0 && options.tolerance <= kMaxTolerance)) {
    return object.wrong("max_pixels_tolerance", "a number above 0, at most 1000000");
  }
  LOCUS_TRY(options.split, object.boolean("do_image_splitting", true));
  LOCUS_TRY(options.whole, object.boolean("use_thumbnail", true));
  if (!options.split) {
    return {};
  }
  LOCUS_TRY(options.most_tiles, within_limits(object, "max_tiles", 10, 1, kMaxTiles));
  LOCUS_TRY(options.least_tiles, within_limits(object, "min_tiles", 2, 1, options.most_tiles));
  LOCUS_TRY(options.tile, within_limits(object, "tile_size", 512, 1, kLargestSide));
  if (options.tile % options.cell != 0) {
    return object.wrong("tile_size", "whole cells of " + std::to_string(options.cell) + " pixels");
  }
  options.width = options.height = options.tile;
  options.split = options.most_tiles > 1;
  return {};
}

Status read_rule(const JsonObject& object, const RuleOf& rule, Preprocessing& options) {
  constexpr std::int64_t kMaxPixels = std::int64_t{1} << 40;
  options.rule = rule.rule;
  if (rule.rule == ResizeRule::kPixels) {
    LOCUS_TRY(const std::int64_t least, object.integer("min_pixels", rule.least));
    LOCUS_TRY(const std::int64_t most, object.integer("max_pixels", rule.most));
    LOCUS_TRY(options.least_pixels, member(object, "size", "shortest_edge", least, kMaxPixels));
    LOCUS_TRY(options.most_pixels, member(object, "size", "longest_edge", most, kMaxPixels));
    if (options.least_pixels < 1 || options.most_pixels < options.least_pixels) {
      return object.wrong("max_pixels", "at least min_pixels");
    }
    if (rule.processor.starts_with("Glm4")) {
      LOCUS_TRY(options.frames, object.integer("temporal_patch_size", 2));
      options.frames = options.frames >= 1 && options.frames <= 16 ? options.frames : 0;
    }
    return options.frames > 0 ? Status() : object.wrong("temporal_patch_size", "1 to 16");
  }
  if (rule.rule == ResizeRule::kPatches) {
    constexpr std::int64_t kMaxPatches = std::int64_t{1} << 20;
    LOCUS_TRY(options.most_patches, object.integer("max_num_patches", 256));
    const bool some = options.most_patches >= 1 && options.most_patches <= kMaxPatches;
    return some ? Status() : object.wrong("max_num_patches", "1 to " + std::to_string(kMaxPatches));
  }
  if (rule.rule == ResizeRule::kTokens) {
    return read_tokens(object, options);
  }
  if (rule.rule == ResizeRule::kCells) {
    constexpr std::array<std::int64_t, 5> kCounts{70, 140, 280, 560, 1120};
    LOCUS_TRY(options.patch, within_limits(object, "patch_size", 16, 1, kLargestSide));
    LOCUS_TRY(const std::int64_t pooled, within_limits(object, "pooling_kernel_size", 3, 1, kLargestCell));
    options.cell = options.patch * pooled;
    LOCUS_TRY(options.most_patches, object.integer("max_soft_tokens", 280));
    const bool known = std::find(kCounts.begin(), kCounts.end(), options.most_patches) != kCounts.end();
    return known ? Status() : object.wrong("max_soft_tokens", "70, 140, 280, 560 or 1120");
  }
  if (rule.rule == ResizeRule::kLongest) {
    LOCUS_TRY(options.longest_edge, member(object, "size", "longest_edge", 1024, kLargestSide));
  } else if (rule.processor == "GotOcr2" || rule.processor == "Cohere2Vision") {
    const bool cohere = rule.processor == "Cohere2Vision";
    LOCUS_TRY(options.least_tiles, object.integer("min_patches", 1));
    LOCUS_TRY(options.most_tiles, object.integer("max_patches", 12));
    if (options.most_tiles < 1 || options.most_tiles > kMaxTiles) {
      return object.wrong("max_patches", "1 to " + std::to_string(kMaxTiles));
    }
    if (options.least_tiles < 1 || options.least_tiles > options.most_tiles) {
      return object.wrong("min_patches", "1 to max_patches");
    }
    LOCUS_TRY(const bool cut, object.boolean("crop_to_patches", cohere));
    options.rule = cut && options.most_tiles > 1 ? ResizeRule::kCanvas : ResizeRule::kSize;
    options.resize = options.resize || options.rule == ResizeRule::kCanvas;  // tiles are always cut from a canvas
    options.height = options.width = cohere ? 512 : 384;
    options.least_scaled = cohere && cut;
    options.most_tiles = cohere && !cut ? 0 : options.most_tiles;  // its processor cuts none then
  } else if (rule.processor == "LlavaOnevisionImage") {
    options.height = options.width = kOnevisionSide;
  } else if (rule.rule == ResizeRule::kPadded) {
    options.height = options.width = 384;
  } else if (rule.rule == ResizeRule::kTiles) {
    LOCUS_TRY(options.longest_edge, member(object, "size", "longest_edge", 1456, kLargestSide));
    LOCUS_TRY(options.tile, member(object, "max_image_size", "longest_edge", 364, kLargestSide));
    LOCUS_TRY(options.split, object.boolean("do_image_splitting", true));
  }
  return {};
}

// Refuses crops beside the picture, and tiles of processors that have none here.
Status refuse_cuts(const JsonObject& object, bool tiles) {
  for (const char* const name : {"do_pan_and_scan", "crop_to_patches"}) {
    const Json* const value = object.find(name);
    const bool known = tiles && std::string_view(name) == "crop_to_patches";
    if (value != nullptr && value->is_boolean() && value->get<bool>() && !known) {
      return object.wrong(name, "false: pictures are not cut into such parts");
    }
  }
  return {};
}

// Refuses sizes that are not computed here: YOLOS' processor limits the longer side and rounds both down to 16 pixels,
// DPT's may keep the aspect and round to multiples.
Status refuse_fitted_sizes(const JsonObject& object, const std::string& type) {
  if (type.starts_with("Yolos")) {
    const char* const name =
        object.find("image_processor_type") == nullptr ? "feature_extractor_type" : "image_processor_type";
    return object.wrong(name, "another processor: sizes of this one are not computed");
  }
  if (!type.starts_with("DPT")) {
    return {};
  }
  LOCUS_TRY(const bool keeps, object.boolean("keep_aspect_ratio", false));
  LOCUS_TRY(const std::int64_t multiple, object.integer("ensure_multiple_of", 1));
  if (keeps) {
    return object.wrong("keep_aspect_ratio", "false");
  }
  return multiple == 1 ? Status() : Status(object.wrong("ensure_multiple_of", "1"));
}

bool takes_size(ResizeRule rule) {
  return rule == ResizeRule::kSize || rule == ResizeRule::kCanvas || rule == ResizeRule::kPinpoints ||
         rule == ResizeRule::kPadded;
}

// The sizes of canvases, in whole tiles of one side, which is that of the whole picture too.
Status read_pinpoints(const JsonObject& object, const RuleOf& rule, Preprocessing& options) {
  const std::int64_t side = options.height;
  if (options.width != side || options.crop_height != side || options.crop_width != side) {
    return object.wrong("crop_size", "the side of size, in both directions");
  }
  const std::string expected = "1 to " + std::to_string(kMaxPinpoints) + " pairs of height and width, up to " +
                               std::to_string(kMaxTiles) + " tiles of " + std::to_string(side) + " pixels";
  const Json* const list = object.find("image_grid_pinpoints");
  if (list == nullptr && rule.processor == "LlavaOnevisionImage") {
    for (std::int64_t n = 0; n < kOnevisionTiles * kOnevisionTiles; ++n) {
      options.pinpoints.push_back(
          {(n / kOnevisionTiles + 1) * kOnevisionSide, (n % kOnevisionTiles + 1) * kOnevisionSide});
    }
  } else if (list == nullptr) {
    options.pinpoints = {{336, 672}, {672, 336}, {672, 672}, {1008, 336}, {336, 1008}};
  } else if (!list->is_array() || list->empty() || list->size() > kMaxPinpoints) {
    return object.wrong("image_grid_pinpoints", expected);
  }
  for (std::size_t n = 0; list != nullptr && n < list->size(); ++n) {
    const Json& pair = (*list)[n];
    const auto height = pair.is_array() && pair.size() == 2 ? whole_number(pair[0], 1, kLargestSide) : std::nullopt;
    const auto width = height ? whole_number(pair[1], 1, kLargestSide) : std::nullopt;
    if (!width) {
      return object.wrong("image_grid_pinpoints", expected);
    }
    options.pinpoints.push_back({*height, *width});
  }
  for (const auto& [height, width] : options.pinpoints) {
    if (height % side != 0 || width % side != 0 || height / side * (width / side) > kMaxTiles) {
      return object.wrong("image_grid_pinpoints", expected);
    }
  }
  options.resize = true;  // tiles are always cut from a canvas
  return {};
}

// What the levels of a channel become: rescaling, mean and deviation.
Status read_levels(const JsonObject& object, Preprocessing& options) {
  LOCUS_TRY(const bool rescale, object.boolean("do_rescale", true));
  LOCUS_TRY(options.rescale, object.number("rescale_factor", 1.0 / 255));
  if (!std::isfinite(options.rescale)) {
    return object.wrong("rescale_factor", "a finite number");
  }
  options.rescale = rescale ? options.rescale : 1;
  LOCUS_CHECK(read_channels(object, "image_mean", false, options.mean));
  LOCUS_CHECK(read_channels(object, "image_std", true, options.deviation));
  LOCUS_TRY(const bool normalize, object.boolean("do_normalize", options.rule != ResizeRule::kCells));
  if (!normalize) {
    options.mean = {0, 0, 0};
    options.deviation = {1, 1, 1};
  }
  return {};
}

// The square that a picture is padded to: its side, and its colour, the mean of each channel.
Status read_padding(const JsonObject& object, Preprocessing& options) {
  if (options.height != options.width || options.shortest_edge) {
    return object.wrong("size", "equal height and width");
  }
  options.longest_edge = options.height;
  LOCUS_TRY(options.least_edge, object.integer("min_size", 14));
  if (options.least_edge < 1 || options.least_edge > options.longest_edge) {
    return object.wrong("min_size", "1 to the side of size");
  }
  LOCUS_TRY(const bool pads, object.boolean("do_pad", true));
  if (!pads) {
    return object.wrong("do_pad", "true");
  }
  LOCUS_CHECK(read_channels(object, "image_mean", false, options.mean));
  for (std::size_t n = 0; n < 3; ++n) {
    constexpr double kLevel = 255;
    if (options.mean[n] < 0 || options.mean[n] > 1) {
      return object.wrong("image_mean", "numbers from 0 to 1");
    }
    options.ground[n] = static_cast<std::uint8_t>(options.mean[n] * kLevel);
  }
  options.center_crop = false;
  return {};
}

Result<Preprocessing> parse_hugging_face(const JsonObject& object) {
  Preprocessing options;
  LOCUS_TRY(options.resize, object.boolean("do_resize", true));
  LOCUS_TRY(const std::string old_type, object.text("feature_extractor_type", ""));
  LOCUS_TRY(const std::string type, object.text("image_processor_type", old_type));
  const auto rule =
      std::find_if(kRules.begin(), kRules.end(), [&](const RuleOf& each) { return type.starts_with(each.processor); });
  LOCUS_CHECK(refuse_cuts(
      object, rule != kRules.end() && (rule->processor == "GotOcr2" || rule->processor == "Cohere2Vision")));
  LOCUS_TRY(options.interpolation, interpolation(object, rule == kRules.end() ? 2 : rule->resample));
  if (rule != kRules.end()) {
    LOCUS_CHECK(read_rule(object, *rule, options));
  }
  if (const Json* size = object.find("size"); size != nullptr && takes_size(options.rule)) {
    // A number means a square, but for CLIP and its successors the shorter edge.
    const bool shorter = type.starts_with("CLIP") || type.starts_with("ChineseCLIP");
    LOCUS_TRY(const Extent extents, extent(object, "size", *size, shorter));
    options.height = extents.height;
    options.width = extents.width;
    options.shortest_edge = extents.shortest_edge;
  }
  LOCUS_CHECK(refuse_fitted_sizes(object, type));
  LOCUS_TRY(options.center_crop, object.boolean("do_center_crop", false));
  options.crop_height = options.height;
  options.crop_width = options.width;
  if (const Json* size = object.find("crop_size")) {
    LOCUS_TRY(const Extent extents, extent(object, "crop_size", *size, false));
    options.crop_height = extents.height;
    options.crop_width = extents.width;
  }
  if (options.rule == ResizeRule::kPinpoints) {
    LOCUS_CHECK(read_pinpoints(object, *rule, options));
  }
  if (rule != kRules.end() && (rule->processor == "Cohere2Vision" || rule->processor == "DeepseekVLImage")) {
    options.mean = {0.48145466, 0.4578275, 0.40821073};  // where the file has none
    options.deviation = {0.26862954, 0.26130258, 0.27577711};
  }
  if (options.rule == ResizeRule::kPadded) {
    LOCUS_CHECK(read_padding(object, options));
  }
  options.center_crop = options.center_crop && options.rule != ResizeRule::kTokens;  // whose processor crops nothing
  LOCUS_CHECK(read_levels(object, options));
  return options;
}

}  // namespace

Result<Preprocessing> parse_preprocessor(const std::string& json, const std::string& file) {
  LOCUS_TRY(const Json document, parse_json(json, file));
  LOCUS_TRY(const JsonObject object, JsonObject::of(document, file));
  if (object.find("pretrained_cfg") != nullptr) {
    LOCUS_TRY(const JsonObject inner, object.object("pretrained_cfg"));
    return parse_timm(inner);
  }
  if (object.find("image_processor") != nullptr) {
    LOCUS_TRY(const JsonObject inner, object.object("image_processor"));
    return parse_hugging_face(inner);
  }
  return object.find("input_size") != nullptr ? parse_timm(object) : parse_hugging_face(object);
}

namespace {

// A number that is finite, above 0 and at most `most`; absent or null: the fallback.
Result<double> rate(const JsonObject& object, const char* name, double fallback, double most) {
  const Json* const value = object.find(name);
  if (value == nullptr || value->is_null()) {
    return fallback;
  }
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  return number > 0 && number <= most ? Result<double>(number)
                                      : object.wrong(name, "a number above 0, at most " + number_text(most));
}

Result<std::int64_t> frames_in(const JsonObject& object, const char* name, std::int64_t fallback, std::int64_t least) {
  const Json* const value = object.find(name);
  if (value == nullptr || value->is_null()) {
    return fallback;
  }
  const std::optional<std::int64_t> number = whole_number(*value, least, kMaxVideoFrames);
  return number ? Result<std::int64_t>(*number)
                : object.wrong(name, "frames from " + std::to_string(least) + " to " + std::to_string(kMaxVideoFrames));
}

// Limits of pixels, mean and deviation of a frame.
Status read_frame(const JsonObject& object, VideoRule rule, Preprocessing& options) {
  constexpr std::int64_t kMaxPixels = std::int64_t{1} << 40;
  LOCUS_TRY(options.least_pixels, member(object, "size", "shortest_edge", options.least_pixels, kMaxPixels));
  LOCUS_TRY(options.most_pixels, member(object, "size", "longest_edge", options.most_pixels, kMaxPixels));
  if (rule != VideoRule::kStamps) {  // whose processor has no such fields
    LOCUS_TRY(options.least_pixels, object.integer("min_pixels", options.least_pixels));
    LOCUS_TRY(options.most_pixels, object.integer("max_pixels", options.most_pixels));
  }
  if (options.least_pixels < 1 || options.most_pixels < options.least_pixels || options.most_pixels > kMaxPixels) {
    return object.wrong("size", "longest_edge of at least shortest_edge, both in pixels");
  }
  LOCUS_TRY(options.interpolation, interpolation(object, 3));
  LOCUS_TRY(options.resize, object.boolean("do_resize", true));
  return read_levels(object, options);
}

}  // namespace

Result<VideoOptions> parse_video_preprocessor(const std::string& json, const std::string& file, VideoRule rule) {
  constexpr double kMaxFps = 1000;
  constexpr std::int64_t kMaxTokens = std::int64_t{1} << 24;
  LOCUS_TRY(const Json document, parse_json(json, file));
  LOCUS_TRY(const JsonObject whole, JsonObject::of(document, file));
  const bool nested = whole.find("video_processor") != nullptr;
  LOCUS_TRY(const JsonObject object, nested ? whole.object("video_processor") : Result<JsonObject>(whole));
  VideoOptions options = video_options(rule);
  LOCUS_CHECK(read_frame(object, rule, options.picture));
  LOCUS_TRY(options.fps, rate(object, "fps", options.fps, kMaxFps));
  LOCUS_TRY(options.count, frames_in(object, "num_frames", 0, 1));
  LOCUS_TRY(options.least_frames, frames_in(object, "min_frames", options.least_frames, 1));
  LOCUS_TRY(options.most_frames, frames_in(object, "max_frames", options.most_frames, 1));
  LOCUS_TRY(options.group, object.integer("temporal_patch_size", options.group));
  if (options.group < 1 || options.group > 16) {
    return object.wrong("temporal_patch_size", "1 to 16");
  }
  LOCUS_TRY(options.capped, object.boolean("cap_pixels_per_frame", false));
  LOCUS_TRY(options.most_tokens, object.integer("max_video_tokens", options.most_tokens));
  if (options.most_tokens < 1 || options.most_tokens > kMaxTokens) {
    return object.wrong("max_video_tokens", "1 to " + std::to_string(kMaxTokens));
  }
  return options;
}

}  // namespace locus::image
