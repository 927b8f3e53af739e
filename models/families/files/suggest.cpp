#include "models/families/files/suggest.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/shown.h"
#include "models/families/files/family_file.h"
#include "models/families/files/family_files.h"
#include "models/families/files/property.h"
#include "models/transformer/transformer.h"
#include "models/transformer/weights.h"

namespace locus::families {

namespace {

using formats::Tree;
using transformer::Parameter;

constexpr std::size_t kAlike = 40;   // families by names and fields, of which those are drafted
constexpr std::size_t kNearest = 6;  // that fit best as they are
constexpr const char* kWeightEnd = ".weight";
constexpr const char* kBiasEnd = ".bias";

// ---- what all families know

// A row of some family; `outside`: its tensor has no prefix.
struct KnownRow {
  Name name;
  bool outside = false;
};

// Families that a file may inherit, the rows that name a parameter, and the slots that a field fills.
class KnownFamilies {
 public:
  KnownFamilies() {
    for (const Family& family : families()) {
      add(family);
    }
    for (const FamilyFile& file : family_files()) {
      if (file.family != nullptr) {
        add(*file.family);
      }
    }
  }

  const std::vector<const Family*>& all() const { return families_; }

  // Rows for a parameter's pattern, "layers.N.attention.query.weight".
  std::vector<const KnownRow*> rows(const std::string& parameter) const {
    std::vector<const KnownRow*> found;
    for (const std::string& key : {parameter, parameter.substr(0, parameter.rfind('.'))}) {
      if (const auto rows = rows_.find(key); rows != rows_.end()) {
        for (const KnownRow& row : rows->second) {
          found.push_back(&row);
        }
      }
    }
    return found;
  }

  // Slots that a field has in some families, the most frequent first.
  std::vector<std::string> slots(const std::string& field) const {
    std::vector<std::pair<std::size_t, std::string>> counted;
    if (const auto found = slots_.find(field); found != slots_.end()) {
      for (const auto& [slot, count] : found->second) {
        counted.emplace_back(count, slot);
      }
    }
    std::sort(counted.rbegin(), counted.rend());
    std::vector<std::string> names;
    for (const auto& each : counted) {
      names.push_back(each.second);
    }
    return names;
  }

 private:
  static std::string slot_name(const Slot& slot) {
    for (const std::string_view name : property_names()) {
      const Slot* const own = find_property(name)->slot();
      if (own != nullptr && *own == slot) {
        return std::string(name);
      }
    }
    return {};
  }

  static bool is_embedding(const Name& row) {
    return row.parameter == "embedding.weight" || row.parameter == "embedding";
  }

  void add(const Family& family) {
    const bool table = family.read == nullptr;
    const bool text = std::any_of(family.names.begin(), family.names.end(), is_embedding);
    if (!table || !text) {
      return;
    }
    families_.push_back(&family);
    add_rows(family.names, false);
    add_rows(family.outside, true);
    for (const Field& field : family.fields) {
      const std::string slot = slot_name(field.slot);
      for (const std::string_view name : field.names) {
        if (!slot.empty()) {
          ++slots_[std::string(name)][slot];
        }
      }
    }
  }

  void add_rows(const std::vector<Name>& names, bool outside) {
    for (const Name& row : names) {
      const std::vector<std::string> parameters = spelled_out(row.parameter);
      const std::vector<std::string> tensors = spelled_out(row.tensor);
      for (std::size_t n = 0; n < parameters.size(); ++n) {
        const KnownRow known{{parameters[n], tensors[n], row.layout, row.piece}, outside};
        std::vector<KnownRow>& rows = rows_[parameters[n]];
        const Tree written = written_row(known.name);
        const bool twice = std::any_of(rows.begin(), rows.end(), [&](const KnownRow& each) {
          return each.outside == outside &&
                 written_row(each.name).dump(-1, Tree::Order::kAsAdded) == written.dump(-1, Tree::Order::kAsAdded);
        });
        if (!twice) {
          rows.push_back(known);
        }
      }
    }
  }

  std::vector<const Family*> families_;
  std::map<std::string, std::vector<KnownRow>> rows_;
  std::map<std::string, std::map<std::string, std::size_t>> slots_;
};

// ---- choices

// Slots that are set together. Which of them fit shapes decide, or a comparison.
using SlotChoice = std::vector<std::pair<std::string, Tree>>;

std::vector<SlotChoice> slot_choices() {
  std::vector<SlotChoice> choices{
      {{"norm", "rms"}},
      {{"norm", "layer"}},
      {{"norm", "layer"}, {"norm_bias", false}},
      {{"attention.norm.kind", "rms"}},
      {{"attention.norm.kind", "layer"}},
      {{"attention.norm.kind", "layer"}, {"attention.norm.bias", true}},
      {{"embedding_scale", 1.0}},
      {{"embedding_scale", Tree{{"sqrt", Tree{{"field", "hidden_size"}}}}}},
      {{"attention_scale", 0.0}},
      {{"attention_scale", 1.0}},
      {{"parallel", true}, {"shared_norm", true}},
      {{"experts.router", "softmax"}},
      {{"experts.router", "top_softmax"}},
      {{"experts.router", "sigmoid"}},
      {{"attention.gate", "head"}},
      {{"attention.gate", "channel"}},
  };
  for (const char* const place : {"pre", "after", "both", "post", "none"}) {
    choices.push_back({{"attention_norm", place}, {"feed_forward_norm", place}});
  }
  for (const char* const form : {"head", "whole", "own", "none"}) {
    choices.push_back({{"attention.norm", form}});
  }
  for (const char* const layout : {"separate", "fused", "per_head"}) {
    choices.push_back({{"attention.qkv", layout}});
  }
  for (const char* const activation : {"silu", "gelu", "gelu_tanh", "relu", "relu2", "quick_gelu"}) {
    choices.push_back({{"activation", activation}});
  }
  for (const char* const flag : {"norm_bias",
                                 "norm_weight",
                                 "attention.norm.bias",
                                 "qkv_bias",
                                 "attention_bias",
                                 "output_bias",
                                 "feed_forward_bias",
                                 "feed_forward.gated",
                                 "feed_forward.inner_norm",
                                 "tied",
                                 "head_bias",
                                 "final_norm",
                                 "embedding_norm",
                                 "parallel",
                                 "shared_norm",
                                 "residual_from_norm",
                                 "attention.sinks",
                                 "attention.value_norm",
                                 "attention.output_norm",
                                 "normalised_experts",
                                 "experts.correction",
                                 "experts.router_bias",
                                 "experts.shared_gate",
                                 "layer_scale",
                                 "output_scale",
                                 "causal"}) {
    choices.push_back({{flag, true}});
    choices.push_back({{flag, false}});
  }
  return choices;
}

// The draft with each of the choices.
std::vector<FileDraft> with_choices(const FileDraft& draft) {
  std::vector<FileDraft> drafts;
  for (const SlotChoice& choice : slot_choices()) {
    FileDraft chosen = draft;
    for (const auto& [slot, value] : choice) {
      chosen.set[slot] = value;
    }
    drafts.push_back(std::move(chosen));
  }
  return drafts;
}

// ---- words of names

// "layers.N.attn.wq.weight" -> {attention, query}.
std::set<std::string> words_of(const std::string& name) {
  static const std::map<std::string, std::string> kMeanings{{"q", "query"},
                                                            {"wq", "query"},
                                                            {"k", "key"},
                                                            {"wk", "key"},
                                                            {"v", "value"},
                                                            {"wv", "value"},
                                                            {"o", "output"},
                                                            {"wo", "output"},
                                                            {"out", "output"},
                                                            {"attn", "attention"},
                                                            {"ln", "norm"},
                                                            {"layernorm", "norm"},
                                                            {"rmsnorm", "norm"},
                                                            {"mlp", "feed"},
                                                            {"ffn", "feed"},
                                                            {"ffw", "feed"},
                                                            {"w1", "gate"},
                                                            {"w2", "down"},
                                                            {"w3", "up"},
                                                            {"emb", "embedding"},
                                                            {"embed", "embedding"},
                                                            {"wte", "embedding"},
                                                            {"embeddings", "embedding"},
                                                            {"lm", "head"},
                                                            {"router", "router"},
                                                            {"expert", "experts"},
                                                            {"post", "after"},
                                                            {"unembed", "head"}};
  std::set<std::string> words;
  std::string word;
  for (const char each : name + ".") {
    if (std::isalnum(static_cast<unsigned char>(each)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
      continue;
    }
    const auto meaning = kMeanings.find(word);
    words.insert(meaning == kMeanings.end() ? word : meaning->second);
    word.clear();
  }
  for (const char* const other : {"", "n", "j", "layers", "proj", "weight", "bias", "self"}) {
    words.erase(other);
  }
  return words;
}

std::size_t shared_words(const std::string& left, const std::string& right) {
  const std::set<std::string> own = words_of(left);
  const std::set<std::string> others = words_of(right);
  return static_cast<std::size_t>(
      std::count_if(own.begin(), own.end(), [&](const std::string& word) { return others.count(word) > 0; }));
}

// ---- drafts

// The checkpoint with a configuration of which nothing has been read.
Result<CheckpointFiles> unread_files(const CheckpointFiles& checkpoint) {
  CheckpointFiles files = checkpoint;
  LOCUS_TRY(files.config, Config::load(checkpoint.config.file()));
  return files;
}

// A draft, and what it leaves unexplained, with the rows that were found for it.
struct Fit {
  FileDraft core;  // without those rows
  Suggestion suggestion;
  transformer::Spec spec;
};

class Drafting {
 public:
  Drafting(const CheckpointFiles& checkpoint, const KnownFamilies& known) : checkpoint_(checkpoint), known_(known) {
    for (const formats::TensorInfo& tensor : checkpoint.tensors->tensors()) {
      patterns_.insert(named_by_pattern(tensor.name));
    }
  }

  // The families that explain most as they are, of those whose names and fields are most like the checkpoint's.
  std::vector<const Family*> nearest() const {
    const std::vector<const Family*> alike =
        best_of(known_.all(), kAlike, [&](const Family& family) { return -likeness(family); });
    return best_of(alike, kNearest, [&](const Family& family) { return fitted(plain(family)).suggestion.cost; });
  }

  // The draft of a family: fields, then what shapes decide, then the fields that nothing explains.
  Fit drafted(const Family& family, const StopToken& stop) const {
    Fit fit = fitted(plain(family));
    name_fields(fit);
    decide_by_shapes(fit, stop);
    name_fields(fit);
    settle_fields(fit);
    return fit;
  }

  Fit fitted(const FileDraft& core) const {
    Fit fit{core, {}, {}};
    Suggestion& suggestion = fit.suggestion;
    suggestion.draft = core;
    if (const Status read = fit_into(fit); !read.ok()) {
      suggestion.error = read.error();
    }
    suggestion.cost = (suggestion.error ? 1000.0 : 0.0) +
                      10.0 * static_cast<double>(suggestion.absent.size() + suggestion.leftover.size()) +
                      3.0 * static_cast<double>(suggestion.unread.size()) +
                      2.0 * static_cast<double>(suggestion.guessed.size()) +
                      0.5 * static_cast<double>(suggestion.draft.size());
    return fit;
  }

 private:
  template <class Cost>
  static std::vector<const Family*> best_of(const std::vector<const Family*>& families, std::size_t count,
                                            const Cost& cost) {
    std::vector<std::pair<double, const Family*>> ranked;
    for (const Family* const family : families) {
      ranked.emplace_back(cost(*family), family);
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<const Family*> list;
    for (std::size_t n = 0; n < std::min(count, ranked.size()); ++n) {
      list.push_back(ranked[n].second);
    }
    return list;
  }

  // The family's own draft: its prefix, and the fields without which it cannot read the configuration.
  FileDraft plain(const Family& family) const {
    FileDraft draft;
    draft.name = model_type(checkpoint_);
    draft.inherits = family.name;
    find_prefix(family, draft);
    free_fields(family, draft);
    return draft;
  }

  // Shared patterns and fields, each as a part of both sides.
  double likeness(const Family& family) const {
    std::set<std::string> own;
    for (const auto& [rows, outside] : {std::pair{&family.names, false}, std::pair{&family.outside, true}}) {
      for (const Name& row : *rows) {
        for (const std::string& tensor : spelled_out(row.tensor)) {
          const bool whole = tensor.ends_with(kWeightEnd) || tensor.ends_with(kBiasEnd);
          own.insert(tensor + (whole ? "" : kWeightEnd));
        }
      }
    }
    std::size_t shared = 0;
    for (const std::string& pattern : patterns_) {
      // Whatever the prefix.
      for (std::size_t begin = 0; begin != std::string::npos; begin = pattern.find('.', begin)) {
        begin += begin == 0 ? 0 : 1;
        if (own.count(pattern.substr(begin)) > 0) {
          ++shared;
          break;
        }
        begin += begin == 0 ? 1 : 0;
      }
    }
    std::size_t fields = 0;
    for (const Field& field : family.fields) {
      fields += checkpoint_.config.has(spelled(checkpoint_.config, field.names)) ? 1 : 0;
    }
    const auto ratio = [](std::size_t part, std::size_t left, std::size_t right) {
      return left + right == 0 ? 0.0 : 2.0 * static_cast<double>(part) / static_cast<double>(left + right);
    };
    return 2 * ratio(shared, patterns_.size(), own.size()) +
           static_cast<double>(shared) / static_cast<double>(std::max<std::size_t>(patterns_.size(), 1)) +
           ratio(fields, family.fields.size(), family.fields.size());
  }

  // The beginning of names with which a tensor exists.
  std::optional<std::string> beginning_of(const std::string& tensor) const {
    std::optional<std::string> shortest;
    for (const formats::TensorInfo& each : checkpoint_.tensors->tensors()) {
      const std::string& name = each.name;
      if (!name.ends_with(tensor) || (name.size() > tensor.size() && name[name.size() - tensor.size() - 1] != '.')) {
        continue;
      }
      const std::string beginning = name.substr(0, name.size() - tensor.size());
      if (!shortest || beginning.size() < shortest->size()) {
        shortest = beginning;
      }
    }
    return shortest;
  }

  // Where the embedding of the family is, or that of another family.
  void find_prefix(const Family& family, FileDraft& draft) const {
    const auto has = [&](const std::string& prefix) {
      return std::find(family.prefixes.begin(), family.prefixes.end(), prefix) != family.prefixes.end();
    };
    if (const auto found = beginning_of(std::string(family.anchor))) {
      if (!has(*found)) {
        draft.prefixes = {*found};
      }
      return;
    }
    for (const KnownRow* const row : known_.rows("embedding.weight")) {
      const std::string tensor = row->name.tensor + (row->name.tensor.ends_with(kWeightEnd) ? "" : kWeightEnd);
      if (const auto found = beginning_of(tensor)) {
        draft.tensors["embedding.weight"] = tensor;
        draft.prefixes = {*found};
        return;
      }
    }
  }

  // Fields that the family requires under another name, and values that it refuses.
  void free_fields(const Family& family, FileDraft& draft) const {
    const Config& config = checkpoint_.config;
    for (const Field& field : family.fields) {
      if (!std::holds_alternative<std::monostate>(field.fallback) || config.has(spelled(config, field.names))) {
        continue;
      }
      const std::vector<std::string> slots = known_.slots(std::string(field.names.front()));
      for (const std::string& name : config.names()) {
        const std::vector<std::string> others = known_.slots(name);
        if (!slots.empty() && !others.empty() && others.front() == slots.front()) {
          draft.fields[name] = slots.front();
          break;
        }
      }
    }
    for (const FixedField& field : family.fixed_fields) {
      if (!check_fixed_fields(config, {field}).ok()) {
        draft.fields[std::string(field.name)] = Tree();
      }
    }
    for (const std::string_view flag : family.refused) {
      if (const Result<bool> set = config.boolean(flag, false); !set.ok() || *set) {
        draft.fields[std::string(flag)] = Tree();
      }
    }
  }

  // The prefix of the draft's names, as the family finds it.
  std::string prefix_of(const Family& family) const {
    return family.prefixes.empty() ? "" : checkpoint_.prefix_of(family.prefixes, std::string(family.anchor));
  }

  // A model of so many layers and experts is not made again and again.
  static Status check_size(const transformer::Spec& spec) {
    constexpr std::int64_t kMost = 1 << 17;
    std::int64_t parts = 0;
    for (const transformer::LayerSpec& layer : spec.layers) {
      parts += 1 + layer.feed_forward.experts.count;
      if (parts > kMost) {
        return too_large("a draft takes at most " + std::to_string(kMost) + " layers and experts, found more");
      }
    }
    return {};
  }

  // Fills the fit: errors are those of the draft's file and of reading the configuration.
  Status fit_into(Fit& fit) const {
    LOCUS_TRY(const Family family, fit.core.family());
    LOCUS_TRY(const CheckpointFiles files, unread_files(checkpoint_));
    LOCUS_TRY(Plan plan, read_plan(family, files));
    if (plan.spec.is_image() || plan.vision || !plan.encoder.empty()) {
      return unsupported("expected a family of text models with one side");
    }
    LOCUS_CHECK(check_size(plan.spec));
    LOCUS_TRY(const auto made, transformer::Transformer::create(plan.spec, false));
    fit.spec = plan.spec;
    const std::vector<Parameter> parameters = made->parameters();
    const std::string prefix = prefix_of(family);
    std::map<std::string, Parameter> absent = absent_parameters(parameters, plan, files);
    std::map<std::string, std::string> leftover = leftover_tensors(parameters, plan, files);
    add_known_rows(prefix, absent, leftover, fit.suggestion, plan, files);
    absent = absent_parameters(parameters, plan, files);
    leftover = leftover_tensors(parameters, plan, files);
    if (!absent.empty() && !leftover.empty()) {
      add_guessed_rows(prefix, absent, leftover, fit.suggestion, plan, files);
      absent = absent_parameters(parameters, plan, files);
      leftover = leftover_tensors(parameters, plan, files);
    }
    for (const auto& [pattern, parameter] : absent) {
      fit.suggestion.absent.push_back(pattern + " " + transformer::shape_text(parameter.shape));
    }
    for (const auto& [pattern, tensor] : leftover) {
      fit.suggestion.leftover.push_back(pattern + " " + transformer::shape_text(files.find(tensor)->shape));
    }
    fit.suggestion.unread = unused_fields(family, files);
    return {};
  }

  // The first parameter of each pattern that has no tensor of its shape.
  static std::map<std::string, Parameter> absent_parameters(const std::vector<Parameter>& parameters, const Plan& plan,
                                                            const CheckpointFiles& files) {
    std::map<std::string, Parameter> absent;
    for (const Parameter& parameter : parameters) {
      const auto tensor = transformer::bound_tensor(parameter, plan, files);
      if (!tensor.ok() || *tensor == nullptr) {
        absent.emplace(named_by_pattern(parameter.name), parameter);
      }
    }
    return absent;
  }

  // The first tensor of each pattern that no parameter uses.
  static std::map<std::string, std::string> leftover_tensors(const std::vector<Parameter>& parameters, const Plan& plan,
                                                             const CheckpointFiles& files) {
    std::set<const formats::TensorInfo*> used;
    for (const Parameter& parameter : parameters) {
      if (const auto tensor = transformer::bound_tensor(parameter, plan, files); tensor.ok()) {
        used.insert(*tensor);
      }
    }
    std::map<std::string, std::string> leftover;
    for (const formats::TensorInfo& tensor : files.tensors->tensors()) {
      if (used.count(&tensor) == 0 && tensor.elements() > 0 && !transformer::is_skipped(tensor.name, plan)) {
        leftover.emplace(named_by_pattern(tensor.name), tensor.name);
      }
    }
    return leftover;
  }

  // Puts a row before those of the plan, and into the draft.
  static void add_row(const KnownRow& row, const std::string& prefix, Suggestion& suggestion, Plan& plan) {
    Name full = row.name;
    full.tensor = (row.outside ? "" : prefix) + full.tensor;
    plan.names.insert(plan.names.begin(), full);
    (row.outside ? suggestion.draft.head : suggestion.draft.tensors)[row.name.parameter] = written_row(row.name);
  }

  // The tensor that a row names for a parameter, where it has the parameter's shape.
  static std::optional<std::string> tensor_for(const KnownRow& row, const std::string& prefix,
                                               const Parameter& parameter, const CheckpointFiles& files) {
    Plan one;
    one.name(row.name.parameter, (row.outside ? "" : prefix) + row.name.tensor, row.name.layout, row.name.piece);
    const auto tensor = transformer::bound_tensor(parameter, one, files);
    return tensor.ok() && *tensor != nullptr ? std::optional((*tensor)->name) : std::nullopt;
  }

  // Rows of other families, for parameters without a tensor.
  void add_known_rows(const std::string& prefix, const std::map<std::string, Parameter>& absent,
                      const std::map<std::string, std::string>& leftover, Suggestion& suggestion, Plan& plan,
                      const CheckpointFiles& files) const {
    std::set<std::string> taken;  // whole tensors
    for (const auto& [pattern, parameter] : absent) {
      for (const KnownRow* const row : known_.rows(pattern)) {
        const auto tensor = tensor_for(*row, prefix, parameter, files);
        if (!tensor || leftover.count(named_by_pattern(*tensor)) == 0 ||
            (row->name.piece.whole() && !taken.insert(*tensor).second)) {
          continue;
        }
        // A row of the weight and the bias names both; one of either does not stand beside it.
        const std::string both = row->name.parameter.substr(0, row->name.parameter.rfind('.'));
        if (suggestion.draft.tensors.count(both) == 0) {
          add_row(*row, prefix, suggestion, plan);
        }
        break;
      }
    }
  }

  // Rows by the words of names, or where one tensor alone has the shape.
  static void add_guessed_rows(const std::string& prefix, const std::map<std::string, Parameter>& absent,
                               std::map<std::string, std::string> leftover, Suggestion& suggestion, Plan& plan,
                               const CheckpointFiles& files) {
    std::vector<std::tuple<std::size_t, std::string, KnownRow, std::string>> pairs;  // words, parameter, row, tensor
    for (const auto& [pattern, parameter] : absent) {
      for (const auto& [tensor, first] : leftover) {
        const bool inside = tensor.starts_with(prefix);
        const std::string rest = inside ? tensor.substr(prefix.size()) : tensor;
        for (const Layout layout : {Layout::kAsIs, Layout::kTransposed}) {
          const KnownRow row{{pattern, rest, layout, {}}, !inside};
          if (pattern.substr(pattern.rfind('.')) == tensor.substr(std::min(tensor.rfind('.'), tensor.size())) &&
              tensor_for(row, prefix, parameter, files)) {
            pairs.emplace_back(shared_words(pattern, rest), pattern, row, tensor);
            break;
          }
        }
      }
    }
    std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return std::get<0>(a) > std::get<0>(b); });
    std::set<std::string> done;
    for (const auto& [words, pattern, row, tensor] : pairs) {
      if (done.count(pattern) > 0 || leftover.count(tensor) == 0) {
        continue;
      }
      const auto rivals =
          std::count_if(pairs.begin(), pairs.end(), [&, &words = words, &pattern = pattern](const auto& other) {
            return std::get<1>(other) == pattern && std::get<0>(other) == words &&
                   leftover.count(std::get<3>(other)) > 0;
          });
      if (rivals == 1) {
        add_row(row, prefix, suggestion, plan);
        suggestion.guessed.push_back(pattern + " from " + tensor);
        done.insert(pattern);
        leftover.erase(tensor);
      }
    }
  }

  // Takes the other draft where it explains more.
  bool better(const FileDraft& draft, Fit& fit) const {
    Fit other = fitted(draft);
    if (other.suggestion.cost >= fit.suggestion.cost) {
      return false;
    }
    fit = std::move(other);
    return true;
  }

  // Fields by the slots that they fill in other families; RoPE; windows by a list of layers.
  void name_fields(Fit& fit) const {
    const std::vector<std::string>& unread = fit.suggestion.unread;
    const auto is_unread = [&](const char* name) {
      return std::find(unread.begin(), unread.end(), name) != unread.end();
    };
    if (checkpoint_.config.has("layer_types") && (is_unread("layer_types") || is_unread("sliding_window"))) {
      FileDraft windowed = fit.core;
      windowed.layers = {Tree{{"list", "layer_types"},
                              {"is", "sliding_attention"},
                              {"set", Tree{{"window", Tree{{"field", "sliding_window"}}}}}}};
      better(windowed, fit);
    }
    if (std::any_of(unread.begin(), unread.end(), [](const std::string& name) {
          return name.starts_with("rope_") || name.find("rotary") != std::string::npos;
        })) {
      Tree rope{{"rope", "rope_parameters"}};
      if (checkpoint_.config.has("partial_rotary_factor")) {
        rope.add_field("fraction", Tree{{"field", "partial_rotary_factor"}, {"or", 1}});
      }
      FileDraft turned = fit.core;
      turned.encodings["all"] = rope;
      better(turned, fit);
    }
    for (const std::string& field : std::vector<std::string>(unread)) {
      for (const std::string& slot : known_.slots(field)) {
        FileDraft draft = fit.core;
        draft.fields[field] = slot;
        if (better(draft, fit)) {
          break;
        }
      }
    }
  }

  // The draft with each field that fills several slots in different families in each of them.
  std::vector<FileDraft> with_other_slots(const FileDraft& draft) const {
    std::vector<FileDraft> drafts;
    for (const std::string& field : checkpoint_.config.names()) {
      const std::vector<std::string> slots = known_.slots(field);
      for (std::size_t n = 0; slots.size() > 1 && n < slots.size(); ++n) {
        drafts.push_back(draft);
        drafts.back().fields[field] = slots[n];
      }
    }
    return drafts;
  }

  // Values of slots that make names and shapes fit, one after another, the best first.
  void decide_by_shapes(Fit& fit, const StopToken& stop) const {
    constexpr int kRounds = 12;
    for (int round = 0; round < kRounds && !fit.suggestion.opens() && !stop.stop_requested(); ++round) {
      Fit best = fit;
      for (const FileDraft& draft : with_choices(fit.core)) {
        better(draft, best);
      }
      for (const FileDraft& draft : with_other_slots(fit.core)) {
        better(draft, best);
      }
      if (best.suggestion.cost >= fit.suggestion.cost) {
        return;
      }
      fit = std::move(best);
    }
  }

  // Fields that nothing explains must keep their values, or are ignored where they are lists and objects.
  void settle_fields(Fit& fit) const {
    FileDraft draft = fit.core;
    for (const std::string& field : fit.suggestion.unread) {
      const Config& config = checkpoint_.config;
      const std::string kind = config.kind(field);
      const bool single = kind == "number" || kind == "text" || kind == "true or false";
      if (!single) {
        draft.ignore.push_back(field);
      } else if (const Result<bool> flag = config.boolean(field); flag.ok()) {
        draft.settled[field] = *flag;
      } else if (const Result<std::int64_t> whole = config.integer(field); whole.ok()) {
        draft.settled[field] = *whole;
      } else if (const Result<double> number = config.number(field); number.ok()) {
        draft.settled[field] = *number;
      } else if (const Result<std::string> text = config.text(field); text.ok()) {
        draft.settled[field] = *text;
      }
    }
    Fit settled = fitted(draft);
    settled.suggestion.unread = fit.suggestion.unread;
    settled.suggestion.cost += 3.0 * static_cast<double>(fit.suggestion.unread.size());
    fit = std::move(settled);
  }

  const CheckpointFiles& checkpoint_;
  const KnownFamilies& known_;
  std::set<std::string> patterns_;  // of all tensors
};

// The rows of norms with 1 added to the weight, or without.
FileDraft with_shifted_norms(const FileDraft& draft, const Family& family) {
  FileDraft shifted = draft;
  for (const Name& row : family.names) {
    const bool bias = row.parameter.ends_with(kBiasEnd);
    if (row.parameter.find("norm") == std::string::npos || bias) {
      continue;
    }
    Name weight = row;
    const bool whole = row.parameter.ends_with(kWeightEnd);
    weight.parameter += whole ? "" : kWeightEnd;
    weight.tensor += whole ? "" : kWeightEnd;
    weight.layout = row.layout == Layout::kPlusOne ? Layout::kAsIs : Layout::kPlusOne;
    shifted.tensors.emplace(weight.parameter, written_row(weight));
  }
  return shifted;
}

// The two halves of joined gates and inner projections the other way round.
FileDraft with_swapped_halves(const FileDraft& draft, const Family& family) {
  FileDraft swapped = draft;
  for (const Name& row : family.names) {
    if (row.parameter.find("feed_forward") != std::string::npos && row.piece.of == 2) {
      Name other = row;
      other.piece.index = 1 - row.piece.index;
      swapped.tensors[row.parameter] = written_row(other);
    }
  }
  return swapped;
}

// RoPE of the draft's spec with other pairs of channels.
std::vector<FileDraft> with_pairs(const FileDraft& draft, const transformer::Spec& spec) {
  std::vector<FileDraft> drafts;
  if (spec.encodings.size() != 1 || spec.encodings.front().name != "rope") {
    return drafts;
  }
  const Settings& options = spec.encodings.front().options;
  for (const char* const pairs : {"halves", "neighbours", "swapped"}) {
    Tree rope{{"rope", "rope_parameters"}, {"pairs", pairs}};
    if (const Result<double> base = options.number("base", 0); base.ok() && *base > 0) {
      rope.add_field("base", *base);
    }
    if (const Result<double> fraction = options.number("fraction", 1); fraction.ok() && *fraction != 1) {
      rope.add_field("fraction", Tree{{"field", "partial_rotary_factor"}, {"or", *fraction}});
    }
    drafts.push_back(draft);
    drafts.back().encodings = {{"all", rope}};
  }
  return drafts;
}

void write_note(Suggestion& suggestion) {
  std::string note = "A draft from names and shapes. What they do not show is that of " + suggestion.draft.inherits +
                     ": compare with the authors' code.";
  const auto add = [&](const char* what, const std::vector<std::string>& names) {
    for (std::size_t n = 0; n < names.size(); ++n) {
      note += (n == 0 ? what : ", ") + names[n];
    }
    note += names.empty() ? "" : ".";
  };
  add(" Settled or ignored without being understood: ", suggestion.unread);
  add(" Guessed from words: ", suggestion.guessed);
  suggestion.draft.note = note;
}

}  // namespace

Result<std::vector<Suggestion>> suggest(const CheckpointFiles& checkpoint, const StopToken& stop) {
  const std::string where = checkpoint.path.string();
  if (checkpoint.config.file().empty()) {
    return bad_input("expected a checkpoint with a config.json, found none", where);
  }
  const std::string type = model_type(checkpoint);
  if (type.empty()) {
    return bad_input("expected a text, found " + checkpoint.config.kind("model_type"),
                     checkpoint.config.context("model_type"));
  }
  if (const Result<const Family*> known = family_of(checkpoint); known.ok()) {
    return bad_input("expected a model type that no family reads, found " + shown(type) + ", which family " +
                         std::string((*known)->name) + " reads",
                     where);
  }
  const KnownFamilies known;
  const Drafting drafting(checkpoint, known);
  std::vector<Suggestion> suggestions;
  for (const Family* const family : drafting.nearest()) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    Suggestion suggestion = drafting.drafted(*family, stop).suggestion;
    write_note(suggestion);
    const std::string text = suggestion.draft.text();
    if (const auto read = read_family_file(text, suggestion.draft.name + ".json", inheritable_family); !read.ok()) {
      suggestion.error = read.error();
    }
    suggestions.push_back(std::move(suggestion));
  }
  std::stable_sort(suggestions.begin(), suggestions.end(), [](const Suggestion& a, const Suggestion& b) {
    return a.opens() != b.opens() ? a.opens() : a.cost < b.cost;
  });
  return suggestions.front().error ? Result<std::vector<Suggestion>>(*suggestions.front().error)
                                   : Result<std::vector<Suggestion>>(std::move(suggestions));
}

std::vector<FileDraft> hidden_changes(const CheckpointFiles& checkpoint, const FileDraft& draft) {
  const KnownFamilies known;
  const Drafting drafting(checkpoint, known);
  const Fit fit = drafting.fitted(draft);
  const Result<Family> family = draft.family();
  std::vector<FileDraft> changes;
  if (fit.suggestion.error || !family.ok()) {
    return changes;
  }
  const auto opens = [](const Fit& changed) {
    return changed.suggestion.opens() && changed.suggestion.unread.empty() && changed.suggestion.guessed.empty();
  };
  std::vector<FileDraft> specs = with_pairs(draft, fit.spec);
  const std::vector<FileDraft> chosen = with_choices(draft);
  specs.insert(specs.end(), chosen.begin(), chosen.end());
  for (const FileDraft& each : specs) {
    const Fit changed = drafting.fitted(each);
    if (opens(changed) && !(changed.spec == fit.spec)) {
      changes.push_back(changed.suggestion.draft);
    }
  }
  for (const FileDraft& each : {with_shifted_norms(draft, *family), with_swapped_halves(draft, *family)}) {
    if (each.text() != draft.text() && opens(drafting.fitted(each))) {
      changes.push_back(each);
    }
  }
  return changes;
}

}  // namespace locus::families
