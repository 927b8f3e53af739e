// Help in the window: F1 opens the page of the view that is shown, links and the search field lead to others.
#include <QAction>
#include <QLineEdit>
#include <QListWidget>
#include <QMenuBar>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextDocumentFragment>
#include <QTextFragment>
#include <algorithm>

#include "app/workbench/widgets/manual_window.h"
#include "tests/support/window.h"

namespace locus::workbench {
namespace {

class WindowManual : public WindowTest {};

// Pictures of a page, as wide as they are drawn; 0 for one that was not found.
std::vector<int> picture_widths(ManualPage& page) {
  std::vector<int> widths;
  for (QTextBlock block = page.document()->begin(); block.isValid(); block = block.next()) {
    for (auto at = block.begin(); !at.atEnd(); ++at) {
      if (at.fragment().charFormat().isImageFormat()) {
        const QUrl name = page.source().resolved(QUrl(at.fragment().charFormat().toImageFormat().name()));
        const auto picture = page.loadResource(QTextDocument::ImageResource, name).value<QImage>();
        widths.push_back(picture.isNull() ? 0 : static_cast<int>(picture.deviceIndependentSize().width()));
      }
    }
  }
  return widths;
}

QAction* action_of(const MainWindow& window, const QKeySequence& keys) {
  for (QAction* action : window.actions()) {
    if (action->shortcut() == keys) {
      return action;
    }
  }
  return nullptr;
}

TEST_F(WindowManual, F1OpensThePageOfTheView) {
  QAction* help = action_of(*window_, QKeySequence(Qt::Key_F1));
  ASSERT_NE(help, nullptr);
  help->trigger();
  auto* manual = window_->findChild<ManualWindow*>();
  ASSERT_NE(manual, nullptr);
  EXPECT_TRUE(manual->isVisible());
  EXPECT_EQ(manual->page().place().page, window_->studio().view().info().name);
  const QString text = manual->page().toPlainText();
  EXPECT_TRUE(text.contains(QStringLiteral("A(i, j)  = exp s(i, j)"))) << text.toStdString();
  const std::vector<int> widths = picture_widths(manual->page());
  ASSERT_EQ(widths.size(), 1U);
  EXPECT_GT(widths.front(), 300);
  EXPECT_LE(widths.front(), manual->page().viewport()->width());
  wait([] { return false; }, 400);  // it is read again when it has its room
  EXPECT_EQ(manual->page().horizontalScrollBar()->maximum(), 0) << "nothing to scroll sideways";

  // The same window, another view.
  session::ViewState state = window_->studio().state();
  state.view = "distance-bias";
  window_->studio().change(state);
  help->trigger();
  EXPECT_EQ(window_->findChildren<ManualWindow*>().size(), 1);
  EXPECT_EQ(manual->page().place().page, "distance-bias");
}

TEST_F(WindowManual, EveryPageOpensWithItsPictures) {
  ManualWindow& manual = ManualWindow::of(window_.get());
  for (const auto& each : manual::pages()) {
    manual.page().open({each.name, {}});
    EXPECT_TRUE(manual.page().toPlainText().startsWith(QString::fromStdString(each.title))) << each.name;
    for (const int width : picture_widths(manual.page())) {
      EXPECT_GT(width, 0) << each.name;
    }
    EXPECT_FALSE(manual.page().toPlainText().contains(QStringLiteral("](")));
  }
}

TEST_F(WindowManual, LinksLeadToPagesAndBack) {
  ManualWindow& manual = ManualWindow::of(window_.get());
  manual.page().open({"gates", {}});
  manual.page().setSource(manual.page().source().resolved(QUrl(QStringLiteral("encodings.md#cope"))));
  EXPECT_EQ(manual.page().place(), (manual::Place{"encodings", "cope"}));
  EXPECT_GT(manual.page().verticalScrollBar()->value(), 0) << "the part, not the begin of the page";
  ASSERT_TRUE(manual.page().isBackwardAvailable());
  manual.page().backward();
  EXPECT_EQ(manual.page().place().page, "gates");
  EXPECT_TRUE(manual.page().toPlainText().startsWith(QStringLiteral("Gates")));
}

TEST_F(WindowManual, SearchListsPartsAndOpensThem) {
  ManualWindow& manual = ManualWindow::of(window_.get());
  auto* search = manual.findChild<QLineEdit*>();
  auto* list = manual.findChild<QListWidget*>();
  ASSERT_NE(search, nullptr);
  ASSERT_NE(list, nullptr);
  const int pages = list->count();
  search->setText(QStringLiteral("exit status"));
  ASSERT_GT(list->count(), 0);
  press(search, Qt::Key_Return);
  EXPECT_EQ(manual.page().place(), (manual::Place{"command-line", "exit-status"}));
  search->setText(QStringLiteral("zyzzyva"));
  ASSERT_EQ(list->count(), 1);
  press(search, Qt::Key_Return);
  EXPECT_EQ(manual.page().place().page, "command-line") << "nothing found opens nothing";
  search->clear();
  EXPECT_EQ(list->count(), pages);
}

// The rows of a table of the page: keys, and what they do.
std::vector<std::pair<QString, QString>> key_rows(const QString& heading) {
  const QString page = QString::fromStdString(std::string(manual::text_of({"keys", {}})));
  const QString part = page.section(QStringLiteral("## ") + heading, 1, 1).section(QStringLiteral("## "), 0, 0);
  std::vector<std::pair<QString, QString>> rows;
  for (const QString& line : part.split(QLatin1Char('\n'))) {
    if (line.startsWith(QStringLiteral("| ")) && !line.startsWith(QStringLiteral("| keys"))) {
      rows.emplace_back(line.section(QStringLiteral(" | "), 0, 0).mid(2), line.section(QStringLiteral(" | "), 1));
    }
  }
  return rows;
}

// "&Open file…\tF" → "Open file…".
QString plain_text(const QAction& action) {
  return action.text().section(QLatin1Char('\t'), 0, 0).remove(QLatin1Char('&'));
}

// Whether the second has a word of the first.
bool share_a_word(const QString& one, const QString& other) {
  for (const QString& word : one.split(QRegularExpression(QStringLiteral("\\W+")))) {
    if (word.size() > 2 && word != QStringLiteral("the") && other.contains(word, Qt::CaseInsensitive)) {
      return true;
    }
  }
  return false;
}

bool names_key(const QString& keys, const QString& key) {
  return keys.split(QStringLiteral(", ")).contains(key) || keys.split(QLatin1Char(' ')).contains(key);
}

TEST_F(WindowManual, NamesEveryKeyOfTheMenus) {
  const auto rows = key_rows(QStringLiteral("Everywhere"));
  int found = 0;
  for (const QAction* action : window_->actions()) {
    const QString key = action->shortcut().toString(QKeySequence::PortableText);
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const auto& each) { return names_key(each.first, key); });
    if (key.isEmpty()) {
      continue;
    }
    ++found;
    ASSERT_NE(row, rows.end()) << action->text().toStdString() << " " << key.toStdString();
    EXPECT_TRUE(share_a_word(plain_text(*action), row->second))
        << plain_text(*action).toStdString() << " is not " << row->second.toStdString();
  }
  EXPECT_GT(found, 10);
}

TEST_F(WindowManual, NamesEveryKeyThatTheCanvasHandlesForAMenu) {
  const auto rows = key_rows(QStringLiteral("On the canvas"));
  int found = 0;
  for (const QAction* action : window_->actions()) {
    const QString key = action->text().section(QLatin1Char('\t'), 1);
    if (key.isEmpty() || key == QStringLiteral("?")) {  // the key of this page itself
      continue;
    }
    ++found;
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const auto& each) { return names_key(each.first, key); });
    ASSERT_NE(row, rows.end()) << action->text().toStdString();
    EXPECT_TRUE(share_a_word(plain_text(*action), row->second))
        << plain_text(*action).toStdString() << " is not " << row->second.toStdString();
  }
  EXPECT_EQ(found, 9);
}

TEST_F(WindowManual, NamesNoKeyThatDoesNothing) {
  int found = 0;
  for (const auto& [keys, words] : key_rows(QStringLiteral("Everywhere"))) {
    for (const QString& key : keys.split(QStringLiteral(", "))) {
      ++found;
      EXPECT_TRUE(key == QStringLiteral("?") || action_of(*window_, QKeySequence(key, QKeySequence::PortableText)))
          << key.toStdString() << ": " << words.toStdString();
    }
  }
  EXPECT_GT(found, 20);
}

TEST_F(WindowManual, ReadsInTheColoursOfTheTheme) {
  ManualWindow& manual = ManualWindow::of(window_.get());
  const auto contrast = [&manual] {
    const QPalette palette = manual.page().palette();
    return std::abs(palette.color(QPalette::Base).lightness() - palette.color(QPalette::Text).lightness());
  };
  // Behind the first equation of the page.
  const auto shade = [&manual] {
    const QString html = manual.page().toHtml();
    return QColor(html.mid(html.indexOf(QStringLiteral("bgcolor=\"")) + 9, 7));
  };
  const auto off = [&] {
    return std::abs(shade().lightness() - manual.page().palette().color(QPalette::Base).lightness());
  };
  manual.page().open({"gates", {}});
  const int before = manual.page().palette().color(QPalette::Base).lightness();
  EXPECT_GT(contrast(), 150);
  EXPECT_LT(off(), 40) << shade().name().toStdString();
  for (QAction* action : window_->findChildren<QAction*>()) {
    if (action->text() == QStringLiteral("&Dark theme")) {
      action->trigger();
    }
  }
  EXPECT_TRUE(wait([&] { return std::abs(manual.page().palette().color(QPalette::Base).lightness() - before) > 150; }))
      << "the other theme";
  EXPECT_GT(contrast(), 150);
  EXPECT_TRUE(wait([&] { return off() < 40; })) << shade().name().toStdString();
}

}  // namespace
}  // namespace locus::workbench
