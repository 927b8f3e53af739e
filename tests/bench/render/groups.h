// The groups of rows of render_bench. Each row goes to `print` as soon as it is measured.
#pragma once

#include <functional>

#include "models/api/bench.h"

namespace locus::bench {

using Print = std::function<void(const models::BenchRow&)>;

void bench_frames(const Print& print);       // of maps and thumbnails
void bench_first(const Print& print);        // of a new map of 4096², in slices
void bench_exports(const Print& print);      // of a 4096² map
void bench_keystrokes(const Print& print);   // from a key in the text to the frame with its map
void bench_instruments(const Print& print);  // of the window with all instruments open, beside an empty one
void bench_window(const Print& print);       // the program's start, and how long its window does not answer

}  // namespace locus::bench
