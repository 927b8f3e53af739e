#include "app/workbench/widgets/short_names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace locus::workbench {
namespace {

std::vector<std::string> shortened(const QStringList& names, int most) {
  std::vector<std::string> list;
  for (const QString& name : short_names(names, most)) {
    EXPECT_LE(name.size(), most) << name.toStdString();
    list.push_back(name.toStdString());
  }
  return list;
}

using Names = std::vector<std::string>;

TEST(ShortNames, WhatFitsStaysAsItIs) {
  EXPECT_EQ(shortened({QStringLiteral("text-rope"), QStringLiteral("text-alibi")}, 12),
            (Names{"text-rope", "text-alibi"}));
  EXPECT_TRUE(short_names({}, 10).isEmpty());
}

TEST(ShortNames, WhatTellsThemApartIsKept) {
  const QStringList names{QStringLiteral("flip-flop-cope-separate-keys"), QStringLiteral("flip-flop-cope-values")};
  for (const std::string& name : shortened(names, 16)) {
    EXPECT_TRUE(name.find("separate-keys") != std::string::npos || name.find("values") != std::string::npos) << name;
  }
  const QStringList ends{QStringLiteral("a-long-folder-name base 300 of a checkpoint"),
                         QStringLiteral("a-long-folder-name base 700 of a checkpoint")};
  const Names list = shortened(ends, 14);
  EXPECT_NE(list[0].find('3'), std::string::npos) << list[0];
  EXPECT_NE(list[1].find('7'), std::string::npos) << list[1];
}

TEST(ShortNames, NamesThatDifferStayDifferent) {
  QStringList names;
  for (int n = 0; n < 9; ++n) {
    names << QStringLiteral("the-same-beginning-of-a-name-%1-and-the-same-end").arg(n);
  }
  for (int most = 6; most < 50; ++most) {
    const Names list = shortened(names, most);
    EXPECT_EQ(std::set<std::string>(list.begin(), list.end()).size(), 9U) << most;
  }
}

// Beginnings while these tell the names apart, so that they are read as names; else what differs.
TEST(ShortNames, WithinAWidthNamesBeginAsTheyDoWhereThatIsEnough) {
  constexpr int kLetter = 7;
  const auto width_of = [](const QString& text) { return kLetter * static_cast<int>(text.size()); };
  const auto within = [&](const QStringList& names, int letters) {
    Names list;
    for (const QString& name : names_within(names, letters * kLetter + 3, width_of)) {
      EXPECT_LE(name.size(), letters) << name.toStdString();
      list.push_back(name.toStdString());
    }
    return list;
  };
  const QStringList early{QStringLiteral("text-rope-trained-longer"), QStringLiteral("text-tape-trained-longer")};
  EXPECT_EQ(within(early, 24), (Names{"text-rope-trained-longer", "text-tape-trained-longer"}));
  EXPECT_EQ(within(early, 14), (Names{"text-rope-tra…", "text-tape-tra…"}));
  const QStringList late{QStringLiteral("text-words-rope-seed-1"), QStringLiteral("text-words-rope-seed-2")};
  const Names told = within(late, 14);
  EXPECT_TRUE(told[0].ends_with('1') && told[1].ends_with('2')) << told[0];
  // Two columns of one name cannot be told apart, and need no other form for it.
  const QStringList same{QStringLiteral("text-words-rope"), QStringLiteral("text-words-rope")};
  EXPECT_EQ(within(same, 12), (Names{"text-words-…", "text-words-…"}));
  // No useful beginning fits.
  EXPECT_EQ(within({QStringLiteral("text-words-rope")}, 7), Names{"tex…ope"});
  EXPECT_TRUE(within({}, 10).empty());
}

TEST(ShortNames, OfWhatAllBeginWithMoreThanALetterOrNothingIsShown) {
  const QStringList names{QStringLiteral("text-rope"), QStringLiteral("text-cope"), QStringLiteral("text-learned")};
  EXPECT_EQ(shortened(names, 6), (Names{"rope", "cope", "lea…ed"}));
  EXPECT_EQ(shortened(names, 8), (Names{"rope", "cope", "learned"}));
}

TEST(ShortNames, OneNameLosesItsMiddle) {
  EXPECT_EQ(shortened({QStringLiteral("abcdefghij")}, 5), Names{"ab…ij"});
}

}  // namespace
}  // namespace locus::workbench
