#include "models/edits/formula.h"

#include <muParser.h>

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <set>

#include "core/base/listed.h"
#include "core/base/shown.h"

namespace locus::models {

namespace {

constexpr std::size_t kLongest = 2000;
constexpr std::size_t kMaxVariables = 8;
constexpr std::array<std::string_view, 7> kBias{"d", "i", "j", "h", "H", "T", "L"};
constexpr std::array<std::string_view, 6> kAngles{"m", "M", "D", "base", "L", "T"};

// "formula at character 3: unexpected operator; expected …".
Error unreadable(const std::string& text, std::size_t place, const std::string& what) {
  return bad_input("\"" + shown(text) + "\" at character " + std::to_string(std::min(place, text.size()) + 1) + ": " +
                   what);
}

// Refuses an assignment, which would change the input of the next cell: one `=` that is not part of a comparison.
std::size_t find_assignment(const std::string& text) {
  for (std::size_t n = 0; n < text.size(); ++n) {
    if (text[n] != '=') {
      continue;
    }
    const bool after = n > 0 && std::string_view("=<>!").find(text[n - 1]) != std::string_view::npos;
    const bool before = n + 1 < text.size() && text[n + 1] == '=';
    if (!after && !before) {
      return n;
    }
    n += before ? 1 : 0;
  }
  return std::string::npos;
}

// A & or | that is not half of && or ||.
std::size_t find_single(const std::string& text) {
  for (std::size_t n = 0; n < text.size(); ++n) {
    if (text[n] != '&' && text[n] != '|') {
      continue;
    }
    if (n + 1 >= text.size() || text[n + 1] != text[n]) {
      return n;
    }
    ++n;
  }
  return std::string::npos;
}

// "a && b" as "a &  b": custom operators at the same offsets.
std::string with_own_logic(std::string text) {
  for (std::size_t n = 0; n + 1 < text.size(); ++n) {
    if ((text[n] == '&' || text[n] == '|') && text[n + 1] == text[n]) {
      text[++n] = ' ';
    }
  }
  return text;
}

double both(double left, double right) {
  return left != 0 && right != 0 ? 1 : 0;
}
double either(double left, double right) {
  return left != 0 || right != 0 ? 1 : 0;
}

}  // namespace

struct Formula::Compiled {
  std::array<double, kMaxVariables> values{};
  mu::Parser parser;
  std::set<std::string, std::less<>> used;
  std::mutex mutex;  // size of values and parser
};

std::span<const std::string_view> bias_variables() {
  return kBias;
}
std::span<const std::string_view> angle_variables() {
  return kAngles;
}

Result<Formula> Formula::compile(const std::string& text, std::span<const std::string_view> variables) {
  if (text.size() > kLongest) {
    return bad_input("expected at most " + std::to_string(kLongest) + " characters, found " +
                     std::to_string(text.size()));
  }
  if (const std::size_t place = find_assignment(text); place != std::string::npos) {
    return unreadable(text, place, "unexpected =; == compares");
  }
  if (const std::size_t place = text.find_first_of("\"\\"); place != std::string::npos) {
    return unreadable(text, place, "unexpected text; a formula is of numbers");
  }
  if (const std::size_t place = find_single(text); place != std::string::npos) {
    return unreadable(text, place, std::string("unexpected ") + text[place] + "; && and || are logical");
  }
  auto compiled = std::make_shared<Compiled>();
  try {
    for (std::size_t n = 0; n < variables.size(); ++n) {
      compiled->parser.DefineVar(std::string(variables[n]), &compiled->values[n]);
    }
    // Replaces muParser's && and ||, which truncate their operands to whole numbers: 0.5 && 1 would be 0.
    compiled->parser.DefineOprt("&", both, mu::prLAND);
    compiled->parser.DefineOprt("|", either, mu::prLOR);
    compiled->parser.SetExpr(with_own_logic(text));
    int results = 0;
    compiled->parser.Eval(results);
    if (results != 1) {
      return unreadable(text, text.find(','), "expected one value, found " + std::to_string(results));
    }
    for (const auto& [name, value] : compiled->parser.GetUsedVar()) {
      compiled->used.insert(name);
    }
  } catch (const mu::ParserError& error) {
    const std::string names = listed(variables);
    const bool unknown = error.GetCode() == mu::ecUNASSIGNABLE_TOKEN;
    const auto place = static_cast<std::size_t>(std::max(0, static_cast<int>(error.GetPos())));
    return unreadable(
        text, place, unknown ? "unknown name " + shown(error.GetToken()) + "; known: " + names : shown(error.GetMsg()));
  }
  return Formula(std::move(compiled));
}

bool Formula::uses(std::string_view variable) const {
  return compiled_->used.find(variable) != compiled_->used.end();
}

void Formula::each(std::int64_t count, const std::function<void(std::int64_t n, double* values)>& set,
                   double* results) const {
  const std::lock_guard lock(compiled_->mutex);
  for (std::int64_t n = 0; n < count; ++n) {
    set(n, compiled_->values.data());
    try {
      results[n] = compiled_->parser.Eval();
    } catch (const mu::ParserError&) {
      results[n] = std::numeric_limits<double>::quiet_NaN();  // a function outside its domain: a masked cell
    }
  }
}

}  // namespace locus::models
