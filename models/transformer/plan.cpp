#include "models/transformer/plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/lists.h"

namespace locus::transformer {

std::string CheckpointFiles::prefix_of(const std::vector<std::string_view>& prefixes, const std::string& name) const {
  for (const std::string_view prefix : prefixes) {
    if (find(std::string(prefix) + name) != nullptr) {
      return std::string(prefix);
    }
  }
  return std::string(prefixes.front());
}

std::vector<std::string> spelled_out(const std::string& name) {
  const std::size_t open = name.find('{');
  if (open == std::string::npos) {
    return {name};
  }
  const std::size_t close = name.find('}', open);
  std::vector<std::string> names;
  for (const std::string_view word : split(std::string_view(name).substr(open + 1, close - open - 1))) {
    names.push_back(name.substr(0, open) + std::string(word) + name.substr(close + 1));
  }
  return names;
}

namespace {

// "layers.3.experts.5.gate.weight" -> "layers.N.experts.J.gate.weight", 3 and 5.
struct Pattern {
  std::string text;
  std::array<std::string, 2> numbers;

  explicit Pattern(const std::string& name) {
    std::size_t count = 0;
    for (std::size_t begin = 0; begin <= name.size();) {
      const std::size_t end = std::min(name.find('.', begin), name.size());
      const std::string part = name.substr(begin, end - begin);
      const bool number = !part.empty() && part.find_first_not_of("0123456789") == part.npos && count < numbers.size();
      text += (begin == 0 ? "" : ".") + (number ? std::string(count == 0 ? "N" : "J") : part);
      if (number) {
        numbers[count++] = part;
      }
      begin = end + 1;
    }
  }

  // A row's tensor with its N and J filled in.
  std::string filled(const std::string& tensor) const {
    std::string name;
    for (std::size_t begin = 0; begin <= tensor.size();) {
      const std::size_t end = std::min(tensor.find('.', begin), tensor.size());
      const std::string part = tensor.substr(begin, end - begin);
      const bool joined = part.ends_with("_J");  // "expert_J"
      name += (begin == 0 ? "" : ".") + (part == "N"   ? numbers[0]
                                         : part == "J" ? numbers[1]
                                         : joined      ? part.substr(0, part.size() - 1) + numbers[1]
                                                       : part);
      begin = end + 1;
    }
    return name;
  }
};

}  // namespace

std::string named_by_pattern(const std::string& name) {
  return Pattern(name).text;
}

std::vector<Binding> Plan::bindings(const std::string& parameter) const {
  if (own_names) {
    return {{parameter, Layout::kAsIs, {}, 0}};
  }
  const Pattern pattern(parameter);
  const auto is_of = [&](const std::string& row) { return row == pattern.text || row == parameter; };
  const std::int64_t item = pattern.numbers[1].empty() ? 0 : std::stoll(pattern.numbers[1].substr(0, 9));
  std::vector<Binding> found;
  for (const Name& row : names) {
    if (is_of(row.parameter)) {
      found.push_back({pattern.filled(row.tensor), row.layout, row.piece, item});
      continue;
    }
    for (const char* const end : {".weight", ".bias"}) {
      if (is_of(row.parameter + end)) {
        const bool bias = end == std::string_view(".bias");
        const Layout layout = bias && row.layout == Layout::kTransposed ? Layout::kAsIs : row.layout;
        found.push_back({pattern.filled(row.tensor) + end, layout, row.piece, item});
      }
    }
  }
  if (parameter.find("norm.") != std::string::npos) {
    for (std::size_t n = 0, count = found.size(); n < count; ++n) {
      for (const auto& [ours, old] : {std::pair{".weight", ".gamma"}, std::pair{".bias", ".beta"}}) {
        if (found[n].tensor.ends_with(ours)) {
          Binding before = found[n];
          before.tensor.replace(before.tensor.size() - std::string_view(ours).size(), std::string::npos, old);
          found.push_back(std::move(before));
        }
      }
    }
  }
  return found;
}

void Plan::name(const std::string& parameter, const std::string& tensor, Layout layout, Piece piece) {
  const std::vector<std::string> tensors = spelled_out(tensor);
  for (std::size_t n = 0; const std::string& each : spelled_out(parameter)) {
    names.push_back({each, tensors[n++], layout, piece});
  }
}

}  // namespace locus::transformer
