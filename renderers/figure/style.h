// Style: colours and sizes of a figure. Every length follows from the text size, so that a figure keeps its look from a
// 4K screen to a paper column.
#pragma once

#include <algorithm>
#include <array>

#include "renderers/figure/colormap.h"

namespace locus::figure {

struct Style {
  double text_size = 12;  // of labels, in canvas units: px on a screen, pt on paper
  double smallest = 0;    // no type is smaller than this: what does not fit is left out or said otherwise
  double pixel = 0;       // > 0: frames, ticks and plots are aligned to multiples of this (a screen's device pixel)
  Color background = 0xFFFFFFFF;
  Color plot_background = 0xFFFFFFFF;
  Color foreground = 0x1A1A1AFF;
  Color muted = 0x5F6368FF;  // notes, tick labels
  Color frame = 0x4D4D4DFF;
  Color grid = 0xE6E6E6FF;
  Color mask = 0xD0D0D0FF;  // cells without a value, where a ColorScale leaves mask_color as it is by default
  std::array<Color, 8> palette = {};

  double tick_text() const { return readable(0.88 * text_size); }
  double title_text() const { return 1.15 * text_size; }
  double note_text() const { return readable(0.8 * text_size); }
  double tick_length() const { return aligned(0.3 * text_size); }
  double gap() const { return 0.4 * text_size; }
  double line() const;  // the width of frames and ticks
  double readable(double size) const { return std::max(size, smallest); }
  // `length` rounded to whole device pixels, if the canvas has any.
  double aligned(double length) const;

  static Style light(double text_size = 12, double pixel = 0);
  static Style dark(double text_size = 12, double pixel = 0);
};

}  // namespace locus::figure
