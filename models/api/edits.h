// Edits: what one run of a checkpoint does otherwise than the checkpoint says. Plain data: a list of them is written as
// JSON, typed as short forms, kept in sessions, recipes and traces, and bound to a run by run_edits.h.
//
//   kind       fields                        meaning
//   positions  tokens, start, step (1)       those tokens get the ids start, start + step, …
//   shift      tokens, by                    their ids + by; the mask stays that of the token order
//   positions as  design                     every token stands where another design puts it in a text with pictures: "v2pe",
//                                            "videorope" and others, see models/edits/position_design.h
//   positions flat                           M-RoPE: every token, a picture's cells too, gets the id of a word
//   shift image  image, by                   the ids of a picture's cells + by: one number, or time, row and column
//   mask image   image, rows, columns        those cells of a picture are keys of no query
//   head       layer, head, to               what the head gives on, see HeadTo
//   edge       layer, head, queries, keys    those cells are masked, the row renormalised; a row without keys gives 0
//   scale      layer, head, by               logits × by
//   pairs      layer, head, pairs, do        rotary pairs that do not turn, or are left out of the logit
//   bias       layer, head, formula          a formula of d, i, j, h, H, T, L is added to the logits
//   angles     layer, head, formula          θ of pair m, a formula of m, M, D, base, L, T
//   gates      layer, head, tokens, to       the gates of those keys (all without tokens) are `to`, 0 to 1; of FoX also
//                                            their geometric mean over the run: ALiBi with the slope of this text
//   place      layer, head, tokens, to       where the head puts those tokens (all without tokens) by an encoding that
//                                            learns positions (RePo): a number, "by" a number more, "index", "mix" p of
//                                            the index and 1 − p of its own, "round", or "sorted" in the text's order
//   beta       layer, head, tokens, to       β of those tokens (all without tokens) is `to`, 0 to 2, or the head's mean
//                                            over the run: how much they change the keys before them (PaTH)
//   direction  layer, head, tokens, to       the direction w of those tokens (all without tokens) is the head's mean over
//                                            the run, "mean", of unit length: which part of the keys they change (PaTH)
//   decay      layer, head, to               how the state of a mixer's head decays, see DecayTo
//   unwrite    layer, head, tokens           those tokens write nothing into the state
//   reset      layer, head, at               the state is emptied before that token
//   mixer zero layer, head                   the output of a mixer's head is 0
//
// From `decay` on they are of layers without a soft-max, and count the heads of their mixers.
//
// Everything counts from 0, ranges are [begin, end). Edits of one head combine in the order angles, pairs, gates, beta,
// direction, place, scale, bias, edge, head, whatever the list's; places are changed one after the other, scales multiply, biases
// add, edges join, a dropped pair stays dropped, and of several `angles`, `gates`, `beta`, `head`, `decay` or `positions`
// of one place the last one holds. A `head` edit decides over all others of its head, but `mean` over none. `positions`
// come before `shift`s, which add up. Logits are those that the soft-max sees: after a cap, where the layer has one;
// beyond ±1e12 they are held there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/range.h"
#include "core/base/result.h"

namespace locus::models {

struct ModelInfo;

enum class EditKind {
  kPositions,
  kShift,
  kHead,
  kEdge,
  kScale,
  kPairs,
  kBias,
  kAngles,
  kFlat,
  kShiftImage,
  kMaskImage,
  kDecay,
  kUnwrite,
  kReset,
  kMixerZero,
  kGates,
  kPlace,
  kBeta,
  kDirection,
  kDesign
};

// The change of a head.
enum class HeadTo {
  kZero,      // its output is 0 before the output projection
  kMean,      // its output is its mean over the run's queries
  kUniform,   // equal weights on all keys that the mask shows
  kFirst,     // weight 1 on token 0,
  kPrevious,  // on the token before (token 0: itself),
  kSelf,      // on the token itself; none where the mask hides that key
  kContent    // the logits without the encoding's part
};

enum class PairsDo {
  kStill,  // angle 0: content alone, the magnitude stays
  kDrop    // their product is left out of the logit, whose scale stays
};

enum class DecayTo {
  kKeep,  // nothing of the state is lost
  kMean   // every token decays as the mean of the log decays over the run
};

// Layers or heads.
struct Places {
  std::vector<std::int64_t> indices;  // empty: all, or those of the kind
  std::string kind = {};              // of layers: "global", which see all keys, or "local", a window or chunk of them

  // Precondition: no kind, see with_layers().
  bool has(std::int64_t index) const;
  friend bool operator==(const Places&, const Places&) = default;
};

// Fields that a kind has not keep their defaults.
struct Edit {
  EditKind kind = EditKind::kHead;
  Range tokens = {};
  double start = 0;
  double step = 1;
  double by = 0;
  Places layer = {};
  Places head = {};
  HeadTo to = HeadTo::kZero;
  Range queries = {};
  Range keys = {};
  Range pairs = {};
  PairsDo action = PairsDo::kStill;
  std::string formula = {};
  std::int64_t image = 0;          // which picture of the text
  std::vector<double> along = {};  // the `by` of a picture: one number for all components of a position, or three
  Range rows = {};                 // of its cells
  Range columns = {};
  DecayTo decay = DecayTo::kKeep;
  std::int64_t at = 0;  // a token

  friend bool operator==(const Edit&, const Edit&) = default;
};
using Edits = std::vector<Edit>;

// `{"edits": [{"edit": "head", "layer": 3, "head": 1, "to": "zero"}, …]}`: fields as in the table above, layer and head
// a number, a list or "all", a layer also "global" or "local", ranges [begin, end].
std::string to_json(const Edits& edits);
// Errors: kBadInput, naming the file, the edit's index and the field, what is expected and what was found.
Result<Edits> parse_edits(const std::string& json, const std::string& file);

// The same as one line: "shift 40:41 by -32", "head 3.1 zero", "edge 3.1 queries 5:6 keys 0:3", "pairs all.all 0:8
// drop", "pairs 3.1 wavelengths 8..40 drop", "bias all.0,2 -d/8". Numbers and the edge's ranges bear their field's name;
// any field may.
std::string to_text(const Edit& edit);
// " head 3.1 zero, shift 40:41 by -32": behind a column's name; empty without edits, cut short where it is long.
std::string label_of(const Edits& edits);
// `index` is the edit's place in the list, for errors: those of parse_edits().
Result<Edit> parse_edit(const std::string& text, std::size_t index);

// The edits of one line: the short form of one, or "heads induction > 0.3 zero of FILE", which is `head L.H zero` for
// every head of the atlas FILE whose mean of the statistic (as the file names it; "heads." may be left out) is above, or
// with < below, the number. Errors: those of parse_edit() and open_atlas(); kBadInput where no head is meant.
Result<Edits> parse_edit_line(const std::string& text, std::size_t index);

// The same edits with the layers of the model in place of "global" and "local". Errors: kBadInput where it has none of
// that kind, and for a kind of heads.
Result<Edits> with_layers(Edits edits, const ModelInfo& model);

// "edits[2].layer", for errors.
std::string field_name(std::size_t index, const std::string& field);

// Whether the model has these layers and heads and the formulas can be read, and of tokens (length > 0) and queries and
// keys that the input has. Errors: kBadInput with the edit's index and field.
Status check_edits(const Edits& edits, const ModelInfo& model, std::int64_t length = 0);

// Whether it moves tokens, in all layers.
bool moves(const Edit& edit);
// Whether it is of mixers; otherwise of attention, or of positions.
bool of_mixers(const Edit& edit);

// The lowest layer that the two lists treat differently, by the fields of their edits; `layers` where none. 0 for
// edits of positions.
std::int64_t first_difference(const Edits& a, const Edits& b, std::int64_t layers);

}  // namespace locus::models
