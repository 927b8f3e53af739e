#include "models/families/files/file_draft.h"

#include "models/families/files/family_file.h"
#include "models/families/files/family_files.h"

namespace locus::families {

namespace {

using formats::Tree;

Tree object_of(const std::map<std::string, Tree>& fields) {
  Tree object = Tree::object();
  for (const auto& [name, value] : fields) {
    object.add_field(name, value);
  }
  return object;
}

}  // namespace

Tree written_row(const Name& row) {
  std::vector<Tree> words{row.tensor};
  if (row.piece.of > 1) {
    words.emplace_back(std::to_string(row.piece.index + 1) + "/" + std::to_string(row.piece.of));
  }
  if (row.piece.interleaved) {
    words.emplace_back("rows");
  }
  if (row.piece.blocks > 1) {
    words.emplace_back(std::to_string(row.piece.blocks) + " blocks");
  }
  if (row.piece.stacked) {
    words.emplace_back("stacked");
  }
  if (row.piece.by_item) {
    words.emplace_back("heads");
  }
  if (row.layout != Layout::kAsIs) {
    words.emplace_back(row.layout == Layout::kTransposed ? "transposed"
                       : row.layout == Layout::kReshaped ? "reshaped"
                                                         : "plus one");
  }
  return words.size() == 1 ? words.front() : Tree::list(std::move(words));
}

std::string FileDraft::text() const {
  std::vector<std::pair<std::string, Tree>> keys{{"family", 1}, {"name", name}, {"inherits", inherits}};
  if (!note.empty()) {
    keys.emplace_back("note", note);
  }
  for (const auto& [key, fields] : {std::pair{"set", &set},
                                    {"fields", &this->fields},
                                    {"settled", &settled},
                                    {"encodings", &encodings},
                                    {"tensors", &tensors},
                                    {"head", &head}}) {
    if (!fields->empty()) {
      keys.emplace_back(key, object_of(*fields));
    }
  }
  for (const auto& [key, names] : {std::pair{"ignore", &ignore}, {"prefixes", &prefixes}}) {
    if (!names->empty()) {
      keys.emplace_back(key, *names);
    }
  }
  if (!layers.empty()) {
    keys.emplace_back("layers", Tree::list(layers));
  }
  std::string text;
  for (const auto& [key, value] : keys) {
    text += (text.empty() ? "{" : ",\n ") + Tree(key).dump(-1, Tree::Order::kAsAdded) + ": " +
            value.dump(-1, Tree::Order::kAsAdded);
  }
  return text + "}\n";
}

Result<Family> FileDraft::family() const {
  return read_family_draft(text(), name + ".json", inheritable_family);
}

std::size_t FileDraft::size() const {
  return set.size() + fields.size() + settled.size() + ignore.size() + encodings.size() + layers.size() +
         prefixes.size() + tensors.size() + head.size();
}

}  // namespace locus::families
