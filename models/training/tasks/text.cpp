// Task text: the next token of real text. Tokens are bytes, or those of a BPE trained on the corpus, or of the
// checkpoint that is trained further or measured.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/sha256.h"
#include "models/text/bpe/trainer.h"
#include "models/text/tokenizer.h"
#include "models/text/tokenizer_files.h"
#include "models/training/symbol_task.h"
#include "models/training/task.h"
#include "models/training/task_list.h"

namespace locus::training {
namespace {

constexpr std::size_t kLargestText = std::size_t{1} << 30;
constexpr std::size_t kLargestTokenizer = std::size_t{256} << 20;
constexpr std::int64_t kBytes = 256;

struct Text {
  std::string title;
  std::string bytes;
  std::vector<std::int32_t> ids;
  std::int64_t first_bytes = 0;  // bytes of the first token, which is never predicted

  std::int64_t size() const { return static_cast<std::int64_t>(ids.size()); }
};

// The tokenizer of a run, and its tokenizer.json where it has one.
struct Reading {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::string json;
};

Result<std::vector<Text>> read_texts(const std::vector<CorpusFile>& files) {
  std::vector<Text> texts;
  for (const CorpusFile& file : files) {
    LOCUS_TRY(std::string bytes, read_file(file.path, kLargestText));
    Text text;
    text.title = file.title.empty() ? file.path.filename().string() : file.title;
    text.bytes = std::move(bytes);
    texts.push_back(std::move(text));
  }
  return texts;
}

Status read_tokens(const text::Tokenizer& tokenizer, std::vector<Text>& texts) {
  for (Text& text : texts) {
    LOCUS_TRY(const std::vector<text::Token> tokens, tokenizer.encode(text.bytes, false));
    text.ids.reserve(tokens.size());
    for (const text::Token& token : tokens) {
      text.ids.push_back(static_cast<std::int32_t>(token.id));
    }
    text.first_bytes = tokens.empty() ? 0 : tokens.front().bytes.size();
  }
  return {};
}

// A BPE trained on the corpus, read like any other tokenizer.json.
Result<Reading> learned_reading(const std::vector<Text>& corpus, std::int64_t vocabulary) {
  std::vector<std::string_view> texts;
  for (const Text& text : corpus) {
    texts.push_back(text.bytes);
  }
  Reading reading;
  LOCUS_TRY(reading.json, text::train_byte_bpe(texts, vocabulary));
  LOCUS_TRY(reading.tokenizer, text::parse_tokenizer_json(reading.json, "tokenizer.json", {}));
  return reading;
}

Result<Reading> reading_of(const TaskRequest& request, const std::vector<Text>& corpus, std::int64_t vocabulary) {
  Reading reading;
  if (!request.tokenizer_folder.empty()) {
    LOCUS_TRY(reading.tokenizer, text::open_tokenizer(request.tokenizer_folder));
    const std::filesystem::path file = request.tokenizer_folder / "tokenizer.json";
    std::error_code ignored;
    if (reading.tokenizer && std::filesystem::exists(file, ignored)) {
      LOCUS_TRY(reading.json, read_file(file, kLargestTokenizer));
    }
  } else if (vocabulary > kBytes) {
    return learned_reading(corpus, vocabulary);
  }
  if (!reading.tokenizer) {
    reading.tokenizer = text::byte_tokenizer();
  }
  return reading;
}

nlohmann::ordered_json describe(const std::vector<Text>& texts, const char* use) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Text& text : texts) {
    list.push_back({{"use", use}, {"title", text.title}, {"bytes", text.bytes.size()}, {"sha256", sha256(text.bytes)}});
  }
  return list;
}

// Windows of T tokens of a text, each `stride` after the previous one; the last one holds the text's last token. Window
// n begins at n·stride and counts only tokens that no earlier window counts.
std::int64_t window_count(const Text& text, std::int64_t length, std::int64_t stride) {
  const std::int64_t targets = text.size() - 1;
  return targets <= length ? 1 : 1 + (targets - length + stride - 1) / stride;
}

class TextTask final : public Task {
 public:
  TextTask(std::int64_t length, std::vector<std::int64_t> contexts, std::int64_t stride, Reading reading,
           std::vector<Text> corpus, std::vector<Text> validate)
      : length_(length),
        contexts_(std::move(contexts)),
        stride_(stride),
        reading_(std::move(reading)),
        corpus_(std::move(corpus)),
        validate_(std::move(validate)) {
    for (const Text& text : corpus_) {
      starts_ += text.size() - length_;
    }
  }

  std::int64_t vocabulary() const override { return reading_.tokenizer->vocabulary(); }
  std::int64_t length() const override { return length_; }
  Metric metric() const override { return Metric::kBitsPerByte; }

  // Windows with uniformly distributed starts that never extend beyond the end of a text.
  Examples training_examples(Random& random, std::int64_t count) const override {
    Examples examples = empty(count, length_);
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t start = random.below(starts_);
      std::size_t text = 0;
      while (start >= corpus_[text].size() - length_) {
        start -= corpus_[text].size() - length_;
        ++text;
      }
      fill(examples, n, corpus_[text], start);
    }
    return examples;
  }

  std::vector<std::string> splits() const override {
    std::vector<std::string> names;
    if (!validate_.empty()) {
      names.emplace_back("in");
      for (const std::int64_t context : contexts_) {
        names.push_back(std::to_string(context));
      }
    }
    return names;
  }

  Examples evaluation_examples(std::size_t split, std::uint64_t /*seed*/, std::int64_t first,
                               std::int64_t count) const override {
    const std::int64_t length = context_of(split);
    const std::int64_t stride = stride_of(length);
    count = std::min(count, std::max<std::int64_t>(evaluation_count(split) - first, 0));
    Examples examples = empty(count, length);
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t window = first + n;
      std::size_t text = 0;
      while (window >= window_count(validate_[text], length, stride)) {
        window -= window_count(validate_[text], length, stride);
        ++text;
      }
      fill(examples, n, validate_[text], window * stride);
      if (window > 0) {
        examples.targets[n].slice(0, 0, length - stride).fill_(kIgnored);
      }
    }
    return examples;
  }

  std::int64_t evaluation_count(std::size_t split) const override {
    std::int64_t count = 0;
    for (const Text& text : validate_) {
      count += window_count(text, context_of(split), stride_of(context_of(split)));
    }
    return count;
  }

  Status write_input_files(const std::filesystem::path& folder) const override {
    return reading_.json.empty() ? text::write_byte_tokenizer(folder)
                                 : write_file(folder / "tokenizer.json", reading_.json);
  }

  double bytes_per_target(std::size_t /*split*/) const override {
    double bytes = 0;
    double targets = 0;
    for (const Text& text : validate_) {
      bytes += static_cast<double>(text.bytes.size()) - static_cast<double>(text.first_bytes);
      targets += static_cast<double>(text.size() - 1);
    }
    return bytes / targets;
  }

  std::string data_json() const override {
    nlohmann::ordered_json list = describe(corpus_, "train");
    for (auto& entry : describe(validate_, "validate")) {
      list.push_back(std::move(entry));
    }
    return list.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

 private:
  std::int64_t context_of(std::size_t split) const { return split == 0 ? length_ : contexts_[split - 1]; }
  // Windows without overlap, unless a shorter stride is set.
  std::int64_t stride_of(std::int64_t context) const { return stride_ > 0 ? std::min(stride_, context) : context; }

  static Examples empty(std::int64_t count, std::int64_t length) {
    return {at::zeros({count, length}, at::kLong), at::full({count, length}, kIgnored, at::kLong), {}};
  }

  // Row `row`: the tokens from `start`; tokens beyond the text's end are 0 and not counted.
  static void fill(Examples& examples, std::int64_t row, const Text& text, std::int64_t start) {
    const std::int64_t length = examples.ids.size(1);
    auto* const ids = examples.ids.data_ptr<std::int64_t>() + row * length;
    auto* const targets = examples.targets.data_ptr<std::int64_t>() + row * length;
    const std::int64_t known = std::min(length, text.size() - 1 - start);
    for (std::int64_t n = 0; n < known; ++n) {
      ids[n] = text.ids[static_cast<std::size_t>(start + n)];
      targets[n] = text.ids[static_cast<std::size_t>(start + n + 1)];
    }
  }

  std::int64_t length_;
  std::vector<std::int64_t> contexts_;
  std::int64_t stride_;
  Reading reading_;
  std::vector<Text> corpus_;
  std::vector<Text> validate_;
  std::int64_t starts_ = 0;
};

Result<std::unique_ptr<Task>> make_text(const TaskRequest& request) {
  LOCUS_CHECK(request.options.only({"contexts", "stride", "vocabulary"}));
  LOCUS_TRY(std::vector<std::int64_t> contexts, lengths_in(request.options, "contexts", {}, 1));
  LOCUS_TRY(const std::int64_t stride, option_in(request.options, "stride", 0, 0, 1 << 24));
  LOCUS_TRY(const std::int64_t vocabulary, option_in(request.options, "vocabulary", kBytes, kBytes, 65536));
  if (request.training && request.corpus.empty()) {
    return usage("task text: expected --corpus FILE");
  }
  if (!request.training && request.validate.empty()) {
    return usage("task text: expected --validate FILE");
  }
  const std::int64_t length = request.length > 0 ? request.length : 256;
  LOCUS_TRY(std::vector<Text> corpus, read_texts(request.corpus));
  LOCUS_TRY(std::vector<Text> validate, read_texts(request.validate));
  LOCUS_TRY(Reading reading, reading_of(request, corpus, vocabulary));
  LOCUS_CHECK(read_tokens(*reading.tokenizer, corpus));
  LOCUS_CHECK(read_tokens(*reading.tokenizer, validate));
  for (const Text& text : corpus) {
    if (text.size() <= length) {
      return bad_input("expected more than " + std::to_string(length) + " tokens, the training length, found " +
                           std::to_string(text.size()),
                       text.title);
    }
  }
  for (const Text& text : validate) {
    if (text.size() < 2) {
      return bad_input("expected at least 2 tokens, found " + std::to_string(text.size()), text.title);
    }
  }
  return std::unique_ptr<Task>(std::make_unique<TextTask>(length, std::move(contexts), stride, std::move(reading),
                                                          std::move(corpus), std::move(validate)));
}

}  // namespace

TaskEntry text_task() {
  return {"text", make_text};
}

}  // namespace locus::training
