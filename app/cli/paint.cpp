#include "app/cli/paint.h"

#include <iostream>

#include "core/base/atomic_file.h"
#if LOCUS_GUI
#include <QGuiApplication>

#include "core/base/numbers.h"
#include "renderers/paper/paper.h"
#include "renderers/paper/qt_start.h"
#endif

namespace locus::cli {

namespace {

constexpr std::size_t kLongestRecipe = std::size_t{64} << 20;

#if LOCUS_GUI

class QtPainter final : public Painter {
 public:
  QtPainter() : application_(count_, arguments_) { use_plain_numbers(); }

  Status check(const std::filesystem::path& file) const override {
    const auto format = paper::format_of(file);
    return format.ok() ? Status() : Status(format.error());
  }
  Status write(const figure::Figure& figure, const std::filesystem::path& file,
               const paper::PaperOptions& options) const override {
    return paper::export_figure(figure, file, options);
  }

 private:
  int count_ = 1;
  char name_[6] = "locus";
  char* arguments_[2] = {name_, nullptr};
  QGuiApplication application_;
};

#endif

}  // namespace

#if LOCUS_GUI

Result<std::unique_ptr<Painter>> Painter::create() {
  // Painting needs fonts, not a display, and what Qt remarks about the desktop is no concern of the user.
  qInstallMessageHandler([](QtMsgType type, const QMessageLogContext& /*context*/, const QString& message) {
    if (type == QtCriticalMsg || type == QtFatalMsg) {
      std::cerr << "locus: warning: " << message.toStdString() << '\n';
    }
  });
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const paper::QtStart start("figures cannot be painted", "--data writes the numbers", [](const Error& error) {
    std::cerr << "locus: error: " << error.describe() << '\n';
    return static_cast<int>(error.code);
  });
  return std::unique_ptr<Painter>(std::make_unique<QtPainter>());
}

Result<std::string> read_recipe_text(const std::filesystem::path& file) {
  return file.extension() == ".json" ? read_file(file, kLongestRecipe) : paper::read_recipe(file);
}

#else

Result<std::unique_ptr<Painter>> Painter::create() {
  return unsupported("this build cannot paint figures (LOCUS_GUI=OFF); --data writes the numbers");
}

Result<std::string> read_recipe_text(const std::filesystem::path& file) {
  if (file.extension() != ".json") {
    return unsupported("this build reads recipes of .json files only (LOCUS_GUI=OFF)", file.string());
  }
  return read_file(file, kLongestRecipe);
}

#endif

}  // namespace locus::cli
