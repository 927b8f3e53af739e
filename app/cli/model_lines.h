// Lines and JSON of `locus info` that a checkpoint and a trace share.
#pragma once

#include <string>

#include "app/cli/command.h"
#include "app/cli/json.h"

namespace locus::cli {

// "name            value".
void print_row(const std::string& name, const std::string& value, Console& console);

// A line for each encoding: its options that are not the default, and its layers where there are several encodings.
void print_encodings_of(const models::ModelInfo& info, Console& console);

// Layers, heads and key heads; where layers differ or have a window, a line for those that are alike.
void print_layers_of(const models::ModelInfo& info, Console& console);

// {"name": …, option: value, …}.
Json encoding_json(const models::EncodingUse& encoding);

}  // namespace locus::cli
