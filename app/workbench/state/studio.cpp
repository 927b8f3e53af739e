#include "app/workbench/state/studio.h"

#include <algorithm>
#include <utility>

#include "app/figures/view_input.h"
#include "app/workbench/widgets/qt_text.h"
#include "core/base/lists.h"

namespace locus::workbench {

namespace {

constexpr const char* kGenerate = "generate";  // its slot of the worker

// "0, 5 7" as ids; none where a word is no number.
std::vector<std::int64_t> ids_of(const std::string& typed) {
  const auto ids = parse_numbers<std::int64_t>(split_words(typed, ", \t\r\n"));
  const bool good = ids && std::all_of(ids->begin(), ids->end(), [](std::int64_t id) { return id >= 0; });
  return good ? *ids : std::vector<std::int64_t>();
}

}  // namespace

Studio::Studio(const StudioOptions& options)
    : input_(options.debounce_ms),
      worker_([this] { wake(); }),
      columns_(worker_, input_, options.device, options.opener, options.limits),
      scheduler_(worker_, columns_.list(), history_, options.step_ms),
      fingerprints_(worker_) {
  columns_.set_memory_limit_mb(options.memory_limit_mb);
  connect_parts();
  document_.set_saved({}, session());
}

void Studio::connect_parts() {
  connect(&input_, &LiveInput::changed, this, &Studio::input_changed);
  connect(&input_, &LiveInput::due, &columns_, &Columns::run_all);
  connect(&columns_, &Columns::changed, this, &Studio::checkpoints_changed);
  connect(&columns_, &Columns::runs_changed, this, &Studio::choose_side);
  connect(&columns_, &Columns::runs_changed, this, &Studio::runs_changed);
  connect(&columns_, &Columns::started, &scheduler_, &FigureScheduler::hold);
  connect(&columns_, &Columns::started, &fingerprints_, &Fingerprints::hold);
  connect(&fingerprints_, &Fingerprints::changed, this, &Studio::fingerprints_changed);
  connect(&columns_, &Columns::early_changed, &scheduler_, &FigureScheduler::update_early);
  connect(&columns_, &Columns::extent_changed, this, [this] {
    follow();
    clamp_and_redraw();
  });
  connect(&columns_, &Columns::failed, this, &Studio::report);
  connect(&columns_, &Columns::too_large, this, [this](const Error& error) { Q_EMIT too_large(qt(error.describe())); });
  connect(&scheduler_, &FigureScheduler::drawn, this,
          [this] { latency_ms_ = input_.take_elapsed_ms().value_or(latency_ms_); });
  connect(&scheduler_, &FigureScheduler::changed, this, &Studio::figure_changed);
  connect(&scheduler_, &FigureScheduler::cells_changed, this, &Studio::cells_changed);
}

// Called from any thread: at most one drain is under way.
void Studio::wake() {
  if (!woken_.exchange(true)) {
    QMetaObject::invokeMethod(
        this, [this] { drain(); }, Qt::QueuedConnection);
  }
}

void Studio::drain() {
  woken_ = false;
  worker_.drain();
  Q_EMIT work_changed();
}

void Studio::report(const Error& error) {
  if (error.code != ErrorCode::kCancelled) {
    Q_EMIT failed(qt(error.describe()));
  }
}

void Studio::cancel() {
  input_.forget();
  scheduler_.stop_refining();
  worker_.cancel_all();
  columns_.decline();
}

bool Studio::settled() const {
  return worker_.idle() && !input_.waiting() && !scheduler_.pending() && !woken_;
}

void Studio::remove(int id) {
  worker_.drop(kGenerate);
  columns_.remove(id);
}

int Studio::open_beside(const session::CheckpointEntry& entry) {
  history_.push({state(), {}, checkpoints().shown_entries(), {}});
  Q_EMIT state_changed();  // undo is possible
  const int id = columns_.open(entry);
  columns_.set_own_head(id, entry.own);  // it may have been open
  return id;
}

void Studio::change_edits(int id, const models::Edits& edits, bool undoable) {
  if (undoable && checkpoints().find(id) != nullptr && !(checkpoints().find(id)->entry.edits == edits)) {
    history_.push({state(), {}, checkpoints().shown_entries(), {}});
    Q_EMIT state_changed();
  }
  columns_.change_edits(id, edits);
}

// ---- input

bool Studio::takes_pictures() const {
  return std::ranges::any_of(checkpoints().all(),
                             [](const Checkpoint& each) { return each.model && each.model->info().vision_layers > 0; });
}

void Studio::set_text(const std::string& text) {
  if (input().text != text) {
    worker_.drop(kGenerate);  // of the text before
    input_.type(text);
  }
}

void Studio::set_decoder_input(const std::string& typed) {
  models::Input next = input();
  next.decoder_text.reset();
  next.decoder_ids.reset();
  const auto all = checkpoints().all();
  const bool texts = std::any_of(all.begin(), all.end(), [](const Checkpoint& each) {
    return each.model && each.model->info().encoder_layers > 0 && each.model->info().tokenizer;
  });
  if (texts && !typed.empty()) {
    next.decoder_text = typed;
  } else if (const auto ids = ids_of(typed); !ids.empty()) {
    next.decoder_ids = ids;
  }
  if (!(next == input())) {
    worker_.drop(kGenerate);
    input_.type(next);
  }
}

const Checkpoint* Studio::column(std::size_t n) const {
  const auto shown = checkpoints().shown();
  return shown.empty() ? nullptr : shown[std::min(n, shown.size() - 1)];
}

bool Studio::has_side(models::Side side) const {
  return std::ranges::any_of(checkpoints().shown(),
                             [side](const Checkpoint* each) { return each->trace->side(side) != nullptr; });
}

bool Studio::has_sides() const {
  return std::ranges::any_of(models::kSides, [this](models::Side side) { return has_side(side); });
}

bool Studio::has_decoder() const {
  return std::any_of(checkpoints().all().begin(), checkpoints().all().end(),
                     [](const Checkpoint& each) { return each.model && each.model->info().encoder_layers > 0; });
}

void Studio::set_input(const models::Input& input) {
  worker_.drop(kGenerate);
  if (!(input == input_.value())) {
    history_.push({state(), input_.value(), {}, {}});
    Q_EMIT state_changed();  // undo is possible
  }
  input_.set(input);
}

void Studio::set_ids(const std::vector<std::int64_t>& ids) {
  if (input().ids != ids) {
    worker_.drop(kGenerate);
    models::Input typed;
    typed.ids = ids;
    typed.decoder_text = input().decoder_text;
    typed.decoder_ids = input().decoder_ids;
    typed.position_start = input().position_start;
    input_.set(typed);
  }
}

void Studio::generate(std::int64_t count, double temperature) {
  const auto shown = checkpoints().shown();
  if (shown.empty() || !shown.front()->model || !input().text) {
    report(unsupported("Generation continues a text: type one, and open a checkpoint that reads text"));
    return;
  }
  models::RunOptions options;
  options.reuse = shown.front()->last;
  worker_.submit<models::Generation>(
      Priority::kForward, kGenerate, "Continuing with " + shown.front()->name,
      [model = shown.front()->model, input = input(), options,
       wanted = models::GenerateOptions{count, temperature, ++draws_}](StopToken stop, const Progress& progress) {
        return model->generate(input, wanted, options, std::move(stop), progress);
      },
      [this, id = shown.front()->id,
       decodes = shown.front()->model->info().encoder_layers > 0](Result<models::Generation> made) {
        if (!made) {
          report(made.error());
          return;
        }
        columns_.keep_run(id, made->trace);  // so that showing it computes next to nothing
        models::Input longer = input();
        if (decodes) {
          longer.decoder_text = longer.decoder_text.value_or("") + made->text;
        } else {
          longer.text = longer.text.value_or("") + made->text;
        }
        set_input(longer);
      });
}

// ---- view

void Studio::show_state() {
  Q_EMIT state_changed();
  scheduler_.update();
  scheduler_.update_cells();
  fingerprints_.hold();  // who still points at a head asks again once the figure is there
}

void Studio::change(session::ViewState state) {
  if (const std::string missing = out_of_reach(state); !missing.empty()) {
    Q_EMIT noticed(QString::fromStdString(missing));
  }
  state = clamped(std::move(state));
  if (!(state == this->state())) {  // else there is nothing to come back to
    history_.change(std::move(state));
  } else {
    history_.set(std::move(state));
  }
  show_state();
}

void Studio::amend(session::ViewState state) {
  history_.set(clamped(std::move(state)));
  show_state();
}

void Studio::point(const Pointed& at) {
  if (!(at == pointed_)) {
    pointed_ = at;
    Q_EMIT pointed_changed();
  }
}

void Studio::pin(const views::Token& query, const views::Token& key) {
  session::ViewState pinned = state();
  pinned.query = query;
  pinned.key = query.chosen() ? key : views::kNone;
  change(pinned);
}

Step Studio::present_step(const Step& like) const {
  Step now{state(), {}, {}, {}};
  if (like.input) {
    now.input = input();
  }
  if (like.columns) {
    now.columns = checkpoints().shown_entries();
  }
  if (like.figures) {
    now.figures = document_.figures();
  }
  return now;
}

void Studio::apply(const Step& step) {
  if (step.input || step.columns) {
    forget_footing();
  }
  if (step.figures) {
    document_.set_figures(*step.figures);
  }
  if (step.columns) {
    columns_.hide_all();  // those that are not wanted any more do not run the input
  }
  if (step.input && !(*step.input == input())) {
    worker_.drop(kGenerate);
    input_.set(*step.input);
  }
  if (step.columns) {
    columns_.arrange(*step.columns);
  }
  // What runs now may have layers that the present columns have not: it is clamped when it is there.
  history_.set(checkpoints().waiting() ? step.state : clamped(step.state));
  show_state();
}

void Studio::undo() {
  if (const Step* step = history_.previous()) {
    apply(history_.undo(present_step(*step)));
  }
}

void Studio::redo() {
  if (const Step* step = history_.next()) {
    apply(history_.redo(present_step(*step)));
  }
}

// ---- sessions

session::Session Studio::session() const {
  return {checkpoints().entries(), input(), state_of_input(), document_.figures()};
}

void Studio::restore(const session::Session& session, const std::filesystem::path& file) {
  columns_.clear();
  worker_.drop(kGenerate);
  history_.clear();
  document_.set_figures(session.bookmarks);
  forget_footing();
  history_.set(session.state);
  input_.put(session.input);
  Q_EMIT state_changed();
  for (const session::CheckpointEntry& entry : session.checkpoints) {
    columns_.open(entry);
  }
  set_saved(file);
}

session::Bookmark Studio::present(const std::string& name) const {
  return {name, state_of_input(), input(), checkpoints().shown_entries(), {}};
}

void Studio::add_bookmark(const std::string& name) {
  std::vector<session::Bookmark> figures = document_.figures();
  figures.push_back(present(name));
  set_bookmarks(std::move(figures));
}

void Studio::set_bookmarks(std::vector<session::Bookmark> figures) {
  history_.push({state(), {}, {}, document_.figures()});
  document_.set_figures(std::move(figures));
  Q_EMIT state_changed();
}

void Studio::show(const session::Bookmark& bookmark) {
  Step back{state(), {}, {}, {}};
  Step step{bookmark.state, bookmark.input, {}, {}};
  if (bookmark.columns.empty() && !bookmark.state.unlinked.empty()) {
    back.columns = checkpoints().shown_entries();
    step.columns = back.columns;
    session::hand_out_heads(step.state, *step.columns);
  }
  if (bookmark.input) {
    back.input = input();
  }
  if (!bookmark.columns.empty()) {
    back.columns = checkpoints().shown_entries();
    step.columns = bookmark.columns;
  }
  history_.push(std::move(back));
  apply(step);
}

}  // namespace locus::workbench
