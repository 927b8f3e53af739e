#include "app/workbench/state/input_actions.h"

#include <algorithm>
#include <utility>

#include "app/workbench/state/studio.h"
#include "core/base/lists.h"

namespace locus::workbench {

namespace {

constexpr const char* kGenerate = "generate";  // slot of the worker

// Ids separated by commas or spaces; empty if a word is no id.
std::vector<std::int64_t> ids_of(const std::string& typed) {
  const auto ids = parse_numbers<std::int64_t>(split_words(typed, ", \t\r\n"));
  const bool good = ids && std::all_of(ids->begin(), ids->end(), [](std::int64_t id) { return id >= 0; });
  return good ? *ids : std::vector<std::int64_t>();
}

}  // namespace

void InputActions::set_text(const std::string& text) {
  if (value().text != text) {
    drop_generation();  // of the text before
    input_.type(text);
  }
}

void InputActions::set_decoder_input(const std::string& typed) {
  models::Input next = value();
  next.decoder_text.reset();
  next.decoder_ids.reset();
  const auto all = studio_.checkpoints().all();
  const bool texts = std::any_of(all.begin(), all.end(), [](const Checkpoint& each) {
    return each.model && each.model->info().encoder_layers > 0 && each.model->info().tokenizer;
  });
  if (texts && !typed.empty()) {
    next.decoder_text = typed;
  } else if (const auto ids = ids_of(typed); !ids.empty()) {
    next.decoder_ids = ids;
  }
  if (!(next == value())) {
    drop_generation();
    input_.type(next);
  }
}

void InputActions::set_ids(const std::vector<std::int64_t>& ids) {
  if (value().ids != ids) {
    drop_generation();
    const CheckpointList& open = studio_.checkpoints();
    input_.set(input_.with_ids(ids, open.placeholder(false), open.placeholder(true)));
  }
}

void InputActions::set_input(const models::Input& input) {
  if (!(input == value())) {
    studio_.record({studio_.state(), value(), {}, {}});
  }
  replace(input);
}

void InputActions::replace(const models::Input& input) {
  drop_generation();
  input_.set(input);
}

void InputActions::run_first() {
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;
  for (const Checkpoint& each : studio_.checkpoints().all()) {
    if (each.entry.shown && each.question && each.question->first > 0 && !each.entry.text) {
      tokens = tokens == 0 ? each.question->first : std::min(tokens, each.question->first);
      bytes = bytes == 0 ? each.question->first_bytes : std::min(bytes, each.question->first_bytes);
    }
  }
  studio_.columns().runs().shorten_own_texts();
  models::Input shorter = value();
  if (shorter.text && bytes > 0) {
    shorter.text->resize(std::min(shorter.text->size(), static_cast<std::size_t>(bytes)));
  } else if (shorter.ids && tokens > 0) {
    shorter.ids->resize(std::min(shorter.ids->size(), static_cast<std::size_t>(tokens)));
  }
  if (!(shorter == value())) {
    set_input(shorter);
  }
}

void InputActions::generate(std::int64_t count, double temperature) {
  const auto shown = studio_.checkpoints().shown();
  if (shown.empty() || !shown.front()->model || !value().text) {
    studio_.report(unsupported("Generation continues a text: type one, and open a checkpoint that reads text"));
    return;
  }
  models::RunOptions options;
  options.reuse = shown.front()->last;
  studio_.worker().submit<models::Generation>(
      Priority::kForward, kGenerate, "Continuing with " + shown.front()->name,
      [model = shown.front()->model, input = value(), options,
       wanted = models::GenerateOptions{count, temperature, ++generations_}](StopToken stop, const Progress& progress) {
        return model->generate(input, wanted, options, std::move(stop), progress);
      },
      [this, id = shown.front()->id,
       decodes = shown.front()->model->info().encoder_layers > 0](Result<models::Generation> made) {
        if (!made) {
          studio_.report(made.error());
          return;
        }
        studio_.columns().runs().keep_run(id, made->trace);  // so that showing it computes next to nothing
        models::Input longer = value();
        if (decodes) {
          longer.decoder_text = longer.decoder_text.value_or("") + made->text;
        } else {
          longer.text = longer.text.value_or("") + made->text;
        }
        set_input(longer);
      });
}

void InputActions::note_figure() {
  double ms = studio_.scheduler().drawing_ms();
  for (const Checkpoint* column : studio_.checkpoints().shown()) {
    ms += column->run_ms;
  }
  input_.note_work(ms);
}

void InputActions::drop_generation() {
  studio_.worker().drop(kGenerate);
}

}  // namespace locus::workbench
