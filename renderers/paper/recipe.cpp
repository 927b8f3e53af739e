#include <QXmlStreamReader>
#include <QXmlStreamWriter>

#include "core/base/xml_text.h"
#include "renderers/paper/formats.h"

namespace locus::paper {
namespace {

constexpr const char* kNamespace = "urn:locus:figure:1";

}  // namespace

QByteArray recipe_element(const std::string& recipe) {
  QByteArray bytes;
  if (recipe.empty()) {
    return bytes;
  }
  QXmlStreamWriter writer(&bytes);
  writer.writeNamespace(kNamespace, "locus");
  writer.writeTextElement(kNamespace, "recipe", QString::fromStdString(xml_json(recipe)));
  return bytes;
}

std::optional<std::string> recipe_of_xml(const QByteArray& bytes) {
  const qsizetype begin = bytes.indexOf("<locus:recipe");
  const QByteArray closing = "</locus:recipe>";
  const qsizetype end = begin < 0 ? -1 : bytes.indexOf(closing, begin);
  if (end < 0) {
    return std::nullopt;
  }
  QXmlStreamReader reader(bytes.mid(begin, end + closing.size() - begin));
  if (!reader.readNextStartElement()) {
    return std::nullopt;
  }
  const QString recipe = reader.readElementText();
  return reader.hasError() ? std::nullopt : std::optional(recipe.toStdString());
}

}  // namespace locus::paper
