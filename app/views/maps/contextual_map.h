// ContextualMap: what the views of CoPE's gates and positions share: their map, and the tokens a pattern marks.
#pragma once

#include <string>
#include <vector>

#include "app/views/shared/score_maps/map_view.h"

namespace locus::views {

// The bytes of the text that a token stands for, and its label where it stands for none.
std::string token_bytes(const models::Trace& trace, const models::TokenInfo& token);

// Which tokens a pattern marks: those whose text holds any of its characters; \n, \t, \s and \\ stand for a line feed,
// a tab, a space and a backslash.
std::vector<bool> marked_tokens(const models::Trace& trace, const std::string& pattern);

// The control "boundary", and a dashed line at every key that its pattern marks.
Control boundary_control(const std::string& fallback);
void mark_boundaries(const std::vector<bool>& marked, figure::Panel& panel);

// How well straight lines through the number of marked keys from key to query, and through that of all keys, describe
// contextual positions: "R² with …"; empty where a cell of the field is more than one key, or nothing varies.
std::string counted_by(const Field& positions, const std::vector<bool>& marked);

class ContextualMap : public MapView {
 public:
  explicit ContextualMap(models::Quantity quantity) : quantity_(quantity) {}

  Status fits(const Column& column) const override;

 protected:
  // A head's mean is not defined: head 0 stands for it.
  static std::int64_t head_of(const ViewInput& input) { return input.head == kMean ? 0 : input.head; }
  models::MapRequest request(const ViewInput& input) const;

  Result<RefinedMap> field(const ViewInput& input, const Column& column, const MapWindow& window) const override;
  Result<Field> whole(const ViewInput& input, const Column& column) const override;
  Sign sign(const ViewInput& /*input*/) const override { return Sign::kPositive; }
  std::string quantity(const ViewInput& /*input*/) const override { return quantity_label(quantity_); }
  std::string subtitle(const ViewInput& input, const Column& column) const override;
  // Lines at the keys that the pattern marks.
  void decorate(const ViewInput& input, const Column& column, figure::Panel& panel) const override;

 private:
  models::Quantity quantity_;
};

}  // namespace locus::views
