// The groups of rows; each stops between measurements.
#pragma once

#include "tests/bench/rig.h"

namespace locus::bench {

Status bench_forward(Rig& rig);     // forward.cpp
Status bench_pytorch(Rig& rig);     // pytorch.cpp
Status bench_scores(Rig& rig);      // scores.cpp
Status bench_pairs(Rig& rig);       // pairs.cpp
Status bench_encodings(Rig& rig);   // encodings.cpp
Status bench_hybrids(Rig& rig);     // hybrids.cpp
Status bench_estimates(Rig& rig);   // estimates.cpp
Status bench_stored(Rig& rig);      // stored.cpp
Status bench_quantised(Rig& rig);   // quantised.cpp
Status bench_products(Rig& rig);    // products.cpp
Status bench_one_token(Rig& rig);   // products.cpp
Status bench_knock_out(Rig& rig);   // knock_out.cpp
Status bench_pictures(Rig& rig);    // pictures.cpp
Status bench_videos(Rig& rig);      // videos.cpp
Status bench_atlas(Rig& rig);       // atlas.cpp
Status bench_opening(Rig& rig);     // opening.cpp
Status bench_tokenizers(Rig& rig);  // tokenizers.cpp

// Groups of the window, which need a display.
Status bench_frames(Rig& rig);      // window/frames.cpp: maps and thumbnails
Status bench_first(Rig& rig);       // window/frames.cpp: a new map of 4096², in slices
Status bench_exports(Rig& rig);     // window/frames.cpp: a 4096² map
Status bench_keystrokes(Rig& rig);  // window/keystroke.cpp: from a key in the text to the frame with its map
Status bench_instruments(
    Rig& rig);                  // window/instruments.cpp: the window with all instruments open, beside an empty one
Status bench_window(Rig& rig);  // window/window.cpp: the program's start, and how long its window does not answer

}  // namespace locus::bench
