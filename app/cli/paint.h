// Figures as files, for sub-commands: no display and no window, in builds that can paint.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "renderers/figure/figure.h"
#include "renderers/paper/paper.h"

namespace locus::cli {

class Painter {
 public:
  // Errors: kUnsupported in a build without Qt.
  static Result<std::unique_ptr<Painter>> create();
  virtual ~Painter() = default;
  // kUsage unless the name ends in .png, .svg, .pdf or .html.
  virtual Status check(const std::filesystem::path& file) const = 0;
  virtual Status write(const figure::Figure& figure, const std::filesystem::path& file,
                       const paper::PaperOptions& options) const = 0;
};

// The recipe (JSON) of a figure made by Locus, or of a .json file. Errors: kBadInput when there is none; kUnsupported
// for a figure in a build without Qt.
Result<std::string> read_recipe_text(const std::filesystem::path& file);

}  // namespace locus::cli
