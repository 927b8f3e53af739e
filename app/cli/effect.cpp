// locus effect: the edited run against the unedited one.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "app/cli/command.h"
#include "app/cli/input_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/json.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/effect.h"

namespace locus::cli {
namespace {

constexpr std::int64_t kShownPredictions = 5;
constexpr std::size_t kShownChanges = 10;

struct EffectOptions : InputAndChanges {
  std::string path;
  bool json = false;
};

Json effect_json(const models::Effect& effect) {
  return {{"edits", parsed(models::to_json(effect.edited->edits()))["edits"]},
          {"kl", effect.kl},
          {"loss", effect.loss},
          {"loss_edited", effect.loss_edited},
          {"delta", effect.delta},
          {"top", top_json(*effect.unedited)},
          {"top_edited", top_json(*effect.edited)}};
}

std::string percent(const models::Prediction& prediction) {
  return right(fixed_text(100.0 * static_cast<double>(prediction.probability), 2), 6) + " %  ";
}

// The tokens whose prediction changes most.
void print_changes(const models::Effect& effect, Console& console) {
  std::vector<std::size_t> order(effect.delta.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t n) { return std::isnan(effect.delta[n]); });
  const std::size_t shown = std::min(order.size(), kShownChanges);
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
      [&](std::size_t a, std::size_t b) { return std::abs(effect.delta[a]) > std::abs(effect.delta[b]); });
  for (std::size_t n = 0; n < shown; ++n) {
    const std::size_t token = order[n] + 1;  // what is predicted is the next one
    console.print("  " + right(fixed_text(effect.delta[order[n]], 4), 9) + " nats  " + std::to_string(token) + " " +
                  effect.unedited->tokens()[token].label);
  }
}

void print_effect(const models::Effect& effect, Console& console) {
  for (const models::Edit& edit : effect.edited->edits()) {
    console.print(models::to_text(edit));
  }
  const double sum = std::accumulate(effect.kl.begin(), effect.kl.end(), 0.0);
  console.print("KL(unedited ‖ edited): mean " +
                general_text(sum / static_cast<double>(std::max<std::size_t>(effect.kl.size(), 1)), 4) + ", largest " +
                general_text(effect.kl.empty() ? 0 : *std::max_element(effect.kl.begin(), effect.kl.end()), 4) +
                " nats over " + std::to_string(effect.kl.size()) + " positions");
  if (!effect.delta.empty()) {
    console.print("loss: " + fixed_text(effect.loss, 4) + " → " + fixed_text(effect.loss_edited, 4) +
                  " nats a token; changed most:");
    print_changes(effect, console);
  }
  const auto before = effect.unedited->top(kShownPredictions);
  const auto after = effect.edited->top(kShownPredictions);
  console.print("last position, unedited and edited:");
  for (std::size_t n = 0; n < std::min(before.size(), after.size()); ++n) {
    console.print("  " + padded(percent(before[n]) + before[n].token, 30) + percent(after[n]) + after[n].token);
  }
}

Status run_effect(const EffectOptions& options, const Context& context) {
  LOCUS_TRY(const models::Edits edits, options.edits.read());
  if (edits.empty()) {
    return usage("effect: expected at least one --edit or --edits FILE");
  }
  LOCUS_TRY(const models::Input input, options.input.read());
  LOCUS_TRY(const models::Overrides overrides, options.overrides.read());
  LOCUS_TRY(const auto model, open_model(options.path, overrides, context, edits));
  const Interrupt interrupt;
  const Progress progress = [&](const ProgressReport& news) { context.console.progress(news.what); };
  const Result<models::Effect> effect = models::effect_of_edits(*model, input, interrupt.token(), progress);
  context.console.end_progress();
  if (!effect.ok()) {
    return keeping(effect.error(), "nothing was kept");
  }
  if (options.json) {
    context.console.print(dump(effect_json(*effect)));
  } else {
    print_effect(*effect, context.console);
  }
  return {};
}

}  // namespace

Action declare_effect(Arguments& arguments) {
  auto options = std::make_shared<EffectOptions>();
  arguments.positional("PATH", options->path, true, "a checkpoint: a folder or a file", FileUse::kCheckpoint);
  options->declare_input(arguments);
  arguments.flag("--json", options->json, "print JSON");
  return [options](const Context& context) { return run_effect(*options, context); };
}

}  // namespace locus::cli
