// The files that a session reads, so that nothing is written over them.
#pragma once

#include "app/session/session.h"
#include "core/base/input_files.h"

namespace locus::session {

// Its checkpoints' and traces' files, and its pictures and pixels, those of its figures too.
void add_inputs(const Session& session, InputFiles& files);

}  // namespace locus::session
