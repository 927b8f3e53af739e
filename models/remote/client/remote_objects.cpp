// The client's list of the other machine's objects, and the files that it sends.
#include <sys/stat.h>

#include "core/base/atomic_file.h"
#include "models/remote/address.h"
#include "models/remote/client/remote_model.h"
#include "models/remote/codec/structs.h"

namespace locus::remote {

namespace {

constexpr std::size_t kMaxFileBytes = kMaxMessageBytes - (std::size_t{1} << 16);

template <class Far, class Thing>
json number_or_error(Writer& writer, const Connection& line, const Thing& thing) {
  const auto* const far = dynamic_cast<const Far*>(&thing);
  if (far != nullptr && far->handle().line().get() == &line) {
    return far->handle().number();
  }
  writer.fail(
      unsupported("expected models and runs of " + line.name() + ", found one of another machine or connection"));
  return {};
}

std::int64_t taken_number(Reader& reader, const json& tree, const char* name) {
  std::int64_t number = 0;
  const auto found = tree.is_object() ? tree.find(name) : tree.end();
  if (!tree.is_object() || found == tree.end()) {
    reader.fail("an object with its number", tree);
    return 0;
  }
  read_whole(reader, *found, 1, kMaxCallId, number);
  return number;
}

}  // namespace

json RemoteObjects::number_of(Writer& writer, const models::Model& model) const {
  return number_or_error<RemoteModel>(writer, *line_, model);
}
json RemoteObjects::number_of(Writer& writer, const models::Trace& trace) const {
  return number_or_error<RemoteTrace>(writer, *line_, trace);
}
json RemoteObjects::number_of(Writer& writer, const models::PositionTable& table) const {
  return number_or_error<RemoteTable>(writer, *line_, table);
}
json RemoteObjects::put(Writer& writer, const std::shared_ptr<const models::Model>& model) {
  return number_of(writer, *model);
}
json RemoteObjects::put(Writer& writer, const std::shared_ptr<const models::Trace>& trace) {
  return number_of(writer, *trace);
}
json RemoteObjects::put(Writer& writer, const std::shared_ptr<const models::PositionTable>& table) {
  return number_of(writer, *table);
}

bool RemoteObjects::knows(const models::Trace& trace) const {
  return models::machine_of(trace) == line_;
}

// A path there by its name; a file here by the number under which its bytes are known there.
json RemoteObjects::put(Writer& writer, const std::filesystem::path& path) {
  if (is_remote(path.native())) {
    const auto address = parse_address(path.native());
    if (!address.ok()) {
      writer.fail(address.error());
    } else if (address->peer() != line_->name()) {
      writer.fail(
          unsupported("expected a file of this machine or of " + line_->name() + ", found one of " + address->peer()));
    } else {
      return {{"path", address->path}};
    }
    return {};
  }
  struct stat stamp {};
  if (::stat(path.c_str(), &stamp) != 0 || !S_ISREG(stamp.st_mode)) {
    writer.fail(bad_input("cannot read", path.string()));
    return {};
  }
  std::string key = path.string();
  for (const std::int64_t part :
       {static_cast<std::int64_t>(stamp.st_dev), static_cast<std::int64_t>(stamp.st_ino),
        static_cast<std::int64_t>(stamp.st_size), static_cast<std::int64_t>(stamp.st_mtim.tv_sec),
        static_cast<std::int64_t>(stamp.st_mtim.tv_nsec)}) {
    key += "\n" + std::to_string(part);
  }
  if (const std::optional<std::int64_t> known = line_->sent_file(key)) {
    return {{"file", *known}};
  }
  const auto bytes = read_file(path, kMaxFileBytes);
  if (!bytes.ok()) {
    writer.fail(bytes.error());
    return {};
  }
  Writer own(*this);
  const auto answer = line_->ask(
      "file.put", json::array({written_text(path.filename().string(), false), own.row(bytes->data(), bytes->size())}));
  if (!answer.ok() || !answer->body.is_number_integer()) {
    writer.fail(answer.ok() ? bad_input("expected the number of a file, found another answer", line_->name())
                            : answer.error());
    return {};
  }
  const auto number = answer->body.get<std::int64_t>();
  line_->keep_file(key, number);
  return {{"file", number}};
}

void RemoteObjects::take(Reader& reader, const json& tree, std::shared_ptr<const models::Model>& model) {
  const std::int64_t number = taken_number(reader, tree, "number");
  models::ModelInfo info;
  models::Edits edits;
  if (reader.ok()) {
    read(reader, tree.value("info", json()), info);
    read(reader, tree.value("edits", json()), edits);
  }
  if (reader.ok()) {
    if (const Status checked = check_info(info, line_->name()); !checked.ok()) {
      return reader.fail(checked.error());
    }
    for (std::string& file : info.files) {
      file = "ssh://" + line_->name() + file;
    }
    model = std::make_shared<RemoteModel>(line_, number, std::move(info), std::move(edits));
  }
}

void RemoteObjects::take(Reader& reader, const json& tree, std::shared_ptr<const models::Trace>& trace) {
  TraceSummary summary;
  read(reader, tree, summary);
  if (reader.ok()) {
    if (const Status checked = check_summary(summary, line_->name()); !checked.ok()) {
      return reader.fail(checked.error());
    }
    trace = std::make_shared<RemoteTrace>(line_, std::move(summary));
  }
}

void RemoteObjects::take(Reader& reader, const json& tree, std::shared_ptr<const models::PositionTable>& table) {
  const std::int64_t number = taken_number(reader, tree, "number");
  std::int64_t length = 0;
  if (reader.ok()) {
    read_whole(reader, tree.value("length", json()), 0, kMaxCallId, length);
  }
  if (reader.ok()) {
    table = std::make_shared<RemoteTable>(line_, number, length);
  }
}

void RemoteObjects::take(Reader& reader, const json& tree, std::filesystem::path& /*path*/) {
  reader.fail("no path", tree);
}

}  // namespace locus::remote

namespace locus::models {

namespace {

template <class Far, class Thing>
std::shared_ptr<const Machine> line_of(const Thing& thing) {
  const auto* const far = dynamic_cast<const Far*>(&thing);
  return far == nullptr ? nullptr : far->handle().line();
}

}  // namespace

std::shared_ptr<const Machine> machine_of(const Model& model) {
  return line_of<remote::RemoteModel>(model);
}
std::shared_ptr<const Machine> machine_of(const Trace& trace) {
  return line_of<remote::RemoteTrace>(trace);
}
std::shared_ptr<const Machine> machine_of(const PositionTable& table) {
  return line_of<remote::RemoteTable>(table);
}

}  // namespace locus::models
