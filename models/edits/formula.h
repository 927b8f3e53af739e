// Formula: an expression of named variables, compiled once. muParser's syntax: + - * / ^, comparisons, && ||, `a ? b :
// c`, functions (exp ln log2 sqrt abs min max sin cos …), _pi and _e.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace locus::models {

class Formula {
 public:
  // Compiles a formula of these variables. Errors: kBadInput naming the position in the formula.
  static Result<Formula> compile(const std::string& text, std::span<const std::string_view> variables);

  // True if the value depends on this variable.
  bool uses(std::string_view variable) const;
  // Computes results[n] for n = 0 … count − 1; `set` writes the variables in the order of compile(), for n only those
  // that differ from n − 1. May be called by several threads.
  void each(std::int64_t count, const std::function<void(std::int64_t n, double* values)>& set, double* results) const;

 private:
  struct Compiled;
  explicit Formula(std::shared_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<Compiled> compiled_;
};

// The variables of `bias` (d, i, j, h, H, T, L) and of `angles` (m, M, D, base, L, T).
std::span<const std::string_view> bias_variables();
std::span<const std::string_view> angle_variables();

}  // namespace locus::models
