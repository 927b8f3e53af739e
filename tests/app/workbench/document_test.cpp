#include "app/workbench/state/document.h"

#include <gtest/gtest.h>

namespace locus::workbench {
namespace {

TEST(Document, DiffersOnceTheSessionIsNotWhatWasSaved) {
  Document document;
  session::Session session;
  session.input.text = "one";
  document.set_saved({}, session);
  EXPECT_EQ(document.name(), "untitled");
  EXPECT_FALSE(document.differs(session));
  session.state.layer = 2;
  EXPECT_TRUE(document.differs(session));
  document.set_saved("folder/first.locus.json", session);
  EXPECT_FALSE(document.differs(session));
  EXPECT_EQ(document.name(), "first.locus.json");
  session.bookmarks.push_back({"a", {}, {}, {}, {}});
  EXPECT_TRUE(document.differs(session));
  session.bookmarks.clear();
  EXPECT_FALSE(document.differs(session));
}

TEST(Document, FiguresMoveWithinTheirList) {
  const std::vector<session::Bookmark> figures{{"a", {}, {}, {}, {}}, {"b", {}, {}, {}, {}}, {"c", {}, {}, {}, {}}};
  const auto names = [&](std::size_t from, std::size_t to) {
    std::string all;
    for (const session::Bookmark& each : moved(figures, from, to)) {
      all += each.name;
    }
    return all;
  };
  EXPECT_EQ(names(0, 2), "bca");
  EXPECT_EQ(names(2, 0), "cab");
  EXPECT_EQ(names(1, 1), "abc");
  EXPECT_EQ(names(0, 1), "bac");
}

}  // namespace
}  // namespace locus::workbench
