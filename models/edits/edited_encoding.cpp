#include "models/edits/edited_encoding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace locus::models {

namespace {

using position::PairForm;
using position::Prepared;

constexpr double kHidden = -std::numeric_limits<double>::infinity();

// (T, n) angles of the pairs `chosen` at every token: θ of a text, along each pair's own direction in an image.
at::Tensor angles_of(const PairForm& form, const position::Positions& positions, const at::Tensor& theta,
                     const at::Tensor& chosen, std::int64_t head) {
  const at::Tensor own = theta.index_select(0, chosen);  // (n)
  at::Tensor turned;
  if (positions.dimensions() == 1) {
    turned = positions.ids.unsqueeze(1) * own;
  } else {
    const at::Tensor frequencies = form.frequencies.select(0, form.frequencies.size(0) == 1 ? 0 : head)
                                       .to(at::kDouble)
                                       .index_select(0, chosen);  // (n, 2)
    const at::Tensor along = frequencies / frequencies.norm(2, -1, true).clamp_min(1e-30);
    turned = at::matmul(positions.ids, along.t()) * own;
  }
  return form.offsets.defined() ? turned + form.offsets.index_select(0, chosen) : turned;
}

// Rotates some pairs of one head of `turned` (B, T, W) anew from the projection `plain` (B, T, D); tokens without
// position are unchanged. `angles` (T, n) of the pairs `chosen`.
void turn(at::Tensor turned, const at::Tensor& plain, const PairForm& form, const std::vector<std::int64_t>& chosen,
          const at::Tensor& angles, std::int64_t prefix) {
  std::vector<std::int64_t> to[2];
  std::vector<std::int64_t> from[2];
  for (const std::int64_t pair : chosen) {
    for (std::size_t n = 0; n < 2; ++n) {
      to[n].push_back(form.channels[static_cast<std::size_t>(pair)][n]);
      from[n].push_back(form.planes[static_cast<std::size_t>(pair)][n]);
    }
  }
  const auto channels = [&](const std::vector<std::int64_t>& list) {
    return at::tensor(list, at::kLong).to(plain.device());
  };
  const at::Tensor first = plain.index_select(-1, channels(from[0]));
  const at::Tensor second = plain.index_select(-1, channels(from[1]));
  const at::Tensor first_to = channels(to[0]);
  const at::Tensor second_to = channels(to[1]);
  at::Tensor magnitude = at::full({1}, form.magnitude, first.options());
  if (form.state) {  // factor by which the text's tuning lengthens this pair
    const at::Tensor before = first.square() + second.square();
    const at::Tensor after = turned.index_select(-1, first_to).square() + turned.index_select(-1, second_to).square();
    magnitude = (after / before.clamp_min(1e-30)).sqrt();
  }
  const at::Tensor cos = angles.cos().to(first.options()) * magnitude;
  const at::Tensor sin = angles.sin().to(first.options()) * magnitude;
  const at::Tensor a = first * cos - second * sin;
  const at::Tensor b = second * cos + first * sin;
  turned.slice(1, prefix).index_copy_(-1, first_to, a.slice(1, prefix));
  turned.slice(1, prefix).index_copy_(-1, second_to, b.slice(1, prefix));
}

}  // namespace

at::Tensor places_of(const position::Positions& positions, std::int64_t grid_columns) {
  if (positions.dimensions() == 1) {
    return positions.ids;
  }
  if (positions.dimensions() > 2) {
    return positions.ids.select(1, 0).contiguous();
  }
  at::Tensor places = positions.ids.select(1, 0) * static_cast<double>(grid_columns) + positions.ids.select(1, 1);
  places.slice(0, 0, positions.prefix).zero_();
  return places;
}

EditedEncoding::EditedEncoding(std::shared_ptr<const position::PositionEncoding> own, std::vector<HeadEdits> heads,
                               double soft_cap, std::int64_t grid_columns, const attention::Mask& mask)
    : PositionEncoding(own->shape()),
      own_(std::move(own)),
      heads_(std::move(heads)),
      soft_cap_(soft_cap),
      grid_columns_(grid_columns),
      mask_(mask) {
  for (const HeadEdits& head : heads_) {
    gates_ = gates_ || !head.gates.empty();
    strengths_ = strengths_ || !head.strengths.empty();
    directed_ = directed_ || !head.directed.empty();
    places_ = places_ || !head.places.empty();
    by_token_ = by_token_ || !head.gates.empty() || !head.places.empty() || !head.edges.empty() ||
                (head.to && *head.to != HeadTo::kUniform && *head.to != HeadTo::kContent);
    turns_ = turns_ || head.turns();
  }
}

Prepared EditedEncoding::prepare(const position::State& state, std::int64_t layer,
                                 const position::Projections& projections) const {
  Prepared prepared = own_->prepare(state, layer, projections);
  if (!turns_) {
    return prepared;
  }
  const Result<PairForm> form = position::pair_form(*own_, prepared, layer);
  // Heads that share a key part with it, where only some of them have other rotations.
  const auto heads = static_cast<std::int64_t>(heads_.size());
  prepared.query = prepared.query.clone();
  prepared.key = prepared.key.repeat_interleave(heads / prepared.key.size(1), 1);
  const auto plain_of = [&](const at::Tensor& plain, const at::Tensor& turned, std::int64_t head) {
    const at::Tensor& own = plain.defined() ? plain : turned;
    return own.select(1, head / (heads / own.size(1)));
  };
  for (std::int64_t h = 0; h < heads; ++h) {
    const HeadEdits& head = heads_[static_cast<std::size_t>(h)];
    const auto all = [&](at::Tensor& turned, const at::Tensor& plain, const at::Tensor& phases) {
      const at::Tensor own = plain_of(plain, turned, h).clone();
      // Angles of the chosen pairs, less those that the head's queries have at every position.
      const auto less = [&](const at::Tensor& angles, const at::Tensor& chosen) {
        return phases.defined() ? angles - phases[h].index_select(0, chosen) : angles;
      };
      if (head.angles) {
        std::vector<std::int64_t> pairs(static_cast<std::size_t>(form->pairs()));
        for (std::size_t m = 0; m < pairs.size(); ++m) {
          pairs[m] = static_cast<std::int64_t>(m);
        }
        const at::Tensor chosen = at::tensor(pairs, at::kLong);
        const at::Tensor angles = angles_of(*form, prepared.positions, *head.angles, chosen, h);
        turn(turned.select(1, h), own, *form, pairs, less(angles, chosen), prepared.positions.prefix);
      }
      if (!head.still.empty()) {
        const auto count = static_cast<std::int64_t>(head.still.size());
        const at::Tensor none = at::zeros({prepared.positions.size(), count}, at::kDouble);
        turn(turned.select(1, h), own, *form, head.still, less(none, at::tensor(head.still, at::kLong)),
             prepared.positions.prefix);
      }
    };
    all(prepared.query, prepared.content_query, form->query_phases);
    all(prepared.key, prepared.content_key, {});
    for (const std::int64_t pair : head.dropped) {
      for (const std::int64_t channel : form->channels[static_cast<std::size_t>(pair)]) {
        prepared.query.select(1, h).select(-1, channel).zero_();
      }
    }
  }
  return prepared;
}

position::TileScores EditedEncoding::score(const Prepared& prepared, const position::Tile& tile,
                                           const position::Wanted& wanted, const at::Tensor& carry) const {
  position::Wanted asked = wanted;
  for (std::int64_t head = tile.heads.begin; head < tile.heads.end; ++head) {
    asked.content = asked.content || heads_[static_cast<std::size_t>(head)].to == HeadTo::kContent;
  }
  const Prepared gated = gates_ ? with_gates(prepared) : prepared;
  const Prepared given = strengths_ || directed_ ? with_reflections(gated, tile.layer, tile.heads) : gated;
  position::TileScores scores = own_->score(places_ ? with_places(given) : given, tile, asked, carry);
  if (soft_cap_ > 0) {
    scores.logits = at::tanh(scores.logits / soft_cap_) * soft_cap_;
    if (scores.content.defined()) {
      scores.content = at::tanh(scores.content / soft_cap_) * soft_cap_;
    }
  } else {
    scores.logits = scores.logits.clone();  // may be the content, or a tensor of the encoding
  }
  const at::Tensor places = places_of(prepared.positions, grid_columns_);
  for (std::int64_t head = tile.heads.begin; head < tile.heads.end; ++head) {
    const HeadEdits& edits = heads_[static_cast<std::size_t>(head)];
    const std::int64_t n = head - tile.heads.begin;
    at::Tensor own = scores.logits.select(1, n);
    if (edits.changes()) {
      own.copy_(changed(edits, own, places, tile, head));
    }
    edit(edits, own, scores.content.defined() ? scores.content.select(1, n) : at::Tensor(), tile);
  }
  return scores;
}

Prepared EditedEncoding::with_gates(const Prepared& prepared) const {
  Prepared given = prepared;
  const std::int64_t tokens = prepared.key.size(2);
  const auto heads = static_cast<std::int64_t>(heads_.size());
  given.given_gates = at::full({prepared.key.size(0), heads, tokens}, std::numeric_limits<double>::quiet_NaN(),
                               prepared.key.options().dtype(at::kDouble));
  for (std::int64_t h = 0; h < heads; ++h) {
    at::Tensor own = given.given_gates.select(1, h);  // (B, T)
    for (const HeadGates& gates : heads_[static_cast<std::size_t>(h)].gates) {
      const Range range = gates.tokens.empty() ? Range{0, tokens} : gates.tokens.clamped({0, tokens});
      at::Tensor part = own.slice(1, range.begin, std::max(range.begin, range.end));
      if (gates.value) {
        part.fill_(*gates.value);
      } else {
        const at::Tensor logs = own_->log_gates(prepared).select(1, h).squeeze(-1).to(at::kDouble);
        part.copy_(logs.mean(1, true).exp().expand_as(part));
      }
    }
  }
  return given;
}

Prepared EditedEncoding::with_strengths(const Prepared& prepared) const {
  Prepared given = prepared;
  const std::int64_t tokens = prepared.key.size(2);
  const auto heads = static_cast<std::int64_t>(heads_.size());
  given.given_strengths = at::full({prepared.key.size(0), heads, tokens}, std::numeric_limits<double>::quiet_NaN(),
                                   prepared.key.options().dtype(at::kDouble));
  for (std::int64_t h = 0; h < heads; ++h) {
    at::Tensor own = given.given_strengths.select(1, h);  // (B, T)
    for (const HeadStrengths& strengths : heads_[static_cast<std::size_t>(h)].strengths) {
      const Range range = strengths.tokens.empty() ? Range{0, tokens} : strengths.tokens.clamped({0, tokens});
      at::Tensor part = own.slice(1, range.begin, std::max(range.begin, range.end));
      if (strengths.value) {
        part.fill_(*strengths.value);
      } else {
        const at::Tensor all = own_->transforming()->strengths(prepared).select(1, h).to(at::kDouble);
        part.copy_(all.mean(1, true).expand_as(part));
      }
    }
  }
  return given;
}

Prepared EditedEncoding::with_reflections(const Prepared& prepared, std::int64_t layer, Range heads) const {
  Prepared given = strengths_ ? with_strengths(prepared) : prepared;
  if (!directed_) {
    return given;
  }
  const std::int64_t tokens = prepared.key.size(2);
  const auto all = static_cast<std::int64_t>(heads_.size());
  const at::Tensor mean = own_->transforming()->mean_direction(prepared, layer, heads);  // (B, h, D)
  given.given_direction = at::zeros({mean.size(0), all, mean.size(2)}, mean.options());
  given.given_direction.slice(1, heads.begin, heads.end).copy_(mean);
  given.directed = at::zeros({all, tokens}, prepared.key.options().dtype(at::kBool));
  for (std::int64_t h = heads.begin; h < heads.end; ++h) {
    for (const Range& named : heads_[static_cast<std::size_t>(h)].directed) {
      const Range range = named.empty() ? Range{0, tokens} : named.clamped({0, tokens});
      given.directed.select(0, h).slice(0, range.begin, std::max(range.begin, range.end)).fill_(true);
    }
  }
  return given;
}

Prepared EditedEncoding::with_places(const Prepared& prepared) const {
  using Kind = PlaceValue::Kind;
  at::Tensor places = own_->learned_positions(prepared).clone();  // (B, H, T, 1)
  const std::int64_t tokens = places.size(2);
  for (std::int64_t h = 0; h < static_cast<std::int64_t>(heads_.size()); ++h) {
    for (const HeadPlace& place : heads_[static_cast<std::size_t>(h)].places) {
      const Range range = place.tokens.empty() ? Range{0, tokens} : place.tokens.clamped({0, tokens});
      if (range.empty()) {
        continue;
      }
      at::Tensor part = places.select(1, h).squeeze(-1).slice(1, range.begin, range.end);  // (B, n)
      const at::Tensor index = at::arange(range.begin, range.end, part.options());
      switch (place.to.kind) {
        case Kind::kAt:
          part.fill_(place.to.number);
          break;
        case Kind::kBy:
          part.add_(place.to.number);
          break;
        case Kind::kIndex:
          part.copy_(index.expand_as(part));
          break;
        case Kind::kMix:
          part.copy_(part * (1 - place.to.number) + index * place.to.number);
          break;
        case Kind::kRound:
          part.round_();
          break;
        case Kind::kSorted:
          part.copy_(std::get<0>(part.sort(1)));
          break;
      }
    }
  }
  return own_->placed(prepared, places);
}

at::Tensor EditedEncoding::changed(const HeadEdits& edits, const at::Tensor& logits, const at::Tensor& places,
                                   const position::Tile& tile, std::int64_t head) const {
  // Far within float64, so that the sum of a few is not infinite, which marks a masked cell.
  constexpr double kLargest = 1e300;
  at::Tensor sum = logits.to(at::kDouble).mul(std::clamp(edits.scale, -kLargest, kLargest)).clamp_(-kLargest, kLargest);
  for (const auto& formula : edits.biases) {
    const at::Tensor values = bias(*formula, places, tile, head).to(sum.device());
    sum.add_(at::where(values == kHidden, values, values.clamp(-kLargest, kLargest)));
  }
  const at::Tensor beyond = (sum.abs() > kMaxScore).logical_and_(sum != kHidden);
  if (!beyond.any().item<bool>()) {
    return sum;
  }
  const at::Tensor hidden = mask_.hidden(tile.rows, tile.columns, sum.device());
  overflowed_ = overflowed_ || beyond.logical_and(hidden.logical_not()).any().item<bool>();
  return at::where(sum == kHidden, sum, sum.clamp(-kMaxScore, kMaxScore));
}

at::Tensor EditedEncoding::bias(const BiasFormula& bias, const at::Tensor& places, const position::Tile& tile,
                                std::int64_t head) const {
  const at::Tensor rows = places.slice(0, tile.rows.begin, tile.rows.end).contiguous();
  const at::Tensor columns = places.slice(0, tile.columns.begin, tile.columns.end).contiguous();
  const double* const row = rows.data_ptr<double>();
  const double* const column = columns.data_ptr<double>();
  const std::int64_t width = columns.size(0);
  at::Tensor values = at::empty({rows.size(0), width}, at::kDouble);
  auto* const out = values.data_ptr<double>();
  if (!bias.tables.empty()) {
    const at::Tensor& table = bias.tables[static_cast<std::size_t>(head)];
    const double low = rows.min().item<double>() - columns.max().item<double>() - bias.low;
    const double high = rows.max().item<double>() - columns.min().item<double>() - bias.low;
    const bool whole = at::equal(rows, rows.floor()) && at::equal(columns, columns.floor());
    if (whole && low >= 0 && high < static_cast<double>(table.size(0))) {
      const at::Tensor index = (rows.unsqueeze(1) - columns - bias.low).to(at::kLong);
      return table.index_select(0, index.flatten()).view(values.sizes());
    }
  }
  const std::int64_t cells = values.numel();
  bias.formula.each(
      cells,
      [&](std::int64_t n, double* v) {
        const double i = row[n / width];
        const double j = column[n % width];
        v[0] = i - j;
        v[1] = i;
        v[2] = j;
        v[3] = static_cast<double>(head + 1);
        v[4] = static_cast<double>(bias.heads);
        v[5] = static_cast<double>(bias.length);
        v[6] = bias.trained;
      },
      out);
  return values.masked_fill_(values.isfinite().logical_not(), kHidden);
}

void EditedEncoding::edit(const HeadEdits& head, at::Tensor logits, const at::Tensor& content,
                          const position::Tile& tile) const {
  for (const auto& [queries, keys] : head.edges) {
    const Range rows = queries.clamped(tile.rows);
    const Range columns = keys.clamped(tile.columns);
    if (!rows.empty() && !columns.empty()) {
      logits.slice(1, rows.begin - tile.rows.begin, rows.end - tile.rows.begin)
          .slice(2, columns.begin - tile.columns.begin, columns.end - tile.columns.begin)
          .fill_(kHidden);
    }
  }
  if (!head.to) {
    return;
  }
  if (*head.to == HeadTo::kUniform) {
    logits.zero_();
    return;
  }
  if (*head.to == HeadTo::kContent) {
    logits.copy_(content);
    return;
  }
  logits.fill_(kHidden);
  for (std::int64_t row = tile.rows.begin; row < tile.rows.end; ++row) {
    const std::int64_t before = std::max<std::int64_t>(row - 1, 0);
    const std::int64_t key = *head.to == HeadTo::kFirst ? 0 : *head.to == HeadTo::kPrevious ? before : row;
    if (tile.columns.contains(key)) {
      logits.select(1, row - tile.rows.begin).select(1, key - tile.columns.begin).zero_();
    }
  }
}

Result<position::PairForm> EditedEncoding::pair_form(const Prepared& /*prepared*/, std::int64_t /*layer*/) const {
  return unsupported("edited logits are no sum of the pairs of encoding " + description().name);
}

}  // namespace locus::models
