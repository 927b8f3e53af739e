#include "models/remote/server/server_objects.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/shown.h"
#include "core/base/temporary_folder.h"
#include "models/formats/files_read.h"
#include "models/formats/hub_cache.h"
#include "models/remote/address.h"
#include "models/remote/client/remote_trace.h"
#include "models/remote/codec/structs.h"

namespace locus::remote {

namespace fs = std::filesystem;

namespace {

constexpr const char* kSender = "the client";

Error system_error(const std::string& what) {
  return bad_input(what + ": " + std::strerror(errno));
}

// The arguments of a call, one after the other.
template <class... T>
Result<std::tuple<T...>> arguments_in(ObjectTable& objects, const json& all) {
  Reader reader(objects, {}, kMaxMessageBytes, kSender);
  std::tuple<T...> values;
  std::size_t next = 0;
  if (list_in(reader, all, sizeof...(T), sizeof...(T)) != nullptr) {
    std::apply([&](auto&... each) { (read(reader, all[next++], each), ...); }, values);
  }
  return reader.error() ? Result<std::tuple<T...>>(*reader.error()) : values;
}

}  // namespace

template <class T>
std::int64_t ServerObjects::add(std::shared_ptr<const T> thing) {
  const auto named = named_.find(call_);
  objects_[next_] = {call_, std::move(thing), named == named_.end() ? std::vector<fs::path>() : named->second};
  return next_++;
}

template <class T>
void ServerObjects::find(Reader& reader, const json& tree, const char* what, std::shared_ptr<const T>& thing) const {
  std::int64_t number = 0;
  read_whole(reader, tree, 1, kMaxCallId, number);
  const auto found = objects_.find(number);
  const auto* const known =
      found == objects_.end() ? nullptr : std::get_if<std::shared_ptr<const T>>(&found->second.thing);
  if (known == nullptr) {
    return reader.fail(std::string("the number of ") + what, tree);
  }
  thing = *known;
}

json ServerObjects::put(Writer& writer, const std::shared_ptr<const models::Model>& model) {
  models::ModelInfo info = model->info();
  for (std::string& file : info.files) {
    std::error_code ignored;
    file = fs::absolute(file, ignored).string();
  }
  return {{"number", add(model)}, {"info", written(writer, info)}, {"edits", written(writer, model->edits())}};
}

json ServerObjects::put(Writer& writer, const std::shared_ptr<const models::Trace>& trace) {
  TraceSummary summary = summary_of(*trace);
  summary.number = add(trace);
  for (const models::Side side : models::kSides) {
    if (const auto other = trace->side(side)) {
      TraceSummary own = summary_of(*other);
      own.number = add(other);
      summary.sides.emplace_back(side, std::move(own));
    }
  }
  for (std::string& warning : summary.model.warnings) {
    warning = as_client_says(warning);
  }
  return written(writer, summary);
}

json ServerObjects::put(Writer& /*writer*/, const std::shared_ptr<const models::PositionTable>& table) {
  return {{"number", add(table)}, {"length", table->length()}};
}

json ServerObjects::put(Writer& writer, const fs::path& /*path*/) {
  writer.fail(internal("paths of a server do not travel"));
  return {};
}

void ServerObjects::take(Reader& reader, const json& tree, std::shared_ptr<const models::Model>& model) {
  find(reader, tree, "a model", model);
}
void ServerObjects::take(Reader& reader, const json& tree, std::shared_ptr<const models::Trace>& trace) {
  find(reader, tree, "a trace", trace);
}
void ServerObjects::take(Reader& reader, const json& tree, std::shared_ptr<const models::PositionTable>& table) {
  find(reader, tree, "a table", table);
}

void ServerObjects::take(Reader& reader, const json& tree, fs::path& path) {
  if (tree.is_object() && tree.contains("file")) {
    std::shared_ptr<const KnownFile> file;
    find(reader, tree["file"], "a file", file);
    path = file == nullptr ? fs::path() : fs::path(file->path());
    return;
  }
  std::string name;
  read(reader, tree.is_object() && tree.contains("path") ? tree["path"] : json(), name);
  if (is_remote(name)) {
    return reader.fail("a path of this machine", tree["path"]);
  }
  if (name == "~" || name.starts_with("~/")) {
    const char* const home = std::getenv("HOME");
    name = (home == nullptr ? "" : home) + name.substr(1);
  }
  const auto found = formats::find_checkpoint(name);
  if (!found.ok()) {
    return reader.fail(found.error());
  }
  std::error_code ignored;
  path = fs::absolute(*found, ignored);
  named_[call_].push_back(path);
}

void ServerObjects::take_output(Reader& reader, const json& tree, fs::path& path) {
  take(reader, tree, path);
  const Status free = reader.ok() ? inputs().check(path, "trace") : Status();
  if (!free.ok()) {
    reader.fail(free.error());
  }
}

InputFiles ServerObjects::inputs() const {
  InputFiles inputs;
  const auto add = [&](const fs::path& path) {
    inputs.add(path);
    for (const fs::path& file : formats::files_read(path)) {
      inputs.add(file);
    }
  };
  const auto add_all = [&](const std::vector<std::string>& files) { std::for_each(files.begin(), files.end(), add); };
  for (const auto& [number, entry] : objects_) {
    std::for_each(entry.read.begin(), entry.read.end(), add);
    if (const auto* const model = std::get_if<std::shared_ptr<const models::Model>>(&entry.thing)) {
      add_all((*model)->info().files);
    } else if (const auto* const trace = std::get_if<std::shared_ptr<const models::Trace>>(&entry.thing)) {
      add_all((*trace)->model().files);
    }
  }
  return inputs;
}

bool ServerObjects::knows(const models::Trace& /*trace*/) const {
  return false;
}

void ServerObjects::forget_call(std::int64_t call) {
  std::erase_if(objects_, [&](const auto& each) { return each.second.call == call; });
}

std::string ServerObjects::as_client_says(std::string text) const {
  for (const auto& [number, entry] : objects_) {
    const auto* const file = std::get_if<std::shared_ptr<const KnownFile>>(&entry.thing);
    if (file == nullptr) {
      continue;
    }
    const std::string path = (*file)->path();
    for (std::size_t at = text.find(path); at != std::string::npos; at = text.find(path, at + 1)) {
      text.replace(at, path.size(), (*file)->name);
    }
  }
  return text;
}

// ---- files

Result<json> ServerObjects::put_file(const json& arguments) {
  using Bytes = std::vector<std::uint8_t>;
  LOCUS_TRY(const auto given, (arguments_in<std::string, Bytes>(*this, arguments)));
  const Bytes& bytes = std::get<1>(given);
  auto file = std::make_shared<KnownFile>();
  file->name = shown(std::get<0>(given));
  file->bytes = static_cast<std::int64_t>(bytes.size());
  file->descriptor = Descriptor(::memfd_create("locus", MFD_CLOEXEC));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(file->descriptor.get(), bytes.data() + done, bytes.size() - done);
    if (count <= 0) {
      return system_error("cannot keep " + file->name);
    }
    done += static_cast<std::size_t>(count);
  }
  call_ = 0;  // it stays whoever waits
  return json(add(std::shared_ptr<const KnownFile>(std::move(file))));
}

Result<json> ServerObjects::make_file(const json& arguments, const StopToken& stop, const Progress& progress) {
  using Trace = std::shared_ptr<const models::Trace>;
  LOCUS_TRY(const auto given, (arguments_in<Trace, std::set<std::string>>(*this, arguments)));
  LOCUS_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  const fs::path path = folder.path() / "trace.safetensors";
  LOCUS_CHECK(std::get<0>(given)->write(path, std::get<1>(given), progress, stop));
  auto file = std::make_shared<KnownFile>();
  file->descriptor = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat size {};
  if (file->descriptor.get() < 0 || ::fstat(file->descriptor.get(), &size) != 0) {
    return system_error("cannot read the trace");
  }
  file->bytes = size.st_size;
  const std::int64_t bytes = file->bytes;
  return json::array({add(std::shared_ptr<const KnownFile>(std::move(file))), bytes});
}

Result<json> ServerObjects::read_file(const json& arguments, std::string& parts) {
  Reader reader(*this, {}, 0, kSender);
  std::shared_ptr<const KnownFile> file;
  std::int64_t begin = 0;
  std::int64_t count = 0;
  if (list_in(reader, arguments, 3, 3) != nullptr) {
    find(reader, arguments[0], "a file", file);
    if (reader.ok()) {
      read_whole(reader, arguments[1], 0, file->bytes, begin);
      read_whole(reader, arguments[2], 0, std::min<std::int64_t>(file->bytes - begin, kMaxMessageBytes / 2), count);
    }
  }
  if (reader.error()) {
    return *reader.error();
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::pread(file->descriptor.get(), bytes.data() + done, bytes.size() - done,
                                static_cast<off_t>(begin) + static_cast<off_t>(done));
    if (got <= 0) {
      return system_error("cannot read");
    }
    done += static_cast<std::size_t>(got);
  }
  Writer writer(*this, &parts);
  return written(writer, bytes);
}

}  // namespace locus::remote
