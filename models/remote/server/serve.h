// The server: answers the calls of one client over two streams until the client is gone. What it may read is what its
// user may; it writes no files but traces that it is asked for.
#pragma once

#include "core/base/result.h"

namespace locus::remote {

// Reads messages from the file `input` and writes them to `output`. One thread answers, one call after the other;
// quick ones (tiles) are answered while a run rests between its layers. A cancelled call ends as the facade's functions
// do, within a part of a layer. Errors: kBadInput where the client breaks the protocol, kUnsupported for another one.
Status serve(int input, int output);

}  // namespace locus::remote
