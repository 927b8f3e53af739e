// Calls of traces and tables, which are what a window shows while it is looked at.
#include <algorithm>
#include <limits>

#include "core/base/checked.h"
#include "models/remote/codec/call.h"
#include "models/remote/codec/lists.h"

namespace locus::remote {

namespace {

constexpr std::int64_t kBeside = std::int64_t{1} << 20;  // bytes of an answer beside its cells

std::int64_t size_of(Range range, std::int64_t all) {
  return range.empty() ? all : range.clamped({0, all}).size();
}

std::size_t bytes_of(std::int64_t rows, std::int64_t columns) {
  const auto cells = checked_product({4, std::max<std::int64_t>(rows, 0), std::max<std::int64_t>(columns, 0)});
  return static_cast<std::size_t>(cells.value_or(0) + kBeside);
}

std::size_t reduced_bytes(const models::Trace& trace, std::int64_t height, std::int64_t width) {
  return bytes_of(std::min(height, trace.length()), std::min(width, trace.keys()));
}

Status check_shape(const Field& field, std::int64_t rows, std::int64_t columns) {
  return field.rows == rows && field.columns == columns
             ? Status()
             : Status(bad_input("expected " + std::to_string(rows) + " × " + std::to_string(columns) +
                                " cells, found " + std::to_string(field.rows) + " × " + std::to_string(field.columns)));
}

// A reduction has as many rows and columns as asked for, or fewer where the map has no more.
Status check_reduced(const Field& field, const models::Trace& trace, const models::MapRequest& request,
                     std::int64_t height, std::int64_t width) {
  return check_shape(field, std::min(height, size_of(request.rows, trace.length())),
                     std::min(width, size_of(request.columns, trace.keys())));
}

}  // namespace

template <>
inline constexpr bool kWrites<&models::Trace::write> = true;
template <>
struct Allowed<&models::Trace::top> {
  static Status check(const auto& /*trace*/, std::int64_t count) { return check_count("count", count, kMaxListed); }
};

template <>
struct Expected<&models::Trace::map> {
  static std::size_t most_bytes(const models::Trace& trace, const models::MapRequest& request, const StopToken&) {
    return bytes_of(size_of(request.rows, trace.length()), size_of(request.columns, trace.keys()));
  }
  static Status check(const Field& field, const models::Trace& trace, const models::MapRequest& request,
                      const StopToken&) {
    return check_shape(field, size_of(request.rows, trace.length()), size_of(request.columns, trace.keys()));
  }
};
template <>
struct Expected<&models::Trace::overview> {
  static std::size_t most_bytes(const models::Trace& trace, const models::MapRequest&, std::int64_t height,
                                std::int64_t width, Reduction, const StopToken&) {
    return reduced_bytes(trace, height, width);
  }
  static Status check(const Field& field, const models::Trace& trace, const models::MapRequest& request,
                      std::int64_t height, std::int64_t width, Reduction, const StopToken&) {
    return check_reduced(field, trace, request, height, width);
  }
};
template <>
struct Expected<&models::Trace::preview> {
  static std::size_t most_bytes(const models::Trace& trace, const models::MapRequest&, std::int64_t height,
                                std::int64_t width, const StopToken&) {
    return reduced_bytes(trace, height, width);
  }
  static Status check(const Field& field, const models::Trace& trace, const models::MapRequest& request,
                      std::int64_t height, std::int64_t width, const StopToken&) {
    return check_reduced(field, trace, request, height, width);
  }
};
template <>
struct Expected<&models::Trace::overview_band> {
  static std::size_t most_bytes(const models::Trace& trace, const models::MapRequest&, std::int64_t height,
                                std::int64_t width, Reduction, Range, const StopToken&) {
    return reduced_bytes(trace, height, width);
  }
  static Status check(const Field& field, const models::Trace& trace, const models::MapRequest& request,
                      std::int64_t height, std::int64_t width, Reduction, Range band, const StopToken&) {
    const std::int64_t rows = std::min(height, size_of(request.rows, trace.length()));
    return check_shape(field, band.empty() ? rows : band.size(),
                       std::min(width, size_of(request.columns, trace.keys())));
  }
};
template <>
struct Expected<&models::Trace::dot_product> {
  static std::size_t most_bytes(const models::Trace& trace, std::int64_t, std::int64_t, Range rows, Range columns,
                                const models::Similarity&) {
    return bytes_of(size_of(rows, trace.length()), size_of(columns, trace.length()));
  }
  static Status check(const Field& field, const models::Trace& trace, std::int64_t, std::int64_t, Range rows,
                      Range columns, const models::Similarity&) {
    return check_shape(field, size_of(rows, trace.length()), size_of(columns, trace.length()));
  }
};
template <>
struct Expected<&models::Trace::sink> {
  static std::size_t most_bytes(const models::Trace& trace, std::int64_t, std::int64_t, Range, const StopToken&) {
    return bytes_of(trace.length(), 1);
  }
  static Status check(const Field& field, const models::Trace& trace, std::int64_t, std::int64_t, Range rows,
                      const StopToken&) {
    return check_shape(field, size_of(rows, trace.length()), 1);
  }
};
template <>
struct Expected<&models::Trace::state_numbers> {
  static std::size_t most_bytes(const models::Trace& trace, std::int64_t, models::StateNumber, const StopToken&) {
    return bytes_of(trace.model().heads, trace.length());
  }
  // A layer may have fewer heads than another one.
  static Status check(const Field& field, const models::Trace& trace, std::int64_t, models::StateNumber,
                      const StopToken&) {
    return check_shape(field, std::clamp<std::int64_t>(field.rows, 1, std::max<std::int64_t>(trace.model().heads, 1)),
                       trace.length());
  }
};
template <>
struct Expected<&models::PositionTable::dot_product> {
  static std::size_t most_bytes(const models::PositionTable& table, std::int64_t, Range rows, Range columns,
                                const models::Similarity&) {
    return bytes_of(size_of(rows, table.length()), size_of(columns, table.length()));
  }
  static Status check(const Field& field, const models::PositionTable& table, std::int64_t, Range rows, Range columns,
                      const models::Similarity&) {
    return check_shape(field, size_of(rows, table.length()), size_of(columns, table.length()));
  }
};

#define LOCUS_TRACE_CALLS(CALL)                                    \
  CALL("trace.map", true, &models::Trace::map)                     \
  CALL("trace.overview", true, &models::Trace::overview)           \
  CALL("trace.preview", true, &models::Trace::preview)             \
  CALL("trace.overview_band", true, &models::Trace::overview_band) \
  CALL("trace.dot_product", true, &models::Trace::dot_product)     \
  CALL("trace.sink", true, &models::Trace::sink)                   \
  CALL("trace.state_numbers", true, &models::Trace::state_numbers) \
  CALL("trace.top", true, &models::Trace::top)                     \
  CALL("trace.write", false, &models::Trace::write)                \
  CALL("table.dot_product", true, &models::PositionTable::dot_product)
LOCUS_CALLS(trace_calls, LOCUS_TRACE_CALLS)

}  // namespace locus::remote
