// Calls of files, before there is a model.
#include "models/api/files.h"
#include "models/remote/calls/call.h"
#include "models/remote/calls/lists.h"
#include "models/trace/is_trace.h"

namespace locus::remote {

#define LOCUS_FILE_CALLS(CALL)                     \
  CALL("is_trace", false, &models::is_trace)       \
  CALL("file_exists", false, &models::file_exists) \
  CALL("files_digest", false, &models::files_digest)
LOCUS_CALLS(file_calls, LOCUS_FILE_CALLS)

}  // namespace locus::remote
