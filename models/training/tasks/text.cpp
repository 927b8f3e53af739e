// Task text: the next byte of real text.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/sha256.h"
#include "models/text/tokenizer.h"
#include "models/training/task.h"

namespace locus::training {
namespace {

constexpr std::size_t kLargestText = std::size_t{1} << 30;
constexpr std::int64_t kBytes = 256;

struct Text {
  std::string title;
  std::string bytes;
};

Result<std::vector<Text>> read_texts(const std::vector<CorpusFile>& files) {
  std::vector<Text> texts;
  for (const CorpusFile& file : files) {
    LOCUS_TRY(std::string bytes, read_file(file.path, kLargestText));
    texts.push_back({file.title.empty() ? file.path.filename().string() : file.title, std::move(bytes)});
  }
  return texts;
}

nlohmann::ordered_json describe(const std::vector<Text>& texts, const char* use) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Text& text : texts) {
    list.push_back({{"use", use}, {"title", text.title}, {"bytes", text.bytes.size()}, {"sha256", sha256(text.bytes)}});
  }
  return list;
}

// Windows of a text at one context length, none overlapping: window n predicts bytes n·T + 1 … (n+1)·T.
std::int64_t window_count(const Text& text, std::int64_t length) {
  return (static_cast<std::int64_t>(text.bytes.size()) - 1 + length - 1) / length;
}

class TextTask final : public Task {
 public:
  TextTask(std::int64_t length, std::vector<std::int64_t> contexts, std::vector<Text> corpus,
           std::vector<Text> validate)
      : length_(length), contexts_(std::move(contexts)), corpus_(std::move(corpus)), validate_(std::move(validate)) {
    for (const Text& text : corpus_) {
      starts_ += static_cast<std::int64_t>(text.bytes.size()) - length_;
    }
  }

  std::int64_t vocabulary() const override { return kBytes; }
  std::int64_t length() const override { return length_; }
  Metric metric() const override { return Metric::kBitsPerByte; }

  // Windows that start anywhere, each equally likely, and never run over the end of a text.
  Examples training_examples(Random& random, std::int64_t count) const override {
    Examples examples = empty(count, length_);
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t start = random.below(starts_);
      std::size_t text = 0;
      while (start >= static_cast<std::int64_t>(corpus_[text].bytes.size()) - length_) {
        start -= static_cast<std::int64_t>(corpus_[text].bytes.size()) - length_;
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
    count = std::min(count, std::max<std::int64_t>(evaluation_count(split) - first, 0));
    Examples examples = empty(count, length);
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t window = first + n;
      std::size_t text = 0;
      while (window >= window_count(validate_[text], length)) {
        window -= window_count(validate_[text], length);
        ++text;
      }
      fill(examples, n, validate_[text], window * length);
    }
    return examples;
  }

  std::int64_t evaluation_count(std::size_t split) const override {
    std::int64_t count = 0;
    for (const Text& text : validate_) {
      count += window_count(text, context_of(split));
    }
    return count;
  }

  Status write_tokenizer(const std::filesystem::path& folder) const override {
    return text::write_byte_tokenizer(folder);
  }

  std::string data_json() const override {
    nlohmann::ordered_json list = describe(corpus_, "train");
    for (auto& entry : describe(validate_, "validate")) {
      list.push_back(std::move(entry));
    }
    return list.dump();
  }

 private:
  std::int64_t context_of(std::size_t split) const { return split == 0 ? length_ : contexts_[split - 1]; }

  static Examples empty(std::int64_t count, std::int64_t length) {
    return {at::zeros({count, length}, at::kLong), at::full({count, length}, kIgnored, at::kLong)};
  }

  // Row `row`: the bytes from `start`; what lies beyond the text's end is byte 0 and not counted.
  static void fill(Examples& examples, std::int64_t row, const Text& text, std::int64_t start) {
    const std::int64_t length = examples.ids.size(1);
    auto* const ids = examples.ids.data_ptr<std::int64_t>() + row * length;
    auto* const targets = examples.targets.data_ptr<std::int64_t>() + row * length;
    const std::int64_t known = std::min(length, static_cast<std::int64_t>(text.bytes.size()) - 1 - start);
    for (std::int64_t n = 0; n < known; ++n) {
      ids[n] = static_cast<unsigned char>(text.bytes[static_cast<std::size_t>(start + n)]);
      targets[n] = static_cast<unsigned char>(text.bytes[static_cast<std::size_t>(start + n + 1)]);
    }
  }

  std::int64_t length_;
  std::vector<std::int64_t> contexts_;
  std::vector<Text> corpus_;
  std::vector<Text> validate_;
  std::int64_t starts_ = 0;
};

Result<std::unique_ptr<Task>> make(const TaskRequest& request) {
  LOCUS_CHECK(request.options.only({"contexts"}));
  LOCUS_TRY(const std::vector<double> given, request.options.numbers("contexts"));
  std::vector<std::int64_t> contexts;
  for (const double context : given) {
    if (!(context >= 1 && context <= 1 << 24)) {
      return usage("option contexts: expected lengths from 1, found " + to_text(SettingValue(given)));
    }
    contexts.push_back(static_cast<std::int64_t>(context));
  }
  if (request.training && request.corpus.empty()) {
    return usage("task text: expected --corpus FILE");
  }
  if (!request.training && request.validate.empty()) {
    return usage("task text: expected --validate FILE");
  }
  const std::int64_t length = request.length > 0 ? request.length : 256;
  LOCUS_TRY(std::vector<Text> corpus, read_texts(request.corpus));
  LOCUS_TRY(std::vector<Text> validate, read_texts(request.validate));
  for (const Text& text : corpus) {
    if (static_cast<std::int64_t>(text.bytes.size()) <= length) {
      return bad_input("expected more than " + std::to_string(length) + " bytes, the training length, found " +
                           std::to_string(text.bytes.size()),
                       text.title);
    }
  }
  for (const Text& text : validate) {
    if (text.bytes.size() < 2) {
      return bad_input("expected at least 2 bytes, found " + std::to_string(text.bytes.size()), text.title);
    }
  }
  return std::unique_ptr<Task>(
      std::make_unique<TextTask>(length, std::move(contexts), std::move(corpus), std::move(validate)));
}

}  // namespace

TaskEntry text_task() {
  return {{"text",
           "the next byte of real text",
           "",
           "bits_per_byte",
           {{"contexts", "none", "context lengths beside the trained one that are measured, [512, 1024]"}}},
          make};
}

}  // namespace locus::training
