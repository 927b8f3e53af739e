// Folders of HeadVis (Luger, Kamath et al. 2026, transformer-circuits.pub/2026/headvis), as its data_pipeline.py describes
// them: config.json, scatter_data.json and heads/L{layer}H{head}.json. Whole numbers that Locus adds to a sequence (`ids`,
// `top`, `sampled`) are ignored by other readers.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/formats/atlas/contents.h"
#include "models/formats/json/json.h"

namespace locus::models {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMaxFile = std::size_t{256} << 20;  // bytes
constexpr std::int64_t kMaxSize = 65536;                  // layers, and heads of a layer
constexpr std::int64_t kMaxLevels = 100;
constexpr double kMaxWeight = 1.001;  // rounded
constexpr const char* kPattern = "L{layer}H{head}.json";

// HeadVis's names of what atlases measure, with what they are in an atlas.
struct Metric {
  const char* name;
  const char* statistic;
  const char* meaning;
};
constexpr std::array<Metric, 6> kMetrics{
    {{"self_attention_score", "heads.self", "Mean weight of a query on itself, from the second query on"},
     {"prev_token_score", "heads.previous", "Mean weight on the token before the query, from the second query on"},
     {"previous_token_score", "heads.previous", ""},
     {"pattern_entropy", "heads.entropy", "Mean entropy of a query's weights in nats, from the second query on"},
     {"qk_distance", "heads.distance", "Mean distance in tokens, weighted by attention, from the second query on"},
     {"induction_score", "heads.induction",
      "Mean weight on the token after the earlier occurrence, on random tokens that are given twice"}}};

std::string statistic_of(const std::string& metric) {
  const auto* const found = std::ranges::find(kMetrics, metric, &Metric::name);
  return found == kMetrics.end() ? "headvis." + metric : found->statistic;
}

Result<json> read_document(const fs::path& path) {
  LOCUS_TRY(const std::string text, read_file(path, kMaxFile));
  return parse_json(text, path.string());
}

// ---- reading

Result<std::int64_t> whole_field(const JsonObject& object, const char* name, std::int64_t least, std::int64_t most) {
  LOCUS_TRY(const std::int64_t number, object.get<std::int64_t>(name));
  if (number < least || number > most) {
    return object.wrong(name, "a whole number of " + std::to_string(least) + " to " + std::to_string(most));
  }
  return number;
}

Result<double> finite_field(const JsonObject& object, const char* name, double least, double most) {
  LOCUS_TRY(const double number, object.get<double>(name));
  if (!(number >= least && number <= most)) {
    return object.wrong(name, "a number of " + number_text(least) + " to " + number_text(most));
  }
  return number;
}

// The elements of a list that must be there, each as T.
template <class T>
Result<std::vector<T>> list_field(const JsonObject& object, const char* name) {
  LOCUS_TRY(const json* const list, object.array(name));
  if (object.find(name) == nullptr) {
    return object.wrong(name, "a list");
  }
  std::vector<T> values;
  for (const json& each : *list) {
    if (!JsonKind<T>::is(each)) {
      return bad_input(std::string(name) + ": expected " + JsonKind<T>::kName + ", found " + shown_value(each),
                       object.where());
    }
    values.push_back(each.get<T>());
  }
  return values;
}

constexpr double kLargest = 1e15;  // of counts and edges

// Edges and values of a histogram; none where it is absent or {}.
Status read_histogram(const JsonObject& head, const char* name, std::vector<double>& edges,
                      std::vector<double>& values) {
  const json* const found = head.find(name);
  if (found == nullptr || (found->is_object() && found->empty())) {
    return {};
  }
  LOCUS_TRY(const JsonObject histogram, head.object(name));
  LOCUS_TRY(edges, list_field<double>(histogram, "bin_edges"));
  LOCUS_TRY(values, list_field<double>(histogram, "bin_values"));
  const bool sound = std::ranges::all_of(edges, [](double edge) { return std::abs(edge) <= kLargest; }) &&
                     std::ranges::adjacent_find(edges, std::greater_equal()) == edges.end();
  if (!sound) {
    return histogram.wrong("bin_edges", "ascending numbers");
  }
  const bool counts = std::ranges::all_of(values, [](double value) { return value >= 0 && value <= kLargest; });
  if (!counts || values.size() + 1 != edges.size()) {
    return histogram.wrong("bin_values", "numbers from 0 on, one less than edges");
  }
  return {};
}

Result<std::vector<TokenWeight>> read_tokens(const JsonObject& head, const char* name) {
  LOCUS_TRY(const json* const list, head.array(name));
  std::vector<TokenWeight> tokens;
  for (const json& each : *list) {
    LOCUS_TRY(const JsonObject entry, JsonObject::of(each, head.where() + ": " + name));
    LOCUS_TRY(const std::string token, entry.get<std::string>("token"));
    LOCUS_TRY(const double weight, finite_field(entry, "weight", 0, kLargest));
    tokens.push_back({printable(token), weight});
  }
  return tokens;
}

Status read_cells(const JsonObject& sequence, Example& example) {
  const std::int64_t length = std::ssize(example.tokens);
  LOCUS_TRY(const auto indices, list_field<std::int64_t>(sequence, "attention_indices"));
  LOCUS_TRY(const auto values, list_field<double>(sequence, "attention_values"));
  if (values.size() != indices.size()) {
    return sequence.wrong("attention_values", std::to_string(indices.size()) + " numbers, as attention_indices");
  }
  for (std::size_t n = 0; n < indices.size(); ++n) {
    if (indices[n] < 0 || indices[n] >= length * length) {
      return sequence.wrong("attention_indices", "numbers below seq_len²");
    }
    if (!(values[n] >= 0 && values[n] <= kMaxWeight)) {
      return sequence.wrong("attention_values", "weights of 0 to 1");
    }
    example.cells.push_back({static_cast<std::int32_t>(indices[n] / length),
                             static_cast<std::int32_t>(indices[n] % length), static_cast<float>(values[n])});
  }
  const auto place = [](const ExampleCell& cell) { return std::pair(cell.query, cell.key); };
  std::ranges::sort(example.cells, {}, place);
  if (std::ranges::adjacent_find(example.cells, {}, place) != example.cells.end()) {
    return sequence.wrong("attention_indices", "each cell once");
  }
  return {};
}

Result<Example> read_sequence(const json& value, const std::string& where, std::int64_t levels) {
  LOCUS_TRY(const JsonObject sequence, JsonObject::of(value, where));
  Example example;
  LOCUS_TRY(example.window, whole_field(sequence, "sequence_id", 0, std::int64_t{1} << 53));
  LOCUS_TRY(example.level, whole_field(sequence, "interval", 1, levels));
  LOCUS_TRY(example.activation, finite_field(sequence, "max_activation", -kLargest, kLargest));
  LOCUS_TRY(const auto tokens, list_field<std::string>(sequence, "tokens"));
  std::ranges::transform(tokens, std::back_inserter(example.tokens), printable);
  LOCUS_TRY(const std::int64_t length, whole_field(sequence, "seq_len", 1, atlas::kLongestExample));
  if (length != std::ssize(tokens)) {
    return sequence.wrong("tokens", std::to_string(length) + " of them, as seq_len says");
  }
  LOCUS_CHECK(read_cells(sequence, example));
  LOCUS_TRY(example.top, sequence.boolean("top", example.level == levels));
  LOCUS_TRY(example.sampled, sequence.boolean("sampled", example.level != levels));
  if (sequence.find("ids") != nullptr) {
    LOCUS_TRY(example.ids, list_field<std::int64_t>(sequence, "ids"));
    if (std::ssize(example.ids) != length || std::ranges::any_of(example.ids, [](auto id) { return id < 0; })) {
      return sequence.wrong("ids", std::to_string(length) + " numbers from 0 on");
    }
  }
  return example;
}

Result<HeadExamples> read_head(const fs::path& path, std::int64_t levels) {
  LOCUS_TRY(const json document, read_document(path));
  LOCUS_TRY(const JsonObject head, JsonObject::of(document, path.string()));
  HeadExamples examples;
  LOCUS_TRY(const json* const sequences, head.array("sequences"));
  if (head.find("sequences") == nullptr) {
    return head.wrong("sequences", "a list");
  }
  std::set<std::int64_t> seen;
  for (const json& each : *sequences) {
    const std::string where = path.string() + ": sequences[" + std::to_string(examples.windows.size()) + "]";
    LOCUS_TRY(Example example, read_sequence(each, where, levels));
    if (!seen.insert(example.window).second) {
      return bad_input("sequence_id: expected each once, found " + std::to_string(example.window) + " again", where);
    }
    examples.windows.push_back(std::move(example));
  }
  std::ranges::stable_sort(examples.windows, std::ranges::greater(), &Example::activation);
  LOCUS_TRY(examples.query_tokens, read_tokens(head, "top_query_tokens"));
  LOCUS_TRY(examples.key_tokens, read_tokens(head, "top_key_tokens"));
  LOCUS_CHECK(read_histogram(head, "histogram", examples.edges, examples.histogram));
  std::vector<double> edges, values;
  LOCUS_CHECK(read_histogram(head, "qk_distance_histogram", edges, values));
  if (head.find("interval_bounds") != nullptr) {
    LOCUS_TRY(examples.bounds, list_field<double>(head, "interval_bounds"));
    if (std::ssize(examples.bounds) != levels - 1 || !std::ranges::is_sorted(examples.bounds)) {
      return head.wrong("interval_bounds", std::to_string(levels - 1) + " ascending numbers");
    }
  }
  return examples;
}

// A file name of a head; the pattern is a name, not a path.
Result<std::string> checked_pattern(const JsonObject& config) {
  LOCUS_TRY(const std::string pattern, config.text("head_data_pattern", kPattern));
  const bool plain = pattern.size() <= 100 && pattern.find_first_of("/\\") == std::string::npos &&
                     pattern.find('\0') == std::string::npos && !pattern.starts_with('.');
  if (!plain || pattern.find("{layer}") == std::string::npos || pattern.find("{head}") == std::string::npos) {
    return config.wrong("head_data_pattern", "a file name with {layer} and {head}");
  }
  return pattern;
}

std::string file_name(std::string pattern, std::int64_t layer, std::int64_t head) {
  for (const auto& [mark, number] : {std::pair("{layer}", layer), std::pair("{head}", head)}) {
    pattern.replace(pattern.find(mark), std::string_view(mark).size(), std::to_string(number));
  }
  return pattern;
}

struct Folder {
  fs::path path;
  AtlasInfo info;
  std::string pattern;
  std::set<std::pair<std::int64_t, std::int64_t>> heads;
  std::vector<std::string> names;                     // of statistics
  std::map<std::string, std::vector<double>> values;  // (L · H), NaN for heads without
};

// What says how it was made, as Neuronpedia's pipeline writes it; all of it may be absent.
Status read_provenance(const JsonObject& config, AtlasInfo& info) {
  ExampleOptions options;
  LOCUS_TRY(options.levels, whole_field(config, "n_intervals", 2, kMaxLevels));
  LOCUS_TRY(const std::string corpus, config.text("dataset_name", ""));
  if (!corpus.empty()) {
    info.corpus.push_back({corpus, "", 0});
  }
  info.windows = info.length = 0;
  if (config.find("pipeline_config") != nullptr) {
    LOCUS_TRY(const JsonObject made, config.object("pipeline_config"));
    const auto whole = [&](const char* name, std::int64_t least, std::int64_t most, std::int64_t& number) -> Status {
      if (made.find(name) != nullptr) {
        LOCUS_TRY(number, whole_field(made, name, least, most));
      }
      return {};
    };
    LOCUS_CHECK(whole("n_sequences", 0, std::int64_t{1} << 30, info.windows));
    LOCUS_CHECK(whole("actual_sequences_processed", 0, std::int64_t{1} << 30, info.windows));
    LOCUS_CHECK(whole("seq_len", 1, atlas::kLongestExample, info.length));
    LOCUS_CHECK(whole("samples_per_interval", 0, 1000000, options.sample));
    LOCUS_CHECK(whole("samples_per_top_interval", 0, 1000000, options.top));
    LOCUS_TRY(options.activation, made.text("activation", options.activation));
    LOCUS_TRY(info.encoding, made.text("encoding", ""));
    LOCUS_TRY(info.family, made.text("family", ""));
  }
  info.done = info.windows;
  info.examples = std::move(options);
  return {};
}

Status read_config(Folder& folder) {
  const fs::path path = folder.path / "config.json";
  LOCUS_TRY(const json document, read_document(path));
  LOCUS_TRY(const JsonObject config, JsonObject::of(document, path.string()));
  AtlasInfo& info = folder.info;
  LOCUS_TRY(info.checkpoint, config.get<std::string>("model_name"));
  LOCUS_TRY(info.layers, whole_field(config, "n_layers", 1, kMaxSize));
  LOCUS_TRY(info.heads, whole_field(config, "n_heads", 1, kMaxSize));
  if (info.layers * info.heads > (std::int64_t{1} << 24)) {
    return config.wrong("n_heads", "fewer heads in all");
  }
  info.what = {"examples"};
  info.version = "HeadVis";
  LOCUS_CHECK(read_provenance(config, info));
  LOCUS_TRY(folder.pattern, checked_pattern(config));
  LOCUS_TRY(const json* const heads, config.array("heads"));
  for (const json& each : *heads) {
    const bool pair = each.is_array() && each.size() == 2;
    const auto layer = pair ? whole_number(each[0], 0, info.layers - 1) : std::nullopt;
    const auto head = pair ? whole_number(each[1], 0, info.heads - 1) : std::nullopt;
    if (!layer || !head) {
      return bad_input("heads: expected [layer, head] within n_layers and n_heads, found " + shown_value(each),
                       config.where());
    }
    folder.heads.emplace(*layer, *head);
  }
  return {};
}

Status read_row(const json& each, const std::string& where, Folder& folder) {
  LOCUS_TRY(const JsonObject row, JsonObject::of(each, where));
  LOCUS_TRY(const std::int64_t layer, whole_field(row, "layer", 0, folder.info.layers - 1));
  LOCUS_TRY(const std::int64_t head, whole_field(row, "head", 0, folder.info.heads - 1));
  constexpr std::size_t kMaxMetrics = 100;
  for (const auto& [name, value] : each.items()) {
    if (name == "layer" || name == "head" || value.is_null()) {
      continue;
    }
    LOCUS_TRY(const double number, finite_field(row, name.c_str(), -kLargest, kLargest));
    const std::string statistic = statistic_of(name);
    auto found = folder.values.find(statistic);
    if (found == folder.values.end()) {
      if (folder.values.size() == kMaxMetrics || std::ssize(name) > 100) {
        return bad_input("expected at most " + std::to_string(kMaxMetrics) + " metrics, found more", where);
      }
      folder.names.push_back(statistic);
      found = folder.values.emplace(statistic, std::vector<double>(folder.info.layers * folder.info.heads, kNaN)).first;
    }
    found->second[static_cast<std::size_t>(layer * folder.info.heads + head)] = number;
  }
  return {};
}

Status read_scatter(Folder& folder) {
  const fs::path path = folder.path / "scatter_data.json";
  LOCUS_TRY(const json document, read_document(path));
  if (!document.is_array()) {
    return bad_input("expected a list, found " + shown_value(document), path.string());
  }
  for (std::size_t n = 0; n < document.size(); ++n) {
    LOCUS_CHECK(read_row(document[n], path.string() + ": [" + std::to_string(n) + "]", folder));
  }
  return {};
}

class HeadVisAtlas final : public Atlas {
 public:
  explicit HeadVisAtlas(Folder folder) : folder_(std::move(folder)) {}

  const AtlasInfo& info() const override { return folder_.info; }
  const std::vector<std::string>& statistics() const override { return folder_.names; }
  bool of_model(const std::string& /*statistic*/) const override { return false; }
  bool has(const std::string& statistic, AtlasNull null) const override {
    return null == AtlasNull::kText && folder_.values.contains(statistic);
  }
  const std::vector<double>& axis(const std::string& /*name*/) const override {
    static const std::vector<double> none;
    return none;
  }
  Result<AtlasValues> values(const std::string& statistic, std::int64_t layer, AtlasNull null) const override {
    if (!has(statistic, null) || layer < 0 || layer >= folder_.info.layers) {
      return bad_input("expected a metric of the folder, found " + shown(statistic), folder_.path.string());
    }
    const auto begin = folder_.values.at(statistic).begin() + layer * folder_.info.heads;
    AtlasValues values;
    values.shape = {folder_.info.heads};
    values.mean.assign(begin, begin + folder_.info.heads);
    values.low = values.high = values.deviation = std::vector<double>(values.mean.size(), kNaN);
    values.samples = static_cast<double>(folder_.info.windows);
    return values;
  }
  Result<HeadExamples> examples(std::int64_t layer, std::int64_t head) const override {
    if (!folder_.heads.contains({layer, head})) {
      return Atlas::examples(layer, head);
    }
    return read_head(folder_.path / "heads" / file_name(folder_.pattern, layer, head), folder_.info.examples->levels);
  }

 private:
  Folder folder_;
};

// ---- writing

std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json sequence_json(const Example& example) {
  const std::int64_t length = std::ssize(example.tokens);
  std::vector<std::int64_t> indices;
  std::vector<double> weights;
  for (const ExampleCell& cell : example.cells) {
    indices.push_back(cell.query * length + cell.key);
    weights.push_back(std::round(static_cast<double>(cell.weight) * kExampleUnits) / kExampleUnits);
  }
  json sequence{{"sequence_id", example.window},        {"interval", example.level},   {"tokens", example.tokens},
                {"attention_indices", indices},         {"attention_values", weights}, {"seq_len", length},
                {"max_activation", example.activation}, {"top", example.top},          {"sampled", example.sampled}};
  if (!example.ids.empty()) {
    sequence["ids"] = example.ids;
  }
  return sequence;
}

json tokens_json(const std::vector<TokenWeight>& tokens) {
  json list = json::array();
  for (const TokenWeight& token : tokens) {
    list.push_back({{"token", token.token}, {"weight", token.weight}});
  }
  return list;
}

// |q − k| of the kept cells by octaves, weighted by attention.
json distances_json(const HeadExamples& examples) {
  std::vector<std::int64_t> edges{0, 1};
  while (edges.back() < atlas::kLongestExample) {
    edges.push_back(2 * edges.back());
  }
  std::vector<double> sums(edges.size() - 1);
  std::size_t used = 1;
  for (const Example& example : examples.windows) {
    for (const ExampleCell& cell : example.cells) {
      const std::int64_t distance = std::abs(std::int64_t{cell.query} - cell.key);
      const auto bin = static_cast<std::size_t>(std::ranges::upper_bound(edges, distance) - edges.begin()) - 1;
      sums[bin] += static_cast<double>(cell.weight);
      used = std::max(used, bin + 1);
    }
  }
  edges.resize(used + 1);
  sums.resize(used);
  return {{"bin_edges", edges}, {"bin_values", sums}};
}

json head_json(const HeadExamples& examples, double mean) {
  json sequences = json::array();
  for (const Example& example : examples.windows) {
    sequences.push_back(sequence_json(example));
  }
  json statistics{{"n_samples", examples.windows.size()}};
  statistics["mean_max_activation"] = std::isfinite(mean) ? json(mean) : json();
  json head{{"sequences", std::move(sequences)},
            {"qk_distance_histogram", distances_json(examples)},
            {"top_query_tokens", tokens_json(examples.query_tokens)},
            {"top_key_tokens", tokens_json(examples.key_tokens)},
            {"histogram", json::object()},
            {"statistics", std::move(statistics)}};
  if (!examples.edges.empty()) {
    head["histogram"] = {{"bin_edges", examples.edges}, {"bin_values", examples.histogram}};
  }
  if (!examples.bounds.empty()) {
    head["interval_bounds"] = examples.bounds;
  }
  return head;
}

// Those of kMetrics that the atlas has.
std::vector<Metric> metrics_of(const Atlas& atlas) {
  std::vector<Metric> metrics;
  for (const Metric& metric : kMetrics) {
    if (*metric.meaning != '\0' && atlas.has(metric.statistic)) {
      metrics.push_back(metric);
    }
  }
  return metrics;
}

json config_json(const Atlas& atlas, const json& heads) {
  const AtlasInfo& info = atlas.info();
  const ExampleOptions& options = *info.examples;
  json names = json::array();
  json meanings = json::object();
  for (const Metric& metric : metrics_of(atlas)) {
    names.push_back(metric.name);
    meanings[metric.name] = metric.meaning;
  }
  std::string corpus;
  for (const AtlasCorpus& file : info.corpus) {
    corpus += (corpus.empty() ? "" : ", ") + file.name;
  }
  const auto labelled = [](const char* key, const char* label) { return json{{"key", key}, {"label", label}}; };
  const auto shown_as = [](const char* label) { return json{{"label", label}, {"format", "default"}}; };
  return {{"model_name", info.checkpoint},
          {"dataset_name", corpus},
          {"heads", heads},
          {"n_layers", info.layers},
          {"n_heads", info.heads},
          {"n_intervals", options.levels},
          {"metrics", names},
          {"metric_descriptions", meanings},
          {"head_data_pattern", kPattern},
          {"has_umap", false},
          {"umap_heads", json::array()},
          {"custom_plots",
           {labelled("qk_distance_histogram", "Q-K distance"), labelled("histogram", "Activation distribution")}},
          {"custom_tables",
           {labelled("top_query_tokens", "Top query tokens"), labelled("top_key_tokens", "Top key tokens")}},
          {"statistics_display",
           {{"n_samples", shown_as("Samples kept")}, {"mean_max_activation", shown_as("Mean max activation")}}},
          {"pipeline_config",
           {{"model_name", info.checkpoint},
            {"dataset_name", corpus},
            {"n_sequences", info.windows},
            {"actual_sequences_processed", info.done},
            {"seq_len", info.length},
            {"n_intervals", options.levels},
            {"samples_per_interval", options.sample},
            {"samples_per_top_interval", options.top},
            {"sparse_topk_per_row", kExampleKeys},
            {"sparse_threshold", kExampleFloor},
            {"sample_seed", info.seed},
            {"activation", options.activation},
            {"family", info.family},
            {"encoding", info.encoding},
            {"written_by", "Locus " + info.version}}}};
}

Result<std::vector<double>> means_of(const Atlas& atlas, const std::string& statistic) {
  std::vector<double> means;
  for (std::int64_t layer = 0; layer < atlas.info().layers; ++layer) {
    LOCUS_TRY(const AtlasValues values, atlas.values(statistic, layer, AtlasNull::kText));
    means.insert(means.end(), values.mean.begin(), values.mean.end());
  }
  return means;
}

Result<json> scatter_json(const Atlas& atlas) {
  const std::int64_t heads = atlas.info().heads;
  json rows = json::array();
  for (std::int64_t n = 0; n < atlas.info().layers * heads; ++n) {
    rows.push_back({{"layer", n / heads}, {"head", n % heads}});
  }
  for (const Metric& metric : metrics_of(atlas)) {
    LOCUS_TRY(const std::vector<double> means, means_of(atlas, metric.statistic));
    for (std::size_t n = 0; n < rows.size() && n < means.size(); ++n) {
      rows[n][metric.name] = std::isfinite(means[n]) ? json(means[n]) : json();
    }
  }
  return rows;
}

Status make_folder(const fs::path& folder) {
  std::error_code code;
  for (const fs::path& each : {folder, folder / "heads", folder / "attributions"}) {
    if (each == folder && fs::exists(folder, code) &&
        (!fs::is_directory(folder, code) || !fs::is_empty(folder, code))) {
      return bad_input("expected a new or empty folder, found one with files in it, or a file", folder.string());
    }
    fs::create_directories(each, code);
    if (code) {
      return bad_input("cannot make the folder: " + code.message(), each.string());
    }
  }
  return {};
}

}  // namespace

Status write_headvis(const Atlas& atlas, const fs::path& folder, StopToken stop) {
  const AtlasInfo& info = atlas.info();
  if (!info.examples) {
    return bad_input("expected an atlas with examples, found none; locus atlas --what examples keeps them");
  }
  LOCUS_CHECK(make_folder(folder));
  const bool has_mean = atlas.has("examples.activation");
  LOCUS_TRY(const std::vector<double> means,
            has_mean ? means_of(atlas, "examples.activation")
                     : Result(std::vector<double>(static_cast<std::size_t>(info.layers * info.heads), kNaN)));
  json heads = json::array();
  for (std::int64_t n = 0; n < info.layers * info.heads; ++n) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    const std::int64_t layer = n / info.heads;
    const std::int64_t head = n % info.heads;
    LOCUS_TRY(const HeadExamples examples, atlas.examples(layer, head));
    if (examples.windows.empty()) {
      continue;
    }
    heads.push_back({layer, head});
    const json document = head_json(examples, means[static_cast<std::size_t>(n)]);
    LOCUS_CHECK(write_file(folder / "heads" / file_name(kPattern, layer, head), text_of(document) + "\n"));
  }
  LOCUS_TRY(const json scatter, scatter_json(atlas));
  LOCUS_CHECK(write_file(folder / "scatter_data.json", text_of(scatter) + "\n"));
  LOCUS_CHECK(write_file(folder / "server_config.json", "{}\n"));
  LOCUS_CHECK(write_file(folder / "attributions" / "manifest.json", "{}\n"));
  return write_file(folder / "config.json", text_of(config_json(atlas, heads)) + "\n");
}

namespace atlas {

bool is_headvis(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "config.json", ignored) &&
         fs::is_regular_file(folder / "scatter_data.json", ignored) && fs::is_directory(folder / "heads", ignored);
}

Result<std::shared_ptr<const Atlas>> open_headvis(const fs::path& path) {
  Folder folder;
  folder.path = path;
  LOCUS_CHECK(read_config(folder));
  LOCUS_CHECK(read_scatter(folder));
  return std::shared_ptr<const Atlas>(std::make_shared<const HeadVisAtlas>(std::move(folder)));
}

}  // namespace atlas

}  // namespace locus::models
