// Names that must share a narrow place: shortened in the middle of what they have in common, so that what tells them
// apart is seen.
#pragma once

#include <QStringList>

namespace locus::workbench {

// Each at most `most` characters (3 or more); names that differ stay different as long as their differing part fits.
QStringList short_names(const QStringList& names, int most);

}  // namespace locus::workbench
