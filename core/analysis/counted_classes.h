// What contextual positions count: how well a straight line through the number of tokens of a class between key and
// query describes p_ij (CoPE). Plain numbers, block by block of queries.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/field.h"
#include "core/base/progress.h"
#include "core/base/range.h"
#include "core/base/result.h"

namespace locus::analysis {

constexpr std::int64_t kMaxTokenClasses = 32;

// A class of tokens; a token may be of several.
struct TokenClass {
  std::string name;
  std::vector<bool> holds;  // one per token of the text; tokens beyond its end do not belong to the class

  friend bool operator==(const TokenClass&, const TokenClass&) = default;
};

struct CountedClass {
  std::string name;
  std::int64_t count = 0;  // tokens of the class in the text
  // The squared correlation of p_ij with the number of tokens of the class from j to i, both included, over the cells
  // that are numbers; NaN for fewer than three cells, and where one of both does not vary.
  double r_squared = 0;
};

// Sums over cells, in float64; the classes must outlive it.
class ClassSums {
 public:
  // Precondition: at most kMaxTokenClasses.
  explicit ClassSums(const std::vector<TokenClass>& classes);
  // Adds positions whose axes say which queries and keys they are of; every cell of them is one query and one key.
  void add(const Field& positions);
  // The classes in their order, and last "all tokens", whose number from j to i is i − j + 1.
  std::vector<CountedClass> result(std::int64_t length) const;

 private:
  struct Line {
    double x = 0, xx = 0, xy = 0;
  };
  static double r_squared(const Line& line, double cells, double y, double yy);

  const std::vector<TokenClass>& classes_;
  std::vector<Line> lines_;  // the last of all tokens
  double cells_ = 0, y_ = 0, yy_ = 0;
};

constexpr std::int64_t kMaxCountedCells = std::int64_t{1} << 24;

struct CountedClasses {
  std::vector<CountedClass> classes;  // the last is "all tokens"
  std::int64_t every = 1;             // queries that were read: each of so many, from the last one down
};

// Positions of these queries and of the keys 0 … rows.end − 1 (or more), axes included.
using PositionsOf = std::function<Result<Field>(Range rows)>;

// Reads the positions of a text of `length` tokens block by block. Where its causal cells are more than
// kMaxCountedCells, it reads every n-th query. Errors: kBadInput for a length below 1 and for more classes than
// kMaxTokenClasses, those of `positions`, kCancelled.
Result<CountedClasses> counted_classes(const std::vector<TokenClass>& classes, std::int64_t length,
                                       const PositionsOf& positions, const StopToken& stop = {});

}  // namespace locus::analysis
