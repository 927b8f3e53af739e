// Ways to begin: the welcome, the hub's cache, ids without a tokenizer, what if.
#include "tests/support/window.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDockWidget>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QTimer>
#include <QToolButton>
#include <QTreeWidget>
#include <array>
#include <fstream>
#include <map>

#include "app/figures/assets.h"
#include "app/workbench/docks/figure_list.h"
#include "app/workbench/docks/what_if_dialog.h"
#include "app/workbench/input/ids_input.h"
#include "app/workbench/input/ids_panel.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/widgets/qt_text.h"
#include "core/base/atomic_file.h"
#include "tests/support/hub_server.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

namespace fs = std::filesystem;

class WindowOpening : public WindowTest {
 protected:
  template <class T>
  T* find(const char* name) {
    return window_->findChild<T*>(QLatin1String(name));
  }

  // Opens a checkpoint of the repository as the program does, without the fixture's models.
  void open_real(const std::string& path) {
    opener_ = [](const fs::path& file, const models::OpenOptions& options, const StopToken&, const Progress&) {
      return models::open(file, options);
    };
    window_.reset();
    make_window();
    session::CheckpointEntry entry;
    entry.path = test::source_dir() + path;
    entry.shown = true;
    window_->studio().column_actions().open(entry);
  }
};

TEST_F(WindowOpening, IdsAreWholeNumbersOfTheVocabulary) {
  EXPECT_EQ(*parse_ids("[1, 2;3\n 4]", 5), (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_TRUE(parse_ids(" , ", 5)->empty());
  for (const char* wrong : {"5", "-1", "1.5", "x", "1e3", "99999999999999999999"}) {
    EXPECT_EQ(parse_ids(std::string("1 ") + wrong, 5).error().message,
              std::string("expected ids from 0 to 4, found ") + wrong);
  }
  const auto ids = random_ids(1000, 7, 5);
  EXPECT_EQ(ids, random_ids(1000, 7, 5));
  EXPECT_NE(ids, random_ids(1000, 8, 5));
  for (std::int64_t id = 0; id < 5; ++id) {
    EXPECT_NEAR(static_cast<double>(std::count(ids.begin(), ids.end(), id)), 200, 60);  // 4.7 standard deviations
  }
}

// An adapter whose base is not found where it says: the window asks, and its session knows.
TEST_F(WindowOpening, AnAdapterAsksForItsBaseAndASessionKeepsIt) {
  const fs::path golden = fs::path(test::source_dir()) / "tests" / "golden" / "variants" / "adapters";
  QTemporaryDir folder;
  const fs::path place = fs::canonical(folder.path().toStdString());
  fs::copy(golden / "lora", place / "lora");
  fs::copy(golden / "base", place / "base");
  std::string config = read_file(place / "lora" / "adapter_config.json", 1 << 20).value();
  const std::string named = "\"../base\"";
  ASSERT_NE(config.find(named), std::string::npos);
  config.replace(config.find(named), named.size(), "\"nobody/nothing\"");
  ASSERT_TRUE(write_file(place / "lora" / "adapter_config.json", config).ok());
  opener_ = models::open;
  window_.reset();
  make_window();
  const auto column = [this]() -> const Checkpoint& { return window_->studio().checkpoints().all().back(); };
  window_->studio().inputs().set_ids({1, 2, 3});
  window_->open_path((place / "lora").string());
  ASSERT_TRUE(settle());
  ASSERT_TRUE(column().error.has_value());
  auto* action = find<QPushButton>("help-with-it");
  ASSERT_TRUE(action->isVisible());
  EXPECT_EQ(action->text(), QStringLiteral("Choose its base…"));
  QTimer::singleShot(0, window_.get(), [&] {
    ASSERT_TRUE(wait([this] { return find<QFileDialog>("adapter-base") != nullptr; }));
    auto* dialog = find<QFileDialog>("adapter-base");
    dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))->setText(qt((place / "base").string()));
    dialog->findChild<QDialogButtonBox*>(QStringLiteral("buttonBox"))->button(QDialogButtonBox::Open)->click();
  });
  action->click();
  ASSERT_TRUE(settle());
  ASSERT_NE(column().model, nullptr) << (column().error ? column().error->describe() : "");
  EXPECT_EQ(column().entry.base, place / "base");
  const fs::path file = place / "adapter.locus.json";
  ASSERT_TRUE(session::save_session(window_->studio().sessions().session(), file).ok());
  window_.reset();
  make_window();
  window_->open_path(file.string());
  ASSERT_TRUE(settle());
  ASSERT_NE(column().model, nullptr) << (column().error ? column().error->describe() : "");
  EXPECT_EQ(column().entry.base, place / "base");
  // As the command line names it.
  options_.base = (place / "base").string();
  window_.reset();
  make_window();
  window_->studio().inputs().set_ids({1, 2, 3});
  window_->open_path((place / "lora").string());
  ASSERT_TRUE(settle());
  EXPECT_NE(column().model, nullptr) << (column().error ? column().error->describe() : "");
}

TEST_F(WindowOpening, IdsAreTypedDrawnAndBorrowed) {
  open("gentle");
  type("ab");
  ASSERT_TRUE(settle());
  find<QToolButton>("type-ids")->click();
  auto* editor = find<QPlainTextEdit>("ids-editor");
  ASSERT_TRUE(editor->isVisible());
  EXPECT_EQ(editor->toPlainText(), QStringLiteral("97, 98"));  // those of the text, to begin with
  editor->setPlainText(QStringLiteral("1 2 300"));
  EXPECT_TRUE(find<QLabel>("ids-error")->isVisible());
  EXPECT_EQ(window_->studio().input().ids, (std::vector<std::int64_t>{97, 98}));
  editor->setPlainText(QStringLiteral("1 2 3"));
  EXPECT_FALSE(find<QLabel>("ids-error")->isVisible());
  EXPECT_EQ(window_->studio().input().ids, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(editor->toPlainText(), QStringLiteral("1 2 3"));  // as it was typed
  find<QSpinBox>("random-count")->setValue(9);
  find<QToolButton>("random-ids")->click();
  EXPECT_EQ(window_->studio().input().ids, random_ids(9, 0, 256));
  auto* lenders = find<QMenu>("lenders");
  Q_EMIT lenders->aboutToShow();
  ASSERT_EQ(lenders->actions().size(), 2);  // and a folder
  lenders->actions().front()->trigger();
  EXPECT_EQ(window_->studio().input().ids, (std::vector<std::int64_t>{97, 98}));
  find<QToolButton>("type-text")->click();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().input().text, "ab");
  window_->studio().undo();  // to before the ids
  ASSERT_TRUE(settle());
}

// A checkpoint that reads ids only: the message has the button that helps, and any folder lends its tokenizer.
TEST_F(WindowOpening, IdsOnlyIsSaidWithAWayOut) {
  const QTemporaryDir temporary;
  const fs::path folder = fs::path(temporary.path().toStdString()) / "ids-only";
  const std::string lender = test::source_dir() + "/assets/checkpoints/text-words-rope";
  fs::copy(lender, folder);
  fs::remove(folder / "tokenizer.json");
  opener_ = models::open;
  window_.reset();
  make_window();
  type("the cat");
  window_->open_path(folder);
  ASSERT_TRUE(settle());
  auto* help = find<QPushButton>("help-with-it");
  ASSERT_TRUE(help->isVisible());
  EXPECT_EQ(help->text(), QStringLiteral("Ids…"));
  help->click();
  EXPECT_TRUE(find<QPlainTextEdit>("ids-editor")->isVisible());
  auto* input = dynamic_cast<InputDock*>(find<QDockWidget>("input-dock"));
  ASSERT_NE(input, nullptr);
  input->ids().borrow_from(folder);
  EXPECT_NE(window_->last_message().indexOf(QStringLiteral("expected tokenizer.json")), -1)
      << window_->last_message().toStdString();
  input->ids().borrow_from(lender);
  ASSERT_TRUE(settle());
  const auto model = models::open(lender);
  models::Input text;
  text.text = "the cat";
  const auto tokens = (*model)->tokenize(text);
  std::vector<std::int64_t> expected;
  for (const models::TokenInfo& token : *tokens) {
    expected.push_back(token.id);
  }
  EXPECT_EQ(window_->studio().input().ids, expected);
  EXPECT_EQ(window_->studio().checkpoints().shown().size(), 1U);
}

// Opens what is in the cache, but for what is called broken.
Result<std::shared_ptr<const models::Model>> open_cached(const fs::path& path, const models::OpenOptions& options,
                                                         const StopToken& stop, const Progress& progress) {
  if (path.string().find("broken") != std::string::npos) {
    return bad_input("model_type novelty: expected one of the families", path.string());
  }
  return open_fake(path, options, stop, progress);
}

TEST_F(WindowOpening, TheHubsCacheIsListedWithWhatOpens) {
  opener_ = open_cached;
  window_.reset();
  make_window();
  const QTemporaryDir cache;
  for (const char* name : {"models--one--broken", "models--one--tiny"}) {
    const fs::path model = fs::path(cache.path().toStdString()) / name;
    const std::string commit(40, '7');
    fs::create_directories(model / "refs");
    fs::create_directories(model / "snapshots" / commit);
    std::ofstream(model / "refs/main") << commit;
    std::ofstream(model / "snapshots" / commit / "weights.bin") << std::string(2048, 'x');
  }
  qputenv("HF_HUB_CACHE", cache.path().toLocal8Bit());
  find<QAction>("open-hub")->trigger();
  auto* tree = find<QTreeWidget>("hub-models");
  ASSERT_NE(tree, nullptr);
  ASSERT_EQ(tree->topLevelItemCount(), 2);
  ASSERT_TRUE(wait([&] { return tree->topLevelItem(1)->text(4) != QStringLiteral("…"); }));
  EXPECT_EQ(tree->topLevelItem(0)->text(0), QStringLiteral("one/broken"));
  EXPECT_TRUE(tree->topLevelItem(0)->text(4).startsWith(QStringLiteral("no: model_type novelty")));
  EXPECT_EQ(tree->topLevelItem(1)->text(1), QStringLiteral("main"));
  EXPECT_EQ(tree->topLevelItem(1)->text(2), QStringLiteral("locus"));
  EXPECT_EQ(tree->topLevelItem(1)->text(3), QStringLiteral("2.0 KiB"));
  EXPECT_EQ(tree->topLevelItem(1)->text(4), QStringLiteral("yes"));
  tree->setCurrentItem(tree->topLevelItem(1));
  find<QPushButton>("hub-open")->click();
  qunsetenv("HF_HUB_CACHE");
  ASSERT_TRUE(settle());
  ASSERT_EQ(window_->studio().checkpoints().all().size(), 1U);
  EXPECT_EQ(window_->studio().checkpoints().all()[0].name, "one/tiny");
}

TEST_F(WindowOpening, AModelIsFetchedFromTheHubAndOpens) {
  test::HubServer server;
  server.files["config.json"] = test::small_file("{}");
  server.files["model.safetensors"] = test::large_file(std::string(400'000, 'x'));
  server.files["model.safetensors"].bytes_per_second = 200'000;
  const QTemporaryDir cache;
  qputenv("HF_HUB_CACHE", cache.path().toLocal8Bit());
  qputenv("HF_ENDPOINT", QByteArray::fromStdString(server.endpoint()));
  find<QAction>("get-hub")->trigger();
  auto* name = find<QLineEdit>("get-name");
  auto* files = find<QTreeWidget>("get-files");
  auto* says = find<QLabel>("get-says");
  ASSERT_NE(name, nullptr);
  EXPECT_FALSE(find<QPushButton>("get-fetch")->isEnabled());
  EXPECT_TRUE(server.seen().empty()) << "nothing is asked before its button is pressed";
  name->setText(QStringLiteral("some-one/else"));
  find<QPushButton>("get-look")->click();
  ASSERT_TRUE(wait([&] { return says->text().contains(QStringLiteral("no such model")); }))
      << says->text().toStdString();
  name->setText(QStringLiteral(" some-one/tiny "));
  find<QPushButton>("get-look")->click();
  ASSERT_TRUE(wait([&] { return files->topLevelItemCount() == 2; })) << says->text().toStdString();
  EXPECT_EQ(files->topLevelItem(1)->text(0), QStringLiteral("model.safetensors"));
  EXPECT_EQ(files->topLevelItem(1)->text(1), QStringLiteral("400.0 kB"));
  EXPECT_EQ(files->topLevelItem(1)->text(2), QStringLiteral("to fetch"));
  EXPECT_TRUE(server.bodies("model.safetensors").empty());
  // Stopped on its way, and gone on with.
  find<QPushButton>("get-fetch")->click();
  auto* bar = find<QProgressBar>("get-bar");
  ASSERT_TRUE(wait([&] { return bar->value() > 100; }));
  find<QPushButton>("get-stop")->click();
  ASSERT_TRUE(wait([&] { return says->text().startsWith(QStringLiteral("Stopped. Complete files are kept")); }));
  server.files["model.safetensors"].bytes_per_second = 0;
  find<QPushButton>("get-fetch")->click();
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().all().size() == 1; }));
  ASSERT_TRUE(settle());
  qunsetenv("HF_HUB_CACHE");
  qunsetenv("HF_ENDPOINT");
  EXPECT_EQ(window_->studio().checkpoints().all()[0].name, "some-one/tiny");
  EXPECT_TRUE(server.bodies("model.safetensors").back().range.starts_with("bytes="));
}

TEST_F(WindowOpening, WhatIfBeginsAtTheCheckpointsOwnValues) {
  models::ModelInfo info;
  info.encodings = {
      {"none", {}, false, false, {}},
      {"rope", {{"base", 500000.0}, {"scaling", std::string("llama3")}, {"factor", 8.0}}, false, false, {}}};
  const OwnRotation own = own_rotation(info);
  EXPECT_EQ(own.base, 500000);
  EXPECT_EQ(own.scaling, "llama3");
  EXPECT_EQ(own.factor, 8);
  EXPECT_TRUE(own.scales);
  EXPECT_EQ(own_rotation({}).base, 0);
  info.encodings = {{"tape", {{"base", 300.0}, {"start", std::string("rope")}}, false, true, {}}};
  EXPECT_EQ(own_rotation(info).base, 300);
  EXPECT_FALSE(own_rotation(info).scales);
  info.encodings[0].options.set("start", std::string("random"));
  EXPECT_EQ(own_rotation(info).base, 0);
}

TEST_F(WindowOpening, WhatIfRunsAsItsSlidersMove) {
  // Opens with a rotation, whose base it takes.
  static std::vector<double> asked;
  asked.clear();
  opener_ = [](const fs::path& path, const models::OpenOptions& options, const StopToken&, const Progress&) {
    asked.push_back(options.overrides.rope_base.value_or(0));
    test::FakeShape shape;
    shape.name = path.filename().string();
    shape.rope = true;
    return Result<std::shared_ptr<const models::Model>>(std::make_shared<test::FakeModel>(shape));
  };
  window_.reset();
  make_window();
  open("turning");
  type("one two");
  ASSERT_TRUE(settle());
  WhatIfDialog dialog(window_->studio(), window_->studio().checkpoints().all()[0].id, window_.get());
  dialog.setAttribute(Qt::WA_DeleteOnClose, false);
  dialog.show();
  EXPECT_TRUE(dialog.findChild<QLabel*>(QStringLiteral("what-if-own"))->text().contains(QStringLiteral("base 10000")));
  auto* base = dialog.findChild<QDoubleSpinBox*>(QStringLiteral("what-if-base"));
  EXPECT_EQ(base->value(), 10000);
  auto* slider = dialog.findChild<QSlider*>(QStringLiteral("what-if-base-slider"));
  press(slider, Qt::Key_Right);
  ASSERT_TRUE(wait([this] { return window_->studio().checkpoints().shown().size() == 2; }));
  ASSERT_TRUE(settle());
  const double first = *window_->studio().checkpoints().all()[1].entry.overrides.rope_base;
  EXPECT_GT(first, 10000);
  press(slider, Qt::Key_PageUp);
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().all()[1].entry.overrides.rope_base > first; }));
  ASSERT_TRUE(settle());
  ASSERT_EQ(window_->studio().checkpoints().all().size(), 2U);  // the same column
  EXPECT_EQ(asked.back(), *window_->studio().checkpoints().all()[1].entry.overrides.rope_base);
  EXPECT_EQ(window_->studio().checkpoints().all()[1].name,
            "turning" + models::label_of(window_->studio().checkpoints().all()[1].entry.overrides));
  EXPECT_EQ(base->value(), asked.back());
  // Clipping takes a number of pairs instead of a factor.
  auto* scaling = dialog.findChild<QComboBox*>(QStringLiteral("what-if-scaling"));
  auto* number = dialog.findChild<QDoubleSpinBox*>(QStringLiteral("what-if-factor"));
  scaling->setCurrentText(QStringLiteral("clipped, hard"));
  EXPECT_EQ(number->value(), 20);
  EXPECT_EQ(number->minimum(), 1);
  number->setValue(5);
  const auto applied = [&] { return window_->studio().checkpoints().all()[1].entry.overrides.rope_scaling; };
  ASSERT_TRUE(wait([&] { return applied() == "clipped:5:hard"; })) << applied();
  scaling->setCurrentText(QStringLiteral("clipped, soft"));
  EXPECT_EQ(number->value(), 5);  // as many pairs
  scaling->setCurrentText(QStringLiteral("proportional"));
  number->setValue(0.25);
  ASSERT_TRUE(wait([&] { return applied() == "proportional:0.25"; })) << applied();
  scaling->setCurrentText(QStringLiteral("linear"));
  EXPECT_EQ(number->value(), 1);
  ASSERT_TRUE(settle());
  // Fast products are said in the name.
  dialog.findChild<QCheckBox*>(QStringLiteral("what-if-fast"))->setChecked(true);
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().all()[1].entry.overrides.fast; }));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window_->studio().checkpoints().all()[1].name.ends_with(" fast products"));
  EXPECT_FALSE(window_->studio().checkpoints().all()[0].entry.overrides.fast);
}

TEST_F(WindowOpening, WhatIfSaysTheDivergenceBesideItsSliders) {
  open_real("/assets/checkpoints/text-rope");
  type("One boat, two boats.");
  ASSERT_TRUE(settle());
  const auto& all = window_->studio().checkpoints().all();
  ASSERT_EQ(all.size(), 1U);
  WhatIfDialog dialog(window_->studio(), all[0].id, window_.get());
  dialog.setAttribute(Qt::WA_DeleteOnClose, false);
  dialog.show();
  const auto* said = dialog.findChild<QLabel*>(QStringLiteral("what-if-effect"));
  EXPECT_TRUE(said->text().startsWith(QStringLiteral("none yet")));
  const auto effect_of = [](const std::string& scaling) {
    std::vector<std::shared_ptr<const models::Model>> opened;
    for (const std::string& each : {std::string(), scaling}) {
      models::OpenOptions options;
      options.overrides.rope_scaling = each;
      opened.push_back(*models::open(test::source_dir() + "/assets/checkpoints/text-rope", options));
    }
    models::Input input;
    input.text = "One boat, two boats.";
    return *models::effect_of_change(*opened[0], *opened[1], input);
  };
  auto* scaling = dialog.findChild<QComboBox*>(QStringLiteral("what-if-scaling"));
  auto* number = dialog.findChild<QDoubleSpinBox*>(QStringLiteral("what-if-factor"));
  scaling->setCurrentText(QStringLiteral("proportional"));
  for (const double share : {0.25, 0.5}) {
    number->setValue(share);
    const models::Effect effect = effect_of("proportional:" + std::string(share == 0.25 ? "0.25" : "0.5"));
    EXPECT_GT(effect.kl.back(), 0);
    const QString wanted = qt(effect_text(effect));
    EXPECT_TRUE(wanted.startsWith(QStringLiteral("KL ")) && wanted.contains(QStringLiteral("; loss ")));
    EXPECT_TRUE(wait([&] { return said->text() == wanted; }))
        << said->text().toStdString() << " instead of " << wanted.toStdString();
  }
  scaling->setCurrentText(QStringLiteral("clipped, hard"));
  number->setValue(4);
  const QString clipped = qt(effect_text(effect_of("clipped:4:hard")));
  EXPECT_TRUE(wait([&] { return said->text() == clipped; }))
      << said->text().toStdString() << " instead of " << clipped.toStdString();
  scaling->setCurrentIndex(0);  // as the checkpoint
  EXPECT_TRUE(wait([&] { return said->text().startsWith(QStringLiteral("KL 0 nats")); })) << said->text().toStdString();
  ASSERT_TRUE(settle());
}

// A tower without rotary encoding has no base: its text half opens without one, and runs on the text.
TEST_F(WindowOpening, WhatIfOpensTheTextHalf) {
  open_real("/tests/golden/variants/pairs/clip");
  type("a b c d");
  const auto& all = window_->studio().checkpoints().all();
  ASSERT_TRUE(wait([&] { return all.size() == 1 && all[0].model; }));
  WhatIfDialog dialog(window_->studio(), all[0].id, window_.get());
  dialog.setAttribute(Qt::WA_DeleteOnClose, false);
  dialog.show();
  dialog.findChild<QCheckBox*>(QStringLiteral("what-if-half"))->setChecked(true);
  ASSERT_TRUE(wait([&] { return all.size() == 2 && all[1].model; }));
  EXPECT_EQ(all[1].name, "clip text half");
  EXPECT_FALSE(all[1].entry.overrides.rope_base);
  ASSERT_TRUE(wait([&] { return all[1].trace != nullptr; }));
  EXPECT_GE(all[1].trace->tokens().size(), 4U);
}

// Gemma 3 has another base where it sees a window alone: the dialog begins with the layers that config.json means.
TEST_F(WindowOpening, WhatIfOffersTheLayersThatObey) {
  open_real("/tests/golden/families/gemma3_text");
  const auto& all = window_->studio().checkpoints().all();
  ASSERT_TRUE(wait([&] { return all.size() == 1 && all[0].model; }));
  WhatIfDialog dialog(window_->studio(), all[0].id, window_.get());
  dialog.setAttribute(Qt::WA_DeleteOnClose, false);
  dialog.show();
  const auto* says = dialog.findChild<QLabel*>(QStringLiteral("what-if-own"));
  auto* base = dialog.findChild<QDoubleSpinBox*>(QStringLiteral("what-if-base"));
  auto* layers = dialog.findChild<QComboBox*>(QStringLiteral("what-if-layers"));
  EXPECT_TRUE(says->text().contains(QStringLiteral("base 20000, scaling linear by 4 in its global layers")));
  EXPECT_EQ(layers->currentText(), QStringLiteral("as the checkpoint (global)"));
  EXPECT_EQ(base->value(), 20000);
  const auto choose = [&](const QString& text) {
    layers->setEditText(text);
    press(layers, Qt::Key_Return);
  };
  choose(QStringLiteral("0, 7"));
  EXPECT_TRUE(says->text().contains(QStringLiteral("from 0 to 3, as in 5,11; found 0, 7")));
  choose(QStringLiteral("local"));
  EXPECT_TRUE(says->text().contains(QStringLiteral("base 100, scaling none in its local layers")));
  EXPECT_EQ(base->value(), 100);
  base->setValue(500);
  ASSERT_TRUE(wait([&] { return all.size() == 2 && all[1].model; }));
  EXPECT_EQ(all[1].name, "gemma3_text base 500@local");
  choose(QStringLiteral("0, 1"));
  ASSERT_TRUE(wait([&] { return all[1].entry.overrides.rope_base_layers == "0,1" && !all[1].opening; }));
  EXPECT_EQ(all[1].name, "gemma3_text base 500@0,1");
  choose(QStringLiteral("as the checkpoint (global)"));
  ASSERT_TRUE(wait([&] { return all[1].entry.overrides.rope_base_layers.empty() && !all[1].opening; }));
  EXPECT_EQ(all[1].name, "gemma3_text base 500@global");  // what it opened as
}

TEST_F(WindowOpening, TheFirstStartBeginsWithAPageAndHelpShowsItAgain) {
  const auto start = [this]() -> QWidget* {
    auto* page = find<QWidget>("start-page");
    return page != nullptr && page->isVisible() ? page : nullptr;
  };
  window_->open_first();
  ASSERT_TRUE(settle());
  ASSERT_NE(start(), nullptr);
  // A choice gives the canvas its place again.
  find<QPushButton>("start-text")->click();
  EXPECT_EQ(start(), nullptr);
  EXPECT_EQ(window_->focusWidget()->objectName(), QStringLiteral("editor"));
  find<QAction>("getting-started")->trigger();
  ASSERT_NE(start(), nullptr);
  press(start(), Qt::Key_Escape);
  EXPECT_EQ(start(), nullptr);
  EXPECT_TRUE(find<QWidget>("canvas-holder")->isVisible());
  find<QAction>("getting-started")->trigger();
  window_->open_path("gentle");
  EXPECT_EQ(start(), nullptr);
  ASSERT_TRUE(settle());
  window_->close();
  window_.reset();
  make_window();
  window_->open_first();
  ASSERT_TRUE(settle());
  EXPECT_EQ(start(), nullptr);  // the first start alone
  find<QAction>("getting-started")->trigger();
  EXPECT_EQ(start()->findChildren<QToolButton*>(QString()).isEmpty(), figures::bundled_session().empty());
}

// As it comes with the program: live figures, the last files, and every figure of the papers as a picture.
TEST_F(WindowOpening, TheStartPageRunsItsFiguresAndShowsAllOthers) {
  if (figures::bundled_session().empty()) {
    GTEST_SKIP() << "the assets are not beside this program";
  }
  opener_ = models::open;
  window_.reset();
  make_window();
  find<QAction>("getting-started")->trigger();
  auto* page = find<QWidget>("start-page");
  const std::array names{"start-a-head", "start-two-encodings", "start-word-to-picture", "start-a-moved-token"};
  for (const char* name : names) {
    auto* card = find<QToolButton>(name);
    ASSERT_NE(card, nullptr) << name;
    EXPECT_FALSE(card->accessibleDescription().isEmpty());
    EXPECT_TRUE(wait([&] { return card->property("drawn").toBool(); })) << name;
  }
  for (const int width : {900, 1280, 1680, 2400}) {  // in lines of as many cards each
    window_->resize(width, 900);
    QCoreApplication::processEvents();
    std::map<int, int> lines;
    for (const char* name : names) {
      ++lines[find<QToolButton>(name)->y()];
    }
    for (const auto& [y, cards] : lines) {
      EXPECT_EQ(cards, lines.begin()->second) << "at y " << y << " of a window " << width << " wide";
    }
  }
  const auto bundled = session::load_session(figures::bundled_session());
  ASSERT_TRUE(bundled.ok());
  std::size_t listed = 0;
  for (const char* group : {"tape", "cope", "tapa", "seqpe", "tools"}) {
    auto* sheet = find<QListWidget>((std::string("sheet-") + group).c_str());
    ASSERT_NE(sheet, nullptr) << group;
    for (int n = 0; n < sheet->count(); ++n) {
      EXPECT_FALSE(sheet->item(n)->data(FigureDelegate::kPicture).value<QPixmap>().isNull())
          << "assets/sessions/pictures lacks " << sheet->item(n)->text().toStdString()
          << ": assets/screenshots/take_figures makes it";
    }
    listed += static_cast<std::size_t>(sheet->count());
  }
  EXPECT_EQ(listed, bundled->bookmarks.size());
  find<QToolButton>("start-a-head")->click();
  ASSERT_TRUE(settle());
  EXPECT_FALSE(page->isVisible());
  EXPECT_EQ(window_->studio().state().view, "attention");
  EXPECT_NE(window_->studio().scheduler().figure(), nullptr);
}

}  // namespace
}  // namespace locus::workbench
