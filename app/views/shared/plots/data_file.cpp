#include "app/views/shared/plots/data_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>

#include "core/base/atomic_file.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"

namespace locus::views {

namespace {

static_assert(std::endian::native == std::endian::little, "NPY is written as the machine stores floats");

std::string python_tuple(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (const std::int64_t size : shape) {
    text += std::to_string(size) + ", ";
  }
  if (shape.size() > 1) {
    text.resize(text.size() - 2);
  } else if (!shape.empty()) {
    text.pop_back();  // "(5,)"
  }
  return text + ")";
}

void append_number(std::string& text, float value) {
  if (std::isnan(value)) {
    text += "nan";
    return;
  }
  std::array<char, 32> buffer{};
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  text.append(buffer.data(), code == std::errc() ? end : buffer.data());
}

// Whether a spreadsheet would compute it.
bool is_formula(const std::string& word) {
  return !word.empty() && std::string_view("=+-@").find(word.front()) != std::string_view::npos &&
         !parse_number<double>(word);
}

// A text without what moves a terminal, but line ends.
std::string plain(const std::string& text) {
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += (begin == 0 ? "" : "\n") + printable(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// A name as a CSV field: behind an apostrophe where a spreadsheet would take it for a formula, quoted where it must be.
std::string quoted(const std::string& name) {
  const std::string word = (is_formula(name) ? "'" : "") + plain(name);
  if (word.find_first_of(",\"\n") == std::string::npos) {
    return word;
  }
  std::string out = "\"";
  for (const char c : word) {
    out += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  return out + "\"";
}

// A line that readers of numbers pass over.
std::string comment(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return "# " + printable(text) + "\n";
}

std::int64_t count_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string npy_header(const std::vector<std::int64_t>& shape) {
  constexpr std::size_t kPreamble = 10;  // magic, version, header length
  constexpr std::size_t kAlignment = 64;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + python_tuple(shape) + ", }";
  const std::size_t total = (kPreamble + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  header.append(total - kPreamble - header.size() - 1, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8 & 0xFF);
  return bytes + header;
}

std::string csv_header(const DataParts& parts) {
  std::string text;
  for (const std::string& name : parts.columns) {
    text += (text.empty() ? "" : ",") + quoted(name);
  }
  text += text.empty() ? "" : "\n";
  std::string tokens;
  for (const std::string& token : parts.tokens) {
    tokens += "," + quoted(token);
  }
  return text + (tokens.empty() ? "" : comment("tokens" + tokens));
}

// Columns of a table that hold words, before those of numbers.
std::size_t words_a_row(const DataParts& parts) {
  const std::size_t numbers = parts.shape.empty() ? 1 : static_cast<std::size_t>(parts.shape.back());
  return parts.columns.size() > numbers ? parts.columns.size() - numbers : 0;
}

using Sink = std::function<Status(std::string_view)>;

Status npy_values(std::span<const float> values, const Sink& sink) {
  const auto bytes = std::as_bytes(values);
  return sink({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// The numbers of a CSV file, of which `before` have been written.
Status csv_values(std::span<const float> values, const DataParts& parts, std::int64_t before, const Sink& sink) {
  const std::vector<std::int64_t>& shape = parts.shape;
  constexpr std::size_t kChunk = 1 << 20;
  const std::int64_t columns = shape.empty() ? 1 : shape.back();
  const std::int64_t rows = shape.size() > 1 ? shape[shape.size() - 2] : 1;
  const std::int64_t all = count_of(shape);
  const std::size_t words = words_a_row(parts);
  std::string text;
  for (const float value : values) {
    const auto map = static_cast<std::size_t>(before / (columns * rows));
    if (words == 0 && before % (columns * rows) == 0 && map < parts.titles.size()) {
      text += comment(parts.titles[map]);
    }
    for (std::size_t n = 0; before % columns == 0 && n < words; ++n) {
      text += quoted(parts.titles[static_cast<std::size_t>(before / columns) * words + n]) + ",";
    }
    append_number(text, value);
    ++before;
    const bool last = before % columns == 0;
    text += last ? '\n' : ',';
    if (last && shape.size() > 2 && before % (columns * rows) == 0 && before < all) {
      text += '\n';
    }
    if (text.size() > kChunk) {
      LOCUS_CHECK(sink(text));
      text.clear();
    }
  }
  return sink(text);
}

Status write_parts(const DataParts& parts, bool npy, const Sink& sink, const StopToken& stop,
                   const Progress& progress) {
  LOCUS_CHECK(sink(npy ? npy_header(parts.shape) : csv_header(parts)));
  const std::int64_t all = count_of(parts.shape);
  std::int64_t written = 0;
  for (std::int64_t n = 0; n < parts.count; ++n) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    if (parts.count > 1) {
      report(progress, static_cast<double>(n) / static_cast<double>(parts.count),
             "map " + std::to_string(n + 1) + " of " + std::to_string(parts.count));
    }
    LOCUS_TRY(const std::vector<float> values, parts.part(n));
    LOCUS_CHECK(npy ? npy_values(values, sink) : csv_values(values, parts, written, sink));
    written += static_cast<std::int64_t>(values.size());
  }
  return written == all
             ? Status()
             : Status(internal("data: expected " + std::to_string(all) + " numbers, found " + std::to_string(written)));
}

}  // namespace

Data with_words(Data table, std::vector<std::string> names, std::vector<std::string> words) {
  table.columns.insert(table.columns.begin(), names.begin(), names.end());
  table.titles = std::move(words);
  return table;
}

DataParts in_one_part(Data data) {
  auto values = std::make_shared<std::vector<float>>(std::move(data.values));
  return {std::move(data.shape),
          std::move(data.columns),
          1,
          [values](std::int64_t) -> Result<std::vector<float>> { return *values; },
          std::move(data.tokens),
          std::move(data.titles)};
}

Result<DataParts> View::data_parts(const ViewInput& input) const {
  LOCUS_TRY(Data whole, data(input));
  return in_one_part(std::move(whole));
}

Result<Data> collected(const DataParts& parts) {
  Data data{parts.shape, {}, parts.columns, parts.tokens, parts.titles};
  for (std::int64_t n = 0; n < parts.count; ++n) {
    LOCUS_TRY(const std::vector<float> part, parts.part(n));
    data.values.insert(data.values.end(), part.begin(), part.end());
  }
  return data;
}

Status check_data_name(const std::filesystem::path& file) {
  const std::string ending = file.extension().string();
  if (ending != ".npy" && ending != ".csv") {
    return usage("data: expected a name that ends in .npy or .csv, found " + file.filename().string());
  }
  return {};
}

Status write_data(const DataParts& parts, const std::string& recipe, const std::filesystem::path& file,
                  const StopToken& stop, const Progress& progress) {
  LOCUS_CHECK(check_data_name(file));
  LOCUS_TRY(AtomicFile out, AtomicFile::create(file));
  const auto append = [&](std::string_view more) { return out.write(more); };
  LOCUS_CHECK(write_parts(parts, file.extension() == ".npy", append, stop, progress));
  LOCUS_CHECK(out.commit());
  return recipe.empty() ? Status() : write_file(file.string() + ".recipe.json", recipe);
}

}  // namespace locus::views
