// What readers quote of their files: core/base/shown.h under the names that they use.
#pragma once

#include "core/base/shown.h"

namespace locus::checkpoint {

using locus::is_utf8;
using locus::shown;
using locus::utf8_length;

}  // namespace locus::checkpoint
