// Matrices in blocks of every format, for tests of what reads them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/block_formats.h"
#include "core/products/packed.h"

namespace locus::test {

// Random numbers packed; formats that are not written hold random bytes with scales that are ordinary numbers.
products::Packed matrix_of(const blocks::Format& format, std::int64_t outputs, std::int64_t inputs);

// All block formats: those of files, and those that quantised safetensors are assembled to.
std::vector<const blocks::Format*> all_formats();

}  // namespace locus::test
