// Shortens names for narrow places, in the middle of what they have in common, so that their differences stay visible.
#pragma once

#include <QFontMetrics>
#include <QStringList>
#include <functional>

namespace locus::workbench {

// Shortens each to at most `most` characters (3 or more). Distinct names stay distinct if their differing part fits.
QStringList short_names(const QStringList& names, int most);

// Shortens each to a width measured by `width_of`: the whole name, or its beginning if that is distinct, or
// short_names().
QStringList names_within(const QStringList& names, int width, const std::function<int(const QString&)>& width_of);
QStringList names_within(const QStringList& names, int width, const QFontMetrics& metrics);

}  // namespace locus::workbench
