// Stands here for a model, and for positions without a run, of another computer.
#pragma once

#include <memory>
#include <utility>

#include "models/remote/client/remote_trace.h"

namespace locus::remote {

class RemoteModel final : public models::Model {
 public:
  RemoteModel(std::shared_ptr<Connection> line, std::int64_t number, models::ModelInfo info, models::Edits edits)
      : info_(std::move(info)), edits_(std::move(edits)), handle_(std::move(line), number) {}

  const Handle& handle() const { return handle_; }

  const models::ModelInfo& info() const override { return info_; }
  const models::Edits& edits() const override { return edits_; }

  // NaN where the line is lost.
  double macs(std::int64_t length) const override;
  Result<std::vector<models::TokenInfo>> tokenize(const models::Input& input) const override;
  Result<std::shared_ptr<const models::Trace>> run(const models::Input& input, const models::RunOptions& options,
                                                   StopToken stop, const Progress& progress) const override;
  Status read_weights(const StopToken& stop, const Progress& progress) const override;
  models::Estimate estimate(std::int64_t length, const models::RunOptions& options) const override;
  Result<models::Generation> generate(const models::Input& input, const models::GenerateOptions& options,
                                      const models::RunOptions& run_options, StopToken stop,
                                      const Progress& progress) const override;
  Result<std::shared_ptr<const models::Model>> edited(models::Edits edits) const override;
  Result<std::shared_ptr<const models::PositionTable>> position_table(const models::PositionRequest& request,
                                                                      std::int64_t layer) const override;

 private:
  models::ModelInfo info_;
  models::Edits edits_;
  Handle handle_;
};

class RemoteTable final : public models::PositionTable {
 public:
  RemoteTable(std::shared_ptr<Connection> line, std::int64_t number, std::int64_t length)
      : length_(length), handle_(std::move(line), number) {}

  const Handle& handle() const { return handle_; }

  std::int64_t length() const override { return length_; }
  Result<Field> dot_product(std::int64_t head, Range rows, Range columns,
                            const models::Similarity& similarity) const override;

 private:
  std::int64_t length_;
  Handle handle_;
};

// The client's end: numbers of objects there become what stands for them here, and back. Files of this machine that a
// run reads are sent once, as long as they do not change; paths `ssh://…` of the other machine are its own.
class RemoteObjects final : public ObjectTable {
 public:
  explicit RemoteObjects(std::shared_ptr<Connection> line) : line_(std::move(line)) {}

  json put(Writer& writer, const std::shared_ptr<const models::Model>& model) override;
  json put(Writer& writer, const std::shared_ptr<const models::Trace>& trace) override;
  json put(Writer& writer, const std::shared_ptr<const models::PositionTable>& table) override;
  json put(Writer& writer, const std::filesystem::path& path) override;
  void take(Reader& reader, const json& tree, std::shared_ptr<const models::Model>& model) override;
  void take(Reader& reader, const json& tree, std::shared_ptr<const models::Trace>& trace) override;
  void take(Reader& reader, const json& tree, std::shared_ptr<const models::PositionTable>& table) override;
  void take(Reader& reader, const json& tree, std::filesystem::path& path) override;
  bool knows(const models::Trace& trace) const override;

  // The number of a thing there; null, with the writer's error, for one of another machine.
  json number_of(Writer& writer, const models::Model& model) const;
  json number_of(Writer& writer, const models::Trace& trace) const;
  json number_of(Writer& writer, const models::PositionTable& table) const;

 private:
  std::shared_ptr<Connection> line_;
};

}  // namespace locus::remote
