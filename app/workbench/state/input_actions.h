// InputActions: changes of the input by the user: typing, ids, pictures, generated text, shorter texts. Owns the input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/workbench/work/live_input.h"
#include "app/workbench/work/worker.h"

namespace locus::workbench {

class Studio;

class InputActions {
 public:
  // `debounce_ms`: pause between the last keystroke and the run, see LiveInput.
  InputActions(Studio& studio, int debounce_ms) : studio_(studio), input_(debounce_ms) {}

  LiveInput& live() { return input_; }
  const LiveInput& live() const { return input_; }
  const models::Input& value() const { return input_.value(); }

  // A typed text: runs after the pause.
  void set_text(const std::string& text);
  // The typed input of the decoder of encoder–decoders: a text, or ids if no open checkpoint has a tokenizer; empty:
  // the decoder's start token alone.
  void set_decoder_input(const std::string& typed);
  // Typed ids: run at once. Pictures and videos of the ids before stay with their placeholders.
  void set_ids(const std::vector<std::int64_t>& ids);
  // Sets another input, run at once; undo() restores the one before.
  void set_input(const models::Input& input);
  // The same without a step for undo().
  void replace(const models::Input& input);
  // Shortens the text to the first tokens that run quickly in every column that asks before its run; undo() restores
  // it.
  void run_first();
  // Continues the text by `count` tokens of the first column's model (temperature 0: greedy) and appends them.
  void generate(std::int64_t count, double temperature);
  void drop_generation();

  // Records that a figure of the present input is there.
  void note_figure();

 private:
  Studio& studio_;
  LiveInput input_;
  std::uint64_t generations_ = 0;  // seeds them
};

}  // namespace locus::workbench
