// Continuing a text token by token, through the same forward pass that typing takes.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "core/base/guarded.h"
#include "models/engine/estimator.h"
#include "models/engine/runner.h"

namespace locus::models {

namespace {

// Tokens of the prompt that a continuation is decoded with: a tokenizer may treat the beginning of a text differently.
constexpr std::size_t kContext = 16;

// The next id by one row of logits (V): the most likely one, the first of equals, or a draw at this temperature.
std::int64_t next_id(const at::Tensor& logits, double temperature, std::mt19937_64& random) {
  if (temperature <= 0 && logits.scalar_type() == at::kFloat && logits.is_contiguous()) {
    const auto* const begin = logits.data_ptr<float>();  // argmax() takes four times as long
    return std::find(begin, begin + logits.numel(), logits.max().item<float>()) - begin;
  }
  if (temperature <= 0) {
    return logits.argmax().item<std::int64_t>();
  }
  const at::Tensor sums = at::softmax(logits.to(at::kDouble).div(temperature), 0).cumsum(0).contiguous();
  const auto* begin = sums.data_ptr<double>();
  const auto* end = begin + sums.size(0);
  // 53 random bits in [0, 1), alike on every machine; scaled by the last sum, which rounding keeps from being 1.
  const double drawn = std::ldexp(static_cast<double>(random() >> 11), -53) * end[-1];
  return std::min<std::int64_t>(std::upper_bound(begin, end, drawn) - begin, sums.size(0) - 1);
}

// The text that ids [first, end) add, and the bytes each of them adds, after the ids before them.
std::string decode_after(const text::Tokenizer& tokenizer, const std::vector<std::int64_t>& ids, std::size_t first,
                         std::vector<std::size_t>& ends) {
  const std::size_t begin = first - std::min(first, kContext);
  const auto decoded = [&](std::size_t end) { return tokenizer.decode({ids.data() + begin, end - begin}); };
  const std::size_t before = decoded(first).size();
  const std::string all = decoded(ids.size());
  const std::string added = all.substr(std::min(before, all.size()));
  for (std::size_t n = first + 1; n <= ids.size(); ++n) {
    const std::size_t size = decoded(n).size();
    const std::size_t end = std::min(size - std::min(before, size), added.size());
    ends.push_back(std::max(end, ends.empty() ? 0 : ends.back()));
  }
  return added;
}

// The blocks of a text that goes on by a token of none.
std::shared_ptr<const attention::Blocks> with_one_more(const std::shared_ptr<const attention::Blocks>& blocks) {
  if (blocks == nullptr) {
    return nullptr;
  }
  std::vector<std::int64_t> of = blocks->of;
  of.push_back(-1);
  return attention::Blocks::make(std::move(of), blocks->alone, blocks->windows);
}

// Positions of the prompt and of `count` tokens behind it: they go on at the largest so far + 1. An encoding that draws
// positions draws those of all these tokens at once, unless edits have moved the prompt's.
position::Positions continued_positions(const transformer::Transformer& model, const PreparedInput& prepared,
                                        std::int64_t start, std::int64_t count) {
  position::Positions positions = prepared.batch.positions;
  const position::Positions natural =
      position::Positions::sequence(positions.size() + count, static_cast<double>(start));
  const position::Positions drawn = model.encoding().evaluation_positions(natural);
  if (!drawn.ids.is_same(natural.ids) && at::equal(positions.ids, prepared.unedited.ids)) {
    return drawn;
  }
  const at::Tensor more = at::arange(count, at::kDouble) + positions.ids.max().item<double>() + 1;
  positions.ids =
      at::cat({positions.ids, positions.ids.dim() == 1 ? more : more.unsqueeze(1).expand({-1, positions.ids.size(1)})});
  return positions;
}

}  // namespace

Result<Generation> Runner::generate(const Input& input, const GenerateOptions& options, const RunOptions& run_options,
                                    StopToken stop, const Progress& progress) const {
  return guarded([&]() -> Result<Generation> {
    const at::NoGradGuard no_grad;
    if (parts_.info.image || !parts_.info.causal || !parts_.transformer->spec().head) {
      return unsupported("generation needs a causal text model", parts_.info.name);
    }
    if (options.count < 0 || !(options.temperature >= 0) || !std::isfinite(options.temperature)) {
      return usage("generation: expected a count and a temperature of 0 or more");
    }
    LOCUS_TRY(PreparedInput prepared, prepare(input));
    const auto prompt = static_cast<std::int64_t>(prepared.tokens.size());
    const std::int64_t length = prompt + options.count;
    RunOptions kept = run_options;
    kept.continuable = true;
    LOCUS_CHECK(Estimator(checkpoint_).check_memory(std::max(length, prepared.longest()), kept, prepared.vision.get()));
    const position::Positions positions =
        continued_positions(*parts_.transformer, prepared, input.position_start, options.count);
    LOCUS_CHECK(parts_.transformer->accepts(positions));
    LOCUS_TRY(const transformer::Transformer* model, checkpoint_.ready());
    if (positions.ids.dim() == 1) {
      prepared.batch.positions = positions.slice({0, prompt});
      for (std::int64_t n = 0; n < prompt; ++n) {
        prepared.tokens[static_cast<std::size_t>(n)].position = positions.ids[n].item<double>();
      }
    }

    RunOptions each = kept;
    each.all_logits = false;
    transformer::ObserveOptions wanted = observe_options(each, stop, options.count == 0 ? progress : Progress());
    std::optional<transformer::ReusedTokens> reused = reused_tokens_of(run_options.reuse, *model, prepared.batch);
    std::vector<std::int64_t> ids;
    for (const TokenInfo& token : prepared.tokens) {
      ids.push_back(token.id);
    }
    std::mt19937_64 random(options.seed);
    double time_ms = 0;
    Observed observed;
    LOCUS_CHECK(observe_encoder(prepared, wanted, observed, time_ms));
    LOCUS_CHECK(observe_images(prepared, wanted, observed, time_ms));
    transformer::Observation& observation = observed.own;
    for (std::int64_t n = 0;; ++n) {
      report(progress, static_cast<double>(n) / static_cast<double>(options.count + 1),
             "token " + std::to_string(n) + " of " + std::to_string(options.count));
      wanted.reused_tokens = reused ? &*reused : nullptr;
      LOCUS_TRY(observation, observe(*model, prepared.batch, wanted, time_ms));
      if (n == options.count) {
        break;
      }
      const at::Tensor last = observation.logits[0][observation.logits.size(1) - 1].cpu();
      ids.push_back(next_id(last, options.temperature, random));
      reused = transformer::ReusedTokens{std::move(observation.layers), prompt + n, observation.rows};
      const at::Tensor added = at::full({1, 1}, ids.back(), prepared.batch.ids.options());
      prepared.batch.ids = at::cat({prepared.batch.ids, added}, 1);
      prepared.batch.positions = positions.slice({0, prompt + n + 1});
      prepared.batch.blocks = with_one_more(prepared.batch.blocks);
      LOCUS_CHECK(edit_layers(prepared.batch, layout_of(prepared)));
    }
    if (run_options.all_logits) {
      // Every row's logits are those of one pass over everything.
      LOCUS_TRY(observation, observe(*model, prepared.batch, observe_options(kept, stop, {}), time_ms));
    }

    Generation generation;
    generation.ids.assign(ids.begin() + prompt, ids.end());
    std::vector<std::size_t> ends;
    const text::Tokenizer* const tokenizer = parts_.tokenizer_of(*parts_.transformer).get();
    if (tokenizer != nullptr) {
      generation.text = decode_after(*tokenizer, ids, static_cast<std::size_t>(prompt), ends);
    }
    // Whether what is continued is text.
    const bool texts = parts_.encoder ? !input.decoder_ids : input.text.has_value();
    const auto before = static_cast<std::int64_t>(prepared.text.size());
    std::int64_t from = before;
    for (std::size_t n = 0; n < generation.ids.size(); ++n) {
      const std::int64_t id = generation.ids[n];
      const std::int64_t to = texts && n < ends.size() ? before + static_cast<std::int64_t>(ends[n]) : from;
      prepared.tokens.push_back({id, tokenizer != nullptr ? tokenizer->label(id) : std::to_string(id),
                                 texts ? Range{from, to} : Range{},
                                 positions.ids[prompt + static_cast<std::int64_t>(n)].max().item<double>()});
      from = to;
    }
    prepared.text += texts ? generation.text : "";
    generation.trace = TraceMaker(checkpoint_, edits_).trace_of(std::move(prepared), observed, time_ms);
    return generation;
  });
}

}  // namespace locus::models
