// Names that must share a narrow place: shortened in the middle of what they have in common, so that what tells them
// apart is seen.
#pragma once

#include <QFontMetrics>
#include <QStringList>
#include <functional>

namespace locus::workbench {

// Each at most `most` characters (3 or more); names that differ stay different as long as their differing part fits.
QStringList short_names(const QStringList& names, int most);

// Each within that width, as `width_of` measures text: whole, or its beginning where that tells all of them apart, or
// as short_names().
QStringList names_within(const QStringList& names, int width, const std::function<int(const QString&)>& width_of);
QStringList names_within(const QStringList& names, int width, const QFontMetrics& metrics);

}  // namespace locus::workbench
