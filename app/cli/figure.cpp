// locus figure: a view as a picture for a paper, and its numbers.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "app/cli/any_input.h"
#include "app/cli/command.h"
#include "app/cli/figure_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/paint.h"
#include "app/figures/figure_job.h"
#include "app/figures/input_paths.h"
#include "app/figures/open_columns.h"
#include "app/figures/view_input.h"
#include "app/session/pins.h"
#include "app/session/portable.h"
#include "app/session/recipe.h"
#include "app/views/shared/plots/data_file.h"
#include "app/views/shared/view.h"
#include "models/api/atlas_trace.h"
#include "models/api/machine.h"
#include "models/api/model.h"

namespace locus::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCacheBytes = std::size_t{64} << 20;

bool has_input(const models::Input& input) {
  return input.text || input.ids || input.image || input.pixels;
}

// Opens and runs everything; fills in the digests, with a warning where a recorded one differs.
Result<std::vector<views::Column>> open_columns(session::Recipe& recipe, bool uses_input, const Context& context,
                                                const StopToken& stop) {
  const models::Input& input = recipe.session.input;
  AnyInput any;
  using ModelPointer = std::shared_ptr<const models::Model>;
  using TracePointer = std::shared_ptr<const models::Trace>;
  session::ColumnMaker maker(
      [&](const fs::path& path, const models::OpenOptions& options, StopToken,
          const Progress&) -> Result<ModelPointer> { return open_with(path, options, context); },
      [&](const models::Model& model, const models::Input& typed) -> Result<TracePointer> {
        if (!has_input(typed) && !uses_input) {
          LOCUS_TRY(const models::Input enough, any.of(model));
          return run_model(model, enough, {}, context, stop);
        }
        if (!has_input(typed)) {
          return usage(
              "expected an INPUT: --text, --text-file, --ids, --image or --pixels (only traces need no input)");
        }
        return run_model(model, typed, {}, context, stop);
      });
  const std::vector<session::CheckpointEntry>& entries = recipe.session.checkpoints;
  LOCUS_TRY(std::vector<views::Column> columns, maker.columns(entries, input));
  recipe.digests.resize(entries.size());
  auto column = columns.begin();
  for (std::size_t n = 0; n < entries.size(); ++n) {
    if (entries[n].shown) {
      LOCUS_TRY(const std::string digest,
                session::checkpoint_digest(session::files_of(entries[n], (column++)->model.get())));
      if (!recipe.digests[n].empty() && recipe.digests[n] != digest) {
        context.console.warn(entries[n].path.string() + ": has changed since the recipe was made");
      }
      recipe.digests[n] = digest;
    }
  }
  return columns;
}

// A trace has its own tokens: what was typed beside it must be the same.
Status check_traces(const models::Input& typed, const std::vector<views::Column>& columns) {
  for (const views::Column& column : columns) {
    const std::shared_ptr<const models::Trace> encoder = column.trace->side(models::Side::kEncoder);
    const models::Trace& read = encoder ? *encoder : *column.trace;
    const auto& tokens = read.tokens();
    const auto same = [](std::int64_t id, const models::TokenInfo& token) { return id == token.id; };
    const bool other_ids =
        typed.ids && !std::equal(typed.ids->begin(), typed.ids->end(), tokens.begin(), tokens.end(), same);
    const bool other_text = typed.text && !read.text().empty() && *typed.text != read.text();
    const bool atlas = models::atlas_of(*column.trace) != nullptr;  // which read no text
    if (!column.model && !atlas && (other_ids || other_text)) {
      return usage(std::string(other_ids ? "--ids" : "--text") + ": expected the input of the trace " + column.name +
                   ", or none, found another");
    }
  }
  return {};
}

// A side, or what a decoder has read, needs a column that has it.
Status check_sides(const session::Session& session, const std::vector<views::Column>& columns) {
  const models::Side side = session.state.side;
  const bool pair =
      session::any_has_side(columns, models::Side::kEncoder) || session::any_has_side(columns, models::Side::kCross);
  const std::string& name = columns.front().name;
  if (side != models::Side::kDecoder && !session::any_has_side(columns, side)) {
    return bad_input(
        "--side " + to_text(side) + ": expected an encoder-decoder, or a trace of that side, found neither", name);
  }
  if ((session.input.decoder_text || session.input.decoder_ids) && !pair) {
    return bad_input("expected no input of a decoder, which only encoder-decoders have, found one", name);
  }
  return {};
}

std::string written_so_far(int files) {
  return files == 0 ? "nothing was drawn"
                    : std::to_string(files) + (files == 1 ? " file was" : " files were") + " written";
}

Status draw(session::Recipe recipe, const Painter* painter, const FigureOptions& options, const Context& context) {
  LOCUS_TRY(const views::View* view, views::find_view(recipe.session.state.view));
  const Interrupt interrupt;
  const models::StopsWaiting waiting(interrupt.token());  // for other machines
  const auto opened = open_columns(recipe, view->info().uses_input, context, interrupt.token());
  if (!opened.ok()) {
    return keeping(opened.error(), "nothing was drawn");
  }
  std::vector<views::Column> columns = *opened;
  if (columns.empty()) {
    return bad_input("names no checkpoint", options.recipe);
  }
  LOCUS_CHECK(options.recipe.empty() ? check_traces(recipe.session.input, columns) : Status());
  LOCUS_CHECK(check_sides(recipe.session, columns));
  columns = session::on_side(std::move(columns), recipe.session.state.side);
  session::resolve_tokens(recipe.session.state, *columns.front().trace);
  for (const views::Column& column : columns) {
    LOCUS_CHECK(view->available(column));
  }
  figures::FigureJob job;
  job.view = view;
  job.columns = std::move(columns);
  job.recipe = std::move(recipe);
  job.inputs = context.inputs;
  job.output = "--out";
  job.cache = std::make_shared<views::FieldCache>(kCacheBytes);  // the data are of what the figure measured
  int written = 0;
  const auto say = [&](const fs::path& file) {
    ++written;
    context.console.print(file.string());
  };
  const auto paint = [painter](const figure::Figure& figure, const fs::path& file, const paper::PaperOptions& paper) {
    return painter->write(figure, file, paper);
  };
  Status status = painter != nullptr ? write_figures(job, options.out, paint, say, interrupt.token()) : Status();
  if (status.ok() && !options.data.empty()) {
    job.output = "--data";
    status = write_data(job, options.data, interrupt.token());
    if (status.ok()) {
      say(options.data);
    }
  }
  return status.ok() ? status : Status(keeping(status.error(), written_so_far(written)));
}

Status run_figure(const FigureOptions& options, const Context& context) {
  if (options.out.empty() && options.data.empty()) {
    return usage("figure: expected --out FILE or --data FILE");
  }
  std::unique_ptr<Painter> painter;
  if (!options.out.empty()) {
    LOCUS_TRY(painter, Painter::create());
    LOCUS_CHECK(painter->check(options.out));
  }
  if (!options.data.empty()) {
    LOCUS_CHECK(views::check_data_name(options.data));
  }
  LOCUS_TRY(session::Recipe recipe, options.read(context.globals.base));
  if (options.allow_ssh) {
    models::allow_all_machines();
  }
  LOCUS_CHECK(session::check_names(recipe.session));
  InputFiles inputs = context.inputs;
  session::add_inputs(recipe.session, inputs);  // what a recipe names is read too
  LOCUS_CHECK(inputs.check(options.out, "--out"));
  if (!options.data.empty()) {
    LOCUS_CHECK(inputs.check(options.data, "--data"));
    LOCUS_CHECK(inputs.check(options.data + ".recipe.json", "--data"));
  }
  const Context guarding{context.globals, context.console, inputs, context.command};
  const Status drawn = draw(std::move(recipe), painter.get(), options, guarding);
  // A mistake of a recipe is not one of the command line.
  const bool of_file = !drawn.ok() && !options.recipe.empty() && drawn.error().code == ErrorCode::kUsage;
  return of_file ? Status(bad_input(drawn.error().describe(), options.recipe)) : drawn;
}

}  // namespace

Action declare_figure(Arguments& arguments) {
  auto options = std::make_shared<FigureOptions>();
  options->declare(arguments);
  return [options](const Context& context) { return run_figure(*options, context); };
}

}  // namespace locus::cli
