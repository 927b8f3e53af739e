// view_golden [NAME]… [--update]: views against their stored pictures (golden_run.h, tests/app/golden/pictures.txt).
#include "tests/support/hybrid.h"  // LibTorch before Qt, whose `slots` is a macro

#include <QGuiApplication>
#include <QTemporaryDir>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "app/views/shared/view.h"
#include "core/base/atomic_file.h"
#include "tests/support/fake_atlas.h"
#include "tests/support/fake_model.h"
#include "tests/support/family_column.h"
#include "tests/support/golden_run.h"
#include "tests/support/keep_driver.h"
#include "tests/support/layouts.h"
#include "tests/support/paths.h"
#include "tests/support/pictured_text.h"

namespace locus {
namespace {

constexpr const char* kText =
    "The harbour slept. One boat left the harbour, two boats left the harbour, and the third boat stayed.";

Result<models::Input> input_of(std::map<std::string, std::string>& keys, const std::filesystem::path& folder) {
  models::Input input;
  input.text = kText;
  if (const auto picture = keys.extract("picture")) {
    int width = 0;
    int height = 0;
    if (std::sscanf(picture.mapped().c_str(), "%dx%d", &width, &height) != 2) {
      return usage("picture: expected WxH, found " + picture.mapped());
    }
    input.text.reset();
    input.image = folder / "picture.png";
    test::write_picture(*input.image, width, height);
  }
  if (const auto text = keys.extract("text")) {
    LOCUS_TRY(input.text, read_file(test::source_dir() + "/assets/samples/" + text.mapped(), 1 << 20));
  }
  return input;
}

// Where the checkpoint that `word` names is: bundled, or written into `folder` now.
Result<std::filesystem::path> path_of(const std::string& word, const std::filesystem::path& folder) {
  constexpr std::string_view kLayout = "layout:";
  if (!word.starts_with(kLayout)) {
    return std::filesystem::path(test::source_dir() + "/assets/checkpoints/" + word);
  }
  for (const test::Layout& layout : test::layouts()) {
    if (layout.name == word.substr(kLayout.size())) {
      return test::write_layout(layout, folder).path;
    }
  }
  return usage("there is no layout " + word);
}

Result<views::Column> column_of(const std::string& word, const models::Input& input, const models::Edits& edits,
                                const std::filesystem::path& folder) {
  if (word == "contextual") {
    test::FakeShape shape;
    shape.gates = true;
    return views::Column{word, nullptr, std::make_shared<test::FakeTrace>(shape, input.text.value_or(""))};
  }
  if (word == "atlas" || word.starts_with("atlas:")) {  // "atlas:STEP", learned by then as far as 1 − e^(−STEP/300)
    const double step = word == "atlas" ? 0 : std::stod(word.substr(6));
    return word == "atlas" ? test::atlas_column(word)
                           : test::atlas_column(word.substr(6), std::llround(step), 1 - std::exp(-step / 300));
  }
  const std::size_t sign = word.find('@');
  models::OpenOptions options;
  if (sign != std::string::npos) {
    options.overrides.rope_base = std::stod(word.substr(sign + 1));
  }
  constexpr std::string_view kPictured = "pictured:";
  if (word.starts_with(kPictured)) {
    const std::string family = word.substr(kPictured.size());
    LOCUS_TRY(auto model, models::open(test::pictured_folder(family)));
    LOCUS_TRY(const models::Input pictured, test::pictured_input(family, true));
    LOCUS_TRY(auto trace, model->run(pictured));
    return views::Column{family, std::move(model), std::move(trace)};
  }
  constexpr std::string_view kHybrid = "hybrid:";
  if (word.starts_with(kHybrid)) {
    return test::hybrid_column(word.substr(kHybrid.size()));
  }
  constexpr std::string_view kFamily = "family:";
  if (word.starts_with(kFamily)) {
    return test::family_column(word.substr(kFamily.size()));
  }
  LOCUS_TRY(const std::filesystem::path path, path_of(word.substr(0, sign), folder));
  LOCUS_TRY(auto model, models::open(path, options));
  if (!edits.empty()) {
    LOCUS_TRY(model, model->edited(edits));
  }
  LOCUS_TRY(auto trace, model->run(input));
  const std::string name = word.substr(word.find(':') + 1, sign) + models::label_of(edits);
  return views::Column{sign == std::string::npos ? name : name.substr(0, sign) + " base " + word.substr(sign + 1),
                       std::move(model), std::move(trace)};
}

Result<figure::Figure> figure_of(const std::string& name, const std::string& models_list,
                                 std::map<std::string, std::string> keys, unsigned width, unsigned height) {
  LOCUS_TRY(const views::View* view, views::find_view(name));
  const QTemporaryDir temporary;
  const std::filesystem::path folder = temporary.path().toStdString();
  LOCUS_TRY(const models::Input input, input_of(keys, folder));
  models::Edits edits;
  if (const auto edit = keys.extract("edit")) {
    LOCUS_TRY(edits.emplace_back(), models::parse_edit(edit.mapped(), 0));
  }
  views::ViewInput shown;
  shown.width_px = static_cast<int>(width);
  shown.height_px = static_cast<int>(height);
  std::istringstream words(models_list);
  for (std::string word; std::getline(words, word, ',');) {
    LOCUS_TRY(views::Column column, column_of(word, input, edits, folder));
    LOCUS_CHECK(view->available(column));
    shown.columns.push_back(std::move(column));
  }
  if (const auto layer = keys.extract("layer")) {
    shown.layer = std::stoll(layer.mapped());
  }
  if (const auto head = keys.extract("head")) {
    shown.head = head.mapped() == "mean" ? views::kMean : std::stoll(head.mapped());
  }
  if (const auto query = keys.extract("query")) {
    shown.query = std::stoll(query.mapped());
  }
  if (const auto key = keys.extract("key")) {
    shown.key = std::stoll(key.mapped());
  }
  if (const auto quantity = keys.extract("quantity")) {
    LOCUS_TRY(shown.quantity, models::parse_quantity(quantity.mapped()));
  }
  LOCUS_TRY(shown.options, views::parse_options(*view, {keys.begin(), keys.end()}));
  return view->figure(shown);
}

// NAME VIEW WIDTHxHEIGHT light|dark MODELS [key=value]…
Result<golden::Picture> picture_of(const std::vector<std::string>& words) {
  golden::Picture picture;
  if (words.size() < 5 || std::sscanf(words[2].c_str(), "%ux%u", &picture.width, &picture.height) != 2) {
    return usage("pictures.txt: expected NAME VIEW WIDTHxHEIGHT light|dark MODELS [key=value]…");
  }
  std::map<std::string, std::string> keys;
  for (std::size_t n = 5; n < words.size(); ++n) {
    const std::size_t sign = words[n].find('=');
    keys[words[n].substr(0, sign)] = words[n].substr(sign + 1);
  }
  picture.name = words[0];
  picture.dark = words[3] == "dark";
  picture.draw = [=] { return figure_of(words[1], words[4], keys, picture.width, picture.height); };
  return picture;
}

int run(int argc, char** argv) {
  models::set_threads(1);
  std::vector<golden::Picture> pictures;
  auto rows = golden::pictures("app");
  for (const views::View* view : views::views()) {
    const std::string& name = view->info().name;
    if (std::ranges::none_of(rows, [&](const auto& words) { return words.size() > 1 && words[1] == name; })) {
      rows.push_back({name, name, "560x480", "light", "text-rope"});
    }
  }
  for (const auto& words : rows) {
    const auto picture = picture_of(words);
    if (!picture) {
      std::fprintf(stderr, "%s\n", picture.error().describe().c_str());
      return 1;
    }
#if !LOCUS_IMAGES
    const auto pictured = [](const auto& word) {
      return word.starts_with("picture=") || word.starts_with("pictured:");
    };
    if (std::any_of(words.begin(), words.end(), pictured)) {
      continue;
    }
#endif
    pictures.push_back(*picture);
  }
  return golden::run("app", pictures, {argv + 1, argv + argc});
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  locus::test::keep_driver();
  const QGuiApplication application(argc, argv);
  return locus::run(argc, argv);
}
