#include "renderers/html/html.h"

#include <QCryptographicHash>
#include <QFile>
#include <set>

#include "core/base/xml_text.h"
#include "renderers/figure/style.h"
#include "renderers/html/layer_data.h"
#include "renderers/html/page_data.h"

// At global scope, as the macro demands.
static void register_page_resource() {
  Q_INIT_RESOURCE(page);
}

namespace locus::html {
namespace {

constexpr const char* kRecipeBegin = "<pre id=\"locus-recipe\">";
constexpr const char* kRecipeEnd = "</pre>";

// In the order in which they use each other.
constexpr const char* kScripts[] = {"values", "colors", "map",    "axes",    "layers", "blocks",
                                    "plot",   "strip",  "tables", "pointer", "page"};

QByteArray resource(const QString& name) {
  QFile file(":/page/" + name);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QByteArray escaped(const std::string& words) {
  return text(xml_text(words)).toHtmlEscaped().toUtf8();
}

QByteArray script() {
  QByteArray whole = "(() => {\n'use strict';\n";
  for (const char* name : kScripts) {
    whole += resource(QString::fromLatin1(name) + ".js");
  }
  return whole + "})();\n";
}

QByteArray style_sheet(const figure::Style& style) {
  const auto variable = [](const char* name, const QString& value) {
    return QByteArray("--") + name + ":" + value.toUtf8() + ";";
  };
  return ":root{" + variable("background", css(style.background)) + variable("plot", css(style.plot_background)) +
         variable("foreground", css(style.foreground)) + variable("muted", css(style.muted)) +
         variable("frame", css(style.frame)) + variable("grid", css(style.grid)) +
         variable("accent", css(style.palette[1])) + variable("text", QString::number(style.text_size)) + "}\n" +
         resource("page.css");
}

// Nothing is fetched, and of scripts the page's own runs alone.
QByteArray policy(const QByteArray& script) {
  const QByteArray digest = QCryptographicHash::hash(script, QCryptographicHash::Sha256).toBase64();
  return "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-" + digest +
         "'; base-uri 'none'; form-action 'none'";
}

std::size_t cells_of(const figure::Figure& figure) {
  std::set<const Field*> fields;
  for (const figure::Panel& panel : figure.panels) {
    for (const figure::Layer& layer : panel.layers) {
      if (const auto* map = std::get_if<figure::HeatMap>(&layer); map != nullptr && map->field) {
        fields.insert(map->field.get());
      }
    }
  }
  std::size_t cells = 0;
  for (const Field* field : fields) {
    cells += field->values.size();
  }
  return cells;
}

// How exact the values are that the page shows.
QByteArray precision(const figure::Figure& figure) {
  if (cells_of(figure) == 0) {
    return {};
  }
  return is_exact(figure) ? "Cells are float32 as computed."
                          : "Cells are rounded to 11 bits: within 0.05 % of each value.";
}

}  // namespace

Result<QByteArray> encode(const figure::Figure& figure, const PageOptions& options) {
  if (const std::size_t cells = cells_of(figure); cells > kMaxCells) {
    return too_large("a page holds at most " + std::to_string(kMaxCells) + " cells, found " + std::to_string(cells) +
                     ": show fewer maps, or draw a PNG");
  }
  register_page_resource();
  const figure::Style style =
      options.dark ? figure::Style::dark(options.text_px) : figure::Style::light(options.text_px);
  const QByteArray program = script();
  const QByteArray title = escaped(figure.title.empty() ? "Figure" : figure.title);
  QByteArray page = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy(program) + "\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" + title + "</title>\n";
  page += "<style>\n" + style_sheet(style) + "</style>\n</head>\n<body>\n<main>\n";
  page += figure.title.empty() ? QByteArray() : "<h1>" + title + "</h1>\n";
  page +=
      "<div id=\"panels\"></div>\n<noscript><p>The figure is drawn by a script, which is switched off "
      "here.</p></noscript>\n";
  page += figure.description.empty() ? QByteArray() : "<p class=\"about\">" + escaped(figure.description) + "</p>\n";
  page += "</main>\n<footer>\n<p>Pointing reads values. The wheel zooms, dragging moves, a double click fits. " +
          precision(figure) + "</p>\n";
  if (!figure.recipe.empty()) {
    page +=
        "<details>\n<summary>Recipe</summary>\n<p>Locus makes this figure again from the file: locus figure "
        "--recipe FILE --out NEW.html</p>\n" +
        QByteArray(kRecipeBegin) + escaped(xml_json(figure.recipe)) + kRecipeEnd + "\n</details>\n";
  }
  page +=
      "</footer>\n<script type=\"application/json\" id=\"locus-figure\">" + page_data(figure, style) + "</script>\n";
  return page + "<script>" + program + "</script>\n</body>\n</html>\n";
}

std::optional<std::string> recipe_of(const QByteArray& page) {
  const qsizetype begin = page.indexOf(kRecipeBegin);
  const qsizetype end = begin < 0 ? -1 : page.indexOf(kRecipeEnd, begin);
  if (end < 0) {
    return std::nullopt;
  }
  const qsizetype first = begin + static_cast<qsizetype>(qstrlen(kRecipeBegin));
  QByteArray recipe = page.mid(first, end - first);
  // As QString::toHtmlEscaped() writes them; the ampersand last, which the others begin with.
  recipe.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
  return recipe.toStdString();
}

}  // namespace locus::html
