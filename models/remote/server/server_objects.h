// ServerObjects: the server's list of its models, traces, tables and files, which the client has numbers of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/input_files.h"
#include "models/remote/codec/codec.h"
#include "models/remote/connection/descriptor.h"

namespace locus::remote {

// A file of the client's machine that has no name here (memory alone), or one that the client fetches.
struct KnownFile {
  Descriptor descriptor;
  std::int64_t bytes = 0;
  std::string name;  // there

  // By which a reader opens it.
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor.get()); }
};

class ServerObjects final : public ObjectTable {
 public:
  json put(Writer& writer, const std::shared_ptr<const models::Model>& model) override;
  json put(Writer& writer, const std::shared_ptr<const models::Trace>& trace) override;
  json put(Writer& writer, const std::shared_ptr<const models::PositionTable>& table) override;
  json put(Writer& writer, const std::filesystem::path& path) override;
  void take(Reader& reader, const json& tree, std::shared_ptr<const models::Model>& model) override;
  void take(Reader& reader, const json& tree, std::shared_ptr<const models::Trace>& trace) override;
  void take(Reader& reader, const json& tree, std::shared_ptr<const models::PositionTable>& table) override;
  void take(Reader& reader, const json& tree, std::filesystem::path& path) override;
  void take_output(Reader& reader, const json& tree, std::filesystem::path& path) override;
  bool knows(const models::Trace& trace) const override;

  // The calls beside those of the facade. Errors: kBadInput for arguments that are none, and the system's.
  //   file.put(name, bytes) → number       keeps the bytes of a file of the client
  //   file.make(trace, names) → number, bytes     a trace file, as Trace::write() makes it
  //   file.read(number, begin, count) → bytes
  Result<json> put_file(const json& arguments);
  Result<json> make_file(const json& arguments, const StopToken& stop, const Progress& progress);
  Result<json> read_file(const json& arguments, std::string& parts);

  // The call that makes what is put from now on; returns the one before.
  std::int64_t begin(std::int64_t call) { return std::exchange(call_, call); }
  // Ends that call, and `call` goes on.
  void end(std::int64_t call) {
    named_.erase(call_);
    call_ = call;
  }
  void release(std::int64_t number) { objects_.erase(number); }
  // Forgets what that call made: its answer arrived where nobody waited for it any more.
  void forget_call(std::int64_t call);
  // A message in which files are called as the client calls them.
  std::string as_client_says(std::string text) const;

 private:
  struct Entry {
    std::int64_t call = 0;
    std::variant<std::shared_ptr<const models::Model>, std::shared_ptr<const models::Trace>,
                 std::shared_ptr<const models::PositionTable>, std::shared_ptr<const KnownFile>>
        thing;
    std::vector<std::filesystem::path> read{};  // the paths of the call that made it
  };
  template <class T>
  std::int64_t add(std::shared_ptr<const T> thing);
  template <class T>
  void find(Reader& reader, const json& tree, const char* what, std::shared_ptr<const T>& thing) const;

  // The files that models and traces of the client were read from: checkpoints', traces', pictures'.
  InputFiles inputs() const;

  std::map<std::int64_t, Entry> objects_;
  std::map<std::int64_t, std::vector<std::filesystem::path>> named_;  // the paths of each call that goes on
  std::int64_t next_ = 1;
  std::int64_t call_ = 0;
};

}  // namespace locus::remote
