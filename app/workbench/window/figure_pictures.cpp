#include "app/workbench/window/figure_pictures.h"

#include <QImage>
#include <algorithm>
#include <cctype>

#include "app/figures/assets.h"
#include "app/figures/figure_job.h"
#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "core/base/sha256.h"
#include "renderers/paper/paper.h"

namespace locus::workbench {

namespace {

constexpr const char* kSlot = "figure picture";  // of the worker
constexpr double kWidthMm = 88;
constexpr double kHeightMm = 55;
constexpr double kDpi = 100;
constexpr int kRestMs = 400;  // after the figure: what follows from it comes first

// "TAPE Fig. 7a" → "tape-fig-7a".
std::string slug_of(const std::string& name) {
  std::string slug;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      slug += static_cast<char>(std::tolower(letter));
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  while (!slug.empty() && slug.back() == '-') {
    slug.pop_back();
  }
  return slug;
}

// What a figure shows, without its name.
std::string content_of(const session::Bookmark& figure) {
  session::Bookmark nameless = figure;
  nameless.name.clear();
  nameless.about.clear();
  return session::to_json({{}, {}, {}, {nameless}}, {});
}

}  // namespace

FigurePictures::FigurePictures(Studio& studio, std::filesystem::path folder)
    : studio_(studio), folder_(std::move(folder)) {
  call_after(rest_, kRestMs, this, [this] { draw_shown(); });
  connect(&studio_, &Studio::figure_changed, &rest_, qOverload<>(&QTimer::start));
}

std::filesystem::path FigurePictures::file_of(const session::Bookmark& figure) const {
  const std::filesystem::path bundled =
      figures::bundled_session().parent_path() / "pictures" / (slug_of(figure.name) + ".png");
  std::error_code code;
  if (!figure.about.empty() && std::filesystem::exists(bundled, code)) {
    return bundled;
  }
  return folder_ / (sha256(content_of(figure)).substr(0, 32) + ".png");
}

QPixmap FigurePictures::of(const session::Bookmark& figure) {
  const QString file = qt(file_of(figure).string());
  auto known = known_.find(file);
  if (known == known_.end()) {
    known = known_.insert(file, QPixmap(file));
  }
  return *known;
}

// Draws what is shown, if it is a figure of the session without a picture.
void FigurePictures::draw_shown() {
  const auto& figure = studio_.scheduler().figure();
  if (figure && !studio_.settled()) {
    rest_.start();
  }
  if (!figure || !studio_.settled()) {
    return;
  }
  const auto& figures = studio_.sessions().document().figures();
  const session::Bookmark present = studio_.sessions().present({});
  const auto shown = std::ranges::find_if(figures, [&](const session::Bookmark& each) {
    return each.state == present.state && (!each.input || each.input == present.input) &&
           (each.columns.empty() || each.columns == present.columns);
  });
  if (shown == figures.end() || !of(*shown).isNull()) {
    return;
  }
  studio_.worker().submit<paper::Pixels>(
      Priority::kExact, kSlot, "",
      [figure](const StopToken& /*stop*/, const Progress& /*progress*/) {
        paper::PaperOptions options;
        options.width_mm = kWidthMm;
        options.height_mm = kHeightMm;
        options.dpi = kDpi;
        return paper::render(figures::on_paper(*figure, {}), options);
      },
      [this, file = file_of(*shown)](const Result<paper::Pixels>& pixels) {
        if (!pixels) {
          return;
        }
        const QImage image(pixels->rgba.data(), pixels->width, pixels->height, QImage::Format_RGBA8888);
        std::error_code code;
        std::filesystem::create_directories(folder_, code);
        image.save(qt(file.string()));
        known_.insert(qt(file.string()), QPixmap::fromImage(image));
        Q_EMIT changed();
      });
}

}  // namespace locus::workbench
