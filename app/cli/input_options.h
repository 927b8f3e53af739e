// INPUT and the encoding overrides, as several sub-commands take them.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/command.h"
#include "models/api/model.h"

namespace locus::cli {

// --text, --text-file, --ids, --image, --video, --video-fps, --video-frames, --pixels, --picture, --position-start.
class InputOptions {
 public:
  void declare(Arguments& arguments);
  // Errors: kUsage unless exactly one input is given, beside which a text may have images and videos, or for --ids that
  // are no numbers; kBadInput for an unreadable or empty text.
  Result<models::Input> read() const;
  bool given() const;

 private:
  std::optional<std::string> text_;
  std::optional<std::string> text_file_;
  std::optional<std::string> ids_;
  std::vector<std::string> images_;
  std::vector<std::string> videos_;
  models::VideoFrames frames_;
  std::optional<std::string> pixels_;
  std::optional<std::string> picture_;
  std::optional<std::string> decoder_text_;
  std::optional<std::string> decoder_ids_;
  std::int64_t position_start_ = 0;
};

// --rope-base, --rope-scaling, --stage, --half, and --speed.
class OverrideOptions {
 public:
  void declare(Arguments& arguments);
  // --speed, of commands that neither check nor record what is computed.
  void declare_speed(Arguments& arguments);
  // Errors: kUsage for a base that is no number, or layers that are not named behind an @.
  Result<models::Overrides> read() const;

 private:
  std::optional<std::string> rope_base_;
  std::string rope_scaling_;
  std::int64_t stage_ = 0;
  std::string speed_ = "exact";
  std::string half_ = "picture";
};

// --edit, --edits.
class EditOptions {
 public:
  void declare(Arguments& arguments);
  // The edits of the file, then those that were typed. Errors: kBadInput, naming the file, the edit's index and field.
  Result<models::Edits> read() const;

 private:
  std::vector<std::string> typed_;
  std::optional<std::string> file_;
};

// Options that the sub-commands that run a model on an input have in common.
struct InputAndChanges {
  InputOptions input;
  OverrideOptions overrides;
  EditOptions edits;

  void declare_input(Arguments& arguments);
};

// Says when matrix products run on slower kernels than this CPU has.
void warn_of_slow_products(const Context& context);

// Opens a checkpoint, which may be ORG/NAME[@REVISION] in the hub's cache, with the globals; its warnings are printed.
// Without `weights`, those of small ones are not read and checked either.
Result<std::shared_ptr<const models::Model>> open_model(const std::filesystem::path& path,
                                                        const models::Overrides& overrides, const Context& context,
                                                        const models::Edits& edits = {}, bool weights = true);
// The same with options of its own; the globals say the device, the memory, and the base where none is named.
Result<std::shared_ptr<const models::Model>> open_with(const std::filesystem::path& path, models::OpenOptions options,
                                                       const Context& context, const models::Edits& edits = {});

// Prints the warnings that came up only with the run, when the weights of a large checkpoint were read.
void warn_of_run(const models::Model& model, const models::Trace& trace, const Context& context);

// Runs it, and prints those warnings.
Result<std::shared_ptr<const models::Trace>> run_model(const models::Model& model, const models::Input& input,
                                                       const models::RunOptions& options, const Context& context,
                                                       StopToken stop = {});

}  // namespace locus::cli
