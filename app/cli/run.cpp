// locus run: one forward pass; the prediction, and the trace on request.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/input_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/json.h"
#include "core/base/listed.h"
#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "core/base/system_files.h"
#include "models/api/files.h"
#include "models/api/machine.h"
#include "models/api/model.h"
#include "models/api/run_estimate.h"

namespace locus::cli {
namespace {

constexpr std::int64_t kTop = 10;

struct RunOptions : InputAndChanges {
  std::string path;
  std::string trace;
  std::string keep;
  std::int64_t generate = 0;
  double temperature = 0;
  std::int64_t seed = 0;
  std::vector<std::string> similar_to;
  bool json = false;
};

// How similar the vector of another text is; beside a picture, the logit and the probability too.
struct Similar {
  std::string text;
  models::PairScore score;
};
struct Similarities {
  bool picture = false;  // of the input, by both halves of a checkpoint
  std::vector<Similar> texts;
};

Result<std::set<std::string>> parse_keep(const std::string& text) {
  std::set<std::string_view> known(models::kKeepNames.begin(), models::kKeepNames.end());
  known.insert("all");
  std::set<std::string> keep;
  for (const std::string_view name : split_words(text, ",")) {
    if (!known.contains(name)) {
      return usage("--keep: unknown name " + shown(name) + "; known: " + listed(known));
    }
    keep.emplace(name);
  }
  return keep.empty() ? std::set<std::string>{"logits"} : keep;
}

// Reads the weights, and says before it starts what a run will take that takes longer than a person waits without
// wondering. Returns how long that is, in milliseconds; 0 where the run says at once why there is none. Errors: those
// of Model::read_weights().
Result<double> announce(const models::Model& model, const models::Input& input, std::int64_t generated,
                        const models::RunOptions& options, const StopToken& stop, Console& console) {
  constexpr double kLongMs = 5000;
  const auto tokens = model.tokenize(input);
  const auto length = tokens.ok() ? static_cast<std::int64_t>(tokens->size()) + generated : 0;
  if (!tokens.ok() || !model.estimate(length, options).fits) {
    return 0.0;
  }
  LOCUS_CHECK(model.read_weights(stop, [&](const ProgressReport& news) { console.progress(news.what); }));
  console.end_progress();
  const models::Estimate estimate = models::with_pictures(models::run_estimate(model, length, options),
                                                          models::pictures_estimate(model, input, options));
  if (estimate.fits && estimate.time_ms > kLongMs) {
    console.note(std::to_string(length) + " tokens: " + models::to_text(estimate));
  }
  return estimate.time_ms;
}

// With each part that is done, how long the rest takes: first as it was expected to, then as its layers have.
Progress with_time_left(const models::Model& model, double expected_ms, Console& console) {
  const auto layers = static_cast<double>(std::max<std::int64_t>(model.info().layers, 1));
  const auto begun = std::chrono::steady_clock::now();
  return [expected_ms, layers, begun, &console](const ProgressReport& news) {
    constexpr double kWorthSayingMs = 2000;
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begun;
    const double left = models::left_ms(expected_ms, news.fraction, elapsed.count(), 1 / layers);
    const bool told = news.fraction >= 0 && left > kWorthSayingMs;
    console.progress(news.what + (told ? ", about " + models::duration_text(left) + " left" : ""));
  };
}

// The tokens that were read; of an encoder–decoder, by its encoder.
void add_tokens(const models::Trace& trace, const std::string& prefix, Json& json) {
  json[prefix + "tokens"] = list_of(trace.tokens(), [](const models::TokenInfo& token) { return token.label; });
  json[prefix + "input_ids"] = list_of(trace.tokens(), [](const models::TokenInfo& token) { return token.id; });
}

// The most memory that this process has held so far, weights that stay in their files among it.
std::int64_t peak_mb() {
  return std::llround(system_bytes("/proc/self/status", "VmHWM") / 1e6);
}

Json run_json(const models::Trace& trace, const models::Generation* generated, const Similarities& similar) {
  Json json = Json::object();
  const std::shared_ptr<const models::Trace> encoder = trace.side(models::Side::kEncoder);
  if (encoder) {
    add_tokens(*encoder, "", json);
  }
  add_tokens(trace, encoder ? "decoder_" : "", json);
  json["top"] = top_json(trace);
  if (const std::vector<float> scores = trace.token_scores(); !scores.empty()) {
    json["token_scores"] = scores;
  }
  if (const models::SentenceVector sentence = trace.sentence(); !sentence.values.empty()) {
    json["vector"] = sentence.values;
    json["token_weights"] = sentence.weights;
  }
  if (!similar.texts.empty()) {
    json["similar_to"] = similar.texts.front().text;
    json["cosine"] = similar.texts.front().score.cosine;
    json["similar"] = list_of(similar.texts, [&similar](const Similar& each) {
      Json one{{"text", each.text}, {"cosine", each.score.cosine}};
      if (similar.picture) {
        one["logit"] = each.score.logit;
        one["probability"] = each.score.probability;
      }
      return one;
    });
  }
  json["time_ms"] = trace.time_ms();
  json["kept_mb"] = trace.memory_mb();
  json["peak_mb"] = peak_mb();
  if (generated != nullptr) {
    json["generated"] = Json{{"ids", generated->ids}, {"text", generated->text}};
  }
  return json;
}

// "[image 1, 4 × 4 cells]", "[video 1, frame 0, 4 × 4 cells]".
std::string picture_text(const std::vector<models::ImageSpan>& images, std::size_t n) {
  const models::ImageSpan& image = images[n];
  const std::string cells =
      image.rows > 0 ? std::to_string(image.rows) + " × " + std::to_string(image.columns) : std::to_string(image.count);
  return "[" + models::picture_name(images, n) + ", " + cells + " cells]";
}

// The first of them; all of a picture are one.
void print_tokens(const models::Trace& trace, const std::string& whose, Console& console) {
  constexpr int kShownTokens = 64;
  const std::vector<models::ImageSpan>& images = trace.images();
  std::string line = whose + std::to_string(trace.length()) + " tokens:";
  std::int64_t token = 0;
  for (int shown = 0; token < trace.length() && shown < kShownTokens; ++shown) {
    const auto image = std::ranges::find_if(images, [token](const auto& each) { return each.holds(token); });
    if (image != images.end()) {
      line += " " + picture_text(images, static_cast<std::size_t>(image - images.begin()));
      token = image->token(image->count - 1) + 1;
    } else {
      line += " " + trace.tokens()[static_cast<std::size_t>(token)].label;
      ++token;
    }
  }
  console.print(line + (token < trace.length() ? " …" : ""));
}

// The logit of each token, and the probability that it is: what a discriminator takes for replaced is above one half.
void print_scores(const models::Trace& trace, Console& console) {
  const std::vector<float> scores = trace.token_scores();
  const std::size_t count = std::min(scores.size(), trace.tokens().size());
  for (std::size_t n = 0; n < count; ++n) {
    const models::TokenInfo& token = trace.tokens()[n];
    const double logit = static_cast<double>(scores[n]);
    const std::string percent = fixed_text(100.0 / (1 + std::exp(-logit)), 2);
    console.print("  " + right(percent, 6) + " % replaced  " + right(fixed_text(logit, 3), 8) + "  " + token.label +
                  "  (" + std::to_string(token.id) + ")");
  }
}

// The weight of each token in the text's one vector, and the vector's first numbers; a picture's weights are in the JSON.
void print_sentence(const models::Trace& trace, Console& console) {
  constexpr std::size_t kShownNumbers = 8;
  const models::SentenceVector sentence = trace.sentence();
  if (sentence.values.empty()) {
    return;
  }
  const std::size_t weights = trace.model().image ? 0 : sentence.weights.size();
  for (std::size_t n = 0; n < std::min(weights, trace.tokens().size()); ++n) {
    const models::TokenInfo& token = trace.tokens()[n];
    console.print("  " + right(fixed_text(static_cast<double>(sentence.weights[n]), 4), 8) + "  " + token.label +
                  "  (" + std::to_string(token.id) + ")");
  }
  const std::vector<float> first(
      sentence.values.begin(),
      sentence.values.begin() + static_cast<std::ptrdiff_t>(std::min(kShownNumbers, sentence.values.size())));
  console.print("vector of " + std::to_string(sentence.values.size()) + " numbers (" + listed(trace.model().pooling) +
                "): " + listed(first, [](float value) { return fixed_text(static_cast<double>(value), 4); }) +
                (first.size() < sentence.values.size() ? ", …" : ""));
}

void print_run(const models::Trace& trace, const models::Generation* generated, const Similarities& similar,
               Console& console) {
  const std::shared_ptr<const models::Trace> encoder = trace.side(models::Side::kEncoder);
  if (encoder) {
    print_tokens(*encoder, "encoder: ", console);
  }
  print_tokens(trace, encoder ? "decoder: " : "", console);
  for (const models::Prediction& prediction : trace.top(kTop)) {
    const std::string percent = fixed_text(100.0 * static_cast<double>(prediction.probability), 2);
    console.print("  " + right(percent, 6) + " %  " + prediction.token + "  (" + std::to_string(prediction.id) + ")");
  }
  print_scores(trace, console);
  print_sentence(trace, console);
  for (const Similar& each : similar.texts) {
    const std::string pair =
        ", logit " + fixed_text(each.score.logit, 4) + ", " + fixed_text(100 * each.score.probability, 2) + " %";
    console.print("cosine similarity to " + shown(each.text) + ": " + fixed_text(each.score.cosine, 4) +
                  (similar.picture ? pair : ""));
  }
  if (generated != nullptr) {
    const std::string ids = listed(
        generated->ids, [](std::int64_t id) { return std::to_string(id); }, ",");
    console.print("continuation: " + (generated->text.empty() ? ids : printable_lines(generated->text)));
  }
  console.print(fixed_text(trace.time_ms(), 1) + " ms, " + std::to_string(trace.memory_mb()) + " MB kept, at most " +
                std::to_string(peak_mb()) + " MB used");
}

// The vectors of these texts. Errors: kBadInput for a text that has none.
Result<std::vector<std::vector<float>>> vectors_of(const std::vector<std::string>& texts, const models::Model& model,
                                                   const StopToken& stop) {
  std::vector<std::vector<float>> vectors;
  for (const std::string& text : texts) {
    models::Input input;
    input.text = text;
    LOCUS_TRY(const auto trace, model.run(input, {}, stop));
    vectors.push_back(trace->sentence().values);
    if (vectors.back().empty()) {
      return bad_input("--similar-to: expected a text with its end token, found " + shown(text), model.info().name);
    }
  }
  return vectors;
}

// Runs the other texts too: beside a picture by the checkpoint's text half, which no edit changes.
Result<Similarities> compare(const RunOptions& options, const models::Overrides& overrides,
                             const std::shared_ptr<const models::Model>& model, const models::Trace& trace,
                             const Context& context, const StopToken& stop) {
  Similarities similar;
  if (options.similar_to.empty()) {
    return similar;
  }
  similar.picture = model->info().image;
  std::shared_ptr<const models::Model> reader = model;
  if (similar.picture) {
    models::Overrides text = overrides;
    text.half = "text";
    LOCUS_TRY(reader, open_model(options.path, text, context));
  }
  const std::vector<float> own = trace.sentence().values;
  if (own.empty()) {
    return bad_input("--similar-to: expected an input with a vector, found a text without its end token",
                     model->info().name);
  }
  LOCUS_TRY(const std::vector<std::vector<float>> vectors, vectors_of(options.similar_to, *reader, stop));
  std::vector<models::PairScore> scores;
  if (similar.picture) {
    LOCUS_TRY(scores, models::pair_scores(model->info(), own, vectors));
  } else {
    std::ranges::transform(vectors, std::back_inserter(scores), [&own](const std::vector<float>& other) {
      return models::PairScore{.cosine = models::cosine_similarity(own, other)};
    });
  }
  for (std::size_t n = 0; n < scores.size(); ++n) {
    similar.texts.push_back({options.similar_to[n], scores[n]});
  }
  return similar;
}

Status run_once(const RunOptions& options, const Context& context) {
  LOCUS_TRY(const models::Input input, options.input.read());
  models::RunOptions run_options;
  LOCUS_TRY(const std::set<std::string> keep, parse_keep(options.keep));
  run_options.keep = options.trace.empty() ? run_options.keep : keep;  // nothing but a file holds the rest
  run_options.scores = !options.trace.empty();
  // The file holds logits of every row once they are named, the last row otherwise.
  run_options.all_logits = !options.trace.empty() && !options.keep.empty() &&
                           (run_options.keep.count("logits") + run_options.keep.count("all")) > 0;
  LOCUS_TRY(const models::Edits edits, options.edits.read());
  LOCUS_TRY(const models::Overrides overrides, options.overrides.read());
  LOCUS_TRY(const auto model, open_model(options.path, overrides, context, edits));
  if (!options.similar_to.empty() && model->info().pooling.empty()) {
    return unsupported(
        "--similar-to: expected a folder of sentence-transformers or both halves of CLIP or SigLIP, found a model "
        "without steps to one vector",
        options.path);
  }
  if (models::machine_of(*model) != nullptr && !options.trace.empty()) {
    LOCUS_CHECK(models::check_output(options.trace));
  }
  const Interrupt interrupt;
  const std::string kept = options.trace.empty() ? "nothing was kept" : "no trace was written";
  const auto expected_ms = announce(*model, input, options.generate, run_options, interrupt.token(), context.console);
  if (!expected_ms) {
    context.console.end_progress();
    return keeping(expected_ms.error(), kept);
  }
  const Progress progress = with_time_left(*model, *expected_ms, context.console);
  models::Generation generation;
  const models::Generation* const shown = options.generate > 0 ? &generation : nullptr;
  Status ran = [&]() -> Status {
    if (shown == nullptr) {
      LOCUS_TRY(generation.trace, model->run(input, run_options, interrupt.token(), progress));
      return {};
    }
    const models::GenerateOptions wanted{options.generate, options.temperature,
                                         static_cast<std::uint64_t>(options.seed)};
    LOCUS_TRY(generation, model->generate(input, wanted, run_options, interrupt.token(), progress));
    return {};
  }();
  if (ran.ok() && !options.trace.empty()) {
    ran = generation.trace->write(options.trace, run_options.keep, progress, interrupt.token());
  }
  context.console.end_progress();
  if (!ran.ok()) {
    return keeping(ran.error(), kept);
  }
  const models::Trace* const trace = generation.trace.get();
  warn_of_run(*model, *trace, context);
  LOCUS_TRY(const Similarities similar, compare(options, overrides, model, *trace, context, interrupt.token()));
  if (options.json) {
    context.console.print(dump(run_json(*trace, shown, similar)));
  } else {
    print_run(*trace, shown, similar, context.console);
  }
  return {};
}

}  // namespace

Action declare_run(Arguments& arguments) {
  auto options = std::make_shared<RunOptions>();
  arguments.positional("PATH", options->path, true, "a checkpoint: a folder or a file", FileUse::kCheckpoint);
  options->declare_input(arguments);
  options->overrides.declare_speed(arguments);
  arguments.text("--trace", options->trace, "write a trace (safetensors)", FileUse::kWritten);
  arguments.text("--keep", options->keep,
                 "tensors to keep in the trace: logits,attention,q,k,… or all (default logits)");
  arguments.repeated("--similar-to", options->similar_to,
                     "print the cosine similarity of the input's vector to that of this text (sentence-transformers; "
                     "CLIP and SigLIP, there of a picture too)",
                     "TEXT");
  arguments.integer("--generate", options->generate, {}, "continue the text by this many tokens");
  arguments.number("--temperature", options->temperature, {0, 1000},
                   "temperature for sampling these tokens; 0: always the likeliest");
  arguments.integer("--seed", options->seed, {}, "seed for sampling");
  arguments.flag("--json", options->json, "print JSON");
  return [options](const Context& context) { return run_once(*options, context); };
}

}  // namespace locus::cli
