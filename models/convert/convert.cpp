// convert(): from any checkpoint to one file with its weights in another format.
#include "models/api/convert.h"
#include "models/api/local.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/guarded.h"
#include "core/base/shown.h"
#include "core/products/packed.h"
#include "models/engine/read_checkpoint.h"
#include "models/families/gguf.h"
#include "models/formats/gguf/gguf_writer.h"
#include "models/text/bpe/byte_level.h"
#include "models/text/sentence_piece/model.h"
#include "models/text/tokenizer.h"
#include "models/text/utf8.h"
#include "models/transformer/weights.h"

namespace locus::models {

namespace {

using families::GgufArchitecture;
using formats::DType;
using formats::GgufOutput;
using formats::GgufValues;
using formats::TensorInfo;

bool is_number(DType dtype) {
  return dtype == DType::kBlocks || dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

// The numbers in the file's order, as float32.
std::vector<float> numbers_of(const TensorInfo& info, const formats::Source& source) {
  TensorInfo as_stored = info;
  as_stored.interleaved = 0;
  const at::Tensor values = transformer::to_tensor(as_stored, source).contiguous();
  return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

// Rows in GGUF's order within a head: 0, D/2, 1, D/2 + 1, …
std::vector<float> interleaved(const std::vector<float>& rows, std::int64_t width, std::int64_t head_width) {
  std::vector<float> turned(rows.size());
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / width;
  for (std::int64_t row = 0; row < count; ++row) {
    std::copy_n(rows.begin() + row * width, width, turned.begin() + products::place_of_row(row, head_width) * width);
  }
  return turned;
}

// "module.model.layers.0.x", "layers.0.x" and "model.layers.0.x" are equivalent.
std::string plain_name(std::string_view name) {
  for (const std::string_view prefix : {"module.", "model."}) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
    }
  }
  return name.starts_with("lm_head") ? std::string(name) : "model." + std::string(name);
}

constexpr std::size_t kPieceFileLimit = 128U << 20U;

void add_bytes(GgufValues& values) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    const char symbol = static_cast<char>(static_cast<std::uint8_t>(byte));
    tokens.push_back(text::to_byte_level({&symbol, 1}));
  }
  values.text("tokenizer.ggml.model", "gpt2");
  values.text("tokenizer.ggml.pre", "gpt-2");
  values.texts("tokenizer.ggml.tokens", tokens);
  values.integers("tokenizer.ggml.token_type", std::vector<std::int32_t>(256, 1));
  values.texts("tokenizer.ggml.merges", {});
  values.boolean("tokenizer.ggml.add_bos_token", false);
}

void add_pieces(const text::SentencePieceModel& model, GgufValues& values) {
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<std::int32_t> types;
  for (const text::ModelPiece& piece : model.pieces) {
    std::string& token = tokens.emplace_back(piece.text);
    if (piece.type == text::ModelPiece::Type::kUserDefined) {
      text::replace_all(token, "▁", " ");  // as texts, where programs that read such files look for it
    }
    scores.push_back(piece.score);
    types.push_back(static_cast<std::int32_t>(piece.type));
  }
  values.text("tokenizer.ggml.model", "llama");
  values.texts("tokenizer.ggml.tokens", tokens);
  values.numbers("tokenizer.ggml.scores", scores);
  values.integers("tokenizer.ggml.token_type", types);
  for (const auto& [name, id] : {std::pair{"unknown", model.unknown}, {"bos", model.begin}, {"eos", model.end}}) {
    if (id >= 0) {
      values.integer(std::string("tokenizer.ggml.") + name + "_token_id", static_cast<std::uint32_t>(id));
    }
  }
  values.boolean("tokenizer.ggml.add_space_prefix", model.dummy_prefix);
}

// Adds tokenizer.ggml.*: bytes, or the pieces of a tokenizer.model that merges pairs. False for another tokenizer,
// which is not written to a GGUF file; true also without a tokenizer. Errors: those of reading tokenizer.model.
Result<bool> add_tokenizer(const families::CheckpointFiles& checkpoint, GgufValues& values) {
  const std::filesystem::path pieces = checkpoint.folder / "tokenizer.model";
  LOCUS_TRY(const std::string named, checkpoint.config.text("tokenizer", ""));
  const auto tokenizer = text::open_tokenizer(checkpoint.folder);
  if (named == "bytes" || (tokenizer.ok() && *tokenizer != nullptr && (*tokenizer)->kind() == "byte-level")) {
    add_bytes(values);
    return true;
  }
  std::error_code failure;
  if (!std::filesystem::exists(pieces, failure)) {
    return tokenizer.ok() && *tokenizer == nullptr;
  }
  LOCUS_TRY(const std::string bytes, read_file(pieces, kPieceFileLimit));
  const auto model = text::parse_sentence_piece_model(bytes);
  if (!model.ok() || model->kind != text::SentencePieceModel::Kind::kBpe) {
    return false;
  }
  add_pieces(*model, values);
  return true;
}

class Conversion {
 public:
  Conversion(families::CheckpointFiles checkpoint, const ConvertOptions& options, const blocks::Format& format)
      : checkpoint_(std::move(checkpoint)), options_(options), format_(format) {}

  Result<Converted> write(const StopToken& stop, const Progress& progress) {
    const bool gguf = options_.out.extension() == ".gguf";
    LOCUS_CHECK(gguf ? write_gguf(stop, progress) : write_safetensors(stop));
    return std::move(converted_);
  }

 private:
  Status write_gguf(const StopToken& stop, const Progress& progress) {
    GgufValues values;
    std::vector<GgufOutput> outputs;
    LOCUS_CHECK(checkpoint_.tensors->gguf() != nullptr ? copy_file(values, outputs) : from_family(values, outputs));
    values.integer("general.quantization_version", 2);
    const auto before = [&](std::size_t n) -> Status {
      report(progress, static_cast<double>(n) / static_cast<double>(outputs.size()), "writing " + outputs[n].name);
      return stop.stop_requested() ? Status(cancelled()) : Status();
    };
    return formats::write_gguf(options_.out, values, outputs, before);
  }

  // Copies values and names of another GGUF file.
  Status copy_file(GgufValues& values, std::vector<GgufOutput>& outputs) {
    const formats::GgufMetadata& metadata = *checkpoint_.tensors->gguf();
    for (const auto& [name, value] : metadata.values()) {
      if (!name.starts_with("split.") && name != "general.alignment" && name != "general.file_type" &&
          name != "general.quantization_version") {
        values.copy(name, value);
      }
    }
    LOCUS_TRY(file_, formats::open_tensors(checkpoint_.path));
    for (const TensorInfo& info : file_->tensors()) {
      if (checkpoint_.tensors->find(info.name) != nullptr) {
        add(info.name, info, 0, false, outputs);
      } else {  // tensors that the family does not use: RoPE divisors
        outputs.push_back(
            {info.name, info.shape, blocks::format_of("F32"), [this, &info] { return numbers_of(info, file_); }});
      }
    }
    return {};
  }

  Status from_family(GgufValues& values, std::vector<GgufOutput>& outputs) {
    LOCUS_TRY(const families::Family* family, families::family_of(checkpoint_));
    const GgufArchitecture* architecture = families::gguf_architecture_of(family->name);
    if (architecture == nullptr) {
      return unsupported(
          "expected a family that GGUF files are written of (llama, mistral, qwen2, qwen3, gemma2, "
          "gemma3_text, phi3), found " +
              std::string(family->name),
          checkpoint_.path.string());
    }
    LOCUS_TRY(const families::Plan plan, families::read_plan(*family, checkpoint_));
    const std::string where = checkpoint_.path.string();
    LOCUS_CHECK(within(families::add_gguf_values(*architecture, plan.spec, values, outputs), where));
    LOCUS_TRY(const bool has_tokenizer, add_tokenizer(checkpoint_, values));
    if (!has_tokenizer) {
      converted_.warnings.push_back("the tokenizer is not written: keep its files with " +
                                    options_.out.filename().string());
    }
    for (const TensorInfo& info : checkpoint_.tensors->tensors()) {
      const std::string name = families::gguf_name(*architecture, plain_name(info.name));
      if (name.empty() || !is_number(info.dtype)) {
        converted_.warnings.push_back("tensor " + shown(info.name) + " is not written: a GGUF file has no name for it");
        continue;
      }
      const bool turned = architecture->interleaved && info.interleaved == 0 &&
                          (name.find(".attn_q.") != name.npos || name.find(".attn_k.") != name.npos);
      add(name, info, turned ? plan.spec.first().attention.head_width : 0,
          architecture->one_added && name.ends_with("norm.weight"), outputs);
    }
    return {};
  }

  // Vectors are small, and norms sensitive, as are what decides what is forgotten and who is asked: float32.
  const blocks::Format& format_for(const std::string& name, const TensorInfo& info) {
    const bool sensitive = name.ends_with("norm.weight") || name.ends_with("ssm_a") || name.ends_with("ssm_d") ||
                           name.ends_with("ffn_gate_inp.weight") || name.find("conv") != name.npos;
    if (info.shape.size() < 2 || sensitive) {
      return *blocks::format_of("F32");
    }
    if (!blocks::row_bytes(format_, info.shape.back())) {
      if (narrow_.insert(info.shape.back()).second) {
        converted_.warnings.push_back("rows of " + std::to_string(info.shape.back()) + " numbers, such as those of " +
                                      name + ", are no whole blocks of " + std::to_string(format_.elements) +
                                      ": written as f16");
      }
      return *blocks::format_of("F16");
    }
    return format_;
  }

  void add(const std::string& name, const TensorInfo& info, std::int64_t head_width, bool plus_one,
           std::vector<GgufOutput>& outputs) {
    const blocks::Format& format = format_for(name, info);
    const std::string format_name = lower(format.name);
    ++converted_.tensors[format_name];
    converted_.bytes[format_name] += info.elements() / format.elements * format.bytes;
    outputs.push_back({name, info.shape, &format, [this, &info, head_width, plus_one] {
                         std::vector<float> numbers = numbers_of(info, checkpoint_.tensors);
                         if (head_width > 0) {
                           const std::int64_t width = info.shape.size() < 2 ? 1 : info.shape.back();
                           numbers = interleaved(numbers, width, head_width);
                         }
                         for (float& number : numbers) {
                           number += plus_one ? 1.0F : 0.0F;
                         }
                         return numbers;
                       }});
  }

  Status write_safetensors(const StopToken& stop) {
    if (checkpoint_.tensors->gguf() != nullptr) {
      return unsupported("expected a checkpoint in safetensors or a torch file to write safetensors, found GGUF",
                         checkpoint_.path.string());
    }
    const DType dtype = format_.name == "F32" ? DType::kF32 : format_.name == "F16" ? DType::kF16 : DType::kBF16;
    std::vector<std::vector<std::byte>> stored;
    std::vector<formats::OutputTensor> outputs;
    const auto& tensors = checkpoint_.tensors->tensors();
    stored.reserve(tensors.size());
    for (const TensorInfo& info : tensors) {
      if (stop.stop_requested()) {
        return cancelled();
      }
      if (info.interleaved > 0) {
        return unsupported(
            "expected a checkpoint in the form of transformers to write safetensors, found rows of pairs",
            checkpoint_.path.string() + ": tensor " + shown(info.name));
      }
      if (!is_number(info.dtype)) {
        converted_.warnings.push_back("tensor " + shown(info.name) + " holds no numbers of weights: not written");
        continue;
      }
      const std::vector<float> numbers = numbers_of(info, checkpoint_.tensors);
      std::vector<std::byte>& bytes = stored.emplace_back(numbers.size() * static_cast<std::size_t>(format_.bytes));
      blocks::pack(format_, numbers.data(), static_cast<std::int64_t>(numbers.size()), bytes.data());
      outputs.push_back({info.name, dtype, info.shape, bytes});
      ++converted_.tensors[lower(format_.name)];
      converted_.bytes[lower(format_.name)] += static_cast<std::int64_t>(bytes.size());
    }
    return formats::write_safetensors(options_.out, outputs, checkpoint_.tensors->metadata());
  }

  static std::string lower(std::string_view name) {
    std::string text(name);
    std::transform(text.begin(), text.end(), text.begin(), [](char letter) {
      return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
    });
    return text;
  }

  families::CheckpointFiles checkpoint_;
  formats::Source file_;  // as it is, of a GGUF file
  const ConvertOptions& options_;
  const blocks::Format& format_;
  std::set<std::int64_t> narrow_;
  Converted converted_;
};

}  // namespace

Result<Converted> local::convert(const std::filesystem::path& path, const ConvertOptions& options, StopToken stop,
                                 const Progress& progress) {
  const blocks::Format* const format = blocks::format_of(options.to);
  const std::string ending = options.out.extension().string();
  if (format == nullptr || format->pack == nullptr) {
    return usage("--to: expected a format that is written, found " + shown(options.to));
  }
  if (ending != ".gguf" && (ending != ".safetensors" || format->quantised())) {
    return usage("--out: expected a name ending in .gguf" + std::string(format->quantised() ? "" : " or .safetensors") +
                 ", found " + (options.out.empty() ? "none" : shown(options.out.filename().string())));
  }
  return guarded([&]() -> Result<Converted> {
    LOCUS_TRY(families::CheckpointFiles checkpoint, read_checkpoint(path));
    return Conversion(std::move(checkpoint), options, *format).write(stop, progress);
  });
}

}  // namespace locus::models
