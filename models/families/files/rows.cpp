#include "models/families/files/rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "core/base/shown.h"
#include "models/transformer/transformer.h"

namespace locus::families {

namespace {

using formats::Node;
using transformer::Spec;

constexpr std::array<const char*, 2> kEnds{".weight", ".bias"};

// Specs that have every parameter between them.
std::vector<Spec> all_parts() {
  Spec plain;
  plain.width = 8;
  plain.vocabulary = 8;
  plain.trained_length = 8;
  plain.layers.resize(1);
  transformer::LayerSpec& layer = plain.layers.front();
  layer.attention.heads = layer.attention.kv_heads = 2;
  layer.attention.head_width = 4;
  layer.attention.norm.form = transformer::QueryNormForm::kHead;
  layer.attention.sinks = true;
  layer.attention.gate = {transformer::GateForm::kHead, false, true};
  layer.attention_norm = layer.feed_forward_norm = transformer::NormPlace::kBoth;
  layer.feed_forward.inner = 8;
  layer.layer_scale = layer.output_scale = true;
  layer.attention.output_norm = layer.feed_forward.inner_norm = true;
  plain.encodings = {{"learned", {}}};
  plain.embedding_norm = plain.head_transform = plain.head_bias = true;
  plain.token_types = 2;
  plain.embedding_width = 4;
  plain.tied_head = false;
  Spec inputs;  // per-layer embeddings and learned numbers of an activation are in no model together
  inputs.width = inputs.vocabulary = 8;
  inputs.layer_inputs = {4, 8};
  Spec learned;
  learned.layers.front().feed_forward.gated = false;
  learned.layers.front().feed_forward.activation = transformer::Activation::kXielu;
  Spec separate = plain;
  separate.layers.front().attention.qkv = transformer::QkvLayout::kSeparate;
  separate.layers.front().attention.norm.form = transformer::QueryNormForm::kOwn;
  separate.layers.front().attention.key_shift = separate.layers.front().attention.value_shift = true;
  transformer::Experts& experts = separate.layers.front().feed_forward.experts;
  experts.count = experts.shared = 2;
  experts.router_bias = experts.correction = experts.shared_gate = true;
  Spec latent = plain;
  latent.layers.front().attention.latent = {4, 4, 2};
  Spec direct = latent;
  direct.layers.front().attention.latent.query_rank = 0;
  direct.head_inner = 4;
  Spec two;  // a bias by distance, and positions that are added
  two.trained_length = 8;
  two.encodings = {{"t5", {}}, {"learned", {}}};
  Spec forgetting;
  forgetting.encodings = {{"fox", {}}};
  Spec reflecting;
  reflecting.encodings = {{"path", {{"gates", true}}}};
  Spec convolved;
  convolved.encodings = {{"relative-state", {{"extent", std::int64_t{4}}}}};
  for (transformer::LayerSpec& each : convolved.layers) {
    each.attention.qkv = transformer::QkvLayout::kSeparate;
    each.convolution = 2;
    each.feed_forward.output_scale = true;
    each.feed_forward.experts = {.count = 2, .router = transformer::Router::kSigmoid, .normalised = true, .always = 1};
  }
  return {plain, separate, latent, direct, inputs, learned, two, forgetting, reflecting, convolved};
}

// Patterns of all parameters: "layers.N.attention.query.weight".
const std::set<std::string>& known_parameters() {
  static const std::set<std::string> known = [] {
    std::set<std::string> patterns;
    for (const Spec& spec : all_parts()) {
      if (const auto made = transformer::Transformer::create(spec, false); made.ok()) {
        for (const transformer::Parameter& parameter : (*made)->parameters()) {
          patterns.insert(named_by_pattern(parameter.name));
        }
      }
    }
    return patterns;
  }();
  return known;
}

bool is_parameter(const std::string& name) {
  const std::set<std::string>& known = known_parameters();
  return known.count(name) > 0 ||
         std::any_of(kEnds.begin(), kEnds.end(),
                     [&](const char* end) {
                       return known.count(name + end) > 0 ||
                              (name.ends_with(end) && known.count(name.substr(0, name.rfind('.'))) > 0);
                     }) ||
         // Biases of families that have LayerNorms, or biases in their feed-forwards.
         (name.ends_with(".bias") && known.count(name.substr(0, name.size() - 5) + ".weight") > 0);
}

// No braces, or one pair.
bool braces_are_whole(const std::string& name) {
  const std::size_t open = name.find('{');
  const std::size_t close = name.find('}');
  if (open == name.npos && close == name.npos) {
    return true;
  }
  return open != name.npos && close != name.npos && open < close && name.find('{', open + 1) == name.npos &&
         name.find('}', close + 1) == name.npos;
}

// "1/2": the first of two equal parts.
bool read_part(const std::string& word, Piece& piece) {
  const std::size_t slash = word.find('/');
  if (slash == word.npos) {
    return false;
  }
  std::int64_t index = 0;
  const char* const end = word.data() + word.size();
  const auto first = std::from_chars(word.data(), word.data() + slash, index);
  const auto second = std::from_chars(word.data() + slash + 1, end, piece.of);
  piece.index = index - 1;
  return first.ec == std::errc() && second.ec == std::errc() && first.ptr == word.data() + slash && second.ptr == end &&
         index >= 1 && index <= piece.of && piece.of <= 64;
}

// "4 blocks"
bool read_blocks(const std::string& word, Piece& piece) {
  constexpr std::string_view kEnd = " blocks";
  const char* const end = word.data() + word.size() - std::min(word.size(), kEnd.size());
  const auto count = std::from_chars(word.data(), end, piece.blocks);
  return word.ends_with(kEnd) && count.ec == std::errc() && count.ptr == end && piece.blocks >= 1 && piece.blocks <= 64;
}

void read_word(const Node& node, Name& row) {
  std::string word;
  node.read(word);
  if (word == "transposed") {
    row.layout = Layout::kTransposed;
  } else if (word == "plus one") {
    row.layout = Layout::kPlusOne;
  } else if (word == "reshaped") {
    row.layout = Layout::kReshaped;
  } else if (word == "stacked") {
    row.piece.stacked = true;
  } else if (word == "heads") {
    row.piece.by_item = true;
  } else if (word == "rows") {
    row.piece.interleaved = true;
  } else if (!read_part(word, row.piece) && !read_blocks(word, row.piece)) {
    node.fail("a part as 1/2, transposed, plus one, reshaped, stacked, heads, rows or 4 blocks");
  }
}

Name read_name(const Node& node, const std::string& parameter) {
  Name row;
  row.parameter = parameter;
  if (!node.value().is_list()) {
    node.read(row.tensor);
  } else {
    bool first = true;
    node.each([&](const Node& item) {
      if (first) {
        item.read(row.tensor);
        first = false;
      } else {
        read_word(item, row);
      }
    });
  }
  const bool whole = braces_are_whole(parameter) && braces_are_whole(row.tensor);
  const Piece& piece = row.piece;
  const bool parts = piece.of > 1 || piece.blocks > 1 || piece.stacked || piece.interleaved;
  if (piece.by_item && (parts || row.layout != Layout::kAsIs)) {
    node.fail("heads alone");
  }
  if (row.tensor.empty() || !whole || spelled_out(parameter).size() != spelled_out(row.tensor).size()) {
    node.fail("a tensor with as many words in braces as the parameter");
    row.parameter.clear();
  }
  return row;
}

// One row for each spelled parameter.
std::vector<Name> spelled_rows(const std::vector<Name>& rows) {
  std::vector<Name> spelled;
  for (const Name& row : rows) {
    const std::vector<std::string> parameters = spelled_out(row.parameter);
    const std::vector<std::string> tensors = spelled_out(row.tensor);
    for (std::size_t n = 0; n < parameters.size() && n < tensors.size(); ++n) {
      spelled.push_back({parameters[n], tensors[n], row.layout, row.piece});
    }
  }
  return spelled;
}

// Leaves of these rows those of other parameters; of a row for weight and bias, the half that is not replaced.
std::vector<Name> without(const std::vector<Name>& rows, const std::string& parameter) {
  std::vector<Name> kept;
  for (const Name& row : rows) {
    if (row.parameter == parameter) {
      continue;
    }
    bool halved = false;
    for (std::size_t n = 0; n < kEnds.size(); ++n) {
      if (row.parameter + kEnds[n] == parameter) {
        const std::string other = kEnds[1 - n];
        kept.push_back({row.parameter + other, row.tensor + other, row.layout, row.piece});
        halved = true;
      }
      halved = halved || parameter + kEnds[n] == row.parameter;
    }
    if (!halved) {
      kept.push_back(row);
    }
  }
  return kept;
}

}  // namespace

std::vector<FileRow> read_rows(const Node& node) {
  std::vector<FileRow> rows;
  node.expect_object();
  node.each_field([&](const std::string& parameter, const Node& value) {
    FileRow row{parameter, {}};
    if (!braces_are_whole(parameter)) {
      value.fail(bad_input(value.path() + ": expected a parameter with at most one pair of braces"));
      return;
    }
    for (const std::string& each : spelled_out(parameter)) {
      if (!is_parameter(each)) {
        value.fail(bad_input(value.path() + ": expected a parameter of a transformer, found " + shown(each)));
        return;
      }
    }
    const bool several =
        value.value().is_list() && !value.value().items().empty() && value.value().items().front().is_list();
    if (several) {
      value.each([&](const Node& item) { row.names.push_back(read_name(item, parameter)); });
    } else if (!value.value().is_null()) {
      row.names.push_back(read_name(value, parameter));
    }
    rows.push_back(std::move(row));
  });
  return rows;
}

void replace_rows(const std::vector<FileRow>& rows, std::vector<Name>& names, std::vector<Name>& others) {
  names = spelled_rows(names);
  others = spelled_rows(others);
  for (const FileRow& row : rows) {
    for (const std::string& parameter : spelled_out(row.parameter)) {
      names = without(names, parameter);
      others = without(others, parameter);
    }
  }
  for (const FileRow& row : rows) {
    const std::vector<Name> added = spelled_rows(row.names);
    names.insert(names.end(), added.begin(), added.end());
  }
}

std::string named_twice(const std::vector<FileRow>& rows) {
  std::set<std::string> named;
  for (const FileRow& row : rows) {
    for (const std::string& parameter : spelled_out(row.parameter)) {
      for (const std::string& each : {parameter, parameter + ".weight", parameter + ".bias"}) {
        const bool half = parameter.ends_with(".weight") || parameter.ends_with(".bias");
        if (half && each != parameter) {
          continue;
        }
        if (!named.insert(each).second) {
          return parameter;
        }
      }
    }
  }
  return {};
}

}  // namespace locus::families
