// locus convert: a checkpoint written again with its weights in another format.
#include <memory>

#include "app/cli/command.h"
#include "app/cli/interrupt.h"
#include "core/base/listed.h"
#include "core/base/numbers.h"
#include "models/api/convert.h"
#include "models/formats/hub_cache.h"

namespace locus::cli {
namespace {

struct ConvertCommand {
  std::string path;
  models::ConvertOptions options;
  std::string out;
};

Status run_convert(ConvertCommand command, const Context& context) {
  LOCUS_TRY(const std::filesystem::path path, formats::find_checkpoint(command.path));
  command.options.out = command.out;
  const Interrupt interrupt;
  const auto progress = [&](const ProgressReport& report) {
    context.console.progress(report.what + ", " + fixed_text(100 * report.fraction, 0) + " %");
  };
  LOCUS_TRY(const models::Converted converted, models::convert(path, command.options, interrupt.token(), progress));
  for (const std::string& warning : converted.warnings) {
    context.console.warn(warning);
  }
  for (const auto& [format, count] : converted.tensors) {
    const auto megabytes = static_cast<double>(converted.bytes.at(format)) / 1e6;
    context.console.print(format + ": " + std::to_string(count) + (count == 1 ? " tensor, " : " tensors, ") +
                          fixed_text(megabytes, 2) + " MB");
  }
  return {};
}

}  // namespace

Action declare_convert(Arguments& arguments) {
  auto command = std::make_shared<ConvertCommand>();
  command->options.to = "q8_0";
  arguments.positional("PATH", command->path, true, "a checkpoint: a folder or a file", FileUse::kCheckpoint);
  arguments.choice("--to", command->options.to, models::written_formats(), "format of the matrices");
  arguments.text("--out", command->out, "the file: .gguf, or .safetensors for f32, f16 and bf16", FileUse::kWritten);
  return [command](const Context& context) { return run_convert(*command, context); };
}

}  // namespace locus::cli
