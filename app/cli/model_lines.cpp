#include "app/cli/model_lines.h"

#include "app/views/shared/layer_lines.h"

namespace locus::cli {

namespace {

// An encoding and those of its options that are not what they are by default; its base in any case where there are
// several encodings.
std::string encoding_line(const models::EncodingUse& use, bool one_of_several) {
  std::string line = use.name;
  for (const models::EncodingInfo& encoding : models::encodings()) {
    if (encoding.name != use.name) {
      continue;
    }
    for (const auto& option : encoding.options) {
      const auto value = use.options.values().find(option.name);
      const bool said = one_of_several && option.name == "base";
      if (value != use.options.values().end() && (said || to_text(value->second) != option.shape)) {
        line += " " + option.name + "=" + to_text(value->second);
      }
    }
  }
  return line;
}

}  // namespace

void print_row(const std::string& name, const std::string& value, Console& console) {
  console.print(name + std::string(name.size() < 16 ? 16 - name.size() : 1, ' ') + value);
}

void print_encodings_of(const models::ModelInfo& info, Console& console) {
  const bool several = info.encodings.size() > 1;
  for (std::size_t n = 0; n < info.encodings.size(); ++n) {
    print_row("encoding",
              encoding_line(info.encodings[n], several) +
                  (several ? views::layers_of(info, static_cast<std::int64_t>(n)) : std::string()),
              console);
  }
}

void print_layers_of(const models::ModelInfo& info, Console& console) {
  print_row("layers × heads",
            std::to_string(info.layers) + " × " + std::to_string(info.heads) +
                (info.kv_heads == info.heads ? "" : " (" + std::to_string(info.kv_heads) + " key heads)"),
            console);
  if (views::has_layer_lines(info)) {
    for (const auto& [layers, text] : views::layer_lines(info)) {
      print_row(layers, text, console);
    }
  }
}

Json encoding_json(const models::EncodingUse& encoding) {
  Json json = {{"name", encoding.name}};
  for (const auto& [name, value] : encoding.options.values()) {
    json[name] = value;
  }
  return json;
}

}  // namespace locus::cli
