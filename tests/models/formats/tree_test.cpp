// JSON trees: written and read again, within limits; fields read with their
// place in the document.
#include "models/formats/json/tree.h"

#include <gtest/gtest.h>

#include <limits>

#include "models/formats/json/node.h"

namespace locus::formats {
namespace {

TEST(Tree, IsWrittenAndReadAgain) {
  const Tree tree{{"b", Tree::list({1, 2.5, "x", nullptr, true})},
                  {"a", Settings{{"on", true}, {"list", std::vector<double>{1, 2}}}},
                  {"none", std::optional<std::string>()}};
  EXPECT_EQ(tree.dump(-1, Tree::Order::kAsAdded),
            R"({"b":[1,2.5,"x",null,true],"a":{"list":[1.0,2.0],"on":true},"none":null})");
  EXPECT_EQ(tree.dump(-1, Tree::Order::kByName),
            R"({"a":{"list":[1.0,2.0],"on":true},"b":[1,2.5,"x",null,true],"none":null})");
  const auto again = Tree::parse(tree.dump(2, Tree::Order::kAsAdded), "t.json");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->dump(-1, Tree::Order::kAsAdded), tree.dump(-1, Tree::Order::kAsAdded));
  EXPECT_EQ(Tree("\xFF").dump(-1, Tree::Order::kAsAdded), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(Tree(std::numeric_limits<double>::infinity()).dump(-1, Tree::Order::kAsAdded), "null");
}

TEST(Tree, RefusesWhatIsNoDocumentOrTooDeep) {
  EXPECT_EQ(Tree::parse("{", "t.json").error().describe().substr(0, 8), "t.json: ");
  EXPECT_FALSE(Tree::parse(R"({"a": 1, "a": 2})", "t.json").ok());
  EXPECT_FALSE(Tree::parse(std::string(100, '['), "t.json").ok());
}

TEST(Tree, FieldsAreAddedWhereTheyAreNamed) {
  Tree tree;
  tree["scale"]["low"] = 0.5;
  tree["list"].push_back("one");
  EXPECT_EQ(tree.dump(-1, Tree::Order::kAsAdded), R"({"scale":{"low":0.5},"list":["one"]})");
  EXPECT_EQ(tree.find("absent"), nullptr);
  EXPECT_EQ(Tree(3).find("absent"), nullptr);
  EXPECT_EQ(Tree(3).as<double>(), 3.0);
  EXPECT_FALSE(Tree(3.5).as<std::int64_t>());
}

TEST(Tree, NodeRemembersTheFirstFieldOfAWrongKind) {
  const auto document = Tree::parse(R"({"name": "x", "size": "large", "list": [1, "two"], "inner": {"on": 1}})", "");
  ASSERT_TRUE(document.ok());
  std::optional<Error> error;
  const Node node(*document, "doc", error);
  std::string name;
  std::optional<double> absent;
  node.get("name", name);
  node.get("absent", absent);
  EXPECT_EQ(name, "x");
  EXPECT_FALSE(absent);
  EXPECT_FALSE(error);
  std::int64_t size = 7;
  node.get("size", size);
  EXPECT_EQ(size, 7);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->describe(), "doc.size: expected a whole number, found \"large\"");
  bool on = false;
  node.object("inner").get("on", on);
  EXPECT_EQ(error->describe(), "doc.size: expected a whole number, found \"large\"") << "the first one stays";
  error.reset();
  std::vector<std::int64_t> list;
  node.get("list", list);
  EXPECT_EQ(error->describe(), "doc.list[1]: expected a whole number, found \"two\"");
  error.reset();
  node.object("list");
  EXPECT_EQ(error->describe(), "doc.list: expected an object, found array");
}

}  // namespace
}  // namespace locus::formats
