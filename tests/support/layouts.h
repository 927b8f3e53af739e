// Small checkpoints of every layout that Locus opens: the names, containers and configurations that people's
// checkpoints have, with stored reference weights where there are some and random ones elsewhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace locus::test {

struct Layout {
  std::string name{};    // "llama-sharded"
  std::string family{};  // as info has it
  bool image = false;
  std::string base_field{};      // of config.json, what --rope-base stands for; empty: the encoding has no base
  bool scaling = false;          // takes --rope-scaling
  bool shift_invariant = false;  // starting elsewhere changes no logits
  std::string file{};            // what is opened inside the folder; empty: the folder
  bool warns = false;            // of objects in a torch file that are not read
};

// In the order of the table in assets/manual/checkpoints.md; `--image` and `--pixels` go to the ones with `image`.
const std::vector<Layout>& layouts();

struct WrittenLayout {
  std::filesystem::path path;  // what to open
  std::vector<std::int64_t> ids;
  std::filesystem::path pixels;      // image: a safetensors file of the trained resolution, where there is a reference
  std::optional<std::int64_t> best;  // the reference's most likely next token or class for ids or pixels
  double probability = 0;            // of that
  std::int64_t patch = 0;            // image: pixels; preprocessor_config.json keeps pictures at their size
};

// Writes the checkpoint into `folder`, which exists. Throws std::runtime_error, which fails a test.
WrittenLayout write_layout(const Layout& layout, const std::filesystem::path& folder);

// Writes an image type of tests/conformance into `folder`, which exists: config.json, model.safetensors with generated
// weights, preprocessor_config.json, which keeps pictures at their size, and `pixels`. Throws for a type that has no
// stored values.
void write_image_type(const std::string& type, const std::filesystem::path& folder);

// Writes a picture of this size with colours that differ everywhere; the ending decides between PNG, JPEG, WebP, TIFF.
void write_picture(const std::filesystem::path& file, int width, int height);

}  // namespace locus::test
