// The types that travel in a form of their own.
#include <algorithm>
#include <limits>

#include "core/base/checked.h"
#include "models/formats/json/json.h"
#include "models/formats/json/settings_json.h"
#include "models/remote/codec/structs.h"

namespace locus::remote {

namespace {

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

constexpr std::int64_t kMaxSide = std::int64_t{1} << 40;  // of a field; its cells are counted by Reader::allows()

}  // namespace

// ---- Settings, Edits, PictureChanges

json Codec<Settings>::write(Writer& /*writer*/, const Settings& value) {
  return models::to_json(value);
}

void Codec<Settings>::read(Reader& reader, const json& tree, Settings& value) {
  auto settings = models::settings_from_json(tree, reader.peer());
  if (!settings.ok()) {
    return reader.fail(settings.error());
  }
  value = *std::move(settings);
}

json Codec<models::Edits>::write(Writer& /*writer*/, const models::Edits& value) {
  return value.empty() ? std::string() : models::to_json(value);
}

void Codec<models::Edits>::read(Reader& reader, const json& tree, models::Edits& value) {
  std::string text;
  read_text(reader, tree, false, text);
  value.clear();
  if (!reader.ok() || text.empty()) {
    return;
  }
  auto edits = models::parse_edits(text, reader.peer());
  if (!edits.ok()) {
    return reader.fail(edits.error());
  }
  value = *std::move(edits);
}

json Codec<models::PictureChanges>::write(Writer& /*writer*/, const models::PictureChanges& value) {
  return models::to_text(value);
}

void Codec<models::PictureChanges>::read(Reader& reader, const json& tree, models::PictureChanges& value) {
  std::string text;
  read_text(reader, tree, false, text);
  value.clear();
  if (!reader.ok()) {
    return;
  }
  auto changes = models::parse_picture_changes(text);
  if (!changes.ok()) {
    return reader.fail(changes.error());
  }
  value = *std::move(changes);
}

// ---- Field

// The cells at the end of each row that are all one value, such as those that a causal map hides, are only counted.
json Codec<Field>::write(Writer& writer, const Field& value) {
  json tree = {{"rows", value.rows},
               {"columns", value.columns},
               {"row_axis", written(writer, value.row_axis)},
               {"column_axis", written(writer, value.column_axis)},
               {"quantity", value.quantity},
               {"unit", value.unit}};
  const auto columns = static_cast<std::size_t>(value.columns);
  const std::uint32_t fill = value.values.empty() || columns == 0 ? 0 : bits_of(value.values[columns - 1]);
  std::vector<std::int64_t> given;
  std::vector<float> cells;
  for (std::size_t begin = 0; columns > 0 && begin + columns <= value.values.size(); begin += columns) {
    const auto first = value.values.begin() + static_cast<std::ptrdiff_t>(begin);
    auto last = first + static_cast<std::ptrdiff_t>(columns);
    while (last != first && bits_of(*(last - 1)) == fill) {
      --last;
    }
    given.push_back(last - first);
    cells.insert(cells.end(), first, last);
  }
  if (2 * given.size() + cells.size() < value.values.size()) {
    tree["fill"] = fill;
    tree["given"] = written(writer, given);
    tree["values"] = written(writer, cells);
  } else {
    tree["values"] = written(writer, value.values);
  }
  return tree;
}

void Codec<Field>::read(Reader& reader, const json& tree, Field& value) {
  if (!tree.is_object()) {
    return reader.fail("a field", tree);
  }
  const auto part = [&](const char* name) -> const json& {
    static const json kNone;
    const auto found = tree.find(name);
    return found == tree.end() ? kNone : *found;
  };
  read_whole(reader, part("rows"), 0, kMaxSide, value.rows);
  read_whole(reader, part("columns"), 0, kMaxSide, value.columns);
  remote::read(reader, part("row_axis"), value.row_axis);
  remote::read(reader, part("column_axis"), value.column_axis);
  remote::read(reader, part("quantity"), value.quantity);
  remote::read(reader, part("unit"), value.unit);
  std::vector<float> cells;
  remote::read(reader, part("values"), cells);
  const auto count = checked_product({value.rows, value.columns}).value_or(std::numeric_limits<std::int64_t>::max());
  if (!reader.ok()) {
    return;
  }
  const json& counts = part("given");
  if (counts.is_null()) {
    if (static_cast<std::int64_t>(cells.size()) != count) {
      return reader.fail("rows × columns values", part("rows"));
    }
    value.values = std::move(cells);
    return;
  }
  std::vector<std::int64_t> given;
  std::int64_t fill = 0;
  remote::read(reader, counts, given);
  read_whole(reader, part("fill"), 0, std::numeric_limits<std::uint32_t>::max(), fill);
  const bool cells_fit =
      count <= std::numeric_limits<std::int64_t>::max() / 4 && reader.ok() && reader.allows(4 * count);
  if (!cells_fit || static_cast<std::int64_t>(given.size()) != value.rows) {
    return reader.fail("a count of values for each row", counts);
  }
  value.values.assign(static_cast<std::size_t>(count), std::bit_cast<float>(static_cast<std::uint32_t>(fill)));
  std::size_t taken = 0;
  for (std::size_t row = 0; row < given.size(); ++row) {
    if (given[row] < 0 || given[row] > value.columns || static_cast<std::size_t>(given[row]) > cells.size() - taken) {
      return reader.fail("as many values as are counted", counts);
    }
    const auto from = cells.begin() + static_cast<std::ptrdiff_t>(taken);
    std::copy(from, from + static_cast<std::ptrdiff_t>(given[row]),
              value.values.begin() + static_cast<std::ptrdiff_t>(row) * value.columns);
    taken += static_cast<std::size_t>(given[row]);
  }
  if (taken != cells.size()) {
    reader.fail("as many values as are counted", counts);
  }
}

// ---- tokens, pictures

json Codec<std::vector<models::TokenInfo>>::write(Writer& writer, const std::vector<models::TokenInfo>& value) {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  std::vector<double> positions;
  std::vector<std::string> labels;
  for (const models::TokenInfo& token : value) {
    ids.push_back(token.id);
    begins.push_back(token.bytes.begin);
    ends.push_back(token.bytes.end);
    positions.push_back(token.position);
    labels.push_back(token.label);
  }
  return json::array({written(writer, ids), written(writer, begins), written(writer, ends), written(writer, positions),
                      written(writer, labels)});
}

void Codec<std::vector<models::TokenInfo>>::read(Reader& reader, const json& tree,
                                                 std::vector<models::TokenInfo>& value) {
  const json* const columns = list_in(reader, tree, 5, 5);
  if (columns == nullptr) {
    return;
  }
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  std::vector<double> positions;
  std::vector<std::string> labels;
  remote::read(reader, (*columns)[0], ids);
  remote::read(reader, (*columns)[1], begins);
  remote::read(reader, (*columns)[2], ends);
  remote::read(reader, (*columns)[3], positions);
  remote::read(reader, (*columns)[4], labels);
  const std::size_t count = ids.size();
  if (begins.size() != count || ends.size() != count || positions.size() != count || labels.size() != count) {
    return reader.fail("columns of one length", tree);
  }
  value.clear();
  for (std::size_t n = 0; n < count; ++n) {
    value.push_back({ids[n], std::move(labels[n]), {begins[n], ends[n]}, positions[n]});
  }
}

json Codec<models::Picture>::write(Writer& writer, const models::Picture& value) {
  return value.rgba == nullptr ? json() : json::array({value.width, value.height, written(writer, *value.rgba)});
}

void Codec<models::Picture>::read(Reader& reader, const json& tree, models::Picture& value) {
  value = {};
  if (tree.is_null()) {
    return;
  }
  const json* const parts = list_in(reader, tree, 3, 3);
  if (parts == nullptr) {
    return;
  }
  std::vector<std::uint8_t> rgba;
  read_whole(reader, (*parts)[0], 1, kMaxSide, value.width);
  read_whole(reader, (*parts)[1], 1, kMaxSide, value.height);
  remote::read(reader, (*parts)[2], rgba);
  if (checked_product({4, value.width, value.height}) != static_cast<std::int64_t>(rgba.size())) {
    return reader.fail("4 · width · height bytes", tree);
  }
  value.rgba = std::make_shared<const std::vector<std::uint8_t>>(std::move(rgba));
}

// ---- RunOptions

json Codec<models::RunOptions>::write(Writer& writer, const models::RunOptions& value) {
  const auto reuse = value.reuse != nullptr && writer.objects.knows(*value.reuse) ? value.reuse : nullptr;
  return {{"keep", written(writer, value.keep)},
          {"all_logits", value.all_logits},
          {"continuable", value.continuable || value.reuse != nullptr},
          {"reuse", reuse ? written(writer, reuse) : json()},
          {"early", value.early != nullptr},
          {"early_ms", value.early_ms}};
}

void Codec<models::RunOptions>::read(Reader& reader, const json& tree, models::RunOptions& value) {
  if (!tree.is_object() || tree.size() != 6) {
    return reader.fail("the options of a run", tree);
  }
  bool early = false;
  remote::read(reader, tree.value("keep", json()), value.keep);
  remote::read(reader, tree.value("all_logits", json()), value.all_logits);
  remote::read(reader, tree.value("continuable", json()), value.continuable);
  if (const json& reuse = tree.value("reuse", json()); !reuse.is_null()) {
    remote::read(reader, reuse, value.reuse);
  }
  remote::read(reader, tree.value("early", json()), early);
  remote::read(reader, tree.value("early_ms", json()), value.early_ms);
  if (early) {
    value.early = [](const std::shared_ptr<const models::Trace>&) {};  // the server puts its own in this place
  }
}

}  // namespace locus::remote
