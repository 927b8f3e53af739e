// Positions after edits.
#include <ATen/ATen.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/shown.h"
#include "models/edits/edited_encoding.h"
#include "models/edits/fields.h"
#include "models/edits/picture_positions.h"
#include "models/edits/run_edits.h"

namespace locus::models {

namespace {

using position::Positions;

// (T, 2) row and column of row-major indices.
at::Tensor grid_ids(const at::Tensor& places, std::int64_t columns) {
  const at::Tensor row = (places / static_cast<double>(columns)).floor();
  return at::stack({row, places - row * static_cast<double>(columns)}, 1);
}

// True if the model, its image stem included, supports every position.
Status accepts(const transformer::Transformer& model, const Positions& positions, const at::Tensor& places) {
  const Range placed = positions.placed();
  const std::int64_t patches = placed.size();
  const at::Tensor own = places.slice(0, placed.begin, placed.end);
  const at::Tensor none = own.masked_select((own != own.floor()) | (own < 0) | (own >= static_cast<double>(patches)));
  if (model.spec().image.position_embedding && none.numel() > 0) {
    return bad_input("expected the place of one of " + std::to_string(patches) + " patches, found " +
                     locus::to_text(SettingValue(none[0].item<double>())));
  }
  return model.accepts(positions);
}

// The field named in the error of a refused edit.
const char* moved_by(EditKind kind) {
  return kind == EditKind::kPositions ? "start" : kind == EditKind::kDesign ? "design" : "by";
}

// The positions (T, 3) of the design that an edit names.
Result<at::Tensor> placed_by(const Edit& edit, std::size_t index, const Layout& layout, std::int64_t length,
                             double start) {
  const std::optional<PositionDesign> design = parse_design(edit.formula);
  if (!design) {
    return bad_input(field_name(index, "design") + ": expected " + std::string(kDesignForms) + ", found " +
                     shown(edit.formula));
  }
  Result<at::Tensor> placed = designed_positions(*design, layout.pictures, length, start);
  return placed.ok() ? std::move(placed) : Result<at::Tensor>(of_edit(placed.error(), index, "design"));
}

// Positions that are numbers take a design whose components are equal.
Status place_numbers(const Edit& edit, std::size_t index, const Layout& layout, at::Tensor& places) {
  LOCUS_TRY(const at::Tensor placed, placed_by(edit, index, layout, places.size(0), places[0].item<double>()));
  if (!at::equal(placed.select(1, 0), placed.select(1, 1)) || !at::equal(placed.select(1, 0), placed.select(1, 2))) {
    return bad_input(field_name(index, "design") +
                     ": expected v2pe, since positions of this model are numbers, found " + shown(edit.formula));
  }
  places.copy_(placed.select(1, 0));
  return {};
}

// Changes positions that are vectors: rows of (T, P).
class Vectors {
 public:
  Vectors(Positions& positions, const Layout& layout) : positions_(&positions), layout_(&layout) {
    positions_->ids = positions_->ids.contiguous().clone();
  }

  Status take(const Edit& edit, std::size_t index) {
    if (edit.kind == EditKind::kFlat) {
      const double start = id(0)[0];
      for (std::int64_t token = 0; token < positions_->size(); ++token) {
        std::fill_n(id(token), dimensions(), start + static_cast<double>(token));
      }
      return {};
    }
    if (edit.kind == EditKind::kDesign) {
      LOCUS_TRY(const at::Tensor placed, placed_by(edit, index, *layout_, positions_->size(), id(0)[0]));
      if (dimensions() != placed.size(1)) {
        return unsupported(field_name(index, "design") + ": expected positions of time, row and column, found " +
                           std::to_string(dimensions()) + " components");
      }
      positions_->ids.copy_(placed);
      return {};
    }
    if (edit.kind == EditKind::kShiftImage) {
      LOCUS_TRY(const ImageSpan span, picture_of(edit, layout_->pictures, index));
      for (std::int64_t cell = 0; cell < span.count; ++cell) {
        for (std::int64_t c = 0; c < dimensions(); ++c) {
          id(span.token(cell))[c] += edit.along[edit.along.size() == 1 ? 0 : static_cast<std::size_t>(c)];
        }
      }
      return {};
    }
    for (std::int64_t token = edit.tokens.begin; token < edit.tokens.end; ++token) {
      for (std::int64_t c = 0; c < dimensions(); ++c) {
        double& own = id(token)[c];
        own = edit.kind == EditKind::kShift ? own + edit.by
                                            : edit.start + edit.step * static_cast<double>(token - edit.tokens.begin);
      }
    }
    return {};
  }

 private:
  std::int64_t dimensions() const { return positions_->ids.size(1); }
  double* id(std::int64_t token) { return positions_->ids.data_ptr<double>() + token * dimensions(); }

  Positions* positions_;
  const Layout* layout_;
};

// For positions that are numbers: a picture's cells move by one.
Status shift_cells(const Edit& edit, std::size_t index, const Layout& layout, double* ids) {
  LOCUS_TRY(const ImageSpan span, picture_of(edit, layout.pictures, index));
  if (edit.along.size() != 1) {
    return bad_input(field_name(index, "by") + ": expected one number, as positions of this model are, found " +
                     std::to_string(edit.along.size()));
  }
  for (std::int64_t cell = 0; cell < span.count; ++cell) {
    ids[span.token(cell)] += edit.along.front();
  }
  return {};
}

}  // namespace

Error of_edit(Error error, std::size_t index, const std::string& field) {
  error.message = field_name(index, field) + ": " + error.message;
  return error;
}

Result<ImageSpan> picture_of(const Edit& edit, const std::vector<ImageSpan>& pictures, std::size_t index) {
  if (pictures.empty()) {
    return bad_input(field_name(index, "image") + ": expected a text with pictures in it, found none");
  }
  if (edit.image >= static_cast<std::int64_t>(pictures.size())) {
    return bad_input(field_name(index, "image") + ": expected 0 to " + std::to_string(pictures.size() - 1) +
                     ", found " + std::to_string(edit.image));
  }
  return pictures[static_cast<std::size_t>(edit.image)];
}

Result<Positions> edited_positions(const Edits& edits, const Positions& positions, const Layout& layout,
                                   const transformer::Transformer& model) {
  Positions edited = positions;
  const bool vectors = positions.dimensions() > 2;
  at::Tensor places = places_of(positions, layout.grid_columns).clone();
  auto* const ids = places.data_ptr<double>();
  std::optional<Vectors> rows;
  if (vectors) {
    rows.emplace(edited, layout);
  }
  const auto change = [&](const Edit& edit, std::size_t index) -> Status {
    const Range own{edit.tokens.begin + edited.prefix, edit.tokens.end + edited.prefix};
    if (own.end > edited.placed().end) {
      return bad_input(field_name(index, "tokens") + ": expected a range within 0 to " +
                       std::to_string(edited.placed().size()) + ", found " + std::to_string(edit.tokens.begin) +
                       " to " + std::to_string(edit.tokens.end));
    }
    if (vectors) {
      return rows->take(edit, index);
    }
    if (edit.kind == EditKind::kFlat) {
      return bad_input(field_name(index, "") +
                       ": expected positions of time, row and column, found numbers: pictures count as text already");
    }
    if (edit.kind == EditKind::kDesign) {
      if (positions.dimensions() != 1) {
        return bad_input(field_name(index, "design") + ": expected a text with pictures in it, found an image");
      }
      LOCUS_CHECK(place_numbers(edit, index, layout, places));
    }
    if (edit.kind == EditKind::kShiftImage) {
      LOCUS_CHECK(shift_cells(edit, index, layout, ids));
    }
    for (std::int64_t token = own.begin; token < own.end; ++token) {
      const auto place = static_cast<double>(token - own.begin);
      ids[token] = edit.kind == EditKind::kShift ? ids[token] + edit.by : edit.start + edit.step * place;
    }
    edited.ids = positions.dimensions() == 1 ? places.clone() : grid_ids(places, layout.grid_columns);
    return {};
  };
  std::optional<Error> refused;  // the first edit after which they are invalid
  for (const bool shifts : {false, true}) {
    for (std::size_t n = 0; n < edits.size(); ++n) {
      const EditKind kind = edits[n].kind;
      if (!moves(edits[n]) || shifts != (kind == EditKind::kShift || kind == EditKind::kShiftImage)) {
        continue;
      }
      LOCUS_CHECK(change(edits[n], n));
      const Status fits = accepts(model, edited, places);
      if (!fits.ok() && !refused) {
        refused = of_edit(fits.error(), n, moved_by(kind));
      }
    }
  }
  if (refused && !accepts(model, edited, places).ok()) {
    return *refused;
  }
  return edited;
}

}  // namespace locus::models
