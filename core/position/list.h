// The list of position encodings, made from the functions NAME_encoding() of the sources and the sections of encodings.md. To add one: NAME.h and
// NAME.cpp, tests/core/position/NAME_test.cpp, and its section.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/settings.h"
#include "core/position/position_encoding.h"

namespace locus::position {

// What the function NAME_encoding() of an encoding's source returns.
struct Entry {
  const Description& description;
  // Validates every option's value and the shape (kBadInput with option, expected, found); parameters are initialised
  // as the paper says. Call it through make_encoding(), which refuses options that the description does not list.
  Result<std::unique_ptr<PositionEncoding>> (*make)(const Settings& options, const ModelShape& shape);
};

// In the order of the sections, in which they are shown.
const std::vector<Entry>& encodings();

// The description of the encoding called `name`; null for an unknown name.
const Description* find_description(std::string_view name);

// The encoding called `name` with `options`. Errors: kBadInput for an unknown name, option or value.
Result<std::unique_ptr<PositionEncoding>> make_encoding(std::string_view name, const Settings& options,
                                                        const ModelShape& shape);

}  // namespace locus::position
