// Edits of the heads that an atlas names: parse_edit_line().
#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/atlas.h"
#include "models/api/edits.h"

namespace locus::models {

namespace {

constexpr std::string_view kHeads = "heads ";
constexpr std::string_view kOf = " of ";

// "induction > 0.3" or "induction>0.3".
struct Condition {
  std::string statistic;
  bool above = true;
  double bound = 0;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// A line in its parts.
struct AtlasHeads {
  Condition condition;
  std::string change;  // "zero"
  std::filesystem::path file;
};

std::optional<AtlasHeads> parse(std::string_view line) {
  line.remove_prefix(kHeads.size());
  const std::size_t sign = line.find_first_of("<>");
  const std::size_t of = line.find(kOf, sign == std::string_view::npos ? 0 : sign);
  if (sign == std::string_view::npos || of == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = trimmed(line.substr(sign + 1, of - sign - 1));  // "0.3 zero"
  const std::size_t blank = rest.find(' ');
  const auto bound = parse_number<double>(rest.substr(0, blank));
  AtlasHeads heads;
  heads.condition = {std::string(trimmed(line.substr(0, sign))), line[sign] == '>', bound.value_or(0)};
  heads.change = blank == std::string_view::npos ? "" : std::string(trimmed(rest.substr(blank)));
  heads.file = std::string(trimmed(line.substr(of + kOf.size())));
  const bool whole = bound && !heads.condition.statistic.empty() && !heads.change.empty() && !heads.file.empty();
  return whole ? std::optional(std::move(heads)) : std::nullopt;
}

// As the file names it: "induction" is "heads.induction".
std::string name_in(const Atlas& atlas, const std::string& name) {
  const std::string of_heads = "heads." + name;
  return atlas.has(of_heads) ? of_heads : name;
}

}  // namespace

Result<Edits> parse_edit_line(const std::string& text, std::size_t index) {
  if (!text.starts_with(kHeads)) {
    LOCUS_TRY(Edit edit, parse_edit(text, index));
    return Edits{std::move(edit)};
  }
  const std::string where = "edits[" + std::to_string(index) + "]";
  const std::optional<AtlasHeads> wanted = parse(text);
  if (!wanted) {
    return bad_input(where +
                     ": expected \"heads STATISTIC > NUMBER CHANGE of ATLAS\", such as \"heads induction > 0.3 zero of "
                     "model.safetensors\", found " +
                     shown(text));
  }
  LOCUS_TRY(const std::shared_ptr<const Atlas> atlas, open_atlas(wanted->file));
  const std::string statistic = name_in(*atlas, wanted->condition.statistic);
  Edits edits;
  std::optional<double> closest;
  for (std::int64_t layer = 0; layer < atlas->info().layers; ++layer) {
    LOCUS_TRY(const AtlasValues values, atlas->values(statistic, layer));
    if (std::ssize(values.mean) != atlas->info().heads) {
      return bad_input(where + ": expected a statistic of one number for each head, found " + statistic);
    }
    for (std::int64_t head = 0; head < atlas->info().heads; ++head) {
      const double mean = values.mean[static_cast<std::size_t>(head)];
      const bool above = wanted->condition.above;
      if (above ? mean > wanted->condition.bound : mean < wanted->condition.bound) {
        LOCUS_TRY(
            Edit edit,
            parse_edit("head " + std::to_string(layer) + "." + std::to_string(head) + " " + wanted->change, index));
        edits.push_back(std::move(edit));
      } else if (!std::isnan(mean)) {
        closest = closest ? (above ? std::max(*closest, mean) : std::min(*closest, mean)) : mean;
      }
    }
  }
  if (edits.empty()) {
    return bad_input(where + ": expected a head with " + statistic + (wanted->condition.above ? " > " : " < ") +
                     number_text(wanted->condition.bound) + " in " + wanted->file.string() + ", found " +
                     (closest ? (wanted->condition.above ? "at most " : "at least ") + number_text(*closest) : "none"));
  }
  return edits;
}

}  // namespace locus::models
