#include "app/workbench/widgets/short_names.h"

#include <algorithm>

namespace locus::workbench {

namespace {

const QChar kEllipsis(0x2026);
constexpr qsizetype kFewLetters = 4;

// The characters that all names begin with, or with `reversed` end with; of those only that are not counted yet.
qsizetype common(const QStringList& names, bool reversed, qsizetype counted) {
  qsizetype shortest = names.front().size();
  for (const QString& name : names) {
    shortest = std::min(shortest, name.size());
  }
  const auto at = [&](const QString& name, qsizetype n) { return reversed ? name[name.size() - 1 - n] : name[n]; };
  qsizetype length = 0;
  while (length < shortest - counted && std::all_of(names.begin(), names.end(), [&](const QString& name) {
           return at(name, length) == at(names.front(), length);
         })) {
    ++length;
  }
  return length;
}

QString without_middle(const QString& text, qsizetype most) {
  if (text.size() <= most) {
    return text;
  }
  const qsizetype tail = (most - 1) / 2;
  return text.left(most - 1 - tail) + kEllipsis + text.right(tail);
}

}  // namespace

QStringList short_names(const QStringList& names, int most) {
  const qsizetype room = std::max(most, 3);
  const bool several = names.size() > 1;
  const qsizetype head = several ? common(names, false, 0) : 0;
  const qsizetype tail = several ? common(names, true, head) : 0;
  QStringList list;
  for (const QString& name : names) {
    const QString own = name.mid(head, name.size() - head - tail);
    const qsizetype spare = room - own.size();
    if (name.size() <= room) {
      list << name;
    } else if (spare < 2 || !several) {
      list << without_middle(several && !own.isEmpty() ? own : name, room);
    } else {
      // The remaining room is shared between the common parts, at least an ellipsis each.
      const qsizetype behind = std::min(tail, spare / 2);
      qsizetype before = std::min(head, spare - behind);
      // A letter or two of what all begin with tell nothing.
      before = before < head && before <= kFewLetters && own.size() >= 3 ? 0 : before;
      const QString front = before >= head ? name.left(head)
                            : before > 0   ? name.left(before - 1) + kEllipsis
                                           : QString();
      const QString back = tail > behind && behind > 0 ? kEllipsis + name.right(behind - 1) : name.right(behind);
      list << front + own + back;
    }
  }
  return list;
}

QStringList names_within(const QStringList& names, int width, const std::function<int(const QString&)>& width_of) {
  constexpr qsizetype kUsefulLetters = 8;  // of a name's beginning
  constexpr int kFewestLetters = 3;
  QStringList begun;
  qsizetype longest = 0;
  bool useful = true;
  for (const QString& name : names) {
    longest = std::max(longest, name.size());
    qsizetype letters = name.size();
    while (letters > 0 && width_of(letters == name.size() ? name : name.left(letters) + kEllipsis) > width) {
      --letters;
    }
    begun << (letters == name.size() ? name : name.left(letters) + kEllipsis);
    useful = useful && letters >= std::min(kUsefulLetters, name.size());
  }
  QStringList seen = begun;
  QStringList different = names;
  if (useful && seen.removeDuplicates() == different.removeDuplicates()) {
    return begun;
  }
  int most = std::max(kFewestLetters, static_cast<int>(longest));
  const auto fit = [&](const QStringList& list) {
    return std::ranges::all_of(list, [&](const QString& name) { return width_of(name) <= width; });
  };
  while (most > kFewestLetters && !fit(short_names(names, most))) {
    --most;
  }
  return short_names(names, most);
}

QStringList names_within(const QStringList& names, int width, const QFontMetrics& metrics) {
  return names_within(names, width, [&metrics](const QString& text) { return metrics.horizontalAdvance(text); });
}

}  // namespace locus::workbench
