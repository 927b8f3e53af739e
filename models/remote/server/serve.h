// The server: answers the calls of one client over two streams until the client is gone. What it may read is what its
// user may; it writes no files but traces that it is asked for.
#pragma once

#include <functional>

#include "core/base/result.h"

namespace locus::remote {

// Reads messages from the file `input` and writes them to `output`. One thread answers, one call after the other;
// quick ones (tiles) are answered while a run rests between its layers. A cancelled call ends as the facade's functions
// do, within a part of a layer. When the connection ends, so does what is under way; where that does not look,
// `abandon` is called after a few seconds, on another thread, and may end the process. Errors: kBadInput where the
// client breaks the protocol, kUnsupported for another one.
Status serve(int input, int output, const std::function<void()>& abandon = {});

}  // namespace locus::remote
