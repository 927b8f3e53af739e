// Draws a list of pictures with Vulkan, in one process, and compares each with its stored one; the validation layer
// must be silent.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "renderers/text/typeface.h"
#include "tests/support/golden_image.h"
#include "tests/support/paths.h"

namespace locus::golden {

// The words of each line of tests/FLOOR/golden/pictures.txt that is no comment; double quotes hold a word together.
inline std::vector<std::vector<std::string>> pictures(const std::string& floor) {
  const auto text = read_file(test::source_dir() + "/tests/" + floor + "/golden/pictures.txt", 1 << 20);
  std::vector<std::vector<std::string>> list;
  std::istringstream lines(text.ok() ? *text : "");
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> words(1);
    bool quoted = false;
    for (const char c : line.starts_with("#") ? std::string() : line) {
      quoted = quoted != (c == '"');
      if (c == ' ' && !quoted) {
        words.emplace_back();
      } else if (c != '"') {
        words.back() += c;
      }
    }
    if (words.size() > 1) {
      list.push_back(words);
    }
  }
  return list;
}

struct Picture {
  std::string name;  // of the stored file
  unsigned width = 0;
  unsigned height = 0;
  bool dark = false;
  std::function<Result<figure::Figure>()> draw;
};

// The pictures that `arguments` name, or all; with --update among them they are stored instead. Says what each that
// differs is; the exit status.
inline int run(const std::string& floor, const std::vector<Picture>& pictures, std::vector<std::string> arguments) {
  const bool update = std::erase(arguments, "--update") > 0;
  const auto fail = [](const std::string& message) {
    std::fprintf(stderr, "%s\n", message.c_str());
    return 1;
  };
  const text::Typeface typeface;
  vulkan::OffscreenOptions options;
  options.validation = true;
  const auto offscreen = vulkan::Offscreen::create(options, typeface);
  if (!offscreen) {
    return fail(offscreen.error().describe());
  }
  int failed = 0;
  std::size_t drawn = 0;
  for (const Picture& picture : pictures) {
    if (!arguments.empty() && std::find(arguments.begin(), arguments.end(), picture.name) == arguments.end()) {
      continue;
    }
    ++drawn;
    const auto check = [&]() -> Status {
      LOCUS_TRY(const figure::Figure figure, picture.draw());
      const auto style = picture.dark ? figure::Style::dark(12, 1) : figure::Style::light(12, 1);
      LOCUS_TRY(const vulkan::PixelImage image,
                vulkan::render(**offscreen, figure, picture.width, picture.height, style, typeface));
      if (!(*offscreen)->messages().empty()) {
        return internal((*offscreen)->messages().front());
      }
      return check_image(image, floor, picture.name, update);
    };
    if (const Status status = check(); !status) {
      failed += fail(picture.name + ": " + status.error().describe());
    }
  }
  if (drawn == 0 || (!arguments.empty() && drawn != arguments.size())) {
    return fail("expected names of pictures.txt, found another");
  }
  return failed > 0 ? 1 : 0;
}

}  // namespace locus::golden
