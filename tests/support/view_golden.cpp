// view_golden VIEW NAME WIDTHxHEIGHT light|dark MODELS [key=value]… [--update]: draws a view with Vulkan and compares
// it with tests/app/golden/NAME.png; the validation layer must be silent.
//
// MODELS: bundled checkpoints, comma-separated ("text-rope"), "text-rope@300" with another RoPE base, "layout:NAME", a
// checkpoint of tests/support/layouts.h with random weights of a fixed seed, or "contextual", a made-up model with
// gates and positions. Keys: layer, head (or mean), query, key, quantity, text (a file of assets/samples), picture
// (WxH: one is drawn), edit (a short form, of every column); every other key is an option of the view.
#include <QGuiApplication>
#include <QTemporaryDir>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "app/views/view.h"
#include "core/base/atomic_file.h"
#include "tests/support/fake_model.h"
#include "tests/support/golden_image.h"
#include "tests/support/keep_driver.h"
#include "tests/support/layouts.h"
#include "tests/support/paths.h"

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
  const std::size_t sign = word.find('@');
  models::OpenOptions options;
  if (sign != std::string::npos) {
    options.overrides.rope_base = std::stod(word.substr(sign + 1));
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

int fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

int run(int argc, char** argv) {
  unsigned width = 0;
  unsigned height = 0;
  if (argc < 6 || std::sscanf(argv[3], "%ux%u", &width, &height) != 2) {
    return fail("usage: view_golden VIEW NAME WIDTHxHEIGHT light|dark MODELS [key=value]… [--update]");
  }
  bool update = false;
  std::map<std::string, std::string> keys;
  for (int n = 6; n < argc; ++n) {
    const std::string word = argv[n];
    const std::size_t sign = word.find('=');
    update = update || word == "--update";
    if (sign != std::string::npos) {
      keys[word.substr(0, sign)] = word.substr(sign + 1);
    }
  }
  models::set_threads(1);
  const auto figure = figure_of(argv[1], argv[5], keys, width, height);
  if (!figure) {
    return fail(figure.error().describe());
  }
  const text::Typeface typeface;
  vulkan::OffscreenOptions options;
  options.validation = true;
  const auto offscreen = vulkan::Offscreen::create(options, typeface);
  if (!offscreen) {
    return fail(offscreen.error().describe());
  }
  const auto style = std::string(argv[4]) == "dark" ? figure::Style::dark(12, 1) : figure::Style::light(12, 1);
  const auto image = vulkan::render(**offscreen, *figure, width, height, style, typeface);
  if (!image) {
    return fail(image.error().describe());
  }
  if (!(*offscreen)->messages().empty()) {
    return fail((*offscreen)->messages().front());
  }
  const Status status = golden::check_image(*image, "app", argv[2], update);
  return status ? 0 : fail(status.error().describe());
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  locus::test::keep_driver();
  const QGuiApplication application(argc, argv);
  return locus::run(argc, argv);
}
