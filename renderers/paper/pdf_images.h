// Heat maps in a PDF made by Qt. Qt stores every image as RGB at zlib's default level: seconds and tens of megabytes
// for 4096² cells. A map is therefore painted as a placeholder, and here its image object is replaced by an indexed
// one: a byte a cell, the palette beside it. The file's dates and its identifier are fixed here too.
#pragma once

#include <QByteArray>
#include <QImage>
#include <vector>

#include "core/base/result.h"
#include "renderers/paper/map_image.h"

namespace locus::paper {

// The image to paint for the n-th map: of a width that no other image in the file has at height 1.
QImage placeholder(std::size_t index);

// `pdf` with each placeholder replaced by its map, and nothing of the moment in the file. Errors: kInternal when the file is not
// as Qt writes it.
Result<QByteArray> with_maps(const QByteArray& pdf, const std::vector<IndexedMap>& maps);

}  // namespace locus::paper
