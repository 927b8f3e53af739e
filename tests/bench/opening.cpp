// Rows of opening: a checkpoint of GPT-2-small's shape (124 M parameters, random float32 weights) and its first map,
// against reading the file once and a forward pass without anything else.
#include <ATen/ATen.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/temporary_folder.h"
#include "models/api/model.h"
#include "models/formats/tensor_source.h"
#include "tests/bench/groups.h"

namespace locus::bench {

namespace {

namespace fs = std::filesystem;
using Weights = std::map<std::string, at::Tensor>;

constexpr std::int64_t kOpenedHeads = 12;
constexpr std::int64_t kOpenedWidth = 768;
constexpr std::int64_t kPositions = 1024;

Weights random_weights(std::int64_t layers, std::int64_t vocabulary) {
  at::manual_seed(1);
  Weights weights;
  const auto linear = [&](const std::string& name, std::int64_t in, std::int64_t out) {
    weights[name + ".weight"] = at::randn({in, out}) * 0.02;
    weights[name + ".bias"] = at::zeros({out});
  };
  const auto norm = [&](const std::string& name) {
    weights[name + ".weight"] = at::ones({kOpenedWidth});
    weights[name + ".bias"] = at::zeros({kOpenedWidth});
  };
  weights["wte.weight"] = at::randn({vocabulary, kOpenedWidth}) * 0.02;
  weights["wpe.weight"] = at::randn({kPositions, kOpenedWidth}) * 0.02;
  for (std::int64_t n = 0; n < layers; ++n) {
    const std::string layer = "h." + std::to_string(n) + ".";
    norm(layer + "ln_1");
    linear(layer + "attn.c_attn", kOpenedWidth, 3 * kOpenedWidth);
    linear(layer + "attn.c_proj", kOpenedWidth, kOpenedWidth);
    norm(layer + "ln_2");
    linear(layer + "mlp.c_fc", kOpenedWidth, 4 * kOpenedWidth);
    linear(layer + "mlp.c_proj", 4 * kOpenedWidth, kOpenedWidth);
  }
  norm("ln_f");
  return weights;
}

// Logits of the last row of GPT-2, by whole (T, T) maps; nothing is kept.
at::Tensor bare_forward(const Weights& weights, std::int64_t layers, const at::Tensor& ids) {
  const at::NoGradGuard no_grad;
  const std::int64_t length = ids.size(0);
  const auto linear = [&](const std::string& name, const at::Tensor& x) {
    return at::addmm(weights.at(name + ".bias"), x, weights.at(name + ".weight"));
  };
  const auto norm = [&](const std::string& name, const at::Tensor& x) {
    return at::layer_norm(x, {kOpenedWidth}, weights.at(name + ".weight"), weights.at(name + ".bias"));
  };
  const at::Tensor hidden = at::ones({length, length}, at::kBool).triu(1);
  at::Tensor x = weights.at("wte.weight").index_select(0, ids) + weights.at("wpe.weight").slice(0, 0, length);
  for (std::int64_t n = 0; n < layers; ++n) {
    const std::string layer = "h." + std::to_string(n) + ".";
    const at::Tensor qkv = linear(layer + "attn.c_attn", norm(layer + "ln_1", x));
    const at::Tensor heads = qkv.view({length, 3, kOpenedHeads, kOpenedWidth / kOpenedHeads}).permute({1, 2, 0, 3});
    at::Tensor map =
        at::matmul(heads[0], heads[1].transpose(-1, -2)).div_(std::sqrt(double{kOpenedWidth} / kOpenedHeads));
    map = at::softmax(map.masked_fill_(hidden, -INFINITY), -1);
    const at::Tensor mixed = at::matmul(map, heads[2]).transpose(0, 1).reshape({length, kOpenedWidth});
    x = x + linear(layer + "attn.c_proj", mixed);
    x = x + linear(layer + "mlp.c_proj", at::gelu(linear(layer + "mlp.c_fc", norm(layer + "ln_2", x)), "tanh"));
  }
  return at::mv(weights.at("wte.weight"), norm("ln_f", x)[-1]);
}

Status write_gpt2(const fs::path& folder, const Weights& weights, std::int64_t layers, std::int64_t vocabulary) {
  const std::string config =
      R"({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_positions": 1024, "vocab_size": )" +
      std::to_string(vocabulary) + R"(, "n_layer": )" + std::to_string(layers) + "}";
  LOCUS_CHECK(write_file(folder / "config.json", config));
  std::vector<formats::OutputTensor> output;
  for (const auto& [name, tensor] : weights) {
    output.push_back({name,
                      formats::DType::kF32,
                      tensor.sizes().vec(),
                      {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
  }
  return formats::write_safetensors(folder / "model.safetensors", output);
}

Status read_file_once(const fs::path& file) {
  std::vector<char> buffer(4 << 20);
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  while (::read(descriptor, buffer.data(), buffer.size()) > 0) {
  }
  return ::close(descriptor) == 0 ? Status() : Status(internal("cannot read " + file.string()));
}

Status open_and_map(const fs::path& folder, const std::vector<std::int64_t>& ids) {
  LOCUS_TRY(const std::shared_ptr<const models::Model> model, models::open(folder, {}));
  models::Input input;
  input.ids = ids;
  LOCUS_TRY(const std::shared_ptr<const models::Trace> trace, model->run(input, {}));
  const auto map = trace->map({});
  return map.ok() ? Status() : Status(map.error());
}

}  // namespace

Status bench_opening(Rig& rig) {
  const std::int64_t layers = rig.quick() ? 2 : 12;
  const std::int64_t vocabulary = rig.quick() ? 5000 : 50257;
  const std::int64_t length = rig.quick() ? 16 : 256;
  LOCUS_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  const Weights weights = random_weights(layers, vocabulary);
  LOCUS_CHECK(write_gpt2(folder.path(), weights, layers, vocabulary));
  const at::Tensor ids = at::arange(length, at::kLong) * 7919 % vocabulary;
  const std::vector<std::int64_t> input(ids.data_ptr<std::int64_t>(), ids.data_ptr<std::int64_t>() + length);
  const auto least = [&]() -> Status {
    LOCUS_CHECK(read_file_once(folder.path() / "model.safetensors"));
    bare_forward(weights, layers, ids);
    return {};
  };
  LOCUS_TRY(const Timed times, rig.time([&] { return open_and_map(folder.path(), input); }, least));
  rig.add("GPT-2-small opened, first map, T = " + std::to_string(length), times,
          "reading the file once, and a forward pass by eager ATen", Target::kRatioAtMost, 1.2);
  return {};
}

}  // namespace locus::bench
