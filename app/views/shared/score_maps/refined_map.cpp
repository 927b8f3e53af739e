#include "app/views/shared/score_maps/refined_map.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <tuple>
#include <utility>

#include "app/views/shared/plots/series.h"

namespace locus::views {

namespace {

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

Range grown(Range exact, Range band) {
  return exact.empty() ? band : Range{std::min(exact.begin, band.begin), std::max(exact.end, band.end)};
}

// The whole bands that meet `rows`; all rows where there are none.
Range in_bands(const Refinement& how, Range rows) {
  const Range within = rows.clamped({0, how.rows});
  if (within.empty()) {
    return {0, how.rows};
  }
  return {within.begin / how.band * how.band, std::min((within.end + how.band - 1) / how.band * how.band, how.rows)};
}

}  // namespace

Range next_band(const Refinement& how, Range exact) {
  const Range first = in_bands(how, how.first);
  const auto below = [&](std::int64_t begin) { return Range{begin, std::min(begin + how.band, how.rows)}; };
  const auto above = [&](std::int64_t end) { return Range{(end - 1) / how.band * how.band, end}; };
  if (exact.empty()) {
    return below(first.begin);
  }
  if (exact.end < first.end) {
    return below(exact.end);
  }
  if (exact.begin > first.begin || exact.end == how.rows) {
    return above(exact.begin);
  }
  return below(exact.end);
}

Result<RefinedMap> refine(const ViewInput& input, const Column& column, const Refinement& how) {
  const Traces traces{column.trace};
  LOCUS_TRY(const auto kept, analysed<RefinedMap>(input, column, traces, how.key, [&]() -> Result<RefinedMap> {
              LOCUS_TRY(Field sample, how.sample());
              const auto base = std::make_shared<const Field>(std::move(sample));
              return RefinedMap{base, base, {}, how.key};
            }));
  RefinedMap map = *kept;
  const double budget_ms = input.step_ms.value_or(0) / static_cast<double>(input.columns.size());
  if (map.complete() || budget_ms <= 0) {
    return map;
  }
  const auto begin = std::chrono::steady_clock::now();
  auto field = std::make_shared<Field>(*map.field);
  Status status;
  do {
    const Range band = next_band(how, map.exact);
    status = how.replace(band, *field);
    if (!status) {
      break;
    }
    map.exact = grown(map.exact, band);
    report(input.progress, static_cast<double>(map.exact.size()) / static_cast<double>(how.rows),
           map.complete() ? "exact" : exactness({&map, 1}));
  } while (!map.complete() && milliseconds_since(begin) < budget_ms && !input.stop.stop_requested());
  map.field = std::move(field);
  if (input.cache) {
    input.cache->put(traces, how.key, map);
  }
  if (!status) {
    return status.error().context.empty() && status.error().code != ErrorCode::kCancelled
               ? status.error().within(column.name)
               : status.error();
  }
  if (input.stop.stop_requested() && !map.complete()) {
    return cancelled();
  }
  return map;
}

Result<RefinedMap> difference(const ViewInput& input, const MapOfColumn& minuend, const MapOfColumn& subtrahend,
                              bool masked_is_zero) {
  const RefinedMap& first = minuend.map;
  const RefinedMap& second = subtrahend.map;
  const auto minus = [masked_is_zero](const Field& a, const Field& b, Range rows, Field& out) {
    for (std::int64_t n = rows.begin * out.columns; n < rows.end * out.columns; ++n) {
      const auto cell = static_cast<std::size_t>(n);
      const auto value = [&](float own, float other) {
        return masked_is_zero && std::isnan(own) && !std::isnan(other) ? 0.0F : own;
      };
      out.values[cell] = value(a.values[cell], b.values[cell]) - value(b.values[cell], a.values[cell]);
    }
  };
  const Field& a = *first.field;
  const Field& b = *second.field;
  if (a.rows != b.rows || a.columns != b.columns) {
    return unsupported("a difference needs maps of one size, found " + std::to_string(a.rows) + "×" +
                       std::to_string(a.columns) + " and " + std::to_string(b.rows) + "×" + std::to_string(b.columns));
  }
  const Range all{0, a.rows};
  const Field& base_a = first.base ? *first.base : a;
  const Field& base_b = second.base ? *second.base : b;
  const auto sampled = [&]() -> Result<Field> {
    Field out = base_a;
    out.quantity = out.quantity.empty() ? "difference" : "difference of " + out.quantity;
    minus(base_a, base_b, all, out);
    return out;
  };
  RefinedMap map;
  if (!first.base && !second.base) {
    LOCUS_TRY(Field whole, sampled());
    map.field = std::make_shared<const Field>(std::move(whole));
    return map;
  }
  // The same pointer at every step, by which the renderer knows that rows alone have changed.
  LOCUS_TRY(map.base, analysed<Field>(input, minuend.column, {minuend.column.trace, subtrahend.column.trace},
                                      {"difference", std::tuple(first.key, second.key, masked_is_zero)}, sampled));
  map.exact = (first.base ? first.exact : all).clamped(second.base ? second.exact : all);
  auto field = std::make_shared<Field>(*map.base);
  minus(a, b, map.exact, *field);
  map.field = std::move(field);
  return map;
}

Fields colored_by(std::span<const RefinedMap> maps) {
  const bool complete = std::all_of(maps.begin(), maps.end(), [](const RefinedMap& map) { return map.complete(); });
  Fields fields;
  for (const RefinedMap& map : maps) {
    fields.push_back(complete || !map.base ? map.field : map.base);
  }
  return fields;
}

double largest_of(const RefinedMap& map, Reduction reduction, double share) {
  return map.complete() && reduction == Reduction::kMax ? share : 1;
}

figure::HeatMap heat_map(const ViewInput& input, const RefinedMap& map, const figure::ColorScale& scale) {
  return {.field = map.field,
          .scale = scale,
          .reduction = input.reduction,
          .base = map.base,
          .refined = map.exact,
          .masked = true};
}

std::string exactness(std::span<const RefinedMap> maps) {
  std::int64_t exact = 0;
  std::int64_t rows = 0;
  for (const RefinedMap& map : maps) {
    exact += map.complete() ? map.field->rows : map.exact.size();
    rows += map.field->rows;
  }
  if (exact == rows) {
    return {};
  }
  return exact == 0 ? "sampled" : std::to_string(std::max<std::int64_t>(1, 100 * exact / rows)) + " % exact";
}

std::int64_t rows_to_refine(const figure::Figure& figure) {
  std::int64_t rows = 0;
  for (const figure::Panel& panel : figure.panels) {
    for (const figure::Layer& layer : panel.layers) {
      const auto* map = std::get_if<figure::HeatMap>(&layer);
      rows += map != nullptr && map->base ? map->base->rows - map->refined.size() : 0;
    }
  }
  return rows;
}

}  // namespace locus::views
