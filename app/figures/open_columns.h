// Opens and runs the checkpoints of a session: they and its traces become the columns that views show.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/session/session.h"
#include "app/views/shared/view.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::session {

// How a path becomes a model; models::open, and what tests bring instead.
using Opener = std::function<Result<std::shared_ptr<const models::Model>>(
    const std::filesystem::path&, const models::OpenOptions&, StopToken, const Progress&)>;

// The content of a path: a checkpoint's model, or a trace that a program wrote; the other is null.
struct Opened {
  std::shared_ptr<const models::Model> model;
  std::shared_ptr<const models::Trace> trace;
};
Result<Opened> open_entry(const CheckpointEntry& entry, models::OpenOptions options, const Opener& opener,
                          StopToken stop = {}, const Progress& progress = {});

// The base that an entry of this checkpoint names: `named` where it may be an adapter, in the hub's cache too; else empty.
std::filesystem::path base_for(const std::filesystem::path& checkpoint, const std::string& named);

// The files whose digest says which weights, or which trace, these are; `model` is null for a trace.
std::vector<std::string> files_of(const CheckpointEntry& entry, const models::Model* model);

// The name, or the next of "name (2)", "name (3)" … that is not taken.
std::string unique_name(const std::string& name, const std::function<bool(const std::string&)>& taken);

// Opens each checkpoint once and runs each of its inputs once, however many figures ask.
class ColumnMaker {
 public:
  using Runner =
      std::function<Result<std::shared_ptr<const models::Trace>>(const models::Model&, const models::Input&)>;
  ColumnMaker(Opener opener, Runner runner) : opener_(std::move(opener)), runner_(std::move(runner)) {}

  // The shown ones, in their order, with names that differ: a checkpoint's own and its overrides, a trace's file's.
  // A column with a text of its own reads that; a trace shows what it read, whatever the input. Errors: those of opening
  // and running.
  Result<std::vector<views::Column>> columns(const std::vector<CheckpointEntry>& entries, const models::Input& input);

 private:
  struct Run {
    std::shared_ptr<const models::Model> model;
    models::Input input;
    std::shared_ptr<const models::Trace> trace;
  };
  Result<Opened> open(const CheckpointEntry& entry);
  Result<std::shared_ptr<const models::Trace>> run(const std::shared_ptr<const models::Model>& model,
                                                   const models::Input& input);

  Opener opener_;
  Runner runner_;
  std::vector<std::pair<CheckpointEntry, Opened>> opened_;
  std::vector<Run> runs_;
};

}  // namespace locus::session
