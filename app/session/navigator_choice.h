// The choices of the matrix of heads beside a figure: its colours, and whether it is folded to a line.
#pragma once

#include <array>
#include <string>

namespace locus::session {

// Statistics that colour its squares, by name; each stands for a number of views::Fingerprint.
inline constexpr std::array<const char*, 7> kHeadStatistics{"previous", "first",   "induction", "self",
                                                            "distance", "entropy", "on images"};

struct NavigatorChoice {
  enum class Fold { kAutomatic, kOpen, kFolded };  // automatic: open where there is room beside the figure

  std::string statistic = kHeadStatistics.front();
  bool difference = false;  // of the columns: the chosen one minus the reference
  Fold fold = Fold::kAutomatic;

  friend bool operator==(const NavigatorChoice&, const NavigatorChoice&) = default;
};

}  // namespace locus::session
