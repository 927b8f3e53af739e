// The engine's half of the API: each function here does for models, traces and files of this machine what the function
// of the same name in locus::models (or locus::training) does wherever they are; it has no default arguments.
// dispatch.cpp alone calls these by way of the engine's library; the engine calls its own directly.
#pragma once

#include "models/api/addressing.h"
#include "models/api/analyses.h"
#include "models/api/atlas_run.h"
#include "models/api/convert.h"
#include "models/api/effect.h"
#include "models/api/families.h"
#include "models/api/files.h"
#include "models/api/kernel.h"
#include "models/api/knock_out.h"
#include "models/api/logit_attribution.h"
#include "models/api/logit_lens.h"
#include "models/api/model.h"
#include "models/api/move_curve.h"
#include "models/api/pairs.h"
#include "models/api/perceived_distance.h"
#include "models/api/picture_stability.h"
#include "models/api/process_group.h"
#include "models/api/repeated_text.h"
#include "models/api/run_estimate.h"
#include "models/api/score_sources.h"
#include "models/api/state_norms.h"
#include "models/api/train.h"
#include "models/api/transform_steps.h"
#include "models/api/verify.h"
#include "models/api/weight_kinds.h"
#include "models/image/image.h"

// Functions of the engine's library: FUNCTION(SPACE, NAME).
#define LOCUS_ENGINE_FUNCTIONS(FUNCTION)  \
  FUNCTION(image, load_picture)           \
  FUNCTION(models, addressing)            \
  FUNCTION(models, addressing_row)        \
  FUNCTION(models, addressing_spectrum)   \
  FUNCTION(models, attention_rollout)     \
  FUNCTION(models, check_family)          \
  FUNCTION(models, convert)               \
  FUNCTION(models, distance_bias)         \
  FUNCTION(models, distance_profile)      \
  FUNCTION(models, effect_of_change)      \
  FUNCTION(models, effect_of_edits)       \
  FUNCTION(models, effect_on)             \
  FUNCTION(models, encodings)             \
  FUNCTION(models, families)              \
  FUNCTION(models, head_difference)       \
  FUNCTION(models, head_kernel)           \
  FUNCTION(models, head_table)            \
  FUNCTION(models, induction_map)         \
  FUNCTION(models, knock_out)             \
  FUNCTION(models, knock_out_shuffled)    \
  FUNCTION(models, length_curve)          \
  FUNCTION(models, logit_attribution)     \
  FUNCTION(models, logit_lens)            \
  FUNCTION(models, make_atlas)            \
  FUNCTION(models, match_heads)           \
  FUNCTION(models, move_curve)            \
  FUNCTION(models, move_map)              \
  FUNCTION(models, neutral_run)           \
  FUNCTION(models, open)                  \
  FUNCTION(models, open_process_group)    \
  FUNCTION(models, open_trace)            \
  FUNCTION(models, pair_energy)           \
  FUNCTION(models, pair_list)             \
  FUNCTION(models, pair_parts)            \
  FUNCTION(models, pair_plane)            \
  FUNCTION(models, pair_profile)          \
  FUNCTION(models, pair_statistics)       \
  FUNCTION(models, perceived_distances)   \
  FUNCTION(models, picture_stability)     \
  FUNCTION(models, pictures_estimate)     \
  FUNCTION(models, predictions_at)        \
  FUNCTION(models, products)              \
  FUNCTION(models, repeated_loss)         \
  FUNCTION(models, runtime)               \
  FUNCTION(models, score_sources)         \
  FUNCTION(models, set_families_folder)   \
  FUNCTION(models, set_threads)           \
  FUNCTION(models, shift_stability)       \
  FUNCTION(models, state_norms)           \
  FUNCTION(models, strongest_token_pairs) \
  FUNCTION(models, suggest_family)        \
  FUNCTION(models, swap_scores)           \
  FUNCTION(models, theory_curves)         \
  FUNCTION(models, token_named)           \
  FUNCTION(models, transform_steps)       \
  FUNCTION(models, turning_encoding)      \
  FUNCTION(models, usual_layers)          \
  FUNCTION(models, verify)                \
  FUNCTION(models, verify_expected)       \
  FUNCTION(models, weight_kinds)          \
  FUNCTION(models, with_pairs)            \
  FUNCTION(training, evaluate)            \
  FUNCTION(training, parse_decay)         \
  FUNCTION(training, record_seeds)        \
  FUNCTION(training, to_json)             \
  FUNCTION(training, train)               \
  FUNCTION(training, written_files)

// NOLINTBEGIN(bugprone-macro-parentheses): names, which cannot stand in parentheses
#define LOCUS_DECLARE_LOCAL(space, name) \
  namespace space::local {               \
  decltype(space::name) name;            \
  }
// NOLINTEND(bugprone-macro-parentheses)

namespace locus {

LOCUS_ENGINE_FUNCTIONS(LOCUS_DECLARE_LOCAL)

// Functions that need no engine, in models/formats.
namespace models::local {
decltype(models::file_bytes) file_bytes;
decltype(models::file_exists) file_exists;
decltype(models::files_digest) files_digest;
decltype(models::is_trace) is_trace;
}  // namespace models::local

#undef LOCUS_DECLARE_LOCAL

}  // namespace locus
