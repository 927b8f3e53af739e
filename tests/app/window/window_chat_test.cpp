// The chat format of a checkpoint in the window: a text is written as a message by one click, and back.
#include "tests/support/window.h"

#include <QToolButton>
#include <fstream>

#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

class WindowChat : public WindowTest {
 protected:
  void SetUp() override {
    opener_ = models::open;
    WindowTest::SetUp();
  }
  // A bundled checkpoint with a chat template; empty: without.
  std::string checkpoint(const std::string& name, const std::string& chat) {
    const std::filesystem::path folder = std::filesystem::path(files_.path().toStdString()) / name;
    std::filesystem::create_directories(folder);
    for (const char* file : {"config.json", "model.safetensors", "tokenizer.json"}) {
      std::filesystem::copy_file(std::filesystem::path(test::source_dir()) / "assets/checkpoints/text-rope" / file,
                                 folder / file);
    }
    if (!chat.empty()) {
      std::ofstream(folder / "chat_template.jinja") << chat;
    }
    return folder.string();
  }
  QToolButton* button() { return window_->findChild<QToolButton*>(QStringLiteral("chat")); }
  const std::string& text() { return *window_->studio().input().text; }

  QTemporaryDir files_;
};

TEST_F(WindowChat, ATextIsWrittenAsAMessageAndBack) {
  open(checkpoint("gemma", "{{ '<start_of_turn>' + role }}").c_str());
  type("Hi.");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(wait([&] { return button()->isVisible(); }));
  EXPECT_TRUE(button()->isEnabled());
  EXPECT_EQ(button()->text(), QStringLiteral("As chat"));
  EXPECT_EQ(button()->toolTip(), QStringLiteral("Write the text as a message to gemma, in the format Gemma"));
  button()->click();
  ASSERT_TRUE(settle());
  EXPECT_EQ(text(), "<start_of_turn>user\nHi.<end_of_turn>\n<start_of_turn>model\n");
  EXPECT_EQ(window_->studio().checkpoints().shown().front()->trace->text(), text());
  EXPECT_EQ(button()->text(), QStringLiteral("No chat"));
  button()->click();
  ASSERT_TRUE(settle());
  EXPECT_EQ(text(), "Hi.");
  window_->studio().undo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(button()->text(), QStringLiteral("No chat"));
}

TEST_F(WindowChat, ATemplateThatIsNotKnownIsNamedAndOtherCheckpointsHaveNoButton) {
  const std::string other = checkpoint("other", "{{ messages }}");
  const std::string plain = checkpoint("plain", "");
  open(plain.c_str());
  type("Hi.");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(button()->isVisible());
  window_->studio().column_actions().remove(window_->studio().checkpoints().all().front().id);
  open(other.c_str());
  ASSERT_TRUE(settle());
  ASSERT_TRUE(wait([&] { return button()->isVisible(); }));
  EXPECT_FALSE(button()->isEnabled());
  EXPECT_EQ(button()->toolTip(),
            QStringLiteral("The chat template of other is none of those that are known, and templates are not run"));
  window_->studio().inputs().set_ids({1, 2});
  ASSERT_TRUE(settle());
  EXPECT_FALSE(button()->isVisible());
}

}  // namespace
}  // namespace locus::workbench
