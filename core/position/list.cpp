#include "core/position/list.h"

#include "core/position/learned.h"
#include "core/position/none.h"
#include "core/position/rope.h"
#include "core/position/seqpe.h"
#include "core/position/tape.h"

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
  static const std::vector<Entry> list{
      {None::about(), None::make}, {Learned::about(), Learned::make}, {Rope::about(), Rope::make},
      {Tape::about(), Tape::make}, {Seqpe::about(), Seqpe::make},
  };
  return list;
}

Result<std::unique_ptr<PositionEncoding>> make_encoding(std::string_view name, const Settings& options,
                                                        const ModelShape& shape) {
  std::string known;
  for (const Entry& entry : encodings()) {
    if (entry.description.name == name) {
      LOCUS_CHECK(check_known(entry.description, options));
      LOCUS_CHECK(check_shape(shape));
      return entry.make(options, shape);
    }
    known += (known.empty() ? "" : ", ") + entry.description.name;
  }
  return bad_input("unknown position encoding " + std::string(name) + "; known: " + known);
}

}  // namespace locus::position
