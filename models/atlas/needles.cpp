#include "models/atlas/needles.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/attention/score_field.h"
#include "models/atlas/plan.h"
#include "models/experiments/fields.h"
#include "models/experiments/outputs.h"
#include "models/training/random.h"

namespace locus::models::atlas {

namespace {

using training::Random;

constexpr std::uint64_t kWordStream = 0x6E656564;     // random numbers of words
constexpr std::uint64_t kShuffleStream = 0x6E756C6C;  // and of shuffled texts
constexpr std::array<double, 5> kDepths{0, 0.25, 0.5, 0.75, 1};
constexpr std::int64_t kLetters = 6;  // of the name, and of the word to be copied
constexpr double kHalf = 0.5;         // least weight of a head that copies
constexpr std::int64_t kLocal = 16;   // number of keys before the query that count as local
constexpr std::int64_t kWindowsPerSample = 256;
constexpr std::int64_t kFewest = 2;

std::string word(Random& random) {
  std::string letters;
  for (std::int64_t n = 0; n < kLetters; ++n) {
    letters += static_cast<char>('a' + random.below(26));
  }
  return letters;
}

void put(const Slots& slots, Kind kind, const std::string& statistic, std::int64_t layer, std::size_t entry,
         double value, std::vector<double>& numbers) {
  for (const Slot& slot : slots.of(kind)) {
    if (slot.statistic == statistic && slot.layer == layer) {
      numbers[slot.begin + entry] = value;
      return;
    }
  }
}

}  // namespace

Result<Needles> Needles::make(const Model& model, const Windows& windows, Encode encode,
                              const std::vector<std::string>& what) {
  Needles needles(model, windows, std::move(encode));
  needles.retrieval_ = std::find(what.begin(), what.end(), "retrieval") != what.end();
  needles.spans_ = std::find(what.begin(), what.end(), "spans") != what.end();
  if (!needles.retrieval_ && !needles.spans_) {
    return needles;
  }
  needles.depths_.assign(kDepths.begin(), kDepths.end());
  const std::int64_t length = windows.options().length;
  needles.lengths_ = {length / 4, length / 2, length};
  std::erase_if(needles.lengths_, [&](std::int64_t each) { return !needles.text(0, 0, each).ok(); });
  if (needles.lengths_.empty()) {
    LOCUS_TRY(const NeedleText text, needles.text(0, 0, length));  // the error names the reason
    static_cast<void>(text);
  }
  return needles;
}

bool Needles::with_window(std::int64_t index, std::int64_t windows) {
  const std::int64_t samples = std::max((windows + kWindowsPerSample - 1) / kWindowsPerSample, kFewest);
  return index % block_size(windows) == 0 && index / block_size(windows) < samples;
}

void Needles::plan(Slots& slots) const {
  const auto depths = static_cast<std::int64_t>(depths_.size());
  const auto lengths = static_cast<std::int64_t>(lengths_.size());
  for (const Kind kind : {Kind::kNeedles, Kind::kShuffledNeedles}) {
    if (retrieval_) {
      slots.add(kind, "retrieval.answer", kAtlasOfModel, {depths, lengths});
      slots.add(kind, "retrieval.loss", kAtlasOfModel, {depths, lengths});
    }
    for (std::int64_t layer = 0; layer < (retrieval_ || spans_ ? model_->info().layers : 0); ++layer) {
      const std::vector<std::int64_t> shape{model_->info().heads, depths, lengths};
      if (retrieval_) {
        slots.add(kind, "retrieval.score", layer, shape);
        slots.add(kind, "retrieval.weight", layer, shape);
      }
      for (const char* span : {"spans.begin", "spans.needle", "spans.local", "spans.rest"}) {
        if (spans_) {
          slots.add(kind, span, layer, shape);
        }
      }
    }
  }
}

std::map<std::string, std::vector<double>> Needles::axes() const {
  if (lengths_.empty()) {
    return {};
  }
  return {{"retrieval.depths", depths_}, {"retrieval.lengths", {lengths_.begin(), lengths_.end()}}};
}

Result<std::vector<std::int64_t>> Needles::plain(const std::string& text) const {
  LOCUS_TRY(const std::vector<TokenInfo> tokens, encode_(text));
  std::vector<std::int64_t> ids;
  for (const TokenInfo& token : tokens) {
    if (!token.bytes.empty()) {  // special tokens have no text
      ids.push_back(token.id);
    }
  }
  return ids;
}

Result<NeedleText> Needles::text(std::int64_t index, double depth, std::int64_t length) const {
  Random random{windows_->options().seed, kWordStream, static_cast<std::uint64_t>(index)};
  const std::string name = word(random);
  LOCUS_TRY(const std::vector<std::int64_t> question, plain(" The word of " + name + " is"));
  LOCUS_TRY(const std::vector<std::int64_t> answer, plain(" " + word(random)));
  LOCUS_TRY(const std::vector<std::int64_t> stop, plain(". "));
  LOCUS_TRY(const Window window, windows_->at(index));
  const auto front = static_cast<std::size_t>(window.front);
  const std::size_t needle = question.size() + answer.size() + stop.size();
  const std::size_t fixed = front + needle + question.size() + answer.size();
  if (static_cast<std::size_t>(length) < fixed + needle) {
    return unsupported("retrieval: expected windows of at least " + std::to_string(fixed + needle) + " tokens, found " +
                       std::to_string(length));
  }
  const std::size_t hay = static_cast<std::size_t>(length) - fixed;
  const auto before = static_cast<std::size_t>(std::llround(depth * static_cast<double>(hay)));
  const auto first = window.ids.begin() + static_cast<std::ptrdiff_t>(front);
  NeedleText text;
  const auto append = [&](auto begin, auto end) { text.ids.insert(text.ids.end(), begin, end); };
  append(window.ids.begin(), first + static_cast<std::ptrdiff_t>(before));
  text.needle.begin = static_cast<std::int64_t>(text.ids.size());
  append(question.begin(), question.end());
  for (const std::int64_t id : answer) {
    text.copied.push_back(static_cast<std::int64_t>(text.ids.size()));
    text.ids.push_back(id);
  }
  append(stop.begin(), stop.end());
  text.needle.end = static_cast<std::int64_t>(text.ids.size());
  append(first + static_cast<std::ptrdiff_t>(before), first + static_cast<std::ptrdiff_t>(hay));
  text.question = static_cast<std::int64_t>(text.ids.size());
  append(question.begin(), question.end());
  for (const std::int64_t id : answer) {
    text.queries.push_back(static_cast<std::int64_t>(text.ids.size()) - 1);
    text.ids.push_back(id);
  }
  return text;
}

Status Needles::measure(const NeedleText& text, Kind kind, std::size_t cell, const Slots& slots,
                        std::vector<double>& numbers, const StopToken& stop) const {
  const auto count = static_cast<double>(text.queries.size());
  const Range queries{text.queries.front(), text.queries.back() + 1};
  RunOptions options{.keep = {}, .before_head = true};
  options.each_layer = [&](const Trace& trace, std::int64_t layer) {
    return measure_heads(trace, layer, text, kind, cell, slots, numbers, stop);
  };
  LOCUS_TRY(const TracePointer trace, model_->run({.ids = text.ids}, options, stop));
  const auto first = text.ids.begin() + queries.begin + 1;
  const std::vector<std::int64_t> next(first, first + queries.size());
  LOCUS_TRY(const OutputSums sums, next_token_sums(*model_, *trace, queries.begin, next, "retrieval", stop));
  double nats = 0;
  bool all = true;
  for (const std::int64_t query : text.queries) {
    const std::int64_t row = query - queries.begin;
    nats += sums.log_sum_exp.data_ptr<double>()[row] - static_cast<double>(sums.own.data_ptr<float>()[row]);
    all = all && sums.likeliest.data_ptr<std::int64_t>()[row] == next[static_cast<std::size_t>(row)];
  }
  put(slots, kind, "retrieval.answer", kAtlasOfModel, cell, all ? 1 : 0, numbers);
  put(slots, kind, "retrieval.loss", kAtlasOfModel, cell, nats / count, numbers);
  return {};
}

Status Needles::measure_heads(const Trace& trace, std::int64_t layer, const NeedleText& text, Kind kind,
                              std::size_t cell, const Slots& slots, std::vector<double>& numbers,
                              const StopToken& stop) const {
  const auto count = static_cast<double>(text.queries.size());
  const std::size_t cells = depths_.size() * lengths_.size();
  const Range queries{text.queries.front(), text.queries.back() + 1};
  LOCUS_TRY(const attention::ScoreField* field, scores_of(trace, layer));
  for (std::int64_t head = 0; head < model_->info().heads; ++head) {
    LOCUS_TRY(const Field map, field->map({attention::Quantity::kWeight, head, queries, {}}, stop));
    double score = 0;
    double weight = 0;
    std::array<double, 4> spans{};  // begin, needle, local, rest
    for (std::size_t n = 0; n < text.queries.size(); ++n) {
      const std::int64_t row = text.queries[n] - queries.begin;
      const auto on_token = static_cast<double>(map.at(row, text.copied[n]));
      weight += on_token / count;
      score += on_token > kHalf ? 1 / count : 0;
      for (std::int64_t key = 0; key <= text.queries[n]; ++key) {
        const std::size_t span = key == 0 ? 0 : text.needle.contains(key) ? 1 : key > text.queries[n] - kLocal ? 2 : 3;
        spans[span] += static_cast<double>(map.at(row, key)) / count;
      }
    }
    const std::size_t entry = static_cast<std::size_t>(head) * cells + cell;
    put(slots, kind, "retrieval.score", layer, entry, score, numbers);
    put(slots, kind, "retrieval.weight", layer, entry, weight, numbers);
    put(slots, kind, "spans.begin", layer, entry, spans[0], numbers);
    put(slots, kind, "spans.needle", layer, entry, spans[1], numbers);
    put(slots, kind, "spans.local", layer, entry, spans[2], numbers);
    put(slots, kind, "spans.rest", layer, entry, spans[3], numbers);
  }
  return {};
}

Status Needles::add(std::int64_t index, const Slots& slots, Block& block, const StopToken& stop) const {
  for (const Kind kind : {Kind::kNeedles, Kind::kShuffledNeedles}) {
    std::vector<double> numbers(slots.size(kind));
    for (std::size_t depth = 0; depth < depths_.size(); ++depth) {
      for (std::size_t length = 0; length < lengths_.size(); ++length) {
        LOCUS_TRY(NeedleText text, this->text(index, depths_[depth], lengths_[length]));
        if (kind == Kind::kShuffledNeedles) {
          Random random{windows_->options().seed, kShuffleStream, static_cast<std::uint64_t>(index)};
          for (std::int64_t n = text.question; n > 1; --n) {
            std::swap(text.ids[static_cast<std::size_t>(n - 1)], text.ids[static_cast<std::size_t>(random.below(n))]);
          }
        }
        LOCUS_CHECK(measure(text, kind, depth * lengths_.size() + length, slots, numbers, stop));
      }
    }
    block.add(kind, index, numbers);
  }
  return {};
}

}  // namespace locus::models::atlas
