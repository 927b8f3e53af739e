// Rows of tokenizers, in bytes per second: the byte-level BPE of a vocabulary learnt here from the text itself and,
// with LOCUS_TEST_DATA set, the published vocabularies below its tokenizers/.
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/numbers.h"
#include "core/base/temporary_folder.h"
#include "models/text/tokenizer.h"
#include "tests/bench/groups.h"
#include "tests/support/bpe_vocabulary.h"

namespace locus::bench {

namespace {

namespace fs = std::filesystem;

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

Status add_tokenizer(Rig& rig, const std::string& name, const fs::path& folder) {
  LOCUS_TRY(const std::shared_ptr<const text::Tokenizer> tokenizer, text::open_tokenizer(folder));
  if (tokenizer == nullptr) {
    return bad_input("expected a tokenizer, found none", folder.string());
  }
  const std::string text = sample_text(rig.quick() ? 2000 : 2U << 20);
  std::size_t tokens = 0;
  LOCUS_TRY(const Timed times, rig.time([&]() -> Status {
    LOCUS_TRY(const auto encoded, tokenizer->encode(text));
    tokens = encoded.size();
    return {};
  }));
  const auto bytes = static_cast<double>(text.size());
  rig.add({.name = "tokens of " + general_text(bytes * 1e-6, 2) + " MB of text, vocabulary " + name,
           .value = 1e-3 * bytes / times.milliseconds,
           .unit = "MB/s",
           .note = general_text(bytes / static_cast<double>(tokens), 3) + " bytes a token"});
  return {};
}

}  // namespace

Status bench_tokenizers(Rig& rig) {
  LOCUS_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  LOCUS_CHECK(write_file(folder.path() / "tokenizer.json", text::learned_tokenizer_json(sample_text(200000), 2000)));
  LOCUS_CHECK(add_tokenizer(rig, "learned", folder.path()));
  if (const char* data = std::getenv("LOCUS_TEST_DATA")) {
    for (const char* name : {"gpt2", "llama2", "llama3", "bert"}) {
      LOCUS_CHECK(add_tokenizer(rig, name, fs::path(data) / "tokenizers" / name));
    }
  }
  return {};
}

}  // namespace locus::bench
