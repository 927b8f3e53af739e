#include "renderers/figure/axis_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus::figure {
namespace {

constexpr double kPictureSide = 2;     // of a block's picture across the axis, in text sizes
constexpr double kLongestPicture = 3;  // and along it, in those sides
constexpr double kLeastPicture = 0.8;  // what is smaller shows nothing, in text sizes

Range cells_of(const AxisBlock& block) {
  return {static_cast<std::int64_t>(std::ceil(block.cells.low)),
          static_cast<std::int64_t>(std::floor(block.cells.high))};
}

bool has_picture(const AxisBlock& block) {
  return block.rgba && block.width > 0 && block.height > 0 &&
         block.rgba->size() >= static_cast<std::size_t>(block.width * block.height) * 4;
}

// The strip of one axis, along it and across, away from the plot.
class Strip {
 public:
  Strip(bool along_x, double edge, const Style& style, const TextMetrics& metrics, PanelLayout& place)
      : along_x_(along_x),
        edge_(edge),
        style_(style),
        metrics_(metrics),
        place_(place),
        side_(kPictureSide * style.text_size),
        line_(2 * style.line()) {}

  void put(const AxisBlock& block, std::size_t index) {
    const AxisMap& map = along_x_ ? place_.x : place_.y;
    const Rect& plot = place_.plot;
    const double first = along_x_ ? plot.x : plot.y;
    const double last = along_x_ ? plot.right() : plot.bottom();
    const auto [low, high] = std::minmax({map.place(block.cells.low), map.place(block.cells.high)});
    const double begin = style_.aligned(std::max(low, first));
    const double end = style_.aligned(std::min(high, last));
    if (end - begin < line_) {
      return;
    }
    PlacedBlock placed{index, rect(begin, end - begin, 0, line_), {}};
    place_pictures(block, begin, end, placed);
    (along_x_ ? place_.x_blocks : place_.y_blocks).push_back(placed);
  }

 private:
  // `begin` and `length` along the axis, `away` and `depth` across it, from the edge of the strip.
  Rect rect(double begin, double length, double away, double depth) const {
    return along_x_ ? Rect{begin, edge_ + away, length, depth} : Rect{edge_ - away - depth, begin, depth, length};
  }

  // The picture in the middle of what is seen of its cells, and behind it the name; either alone where there is no room
  // for both.
  void place_pictures(const AxisBlock& block, double begin, double end, PlacedBlock& placed) {
    const double size = style_.note_text();
    const double text = block.name.empty() ? 0 : metrics_.width(block.name, size);
    const double away = line_ + style_.gap() / 2;
    double along = 0;
    double across = 0;
    if (has_picture(block)) {
      const double shape = static_cast<double>(block.width) / static_cast<double>(block.height);
      const double ratio = along_x_ ? shape : 1 / shape;  // along to across
      along = std::min({ratio * side_, kLongestPicture * side_, end - begin});
      across = along / ratio;
    }
    if (std::min(along, across) < kLeastPicture * style_.text_size) {
      along = across = 0;
    }
    const double gap = along > 0 && text > 0 ? style_.gap() / 2 : 0;
    const bool named = text > 0 && along + gap + text <= end - begin;
    const double whole = along + (named ? gap + text : 0);
    // Text that stands on its side reads upwards: its end is at the top, below the picture.
    const double at = (begin + end - whole) / 2;
    if (along > 0) {
      placed.picture = rect(style_.aligned(at), style_.aligned(along), away, style_.aligned(across));
    }
    if (named) {
      const double middle = along > 0 ? across / 2 : TextMetrics::line_height(size) / 2;
      const double baseline = away + middle;
      const double from = at + along + gap;
      place_.texts.push_back(
          along_x_ ? PlacedText{block.name, {from, edge_ + baseline + 0.36 * size}, 0, size, false, style_.muted}
                   : PlacedText{
                         block.name, {edge_ - baseline + 0.36 * size, from + text / 2}, 0.5, size, true, style_.muted});
    }
  }

  bool along_x_;
  double edge_;
  const Style& style_;
  const TextMetrics& metrics_;
  PanelLayout& place_;
  double side_;
  double line_;
};

}  // namespace

std::vector<CellRun> runs_beside_blocks(const Axis& axis, Range cells) {
  std::vector<CellRun> runs;
  const auto add = [&](Range range, bool block) {
    range = {std::max(range.begin, cells.begin), std::min(range.end, cells.end)};
    if (range.end > range.begin) {
      runs.push_back({range, block});
    }
  };
  std::int64_t at = cells.begin;
  if (axis.blocks) {
    for (const AxisBlock& block : *axis.blocks) {
      const Range own = cells_of(block);
      if (own.end > own.begin) {
        add({at, own.begin}, false);
        add(own, true);
        at = std::max(at, own.end);
      }
    }
  }
  add({at, cells.end}, false);
  return runs;
}

Range between_blocks(const Axis& axis, Range cells) {
  Range around{0, std::numeric_limits<std::int64_t>::max()};
  if (axis.blocks) {
    for (const AxisBlock& block : *axis.blocks) {
      const Range own = cells_of(block);
      if (own.end <= cells.begin) {
        around.begin = std::max(around.begin, own.end);
      } else if (own.begin >= cells.end) {
        around.end = std::min(around.end, own.begin);
      }
    }
  }
  return around;
}

std::string name_beside_block(const Axis& axis, std::int64_t cell, const std::string& name) {
  if (axis.blocks) {
    for (const AxisBlock& block : *axis.blocks) {
      if (cells_of(block).contains(cell) && name.starts_with(block.name + " ")) {
        return name.substr(block.name.size() + 1);
      }
    }
  }
  return name;
}

double blocks_depth(const Axis& axis, const Style& style) {
  if (!axis.blocks || axis.blocks->empty()) {
    return 0;
  }
  const bool seen = std::ranges::any_of(*axis.blocks, has_picture);
  const double inner = seen ? kPictureSide * style.text_size : TextMetrics::line_height(style.note_text());
  return style.gap() + 2 * style.line() + inner;
}

void place_blocks(const Axis& axis, bool along_x, double edge, const Style& style, const TextMetrics& metrics,
                  PanelLayout& place) {
  if (!axis.blocks) {
    return;
  }
  const double begin = style.aligned(along_x ? edge + style.gap() / 2 : edge - style.gap() / 2);
  Strip strip(along_x, begin, style, metrics, place);
  for (std::size_t n = 0; n < axis.blocks->size(); ++n) {
    strip.put((*axis.blocks)[n], n);
  }
}

}  // namespace locus::figure
