// The tasks to train on, in the order that they are listed: what the command line says of them. models/training/tasks
// has what makes their sequences.
#include "models/api/train.h"

namespace locus::training {

const std::vector<TaskInfo>& tasks() {
  static const std::vector<TaskInfo> list{
      {"text",
       "the next token of real text",
       "",
       "bits_per_byte",
       {{"contexts", "none", "further context lengths to measure, [512, 1024]"},
        {"vocabulary", "256", "tokens: 256 are bytes, more are a BPE learned from the corpus"},
        {"stride", "0",
         "tokens between the starts of measured windows, each token counted once with its longest "
         "context; 0: windows that do not overlap"}}},
      {"flip-flop",
       "recall the last bit written, whatever was to be ignored since",
       "CoPE §5.1",
       "error",
       {{"symbols", "512", "length of a sequence, two symbols an instruction"}}},
      {"selective-copy",
       "copy a sequence without its blanks",
       "CoPE §5.2",
       "error",
       {{"letters", "256", "symbols to copy"}, {"blanks", "256", "blanks among them in training"}}},
      {"counting",
       "the value of a variable that is set, incremented and passed by",
       "CoPE §5.3",
       "error",
       {{"operations", "512", "operations of a sequence, at most"}, {"variables", "1", "1 to 5 variables"}}},
      {"word-count",
       "how often a word occurs in the last sentences of a story",
       "CoPE §5.4",
       "error",
       {{"sentences", "8", "sentences of a training story, at most; 'longer' has three times as many"},
        {"last", "3", "k: questions are about the last 1 … k sentences"}}},
      {"addition",
       "the sum of two numbers, by the lengths of the operands",
       "TAPE §5.1",
       "error",
       {{"length", "10", "digits of an operand in training, at most; measured up to twice as many"},
        {"digits", "reversed", "reversed: ones first; or plain"},
        {"operands", "pairs", "pairs: every pair of lengths; buckets: every length of the longer operand alike"}}},
      {"passkey",
       "find a number hidden in a long text",
       "TAPE §5.3",
       "error",
       {{"length", "256", "bytes of a training text, at most"},
        {"digits", "5", "of the number"},
        {"contexts", "[2·length, 4·length]", "bytes of longer texts that are measured"}}},
      {"shapes",
       "which of twelve shapes a picture shows, at up to three times the trained resolution",
       "SeqPE §4.3",
       "error",
       {{"side", "32", "pixels of a trained picture's side"}, {"patch", "4", "pixels of a patch's side"}}},
      {"captions",
       "which two coloured shapes a picture shows, and how they lie, at up to twice the trained size",
       "M-RoPE: Qwen2-VL §2.1",
       "error",
       {{"side", "32", "pixels of a trained picture's side"},
        {"patch", "4", "pixels of a patch's side"},
        {"cell", "2", "patches a side that become one vector"},
        {"tower_layers", "2", "layers of the image tower"},
        {"tower_width", "48", "its channels, in heads of 16"},
        {"tower", "rope-axial", "its position encoding"}}}};
  return list;
}

}  // namespace locus::training
