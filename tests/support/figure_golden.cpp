// figure_golden [NAME]… [--update]: sample figures against their stored pictures (golden_run.h).
#include <QGuiApplication>

#include "tests/support/golden_run.h"
#include "tests/support/keep_driver.h"
#include "tests/support/sample_figures.h"

int main(int argc, char** argv) {
  locus::test::keep_driver();
  const QGuiApplication application(argc, argv);
  std::vector<locus::golden::Picture> pictures;
  for (const auto& words : locus::golden::pictures("renderers")) {
    locus::golden::Picture picture;
    if (words.size() != 3 || std::sscanf(words[1].c_str(), "%ux%u", &picture.width, &picture.height) != 2) {
      std::fprintf(stderr, "pictures.txt: expected NAME WIDTHxHEIGHT light|dark\n");
      return 1;
    }
    picture.name = words[0] + "-" + words[2];
    picture.dark = words[2] == "dark";
    picture.draw = [name = words[0]]() -> locus::Result<locus::figure::Figure> {
      auto figure = locus::samples::by_name(name);
      return figure ? locus::Result<locus::figure::Figure>(*std::move(figure)) : locus::usage("no sample " + name);
    };
    pictures.push_back(picture);
  }
  return locus::golden::run("renderers", pictures, {argv + 1, argv + argc});
}
