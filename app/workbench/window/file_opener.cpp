#include "app/workbench/window/file_opener.h"

#include <QAbstractItemView>
#include <QFileDialog>
#include <QInputDialog>
#include <QMenu>
#include <QSettings>
#include <algorithm>

#include "app/figures/assets.h"
#include "app/figures/open_columns.h"
#include "app/session/portable.h"
#include "app/session/recipe.h"
#include "app/workbench/input/ids_input.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/input/input_files.h"
#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/window/atlas_dialog.h"
#include "app/workbench/window/get_dialog.h"
#include "app/workbench/window/hub_dialog.h"
#include "app/workbench/window/machine_questions.h"
#include "app/workbench/window/message_bar.h"
#include "app/workbench/window/session_controller.h"
#include "app/workbench/work/checkpoint_list.h"
#include "core/base/atomic_file.h"
#include "models/api/adapter.h"
#include "models/remote/address.h"
#include "renderers/paper/paper.h"

namespace locus::workbench {

namespace {

constexpr int kMaxRecent = 10;
constexpr std::size_t kMaxRecipeBytes = std::size_t{64} << 20;
const QString kRecentKey = QStringLiteral("recent");
const QString kMachinePath = QStringLiteral("ssh://");
constexpr int kMachinePathPx = 560;

// Whether a path is one of another machine.
bool is_there(const QString& path) {
  return remote::is_remote(path.toStdString());
}

// Its lists of files take more than one.
void choose_several(QFileDialog& dialog) {
  for (const char* name : {"listView", "treeView"}) {
    if (auto* list = dialog.findChild<QAbstractItemView*>(QLatin1String(name))) {
      list->setSelectionMode(QAbstractItemView::ExtendedSelection);
    }
  }
}

// The dialog names the folder that is looked at beside those that are chosen in it.
QStringList chosen_folders(const QStringList& paths) {
  QStringList list;
  for (const QString& path : paths) {
    const bool holds_another = std::any_of(paths.begin(), paths.end(), [&](const QString& other) {
      return other != path && other.startsWith(path.endsWith(QLatin1Char('/')) ? path : path + QLatin1Char('/'));
    });
    if (!holds_another && !list.contains(path)) {
      list << path;
    }
  }
  return list;
}

// A text for a checkpoint that reads ids only.
bool wants_ids(const Studio& studio) {
  const std::vector<Checkpoint>& all = studio.checkpoints().all();
  return studio.input().text && std::any_of(all.begin(), all.end(), [](const Checkpoint& each) {
           const models::ModelInfo* info = each.info();
           return each.entry.shown && info != nullptr && !info->image && !info->tokenizer;
         });
}

// A shown adapter whose base was not found; null: there is none.
const Checkpoint* without_base(const Studio& studio) {
  const std::vector<Checkpoint>& all = studio.checkpoints().all();
  const auto found = std::find_if(all.begin(), all.end(), [](const Checkpoint& each) {
    return each.entry.shown && !each.model && each.error && models::lacks_base(*each.error);
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

FileOpener::FileOpener(QWidget& window, Studio& studio, SessionController& sessions, MachineQuestions& machines,
                       InputDock& input, MessageBar& messages, QSettings& settings)
    : window_(window),
      studio_(studio),
      sessions_(sessions),
      machines_(machines),
      input_(input),
      messages_(messages),
      settings_(settings) {
  connect(&studio_, &Studio::checkpoints_changed, this, &FileOpener::remember_opened);
  connect(&studio_, &Studio::failed, this, [this](const QString& message) {
    messages_.show_checkpoint_failure(message);
    if (!session::missing_checkpoints(studio_.sessions().session(), false).empty()) {
      messages_.show_action(QStringLiteral("Find it…"), [this] { sessions_.find_missing(); });
    } else if (const Checkpoint* const adapter = without_base(studio_)) {
      messages_.show_action(QStringLiteral("Choose its base…"), [this, id = adapter->id] { ask_base(id); });
    } else if (wants_ids(studio_)) {
      messages_.show_action(QStringLiteral("Ids…"), [this] { input_.ids().begin(); });
    }
  });
  connect(&sessions_, &SessionController::saved, this, [this](const QString& path) { remember(path.toStdString()); });
  connect(&input_, &InputDock::failed, this, [this](const QString& text) { messages_.show_message(text, true); });
  connect(&input_, &InputDock::no_text, this, [this](const QString& path) {
    messages_.show_action(QStringLiteral("Read its bytes"),
                          [this, path] { input_.open_text(path.toStdString(), true); });
  });
}

void FileOpener::open(const std::filesystem::path& path) {
  Q_EMIT opening();
  std::error_code code;
  if (remote::is_remote(path.native())) {
    open_checkpoint(path);
    return;
  }
  if (!std::filesystem::exists(path, code)) {
    messages_.show_message(QStringLiteral("%1: there is no such file or folder").arg(qt(path.string())), true);
    messages_.show_action(QStringLiteral("Open another…"), [this] { ask_files(); });
    return;
  }
  const bool file = std::filesystem::is_regular_file(path, code);
  if (session::is_session(path)) {
    if (sessions_.open(path)) {
      remember(path);
    }
  } else if (file && open_figure(path)) {
    remember(path);
  } else if (file && is_image(path)) {
    input_.open_image(path);
    remember(path);
  } else if (file && is_video(path)) {
    input_.open_video(path);
    remember(path);
  } else if (file && is_text(path)) {
    if (input_.open_text(path)) {
      remember(path);
    }
  } else {
    open_checkpoint(path);
  }
}

void FileOpener::open_checkpoint(const std::filesystem::path& path) {
  std::error_code code;
  session::CheckpointEntry entry;
  entry.path = path;
  entry.base = session::base_for(path, base_);
  machines_.named(path);
  opening_.push_back(remote::is_remote(path.native()) ? path : std::filesystem::weakly_canonical(path, code));
  studio_.column_actions().open(entry);
  remember_opened();  // it may have been open
}

void FileOpener::open_all(const QStringList& paths) {
  for (const QString& path : paths) {
    open(path.toStdString());
  }
}

bool FileOpener::open_figure(const std::filesystem::path& path) {
  const std::string ending = qt(path.extension().string()).toLower().toStdString();
  const bool json = ending == ".json";
  if (!json && ending != ".png" && ending != ".svg" && ending != ".pdf" && ending != ".html") {
    return false;
  }
  const auto text = json ? read_file(path, kMaxRecipeBytes) : paper::read_recipe(path);
  auto recipe = text ? session::parse_recipe(*text, path.string()) : Result<session::Recipe>(text.error());
  const bool named_so = path.filename().string().ends_with(".recipe.json");
  if (!recipe && (ending == ".png" || ending == ".html" || (json && !named_so))) {
    return false;  // a picture, some text, a checkpoint's index
  }
  if (!recipe) {
    messages_.show_error(recipe.error());
    return true;
  }
  session::Bookmark figure;
  figure.name = path.stem().string();
  figure.state = recipe->session.state;
  figure.input = recipe->session.input;
  for (const session::CheckpointEntry& entry : recipe->session.checkpoints) {
    if (entry.shown) {
      figure.columns.push_back(entry);
    }
  }
  studio_.sessions().show(figure);
  messages_.show_message(QStringLiteral("what %1 shows; Ctrl+Z goes back").arg(qt(path.filename().string())));
  return true;
}

void FileOpener::open_first(const std::vector<std::filesystem::path>& paths) {
  std::error_code code;
  const std::filesystem::path bundled = figures::bundled_session();
  if (!paths.empty()) {
    // Texts and images need something to run on.
    const bool only_inputs = std::all_of(paths.begin(), paths.end(), [&](const auto& path) {
      return std::filesystem::is_regular_file(path, code) && (is_text(path) || is_image(path) || is_video(path));
    });
    if (only_inputs && !bundled.empty()) {
      sessions_.open(bundled);
    }
    for (const auto& path : paths) {
      open(path);
    }
  } else if (!sessions_.open_last() && std::filesystem::exists(bundled, code)) {
    sessions_.open(bundled);
  }
  if (studio_.input() == models::Input{}) {
    studio_.inputs().set_text("The quick brown fox jumps over the lazy dog.");
  }
  sessions_.show_title();
  sessions_.offer_recovery();
}

// ---- what was opened

void FileOpener::remember(const std::filesystem::path& path) {
  std::error_code code;
  const bool there = remote::is_remote(path.native());
  const QString name = qt(there ? path.string() : std::filesystem::absolute(path, code).lexically_normal().string());
  QStringList recent = settings_.value(kRecentKey).toStringList();
  recent.removeAll(name);
  recent.prepend(name);
  settings_.setValue(kRecentKey, QStringList(recent.mid(0, kMaxRecent)));
  Q_EMIT recent_changed();
}

// A checkpoint that the user asked for is recent once it has opened; one that failed is not.
void FileOpener::remember_opened() {
  for (const Checkpoint& each : studio_.checkpoints().all()) {
    const auto asked = std::find(opening_.begin(), opening_.end(), each.entry.path);
    const bool opened = each.model || each.trace;
    if (asked != opening_.end() && (opened || each.error)) {
      opening_.erase(asked);
      if (opened) {
        remember(each.entry.path);
      } else if ((each.error->code == ErrorCode::kBadInput || each.error->code == ErrorCode::kUnsupported) &&
                 !models::lacks_base(*each.error)) {
        drop_unopened(each.id, *each.error);
      }
    }
  }
}

// Later: the list is being read.
void FileOpener::drop_unopened(int id, const Error& error) {
  QMetaObject::invokeMethod(
      this,
      [this, id, error] {
        const Checkpoint* each = studio_.checkpoints().find(id);
        if (each != nullptr && !each->model && !each->trace && each->error) {
          studio_.columns().remove(id);
          messages_.show_error(error);
        }
      },
      Qt::QueuedConnection);
}

QStringList FileOpener::recent() const {
  return settings_.value(kRecentKey).toStringList();
}

void FileOpener::fill_recent(QMenu& menu) {
  menu.clear();
  const QStringList recent = settings_.value(kRecentKey).toStringList();
  for (const QString& path : recent) {
    menu.addAction(path, this, [this, path] { open(path.toStdString()); });
  }
  menu.setEnabled(!recent.isEmpty());
}

// Where dialogs begin: beside what was opened last, at first with the bundled checkpoints.
QString FileOpener::folder() const {
  const QStringList recent = settings_.value(kRecentKey).toStringList();
  const auto here = std::find_if_not(recent.begin(), recent.end(), is_there);
  if (here != recent.end()) {
    return qt(std::filesystem::path(here->toStdString()).parent_path().string());
  }
  const auto assets = figures::assets_folder();
  return assets.empty() ? QString() : qt((assets / "checkpoints").string());
}

// ---- dialogs

// Several at once, which the system's own dialog cannot: Ctrl and Shift choose more than one.
void FileOpener::ask_folders() {
  QFileDialog dialog(&window_, QStringLiteral("Open checkpoint folders (Ctrl and Shift choose several)"), folder());
  dialog.setObjectName(QStringLiteral("open-folders"));
  dialog.setFileMode(QFileDialog::Directory);
  dialog.setOption(QFileDialog::ShowDirsOnly);
  dialog.setOption(QFileDialog::DontUseNativeDialog);
  choose_several(dialog);
  if (dialog.exec() == QDialog::Accepted) {
    open_all(chosen_folders(dialog.selectedFiles()));
  }
}

void FileOpener::ask_base(int id) {
  const Checkpoint* const adapter = studio_.checkpoints().find(id);
  if (adapter == nullptr) {
    return;
  }
  const QString title = QStringLiteral("The base model of %1").arg(qt(adapter->name));
  if (remote::is_remote(adapter->entry.path.native())) {
    const QString path = QInputDialog::getText(&window_, title, QStringLiteral("Its folder on that machine"));
    if (!path.trimmed().isEmpty()) {
      studio_.columns().change_base(id, path.trimmed().toStdString());
    }
    return;
  }
  QFileDialog dialog(&window_, title, qt(adapter->entry.path.parent_path().string()));
  dialog.setObjectName(QStringLiteral("adapter-base"));
  dialog.setFileMode(QFileDialog::Directory);
  dialog.setOption(QFileDialog::ShowDirsOnly);
  dialog.setOption(QFileDialog::DontUseNativeDialog);
  if (dialog.exec() == QDialog::Accepted) {
    studio_.columns().change_base(id, dialog.selectedFiles().front().toStdString());
  }
}

void FileOpener::ask_files() {
  open_all(QFileDialog::getOpenFileNames(
      &window_, QStringLiteral("Open checkpoints, traces, sessions, texts or images"), folder(),
      QStringLiteral(
          "All files (*);;Checkpoints and traces (*.safetensors *.gguf *.bin *.pt *.pth);;Sessions (*.locus.json)")));
}

void FileOpener::ask_session() {
  const QString path = QFileDialog::getOpenFileName(&window_, QStringLiteral("Open a session"), folder(),
                                                    QStringLiteral("Sessions (*.locus.json)"));
  if (!path.isEmpty()) {
    open(path.toStdString());
  }
}

void FileOpener::ask_remote() {
  QInputDialog dialog(&window_);
  dialog.setObjectName(QStringLiteral("open-remote"));
  dialog.setWindowTitle(QStringLiteral("Open on another machine"));
  dialog.setLabelText(QStringLiteral("A checkpoint or trace, ssh://[user@]host[:port]/path"));
  const QStringList recent = settings_.value(kRecentKey).toStringList();
  const auto last = std::find_if(recent.begin(), recent.end(), is_there);
  dialog.setTextValue(last == recent.end() ? kMachinePath : *last);
  dialog.resize(kMachinePathPx, dialog.sizeHint().height());
  if (dialog.exec() != QDialog::Accepted) {
    return;
  }
  const QString typed = dialog.textValue().trimmed();
  const std::string path = (is_there(typed) ? typed : kMachinePath + typed).toStdString();
  if (const auto address = remote::parse_address(path); !address.ok()) {
    messages_.show_error(address.error());
  } else {
    open_checkpoint(path);
  }
}

void FileOpener::ask_hub() {
  auto* dialog = new HubDialog(studio_, &window_);
  connect(dialog, &HubDialog::chosen, this, [this](const QString& folder) { open(folder.toStdString()); });
  connect(dialog, &HubDialog::wants_another, this, &FileOpener::get_from_hub);
  dialog->show();
}

// Choices of the atlas dialog: open checkpoints on this machine, without overrides, edits and a base of their own.
void FileOpener::make_atlas() {
  std::vector<AtlasDialog::Choice> choices;
  for (const Checkpoint& each : studio_.checkpoints().all()) {
    const bool plain =
        each.entry.edits.empty() && each.entry.overrides == models::Overrides{} && each.entry.base.empty();
    if (each.model && plain && !machine_of(each)) {
      choices.push_back({each.name, each.entry.path, each.model});
    }
  }
  auto* dialog = new AtlasDialog(std::move(choices), folder(), &window_);
  connect(dialog, &AtlasDialog::begun, this, [this](const QString& file) { show_atlas(file.toStdString()); });
  dialog->show();
}

// Alone: views of runs show no atlas, and views of atlases no run.
void FileOpener::show_atlas(const std::filesystem::path& file) {
  for (const Checkpoint* const each : studio_.checkpoints().shown()) {
    if (each->entry.path != file) {
      studio_.columns().set_shown(each->id, false);
    }
  }
  open(file);
  if (studio_.view().info().of_runs) {
    session::ViewState state = studio_.state();
    session::show_view(state, "atlas");
    studio_.change(state);
  }
}

void FileOpener::get_from_hub() {
  auto* dialog = new GetDialog(&window_);
  connect(dialog, &GetDialog::fetched, this, [this](const QString& folder) { open(folder.toStdString()); });
  dialog->show();
}

}  // namespace locus::workbench
