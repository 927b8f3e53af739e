// Tokenizers in bytes per second. With LOCUS_TEST_DATA set, the published vocabularies below its tokenizers/; always
// the byte-level BPE of a vocabulary learnt here from the text itself.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/text/tokenizer.h"
#include "tests/support/bpe_vocabulary.h"

namespace {

namespace fs = std::filesystem;
using locus::text::Tokenizer;

// Words drawn as a language draws them: few of them often, many seldom; names and numbers between.
std::string sample_text(std::size_t bytes) {
  std::mt19937 random(1);
  std::vector<std::string> words;
  for (int n = 0; n < 20000; ++n) {
    std::string word;
    for (auto letters = 2 + random() % 9; letters > 0; --letters) {
      word.push_back("etaoinshrdlucmfwypvbgkjqxz"[std::min(random() % 26, random() % 26)]);
    }
    words.push_back(word);
  }
  std::string text;
  while (text.size() < bytes) {
    const double u = std::uniform_real_distribution<double>(1e-5, 1)(random);
    const auto rank = static_cast<std::size_t>(1 / u) % words.size();
    text += words[rank];
    text += random() % 12 == 0 ? ",\n" : random() % 40 == 0 ? " 1984 " : " ";
  }
  return text;
}

void encode(benchmark::State& state, const Tokenizer& tokenizer) {
  const std::string text = sample_text(2U << 20);
  std::size_t tokens = 0;
  for (auto _ : state) {
    const auto encoded = tokenizer.encode(text);
    if (!encoded.ok()) {
      state.SkipWithError(encoded.error().describe().c_str());
      break;
    }
    tokens = encoded->size();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(text.size()));
  state.counters["MB/s"] =
      benchmark::Counter(static_cast<double>(text.size()) * 1e-6, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes/token"] = static_cast<double>(text.size()) / static_cast<double>(tokens);
}

void add(const std::string& name, const fs::path& folder) {
  auto opened = locus::text::open_tokenizer(folder);
  if (!opened.ok() || *opened == nullptr) {
    std::cerr << name << ": " << (opened.ok() ? "no tokenizer" : opened.error().describe()) << "\n";
    return;
  }
  benchmark::RegisterBenchmark(("tokenize/" + name).c_str(), [tokenizer = *opened](benchmark::State& state) {
    encode(state, *tokenizer);
  })->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path folder = fs::temp_directory_path() / ("locus_bench_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string document = locus::text::learned_tokenizer_json(sample_text(200000), 2000);
  if (locus::write_file(folder / "tokenizer.json", document).ok()) {
    add("learned", folder);
  }
  fs::remove_all(folder);
  if (const char* data = std::getenv("LOCUS_TEST_DATA")) {
    for (const char* name : {"gpt2", "llama2", "llama3", "bert"}) {
      add(name, fs::path(data) / "tokenizers" / name);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
