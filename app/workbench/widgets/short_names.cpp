#include "app/workbench/widgets/short_names.h"

#include <algorithm>

namespace locus::workbench {

namespace {

const QChar kEllipsis(0x2026);

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
      // What is left of the common parts is shared between them, at least an ellipsis each.
      const qsizetype behind = std::min(tail, spare / 2);
      const qsizetype before = std::min(head, spare - behind);
      const QString front = head > before ? name.left(std::max<qsizetype>(before - 1, 0)) + kEllipsis : name.left(head);
      const QString back = tail > behind && behind > 0 ? kEllipsis + name.right(behind - 1) : name.right(behind);
      list << front + own + back;
    }
  }
  return list;
}

}  // namespace locus::workbench
