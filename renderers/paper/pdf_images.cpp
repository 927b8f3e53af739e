#include "renderers/paper/pdf_images.h"

#include <QCryptographicHash>
#include <QList>
#include <algorithm>
#include <optional>

namespace locus::paper {
namespace {

constexpr std::size_t kPlaceholderWidth = 7919;  // + index; height 1
constexpr int kCompression = 2;                  // of zlib: the maps' size hardly gains from more

const QByteArray kFixedDate = "20000101000000Z";

struct Object {
  int number = 0;
  QByteArray bytes;  // from "N 0 obj" to what precedes the next object
};

// The file between its header and its cross-reference table, cut at the offsets the table names.
struct File {
  QByteArray header;
  std::vector<Object> objects;  // in the order of the file
  qsizetype count = 0;          // of entries in the table
  QByteArray trailer;           // from "trailer" to before "startxref"
};

std::optional<File> parse(const QByteArray& pdf) {
  const qsizetype start = pdf.lastIndexOf("startxref");
  const qsizetype table = start < 0 ? -1 : pdf.mid(start + 10).simplified().split(' ').value(0).toLongLong();
  const qsizetype trailer = table < 0 ? -1 : pdf.indexOf("trailer", table);
  if (trailer < 0 || !pdf.mid(table, 4).startsWith("xref")) {
    return std::nullopt;
  }
  const QList<QByteArray> words = pdf.mid(table, trailer - table).simplified().split(' ');  // xref 0 N (offset gen n)…
  File file;
  file.count = words.value(2).toLongLong();
  file.trailer = pdf.mid(trailer, start - trailer);
  std::vector<std::pair<qsizetype, int>> offsets;
  for (qsizetype n = 1; n < file.count; ++n) {
    if (words.value(5 + 3 * n) == "n") {
      offsets.emplace_back(words.value(3 + 3 * n).toLongLong(), static_cast<int>(n));
    }
  }
  std::sort(offsets.begin(), offsets.end());
  if (offsets.empty() || offsets.front().first <= 0 || offsets.back().first >= table) {
    return std::nullopt;
  }
  file.header = pdf.left(offsets.front().first);
  for (std::size_t n = 0; n < offsets.size(); ++n) {
    const qsizetype end = n + 1 < offsets.size() ? offsets[n + 1].first : table;
    file.objects.push_back({offsets[n].second, pdf.mid(offsets[n].first, end - offsets[n].first)});
  }
  return file;
}

QByteArray join(const File& file) {
  QByteArray pdf = file.header;
  std::vector<qsizetype> offsets(static_cast<std::size_t>(file.count), 0);
  for (const Object& object : file.objects) {
    offsets[static_cast<std::size_t>(object.number)] = pdf.size();
    pdf += object.bytes;
  }
  const qsizetype table = pdf.size();
  pdf += "xref\n0 " + QByteArray::number(file.count) + "\n0000000000 65535 f \n";
  for (std::size_t n = 1; n < offsets.size(); ++n) {
    const bool used = offsets[n] != 0;
    pdf += QByteArray::number(offsets[n]).rightJustified(10, '0') + (used ? " 00000 n \n" : " 65535 f \n");
  }
  return pdf + file.trailer + "startxref\n" + QByteArray::number(table) + "\n%%EOF\n";
}

QByteArray hex(const std::array<figure::Color, 256>& palette) {
  QByteArray bytes;
  for (const figure::Color color : palette) {
    bytes += static_cast<char>(color >> 24);
    bytes += static_cast<char>(color >> 16 & 0xFF);
    bytes += static_cast<char>(color >> 8 & 0xFF);
  }
  return bytes.toHex();
}

QByteArray image_object(int number, const IndexedMap& map) {
  constexpr int kLengthPrefix = 4;  // qCompress puts the length before zlib's stream
  const QByteArray stream = qCompress(reinterpret_cast<const uchar*>(map.cells.data()),
                                      static_cast<qsizetype>(map.cells.size()), kCompression)
                                .mid(kLengthPrefix);
  QByteArray object = QByteArray::number(number) + " 0 obj\n<<\n/Type /XObject\n/Subtype /Image\n/Width " +
                      QByteArray::number(static_cast<qlonglong>(map.width)) + "\n/Height " +
                      QByteArray::number(static_cast<qlonglong>(map.height)) +
                      "\n/BitsPerComponent 8\n/ColorSpace [/Indexed /DeviceRGB 255 <" + hex(map.palette) +
                      ">]\n/Interpolate false\n/Filter /FlateDecode\n";
  if ((map.palette[255] & 0xFF) != 0xFF) {
    object += "/Mask [255 255]\n";  // what shows through is painted below, translucent
  }
  return object + "/Length " + QByteArray::number(stream.size()) + "\n>>\nstream\n" + stream + "\nendstream\nendobj\n";
}

// Which map this object holds the place of.
std::optional<std::size_t> placeholder_index(const QByteArray& object, std::size_t count) {
  const qsizetype stream = object.indexOf("stream");
  const QByteArray dictionary = object.left(stream < 0 ? object.size() : stream).simplified() + ' ';
  if (!dictionary.contains("/Subtype /Image") || !dictionary.contains("/Height 1 ")) {
    return std::nullopt;
  }
  for (std::size_t n = 0; n < count; ++n) {
    if (dictionary.contains("/Width " + QByteArray::number(qulonglong{kPlaceholderWidth} + n) + " ")) {
      return n;
    }
  }
  return std::nullopt;
}

// Puts one date in the place of the file's own, so that the same figure makes the same file. False: there is none.
bool fix_date(QByteArray& object, const QByteArray& key) {
  const QByteArray before = key + " (D:";
  const qsizetype found = object.indexOf(before);
  const qsizetype end = found < 0 ? -1 : object.indexOf(')', found);
  if (end < 0) {
    return false;
  }
  object.replace(found + before.size(), end - found - before.size(), kFixedDate);
  return true;
}

// From Qt 6.8 on a file has a random identifier, twice; here it is made of what the file holds.
void fix_identifier(File& file) {
  const qsizetype begin = file.trailer.indexOf("/ID [");
  const qsizetype end = file.trailer.indexOf(']', begin);
  if (begin < 0 || end < 0) {
    return;
  }
  QCryptographicHash hash(QCryptographicHash::Sha256);
  for (const Object& object : file.objects) {
    hash.addData(object.bytes);
  }
  const QByteArray id = '<' + hash.result().left(16).toHex() + '>';
  file.trailer.replace(begin, end - begin, "/ID [ " + id + ' ' + id + ' ');
}

}  // namespace

QImage placeholder(std::size_t index) {
  QImage image(static_cast<int>(kPlaceholderWidth + index), 1, QImage::Format_RGB32);
  image.fill(Qt::red);
  return image;
}

Result<QByteArray> with_maps(const QByteArray& pdf, const std::vector<IndexedMap>& maps) {
  std::optional<File> file = parse(pdf);
  if (!file) {
    return internal("the PDF written by Qt has no cross-reference table where it says");
  }
  std::size_t replaced = 0;
  bool dated = false;
  const qsizetype named = file->trailer.indexOf("/Info ");  // the object that says who made the file and when
  const int info = named < 0 ? 0 : file->trailer.mid(named).split(' ').value(1).toInt();
  for (Object& object : file->objects) {
    if (const auto index = placeholder_index(object.bytes, maps.size())) {
      object.bytes = image_object(object.number, maps[*index]);
      ++replaced;
    }
    if (object.number == info) {
      dated = fix_date(object.bytes, "/CreationDate");
      fix_date(object.bytes, "/ModDate");  // from Qt 6.8 on
    }
  }
  fix_identifier(*file);
  if (replaced != maps.size() || !dated) {
    return internal("the PDF written by Qt holds " + std::to_string(replaced) + " of " + std::to_string(maps.size()) +
                    " heat maps" + (dated ? "" : " and no date"));
  }
  return join(*file);
}

}  // namespace locus::paper
