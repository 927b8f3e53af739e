// locus run: one forward pass; the prediction, and the trace on request.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "app/cli/command.h"
#include "app/cli/input_options.h"
#include "app/cli/json.h"
#include "models/model.h"
#include "models/text/tokenizer.h"

namespace locus::cli {
namespace {

constexpr std::int64_t kTop = 10;

struct Options {
  std::string path;
  InputOptions input;
  OverrideOptions overrides;
  std::string trace;
  std::string keep;
  std::int64_t generate = 0;
  bool json = false;
};

const std::set<std::string>& keepable() {
  static const std::set<std::string> names = {"logits",    "hidden",         "attention", "q",
                                              "k",         "gates",          "positions", "q_content",
                                              "k_content", "position_state", "all"};
  return names;
}

Result<std::set<std::string>> parse_keep(const std::string& text) {
  std::set<std::string> keep;
  for (const std::string& name : split(text)) {
    // `encoding.<parameter>` is open-ended: the trace writer knows the parameters.
    if (keepable().count(name) == 0 && name.rfind("encoding", 0) != 0) {
      std::string known;
      for (const std::string& other : keepable()) {
        known += (known.empty() ? "" : ", ") + other;
      }
      return usage("--keep: unknown name " + name + "; known: " + known);
    }
    keep.insert(name);
  }
  return keep.empty() ? std::set<std::string>{"logits"} : keep;
}

struct Generated {
  std::vector<std::int64_t> ids;
  std::string text;  // empty without a tokenizer
};

// The greedy continuation: each next id is the most likely one, by whole forward passes.
Result<Generated> generate(const models::Model& model, const models::Trace& first, const Options& options,
                           std::int64_t position_start) {
  models::Input input;
  input.position_start = position_start;
  input.ids.emplace();
  for (const models::TokenInfo& token : first.tokens()) {
    input.ids->push_back(token.id);
  }
  Generated generated;
  std::vector<models::Prediction> best = first.top(1);
  for (std::int64_t n = 0; n < options.generate && !best.empty(); ++n) {
    generated.ids.push_back(best.front().id);
    input.ids->push_back(best.front().id);
    if (n + 1 < options.generate) {
      LOCUS_TRY(const auto trace, model.run(input));
      best = trace->top(1);
    }
  }
  if (model.info().tokenizer) {
    LOCUS_TRY(const auto tokenizer, text::open_tokenizer(options.path));
    if (tokenizer) {
      generated.text = tokenizer->decode(generated.ids);
    }
  }
  return generated;
}

Json run_json(const models::Trace& trace, const Generated* generated) {
  Json tokens = Json::array();
  Json ids = Json::array();
  for (const models::TokenInfo& token : trace.tokens()) {
    tokens.push_back(token.label);
    ids.push_back(token.id);
  }
  Json top = Json::array();
  for (const models::Prediction& prediction : trace.top(kTop)) {
    top.push_back({{"id", prediction.id}, {"token", prediction.token}, {"probability", prediction.probability}});
  }
  Json json = {{"tokens", tokens},
               {"input_ids", ids},
               {"top", top},
               {"time_ms", trace.time_ms()},
               {"memory_mb", trace.memory_mb()}};
  if (generated != nullptr) {
    json["generated"] = {{"ids", generated->ids}, {"text", generated->text}};
  }
  return json;
}

void print_run(const models::Trace& trace, const Generated* generated, Console& console) {
  constexpr std::size_t kShownTokens = 64;
  std::string line = std::to_string(trace.tokens().size()) + " tokens:";
  for (std::size_t n = 0; n < std::min(trace.tokens().size(), kShownTokens); ++n) {
    line += " " + trace.tokens()[n].label;
  }
  console.print(line + (trace.tokens().size() > kShownTokens ? " …" : ""));
  for (const models::Prediction& prediction : trace.top(kTop)) {
    char probability[32];
    std::snprintf(probability, sizeof probability, "  %6.2f %%  ", 100.0 * static_cast<double>(prediction.probability));
    console.print(probability + prediction.token + "  (" + std::to_string(prediction.id) + ")");
  }
  if (generated != nullptr) {
    std::string ids;
    for (const std::int64_t id : generated->ids) {
      ids += (ids.empty() ? "" : ",") + std::to_string(id);
    }
    console.print("continuation: " + (generated->text.empty() ? ids : generated->text));
  }
  char timing[96];
  std::snprintf(timing, sizeof timing, "%.1f ms, %lld MB kept", trace.time_ms(),
                static_cast<long long>(trace.memory_mb()));
  console.print(timing);
}

Status run(const Options& options, const Context& context) {
  LOCUS_TRY(const models::Input input, options.input.read());
  models::RunOptions run_options;
  LOCUS_TRY(run_options.keep, parse_keep(options.keep));
  // The file holds logits of every row once they are named, the last row otherwise.
  run_options.all_logits = !options.trace.empty() && !options.keep.empty() &&
                           (run_options.keep.count("logits") + run_options.keep.count("all")) > 0;
  if (options.generate < 0) {
    return usage("--generate: expected 0 or more, found " + std::to_string(options.generate));
  }
  LOCUS_TRY(const auto model, open_model(options.path, options.overrides.read(), context));
  if (options.generate > 0 && (model->info().image || !model->info().causal)) {
    return unsupported("--generate needs a causal text model", options.path);
  }
  LOCUS_TRY(const auto trace, run_model(*model, input, run_options, context));
  if (!options.trace.empty()) {
    LOCUS_CHECK(trace->write(options.trace, run_options.keep));
  }
  Generated generated;
  if (options.generate > 0) {
    LOCUS_TRY(generated, generate(*model, *trace, options, input.position_start));
  }
  const Generated* const shown = options.generate > 0 ? &generated : nullptr;
  if (options.json) {
    context.console.print(dump(run_json(*trace, shown)));
  } else {
    print_run(*trace, shown, context.console);
  }
  return {};
}

}  // namespace

Action declare_run(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.positional("PATH", options->path, true, "a checkpoint: a folder or a file");
  options->input.declare(arguments);
  options->overrides.declare(arguments);
  arguments.text("--trace", options->trace, "write a trace (safetensors)");
  arguments.text("--keep", options->keep, "what the trace holds: logits,attention,q,k,… or all (default logits)");
  arguments.integer("--generate", options->generate, "continue greedily by this many tokens");
  arguments.flag("--json", options->json, "print JSON");
  return [options](const Context& context) { return run(*options, context); };
}

}  // namespace locus::cli
