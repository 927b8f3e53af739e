#include "tests/support/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/generated_tensors.h"
#include "tests/support/paths.h"

namespace locus::test {

namespace fs = std::filesystem;
using nlohmann::json;

std::uint64_t generated_bits(std::string_view name, std::uint64_t index) {
  std::uint64_t key = 0xCBF29CE484222325U;
  for (const char letter : name) {
    key = (key ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
  }
  std::uint64_t z = key + (index + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ z >> 30U) * 0xBF58476D1CE4E5B9U;
  z = (z ^ z >> 27U) * 0x94D049BB133111EBU;
  return z ^ z >> 31U;
}

at::Tensor generated_tensor(std::string_view name, const std::vector<std::int64_t>& shape, double offset,
                            double scale) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  float* const values = tensor.data_ptr<float>();
  for (std::int64_t n = 0; n < tensor.numel(); ++n) {
    const std::uint64_t bits = generated_bits(name, static_cast<std::uint64_t>(n));
    const auto digits =
        static_cast<std::int64_t>((bits & 0xFFFFU) + (bits >> 16U & 0xFFFFU) + (bits >> 32U & 0xFFFFU) + (bits >> 48U));
    values[n] = static_cast<float>(offset + scale * (static_cast<double>(digits - 131070) / 37837.0));
  }
  return tensor;
}

namespace {

fs::path conformance_folder() {
  return fs::path(source_dir()) / "tests" / "conformance";
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

// The rows and heads that make.py stores (probed_rows and probed_heads there).
std::vector<std::int64_t> probed_rows(std::int64_t count) {
  const std::set<std::int64_t> rows{count / 4, count / 2, count - 1};
  return {rows.begin(), rows.end()};
}
std::vector<std::int64_t> probed_heads(std::int64_t count) {
  std::vector<std::int64_t> heads{0, 1, count / 2, count - 1};
  if (count <= 4) {
    heads.resize(static_cast<std::size_t>(count));
    for (std::int64_t n = 0; n < count; ++n) {
      heads[static_cast<std::size_t>(n)] = n;
    }
  }
  return heads;
}

// The last `count`: a changed configuration has fewer.
std::vector<std::int64_t> last(const std::vector<std::int64_t>& all, std::int64_t count) {
  const auto kept = std::min(all.size(), static_cast<std::size_t>(count));
  return {all.end() - static_cast<std::ptrdiff_t>(kept), all.end()};
}

// "decoder.layers.2.cross_attention": its side and layer.
struct MapName {
  bool encoder = false;
  bool cross = false;
  std::int64_t layer = 0;
};

std::optional<MapName> map_name(const std::string& name) {
  const std::size_t at = name.find("layers.");
  if (at == std::string::npos) {
    return std::nullopt;
  }
  return MapName{name.starts_with("encoder."), name.ends_with("cross_attention"), std::stoll(name.substr(at + 7))};
}

// "layers.{0-3}.weight": the four names.
std::vector<std::string> unfolded(const std::string& name) {
  const std::size_t first = name.find('{');
  const std::size_t dash = name.find('-', first);
  const std::size_t end = name.find('}', first);
  if (first == std::string::npos) {
    return {name};
  }
  std::vector<std::string> names;
  for (int n = std::stoi(name.substr(first + 1)); n <= std::stoi(name.substr(dash + 1)); ++n) {
    const auto each = unfolded(name.substr(0, first) + std::to_string(n) + name.substr(end + 1));
    names.insert(names.end(), each.begin(), each.end());
  }
  return names;
}

std::string place_text(const std::string& where, double expected, double found) {
  std::ostringstream text;
  text.precision(9);
  text << where << ": expected " << expected << ", found " << found;
  return text.str();
}

}  // namespace

std::vector<ConformanceRow> conformance_table() {
  std::vector<ConformanceRow> rows;
  std::ifstream file(conformance_folder() / "types.txt");
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#') {
      continue;
    }
    std::vector<std::string> cells;
    std::istringstream parts(line);
    std::string cell;
    while (std::getline(parts, cell, '|')) {
      cells.push_back(trimmed(cell));
    }
    cells.resize(std::max<std::size_t>(cells.size(), 4));
    const std::size_t colon = cells[2].find(':');
    rows.push_back({cells[0], cells[1], cells[2].substr(0, colon) == "opens",
                    colon == std::string::npos ? "" : trimmed(cells[2].substr(colon + 1)),
                    cells[3].find("elsewhere") != std::string::npos});
  }
  return rows;
}

ConformanceType::ConformanceType(const std::string& name, const std::string& folder)
    : data_(json::parse(std::ifstream(conformance_folder() / folder / (name + ".json")))),
      values_("../conformance/" + folder + "/" + name) {}

bool ConformanceType::stored(const std::string& type) {
  return fs::exists(conformance_folder() / "values" / (type + ".json"));
}

Tensors ConformanceType::tensors() const {
  Tensors tensors;
  for (const auto& [folded, rule] : data_.at("tensors").items()) {
    for (const std::string& name : unfolded(folded)) {
      tensors[name] = generated_tensor(name, rule.at(0).get<std::vector<std::int64_t>>(), rule.at(1).get<double>(),
                                       rule.at(2).get<double>());
    }
  }
  return tensors;
}

void ConformanceType::write_tensors(const fs::path& folder) const {
  test::write_tensors(folder / "model.safetensors", tensors());
  if (data_.at("input").contains("pixels")) {
    const auto shape = data_["input"]["pixels"].get<std::vector<std::int64_t>>();
    test::write_tensors(folder / "pixels", {{"pixel_values", generated_tensor("pixel_values", shape, 0, 1)}});
  }
}

models::Input ConformanceType::input(const fs::path& folder) const {
  models::Input input;
  const json& given = data_.at("input");
  if (given.contains("pixels")) {
    input.pixels = folder / "pixels";
    return input;
  }
  input.ids = given.at("ids").get<std::vector<std::int64_t>>();
  if (given.contains("decoder_ids")) {
    input.decoder_ids = given["decoder_ids"].get<std::vector<std::int64_t>>();
  }
  return input;
}

// A float32 computation of four layers is off by about 1e-6 of its largest value, and by more where the model is
// ill-conditioned: the library's own float32 says by how much.
double ConformanceType::tolerance() const {
  return on_device(std::max(1e-4, 2 * data_.value("float32_is_off_by", 0.0)));
}

at::Tensor ConformanceType::stored_values(const std::string& name, std::optional<std::int64_t> change) const {
  return change ? values_["changed." + name][*change] : values_[name];
}

std::string ConformanceType::difference(const models::Trace& trace, std::optional<std::int64_t> change) const {
  // The encoder first, then layer by layer.
  std::vector<std::tuple<bool, std::int64_t, bool, std::string>> maps;
  for (const auto& [name, unused] : values_.arrays()) {
    if (const auto map = map_name(name); map && !name.starts_with("changed.")) {
      maps.emplace_back(!map->encoder, map->layer, map->cross, name);
    }
  }
  std::sort(maps.begin(), maps.end());
  for (const auto& [decoder, layer, cross, name] : maps) {
    if (std::string found = map_difference(trace, name, change); !found.empty()) {
      return found;
    }
  }
  return outcome_difference(trace, change);
}

std::string ConformanceType::map_difference(const models::Trace& trace, const std::string& name,
                                            std::optional<std::int64_t> change) const {
  const MapName map = *map_name(name);
  const std::shared_ptr<const models::Trace> other = map.encoder ? trace.side(models::Side::kEncoder)
                                                     : map.cross ? trace.side(models::Side::kCross)
                                                                 : nullptr;
  if ((map.encoder || map.cross) && other == nullptr) {
    return name + ": the run has no such side";
  }
  const models::Trace& side = other != nullptr ? *other : trace;
  const at::Tensor expected = stored_values(name, change);
  const std::vector<std::int64_t> heads = last(probed_heads(side.model().heads), expected.size(0));
  const std::vector<std::int64_t> rows = last(probed_rows(side.length()), expected.size(1));
  if (expected.sizes() !=
      at::IntArrayRef({static_cast<std::int64_t>(heads.size()), static_cast<std::int64_t>(rows.size()), side.keys()})) {
    return name + ": the run has " + std::to_string(side.model().heads) + " heads, " + std::to_string(side.length()) +
           " queries and " + std::to_string(side.keys()) + " keys, not those of the stored values";
  }
  for (std::size_t h = 0; h < heads.size(); ++h) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto found = side.map({map.layer, heads[h], models::Quantity::kWeight, {rows[r], rows[r] + 1}, {}, false});
      if (!found.ok()) {
        return name + ": " + found.error().describe();
      }
      const at::Tensor row = expected[static_cast<std::int64_t>(h)][static_cast<std::int64_t>(r)].contiguous();
      for (std::int64_t key = 0; key < side.keys(); ++key) {
        const double want = row.data_ptr<float>()[key];
        const double got = found->values[static_cast<std::size_t>(key)];
        if (!(std::abs(got - want) <= tolerance())) {
          return place_text(name + ", head " + std::to_string(heads[h]) + ", query " + std::to_string(rows[r]) +
                                ", key " + std::to_string(key),
                            want, got);
        }
      }
    }
  }
  return "";
}

std::string ConformanceType::outcome_difference(const models::Trace& trace, std::optional<std::int64_t> change) const {
  const std::string name = values_.has("logits") ? "logits" : "hidden";
  const models::TraceData data = recorded(trace);
  at::Tensor outcome = data.logits.defined() ? data.logits : data.hidden;
  outcome = outcome.defined() ? outcome.cpu() : outcome;
  if (values_.has("columns") && outcome.defined()) {
    outcome = outcome.index_select(-1, values_["columns"]);
  }
  const at::Tensor expected = stored_values(name, change).contiguous();
  if (!outcome.defined() || outcome.dim() != 2 || outcome.size(1) != expected.size(1)) {
    return name + ": the run has none of this shape";
  }
  const std::vector<std::int64_t> rows = last(probed_rows(outcome.size(0)), expected.size(0));
  const double allowed = tolerance() * expected.abs().max().item<double>();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const at::Tensor found = outcome[rows[r]].to(at::kFloat).contiguous();
    for (std::int64_t n = 0; n < expected.size(1); ++n) {
      const double want = expected[static_cast<std::int64_t>(r)].data_ptr<float>()[n];
      const double got = found.data_ptr<float>()[n];
      if (!(std::abs(got - want) <= allowed)) {
        return place_text(name + ", position " + std::to_string(rows[r]) + ", number " + std::to_string(n), want, got);
      }
    }
  }
  return "";
}

}  // namespace locus::test
