// What layouts are made of: random weights under other people's names, and the files they come in.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/checkpoint_folder.h"

namespace locus::test {

// The width and the feed-forward's of random checkpoints.
constexpr std::int64_t kWidth = 24;
constexpr std::int64_t kInner = 40;

// Random tensors, the same in every run.
class Weights {
 public:
  Weights() { at::manual_seed(7); }

  void add(const std::string& name, const std::vector<std::int64_t>& shape, double deviation = 0.3, double mean = 0) {
    tensors_[name] = at::randn(shape) * deviation + mean;
  }
  void linear(const std::string& name, std::int64_t out, std::int64_t in, bool bias = true) {
    add(name + ".weight", {out, in});
    if (bias) {
      add(name + ".bias", {out});
    }
  }
  void norm(const std::string& name, std::int64_t width) {
    add(name + ".weight", {width}, 0.2, 1.0);
    add(name + ".bias", {width}, 0.2);
  }
  const Tensors& tensors() const { return tensors_; }

 private:
  Tensors tensors_;
};

void write_text(const std::filesystem::path& file, const std::string& text);

Tensors bloom_weights();
Tensors bert_weights();
Tensors vit_weights();
Tensors cope_weights();

// A torch file of a dict: `before`, the groups of tensors by name, `after` (pickle code of names and values).
void write_torch(const std::filesystem::path& file, const std::string& before,
                 const std::map<std::string, Tensors>& groups, const std::string& after = {});

// Two files and the index that names them.
void write_sharded(const std::filesystem::path& folder, const Tensors& tensors);

}  // namespace locus::test
