// Command lines that are refused: the exit status, and what their one line names.
#include <gtest/gtest.h>

#include <array>

#include "core/base/lists.h"
#include "tests/support/run_locus.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::run_locus;

struct Refused {
  int status;
  const char* naming;
  const char*
      line;  // words; TINY: a checkpoint, TMP: a folder, ROPE: a bundled checkpoint, EMPTY: a word of no letters
};

constexpr std::array kRefused {
  // words that do not go together
  Refused{2, "--bogus", "run somewhere --bogus"}, Refused{2, "PATH", "run"}, Refused{2, "PATH", "info"},
      Refused{2, "tpu", "info somewhere --device tpu"}, Refused{2, "cuda:N", "info somewhere --device cuda:x"},
      Refused{2, "cuda:-1", "info somewhere --device cuda:-1"},
      Refused{4, "cuda:63: expected one of this machine", "run TINY --text a --device cuda:63"},
      Refused{2, "--text", "run somewhere"}, Refused{2, "--ids", "run somewhere --text a --ids 1"},
      Refused{2, "x", "run somewhere --ids 1,x"}, Refused{2, "everything", "run somewhere --text a --keep everything"},
      Refused{2, "--out", "figure attention somewhere --text a"},
      Refused{2, "horoscope", "figure horoscope somewhere --text a --data x.npy"},
      Refused{2, "found the view attention", "figure attention --recipe two.recipe.json --data x.npy"},
      Refused{2, "need --what with examples", "atlas TINY --corpus somewhere --out TMP/never --top 5"},
      Refused{2, "and --what with examples", "atlas TINY --corpus somewhere --out TMP/never --export-headvis TMP/x"},
      Refused{2, "poetry", "train poetry --out x"}, Refused{2, "--threads", "--threads -1 info --encodings"},
      // values out of range
      Refused{2, "query: expected 0 to ", "figure attention TINY --text one --data TMP/x.npy --query 99"},
      Refused{2, "key: expected 0 to ", "figure attention TINY --text one --data TMP/x.npy --key 99"},
      Refused{2, "--query", "figure attention TINY --text one --data TMP/x.npy --query -5"},
      Refused{2, "--key", "figure attention TINY --text one --data TMP/x.npy --key -5"},
      Refused{2, "--head", "figure attention TINY --text one --data TMP/x.npy --head -1"},
      Refused{2, "--head", "figure attention TINY --text one --data TMP/x.npy --head x"},
      Refused{2, "--layer", "figure attention TINY --text one --data TMP/x.npy --layer first"},
      Refused{2, "layer", "figure attention TINY --text one --data TMP/x.npy --layer 2"},
      Refused{2, "--width-mm", "figure attention TINY --text one --data TMP/x.npy --width-mm 0"},
      Refused{2, "--width-mm", "figure attention TINY --text one --data TMP/x.npy --width-mm -5"},
      Refused{2, "--width-mm", "figure attention TINY --text one --data TMP/x.npy --width-mm nan"},
      Refused{2, "--dpi", "figure attention TINY --text one --data TMP/x.npy --dpi 0"},
      Refused{2, "viridis", "figure attention TINY --text one --data TMP/x.npy --colormap rainbow"},
      Refused{2, "--percentile", "figure attention TINY --text one --data TMP/x.npy --percentile 0"},
      Refused{2, "--camera-x", "figure attention TINY --text one --data TMP/x.npy --camera-x 3"},
      Refused{2, "--rope-base: expected a number from 1.000001",
              "figure attention TINY --text one --data TMP/x.npy --rope-base 0"},
      Refused{2, "--rope-base", "figure attention TINY --text one --data TMP/x.npy --rope-base EMPTY"},
      Refused{2, "--rope-base: expected a value, or one and layers",
              "figure attention TINY --text one --data TMP/x.npy --rope-base @local"},
      Refused{2, "--rope-scaling: expected a value, or one and layers",
              "figure attention TINY --text one --data TMP/x.npy --rope-scaling linear:4@"},
      Refused{2, "swift", "run TINY --text a --speed swift"}, Refused{2, "--speed", "verify TINY --speed fast"},
      Refused{2, "cubic", "run TINY --text a --rope-scaling cubic:3"},
      Refused{2, "P above 0", "run TINY --text a --rope-scaling proportional:0"},
      Refused{2, "N at least 2", "run TINY --text a --rope-scaling clipped:1"},
      Refused{2, "clipped:20:firm", "run TINY --text a --rope-scaling clipped:20:firm"},
      Refused{2, "--ids", "figure attention TINY --ids 1,,2 --data TMP/x.npy"},
      Refused{2, "--ids", "figure attention TINY --ids 1,2, --data TMP/x.npy"},
      Refused{2, "--ids", "run TINY --ids 1,-2"}, Refused{2, "-1", "run TINY --ids -1"},
      Refused{2, "--temperature", "run TINY --text a --temperature nan"},
      Refused{2, "0 to 1000", "run TINY --text one --generate 3 --temperature -1"},
      Refused{2, "nope", "train flip-flop --steps 1 --out TMP/never --encoding nope"},
      Refused{2, "foo", "train flip-flop --steps 1 --out TMP/never --option foo=1"},
      Refused{2, "foo", "train flip-flop --steps 1 --out TMP/never --task-option foo=1"},
      Refused{2, "--lr", "train flip-flop --steps 1 --out TMP/never --lr -1"},
      Refused{2, "--heads", "train flip-flop --steps 1 --out TMP/never --heads 0"},
      Refused{2, "--lora", "train flip-flop --steps 1 --out TMP/never --lora -1"},
      Refused{2, "--lora", "train flip-flop --steps 1 --out TMP/never --lora two"},
      Refused{2, "lora: expected a checkpoint", "train flip-flop --steps 1 --out TMP/never --lora 2"},
      // files and inputs
      Refused{3, "frobnicate", "frobnicate"}, Refused{3, "nowhere-at-all", "info nowhere-at-all"},
      Refused{2, "x.xls", "figure attention TINY --text a --data TMP/x.xls"},
      Refused{2, "INPUT", "figure attention TINY --data TMP/x.npy"},
      Refused{4, "rope", "figure attention TINY --text a --quantity gate --data TMP/x.npy"},
      Refused{3, "empty", "run TINY --text EMPTY"}, Refused{3, "256", "run TINY --ids 256"},
      Refused{3, "missing.txt", "run TINY --text-file TMP/missing.txt"},
      Refused{3, "expected a file", "run TINY --text-file TMP"}, Refused{3, "", "run TINY --image TMP/corpus.txt"},
      Refused{3, "folder", "run TINY --text a --trace TMP/no/such/folder/t.safetensors"},
      Refused{3, "--side cross", "figure attention TINY --text one --side cross --data TMP/x.npy"},
      Refused{3, "decoder", "run TINY --text one --decoder-ids 1"},
      Refused{2, "q9", "convert ROPE --to q9 --out TMP/a.gguf"}, Refused{2, "--out", "convert ROPE --to q4_0"},
      Refused{2, "a.bin", "convert ROPE --to q4_0 --out TMP/a.bin"},
      Refused{2, "model.safetensors", "convert ROPE --to f16 --out ROPE/model.safetensors"},
      Refused{4, "", "convert ROPE-nope --out TMP/a.gguf"}, Refused{3, "absent", "convert TMP/absent --out TMP/a.gguf"},
#if LOCUS_GUI
      Refused{2, "bmp", "figure attention TINY --text a --out TMP/x.bmp"},
#endif
};

class CliLines : public CheckpointTest {
 protected:
  static std::vector<std::string> words_of(const Refused& each) {
    const std::array<std::pair<const char*, std::string>, 4> places{
        {{"TINY", path()},
         {"TMP", std::filesystem::path(path()).parent_path().string()},
         {"ROPE", locus::test::source_dir() + "/assets/checkpoints/text-rope"},
         {"EMPTY", ""}}};
    std::vector<std::string> words;
    for (const std::string_view word : locus::split_words(each.line, " ")) {
      std::string& made = words.emplace_back(word);
      for (const auto& [name, place] : places) {
        if (made.starts_with(name)) {
          made.replace(0, std::string_view(name).size(), place);
          break;
        }
      }
    }
    return words;
  }
};

TEST_F(CliLines, AreRefusedWithOneLine) {
  for (const Refused& each : kRefused) {
    SCOPED_TRACE(each.line);
    expect_error(run_locus(words_of(each)), each.status, each.naming);
  }
  for (const char* const never : {"x.npy", "x.xls", "never", "a.gguf", "x.bmp"}) {
    EXPECT_FALSE(std::filesystem::exists(file(never))) << never;
  }
}

}  // namespace
