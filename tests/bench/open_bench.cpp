// Opening a checkpoint of GPT-2 small's shape (124 M parameters, random float32 weights) and showing its first map,
// against reading the file once and a forward pass without anything else. Rounds of all three in turn; medians.
//
// Usage: open_bench [TOKENS] [ROUNDS]
#include <ATen/ATen.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/api/model.h"
#include "models/formats/tensor_source.h"

namespace {

namespace fs = std::filesystem;
using Weights = std::map<std::string, at::Tensor>;

constexpr std::int64_t kLayers = 12;
constexpr std::int64_t kHeads = 12;
constexpr std::int64_t kWidth = 768;
constexpr std::int64_t kVocabulary = 50257;
constexpr std::int64_t kPositions = 1024;
constexpr double kAllowed = 1.2;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "open_bench: %s\n", what.c_str());
  std::exit(1);
}

Weights random_weights() {
  at::manual_seed(1);
  Weights weights;
  const auto linear = [&](const std::string& name, std::int64_t in, std::int64_t out) {
    weights[name + ".weight"] = at::randn({in, out}) * 0.02;
    weights[name + ".bias"] = at::zeros({out});
  };
  const auto norm = [&](const std::string& name) {
    weights[name + ".weight"] = at::ones({kWidth});
    weights[name + ".bias"] = at::zeros({kWidth});
  };
  weights["wte.weight"] = at::randn({kVocabulary, kWidth}) * 0.02;
  weights["wpe.weight"] = at::randn({kPositions, kWidth}) * 0.02;
  for (std::int64_t n = 0; n < kLayers; ++n) {
    const std::string layer = "h." + std::to_string(n) + ".";
    norm(layer + "ln_1");
    linear(layer + "attn.c_attn", kWidth, 3 * kWidth);
    linear(layer + "attn.c_proj", kWidth, kWidth);
    norm(layer + "ln_2");
    linear(layer + "mlp.c_fc", kWidth, 4 * kWidth);
    linear(layer + "mlp.c_proj", 4 * kWidth, kWidth);
  }
  norm("ln_f");
  return weights;
}

// The checkpoint folder, and the same weights in memory for the bare pass.
class Checkpoint {
 public:
  Checkpoint() : weights(random_weights()) {
    std::string pattern = (fs::temp_directory_path() / "locus-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      fail("cannot make a folder in " + fs::temp_directory_path().string());
    }
    folder = pattern;
    file = folder / "model.safetensors";
    std::ofstream(folder / "config.json") << R"({"model_type": "gpt2", "vocab_size": 50257, "n_embd": 768,
      "n_layer": 12, "n_head": 12, "n_positions": 1024})";
    std::vector<locus::formats::OutputTensor> output;
    for (const auto& [name, tensor] : weights) {
      output.push_back({name,
                        locus::formats::DType::kF32,
                        tensor.sizes().vec(),
                        {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
    }
    if (const auto status = locus::formats::write_safetensors(file, output); !status.ok()) {
      fail(status.error().describe());
    }
  }
  ~Checkpoint() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  Weights weights;
  fs::path folder;
  fs::path file;
};

// Logits of the last row: what GPT-2 is, by whole (T, T) maps, and nothing kept.
at::Tensor bare_forward(const Weights& weights, const at::Tensor& ids) {
  const at::NoGradGuard no_grad;
  const std::int64_t length = ids.size(0);
  const auto linear = [&](const std::string& name, const at::Tensor& x) {
    return at::addmm(weights.at(name + ".bias"), x, weights.at(name + ".weight"));
  };
  const auto norm = [&](const std::string& name, const at::Tensor& x) {
    return at::layer_norm(x, {kWidth}, weights.at(name + ".weight"), weights.at(name + ".bias"));
  };
  const at::Tensor hidden = at::ones({length, length}, at::kBool).triu(1);
  at::Tensor x = weights.at("wte.weight").index_select(0, ids) + weights.at("wpe.weight").slice(0, 0, length);
  for (std::int64_t n = 0; n < kLayers; ++n) {
    const std::string layer = "h." + std::to_string(n) + ".";
    const at::Tensor qkv = linear(layer + "attn.c_attn", norm(layer + "ln_1", x));
    const at::Tensor heads = qkv.view({length, 3, kHeads, kWidth / kHeads}).permute({1, 2, 0, 3});
    at::Tensor map = at::matmul(heads[0], heads[1].transpose(-1, -2)).div_(std::sqrt(double{kWidth} / kHeads));
    map = at::softmax(map.masked_fill_(hidden, -INFINITY), -1);
    const at::Tensor mixed = at::matmul(map, heads[2]).transpose(0, 1).reshape({length, kWidth});
    x = x + linear(layer + "attn.c_proj", mixed);
    x = x + linear(layer + "mlp.c_proj", at::gelu(linear(layer + "mlp.c_fc", norm(layer + "ln_2", x)), "tanh"));
  }
  return at::mv(weights.at("wte.weight"), norm("ln_f", x)[-1]);
}

void read_once(const fs::path& file) {
  static std::vector<char> buffer(4 << 20);
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  while (::read(descriptor, buffer.data(), buffer.size()) > 0) {
  }
  ::close(descriptor);
}

// Returns the model's own time of its forward pass, ms.
double open_and_map(const fs::path& folder, const std::vector<std::int64_t>& ids) {
  const auto model = locus::models::open(folder);
  if (!model.ok()) {
    fail(model.error().describe());
  }
  locus::models::Input input;
  input.ids = ids;
  const auto trace = (*model)->run(input);
  if (!trace.ok()) {
    fail(trace.error().describe());
  }
  if (const auto map = (*trace)->map({}); !map.ok()) {
    fail(map.error().describe());
  }
  return (*trace)->time_ms();
}

double timed(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t length = argc > 1 ? std::atoll(argv[1]) : 256;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  if (length < 1 || length > kPositions || rounds < 1) {
    fail("expected 1 to 1024 tokens and at least one round");
  }
  locus::models::set_threads(0);
  const Checkpoint checkpoint;
  const at::Tensor ids = at::arange(length, at::kLong) * 7919 % kVocabulary;
  const std::vector<std::int64_t> input(ids.data_ptr<std::int64_t>(), ids.data_ptr<std::int64_t>() + length);
  std::vector<double> reading;
  std::vector<double> bare;
  std::vector<double> own;
  std::vector<double> whole;
  std::vector<double> ratios;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    double pass = 0;
    const double read = timed([&] { read_once(checkpoint.file); });
    const double forward = timed([&] { bare_forward(checkpoint.weights, ids); });
    const double opened = timed([&] { pass = open_and_map(checkpoint.folder, input); });
    if (round >= 0) {
      reading.push_back(read);
      bare.push_back(forward);
      own.push_back(pass);
      whole.push_back(opened);
      ratios.push_back(opened / (read + forward));
    }
  }
  std::printf("%lld tokens, medians of %d rounds\n", static_cast<long long>(length), rounds);
  std::printf("reading the file        %8.1f ms  (%.0f MB)\n", median(reading),
              static_cast<double>(fs::file_size(checkpoint.file)) / 1e6);
  std::printf("bare forward pass       %8.1f ms\n", median(bare));
  std::printf("opening and first map   %8.1f ms  (its forward pass %.1f ms)\n", median(whole), median(own));
  std::printf("ratio                   %8.2f     (allowed %.1f)\n", median(ratios), kAllowed);
  return 0;
}
