// bench: the time and memory of what a user waits for, each row beside its reference of the same run. Weights are
// random, most of GPT-2-small's shape (12 layers, 12 heads, C = 768). Run it alone on a quiet machine.
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/cli/marked_table.h"
#include "core/base/library_settings.h"
#include "core/base/listed.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/model.h"
#include "tests/bench/groups.h"

#ifdef LOCUS_GUI
#include <QApplication>

#include "app/viewport/draw_promptly.h"
#include "tests/support/display.h"
#include "tests/support/keep_driver.h"
#endif

namespace locus::bench {
namespace {

using Json = nlohmann::ordered_json;

#ifdef LOCUS_GUI
constexpr Group kWindowGroups[] = {{"frames", bench_frames},           {"first", bench_first},
                                   {"export", bench_exports},          {"keys", bench_keystrokes},
                                   {"instruments", bench_instruments}, {"window", bench_window}};

// A display and an application, made before the first group that needs them.
class WindowSystem {
 public:
  Status start(int argc, char** argv) {
    test::keep_driver();
    display_ = test::start_display();
    if (qEnvironmentVariableIsEmpty("DISPLAY")) {
      return unsupported("there is no X display and no Xvfb (Debian: xvfb)");
    }
    qputenv("QT_QPA_PLATFORM", "xcb");
    viewport::draw_promptly();
    application_ = std::make_unique<QApplication>(argc, argv);
    use_plain_numbers();
    return {};
  }

 private:
  std::unique_ptr<test::Display> display_;
  std::unique_ptr<QApplication> application_;
};
#endif

bool bounded(const Row& row) {
  return row.bounds != Target::kNone;
}

// Targets belong to the lengths they were set for: a quick run evaluates none.
Json row_json(const Row& row, bool quick) {
  const bool compared = row.reference > 0;
  return {{"name", row.name},
          {"value", row.value},
          {"unit", row.unit},
          {"reference", compared ? Json(row.reference) : Json()},
          {"reference_name", row.reference_name},
          {"ratio", compared ? Json(row.ratio) : Json()},
          {"target", bounded(row) ? Json(row.target) : Json()},
          {"target_text", target_text(row)},
          {"met", bounded(row) && !quick ? Json(row.met) : Json()},
          {"note", row.note}};
}

// A row of a Markdown table.
std::string line(const std::string& name, const std::string& value, const std::string& reference,
                 const std::string& ratio, const std::string& target, const std::string& met) {
  return "| " + padded(name, 62) + " | " + padded(value, 16) + " | " + padded(reference, 16) + " | " +
         padded(ratio, 6) + " | " + padded(target, 12) + " | " + padded(met, 3) + " |\n";
}

std::string row_line(const Row& row, bool quick) {
  const auto words = [](double value) { return general_text(value, 4); };
  const bool compared = row.reference > 0;
  std::string name = row.name + (row.reference_name.empty() ? "" : "; against " + row.reference_name);
  name += row.note.empty() ? "" : " (" + row.note + ")";
  return line(name, words(row.value) + " " + row.unit, compared ? words(row.reference) + " " + row.unit : "",
              compared ? words(row.ratio) : "", target_text(row),
              bounded(row) && !quick ? (row.met ? "yes" : "no") : "");
}

struct Request {
  Options options;
  bool json = false;
  std::optional<std::string> into;
  std::string marked;  // the words of the line above the table in the file `into`
};

Status print_rows(std::span<const Group> groups, const Request& request) {
  Options options = request.options;
  std::string table;
  const auto print = [&](const std::string& text) {
    std::cout << text << std::flush;
    table += text;
  };
  options.progress = [](const ProgressReport& news) { std::cerr << news.what << "\n"; };
  if (!request.json) {
    print(machine() + "\n\n" + line("work", "value", "reference", "ratio", "target", "met") +
          "|---|---|---|---|---|---|\n");
    options.on_row = [&](const Row& row) { print(row_line(row, options.quick)); };
  }
  LOCUS_TRY(const std::vector<Row> rows, run(groups, options));
  if (request.json) {
    Json list = Json::array();
    for (const Row& row : rows) {
      list.push_back(row_json(row, options.quick));
    }
    std::cout << Json{{"machine", machine()}, {"rows", list}}.dump(2) << "\n";
  }
  return request.into ? cli::write_into(*request.into, request.marked, table) : Status();
}

Status run_groups(const Request& request, int argc, char** argv) {
  std::vector<Group> wanted;
  const auto choose = [&](std::span<const Group> groups) {
    const std::size_t before = wanted.size();
    for (const Group& group : groups) {
      if (std::string(group.name).find(request.options.only) != std::string::npos) {
        wanted.push_back(group);
      }
    }
    return wanted.size() > before;
  };
  std::vector<Group> all(model_groups().begin(), model_groups().end());
  choose(model_groups());
#ifdef LOCUS_GUI
  all.insert(all.end(), std::begin(kWindowGroups), std::end(kWindowGroups));
  WindowSystem windows;
  if (choose(kWindowGroups)) {
    LOCUS_CHECK(windows.start(argc, argv));
  }
#else
  static_cast<void>(argc);
  static_cast<void>(argv);
#endif
  return print_rows(wanted.empty() ? all : wanted, request);
}

}  // namespace
}  // namespace locus::bench

int main(int argc, char** argv) {
  using namespace locus;
  bench::Request request;
  int threads = 0;
  CLI::App parser(
      "Measures forward passes, tiles, products, typing and frames, each row beside its reference in the same run.");
  parser.add_option("--only", request.options.only, "run only the groups of rows whose name contains this");
  parser
      .add_option("--repetitions", request.options.repetitions,
                  "repetitions of each measurement; the median is reported")
      ->check(CLI::Range(1, 1000));
  parser.add_option("--threads", threads, "threads of the products; 0: all cores")->check(CLI::Range(0, 1024));
  parser.add_flag("--quick", request.options.quick,
                  "small lengths and two repetitions: checks that it works, not how fast; targets are not evaluated");
  auto* json = parser.add_flag("--json", request.json, "print JSON: machine, rows");
  parser
      .add_option(
          "--into", request.into,
          "write the machine and the table into this file, between <!-- bench --> (with --only: <!-- bench --only NAME "
          "-->) and <!-- end -->")
      ->excludes(json);
  parser
      .add_option(
          "--model", request.options.model,
          "a checkpoint for which a keystroke in a text of 800 tokens (group keys), windows of 1,024 tokens (atlas), "
          "the logit lens, kernels and knock-outs (knock-out) are measured too")
      ->check(CLI::ExistingPath);
  CLI11_PARSE(parser, argc, argv);
  if (set_library_defaults()) {  // as in the program; the libraries that this one is linked with have read them already
    restart(argv);
  }
  models::set_threads(threads);
  request.marked = "bench" + (request.options.only.empty() ? "" : " --only " + request.options.only);
  if (const Status status = bench::run_groups(request, argc, argv); !status.ok()) {
    std::cerr << status.error().describe() << "\n";
    return 1;
  }
  return 0;
}
