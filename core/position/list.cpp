#include "core/position/list.h"

#include <algorithm>

#include "core/base/listed.h"
#include "core/base/shown.h"
#include "core/position/alibi.h"
#include "core/position/cope/cope.h"
#include "core/position/disentangled.h"
#include "core/position/fire.h"
#include "core/position/fox.h"
#include "core/position/kerple.h"
#include "core/position/learned.h"
#include "core/position/none.h"
#include "core/position/randpe.h"
#include "core/position/relative.h"
#include "core/position/relative_grid.h"
#include "core/position/rope.h"
#include "core/position/rope_axial.h"
#include "core/position/rope_mixed.h"
#include "core/position/seqpe/seqpe.h"
#include "core/position/sinusoidal.h"
#include "core/position/t5.h"
#include "core/position/tapa.h"
#include "core/position/tape/tape.h"
#include "core/position/xpos.h"

namespace locus::position {

namespace {

Status check_shape(const ModelShape& shape) {
  if (shape.layers < 1 || shape.heads < 1 || shape.kv_heads < 1 || shape.head_width < 1 || shape.width < 1 ||
      shape.trained_length < 0) {
    return bad_input("model shape: layers, heads, kv_heads, head_width and width must be at least 1");
  }
  if (shape.heads % shape.kv_heads != 0) {
    return bad_input("model shape: " + std::to_string(shape.heads) + " heads cannot share " +
                     std::to_string(shape.kv_heads) + " key heads");
  }
  return {};
}

}  // namespace

const std::vector<Entry>& encodings() {
  // clang-format off
  static const std::vector<Entry> list{
      {None::about(), None::make},
      {Learned::about(), Learned::make},
      {Sinusoidal::about(), Sinusoidal::make},
      {Relative::about(), Relative::make},
      {Relative::about_capped(), Relative::make_capped},
      {T5::about(), T5::make},
      {Alibi::about(), Alibi::make},
      {Kerple::about(), Kerple::make},
      {Kerple::about_power(), Kerple::make_power},
      {Fire::about(), Fire::make},
      {Fox::about(), Fox::make},
      {Rope::about(), Rope::make},
      {Xpos::about(), Xpos::make},
      {Randpe::about(), Randpe::make},
      {Cope::about(), Cope::make},
      {Tapa::about(), Tapa::make},
      {Tape::about(), Tape::make},
      {Seqpe::about(), Seqpe::make},
      {RopeAxial::about(), RopeAxial::make},
      {RopeMixed::about(), RopeMixed::make},
      {RelativeGrid::about(), RelativeGrid::make},
      {Disentangled::about(), Disentangled::make},
  };
  // clang-format on
  return list;
}

namespace {

const Entry* find_entry(std::string_view name) {
  const auto found = std::find_if(encodings().begin(), encodings().end(),
                                  [&](const Entry& entry) { return entry.description.name == name; });
  return found == encodings().end() ? nullptr : &*found;
}

}  // namespace

const Description* find_description(std::string_view name) {
  const Entry* const entry = find_entry(name);
  return entry == nullptr ? nullptr : &entry->description;
}

Result<std::unique_ptr<PositionEncoding>> make_encoding(std::string_view name, const Settings& options,
                                                        const ModelShape& shape) {
  if (const Entry* const entry = find_entry(name)) {
    LOCUS_CHECK(check_known(entry->description, options));
    LOCUS_CHECK(check_shape(shape));
    return entry->make(options, shape);
  }
  const std::string known =
      listed_known(encodings(), "encodings", [](const Entry& entry) { return entry.description.name; });
  return bad_input("unknown position encoding " + shown(name) + "; known: " + known);
}

}  // namespace locus::position
