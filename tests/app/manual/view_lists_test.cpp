// Lists of views that are written by hand: each has every view of the program once, and no other.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "app/manual/manual.h"
#include "app/session/session.h"
#include "app/views/shared/view.h"
#include "tests/support/run_locus.h"

namespace {

using Names = std::multiset<std::string>;
using locus::testing_support::read_text;

std::filesystem::path in_tree(const std::string& path) {
  return std::filesystem::path(locus::test::source_dir()) / path;
}

Names registered() {
  Names names;
  for (const locus::views::View* view : locus::views::views()) {
    names.insert(view->info().name);
  }
  return names;
}

// The first group of each match.
Names found_in(const std::string& text, const std::string& pattern) {
  Names names;
  const std::regex expression(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end; ++match) {
    names.insert((*match)[1].str());
  }
  return names;
}

TEST(ViewLists, TheGallery) {
  const std::string gallery = read_text(in_tree("assets/manual/gallery.md"));
  EXPECT_EQ(
      found_in(gallery, R"(\n\[`([a-z0-9-]+)`\]\(\1\.md\): [^\n]+\.\n\n!\[[^\n\]]+\]\(\.\./screenshots/\1\.png\)\n)"),
      registered());
  EXPECT_EQ(found_in(gallery, R"(\n(!\[))").size(), registered().size()) << "entries of another form";
}

// Those of the front page, which shows only a few views.
TEST(ViewLists, ThePicturesOfTheReadme) {
  const std::string readme = read_text(in_tree("README.md"));
  const Names shown = found_in(readme, R"(!\[[^\]]*\]\(assets/screenshots/([a-z0-9-]+)\.png\))");
  const Names views = registered();
  EXPECT_TRUE(std::includes(views.begin(), views.end(), shown.begin(), shown.end()));
  EXPECT_GE(shown.size(), 6U);
}

TEST(ViewLists, TheContentsOfTheManual) {
  std::map<std::string, std::string> groups;
  for (const locus::views::View* view : locus::views::views()) {
    groups[view->info().name] = "Views: " + title_of(view->info().group);
  }
  Names listed;
  for (const locus::manual::Page& page : locus::manual::pages()) {
    if (page.group.starts_with("Views: ")) {
      listed.insert(page.name);
      EXPECT_EQ(page.group, groups[page.name]) << page.name;
    }
  }
  EXPECT_EQ(listed, registered());
}

TEST(ViewLists, TheScreenshotsAndTheirResources) {
  Names pictures;
  for (const auto& file : std::filesystem::directory_iterator(in_tree("assets/screenshots"))) {
    if (file.path().extension() == ".png") {
      pictures.insert(file.path().stem());
    }
  }
  EXPECT_EQ(pictures, registered());
  const std::string resources = read_text(in_tree("assets/screenshots/screenshots.qrc"));
  EXPECT_EQ(found_in(resources, "<file>([^<]*)\\.png</file>"), registered());
  EXPECT_EQ(found_in(resources, "(<file>)").size(), registered().size()) << "a file that is no screenshot";
}

// Each screenshot is taken from a figure of the bundled session that shows its view.
TEST(ViewLists, TheFiguresOfTheScreenshots) {
  const auto session = locus::session::load_session(in_tree("assets/sessions/first-light.locus.json"));
  ASSERT_TRUE(session.ok()) << session.error().describe();
  const std::string script = read_text(in_tree("assets/screenshots/take"));
  Names taken;
  const std::regex shot(R"re(\n    "([a-z0-9-]+)": \("([^"]+)", "(?:light|dark)"\),)re");
  for (std::sregex_iterator match(script.begin(), script.end(), shot), end; match != end; ++match) {
    const std::string view = (*match)[1];
    const std::string name = (*match)[2];
    taken.insert(view);
    const auto figure = std::find_if(session->bookmarks.begin(), session->bookmarks.end(),
                                     [&](const locus::session::Bookmark& each) { return each.name == name; });
    ASSERT_NE(figure, session->bookmarks.end()) << view << ": no figure " << name;
    EXPECT_EQ(figure->state.view, view) << name;
  }
  EXPECT_EQ(taken, registered());
}

}  // namespace
