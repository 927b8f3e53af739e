#include "models/remote/client/remote_trace.h"

#include <algorithm>

#include "core/base/atomic_file.h"
#include "models/remote/address.h"
#include "models/remote/codec/call_remote.h"
#include "models/remote/codec/structs.h"

namespace locus::remote {

using models::MapRequest;
using models::Trace;

namespace {

constexpr std::int64_t kFilePart = std::int64_t{4} << 20;  // bytes of a file that is fetched, at once

}  // namespace

RemoteTrace::RemoteTrace(std::shared_ptr<Connection> line, TraceSummary summary)
    : own_(std::move(summary)), handle_(std::move(line), own_.number) {
  for (auto& [side, other] : own_.sides) {
    sides_.emplace_back(side, std::make_shared<RemoteTrace>(handle_.line(), std::move(other)));
  }
  own_.sides.clear();
}

std::shared_ptr<const Trace> RemoteTrace::side(models::Side side) const {
  const auto found = std::find_if(sides_.begin(), sides_.end(), [&](const auto& each) { return each.first == side; });
  return found == sides_.end() ? nullptr : found->second;
}

std::vector<models::Prediction> RemoteTrace::top(std::int64_t count) const {
  if (count > kSentTop && static_cast<std::int64_t>(own_.top.size()) == kSentTop) {
    return *call_remote<&Trace::top>(*this, count);
  }
  const auto sent = static_cast<std::ptrdiff_t>(own_.top.size());
  return {own_.top.begin(), own_.top.begin() + std::clamp<std::ptrdiff_t>(count, 0, sent)};
}

Result<Field> RemoteTrace::map(const MapRequest& request, StopToken stop) const {
  return *call_remote<&Trace::map>(*this, request, stop);
}

Result<Field> RemoteTrace::overview(const MapRequest& request, std::int64_t height, std::int64_t width,
                                    Reduction reduction, StopToken stop) const {
  return *call_remote<&Trace::overview>(*this, request, height, width, reduction, stop);
}

Result<Field> RemoteTrace::preview(const MapRequest& request, std::int64_t height, std::int64_t width,
                                   StopToken stop) const {
  return *call_remote<&Trace::preview>(*this, request, height, width, stop);
}

Result<Field> RemoteTrace::overview_band(const MapRequest& request, std::int64_t height, std::int64_t width,
                                         Reduction reduction, Range band, StopToken stop) const {
  return *call_remote<&Trace::overview_band>(*this, request, height, width, reduction, band, stop);
}

Result<Field> RemoteTrace::dot_product(std::int64_t layer, std::int64_t head, Range rows, Range columns,
                                       const models::Similarity& similarity) const {
  return *call_remote<&Trace::dot_product>(*this, layer, head, rows, columns, similarity);
}

Result<Field> RemoteTrace::sink(std::int64_t layer, std::int64_t head, Range rows, StopToken stop) const {
  return *call_remote<&Trace::sink>(*this, layer, head, rows, stop);
}

Result<Field> RemoteTrace::state_numbers(std::int64_t layer, models::StateNumber number, StopToken stop) const {
  return *call_remote<&Trace::state_numbers>(*this, layer, number, stop);
}

Status RemoteTrace::write(const std::filesystem::path& path, const std::set<std::string>& keep,
                          const Progress& progress, StopToken stop) const {
  if (is_remote(path.native())) {
    return *call_remote<&Trace::write>(*this, path, keep, progress, stop);
  }
  LOCUS_TRY(AtomicFile file, AtomicFile::create(path));
  // The server makes the file where only it can read it, and gives it away in parts.
  Connection& line = *handle_.line();
  RemoteObjects objects(handle_.line());
  Writer writer(objects);
  const Wants wants{stop, progress};
  LOCUS_TRY(const Answer made, line.ask("file.make", json::array({handle_.number(), written(writer, keep)}), wants));
  std::pair<std::int64_t, std::int64_t> number_and_bytes;
  Reader reader(objects, made.parts, kMaxMessageBytes, line.name());
  read(reader, made.body, number_and_bytes);
  if (reader.error()) {
    return *reader.error();
  }
  const auto [number, bytes] = number_and_bytes;
  const Handle held(handle_.line(), number);
  for (std::int64_t at = 0; at < bytes; at += kFilePart) {
    const std::int64_t count = std::min(kFilePart, bytes - at);
    report(progress, static_cast<double>(at) / static_cast<double>(bytes), "fetching the trace");
    LOCUS_TRY(const Answer part, line.ask("file.read", json::array({number, at, count}), wants));
    std::vector<std::uint8_t> row;
    Reader parts(objects, part.parts, kMaxMessageBytes, line.name());
    read(parts, part.body, row);
    if (!parts.ok() || static_cast<std::int64_t>(row.size()) != count) {
      return bad_input("expected " + std::to_string(count) + " bytes of the trace, found " + std::to_string(row.size()),
                       line.name());
    }
    LOCUS_CHECK(file.write(std::as_bytes(std::span(row))));
  }
  return file.commit();
}

}  // namespace locus::remote
