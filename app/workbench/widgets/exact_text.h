// Exact text: converts any bytes into the text of an editor and back without loss.
//
// A QTextDocument cannot hold carriage returns, paragraph separators as characters, or invalid UTF-8. Such characters
// have stand-ins, one for one: control characters become their visible pictures (U+2400 …: "␍"); these pictures
// themselves, the paragraph separator, the two noncharacters that documents use, and invalid bytes become lone
// surrogates, which no valid text contains.
#pragma once

#include <QString>
#include <string>
#include <string_view>

namespace locus::workbench {

QString to_document(std::string_view bytes);
// The inverse. Typed characters become UTF-8, paragraphs are separated by line feeds.
std::string to_bytes(QStringView document);

}  // namespace locus::workbench
