// Exact text: any bytes as the text of an editor, and back, byte for byte.
//
// An editor's document knows no carriage returns, keeps line and paragraph separators apart only inside, and its text
// is Unicode: what it cannot hold is stood in for, one character for one. Control characters are their pictures
// (U+2400 …: "␍"), so that they are seen; those pictures, should the text have some, the paragraph separator, the two
// noncharacters that documents use, and bytes that are no UTF-8 are lone surrogates, which no text has.
#pragma once

#include <QString>
#include <string>
#include <string_view>

namespace locus::workbench {

QString to_document(std::string_view bytes);
// The inverse; of a document that was typed into, its characters as UTF-8, a line feed between paragraphs.
std::string to_bytes(QStringView document);

}  // namespace locus::workbench
