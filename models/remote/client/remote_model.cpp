#include "models/remote/client/remote_model.h"

#include "models/remote/codec/call_remote.h"
#include "models/remote/codec/structs.h"

namespace locus::remote {

using models::Model;
using models::Trace;

namespace {

// To a trace that has just arrived, which nobody else has yet.
void give_input(const Trace& trace, const models::Input& input) {
  if (const auto* const far = dynamic_cast<const RemoteTrace*>(&trace)) {
    const_cast<RemoteTrace*>(far)->set_input(input);
  }
}

}  // namespace

double RemoteModel::macs(std::int64_t length) const {
  return *call_remote<&Model::macs>(*this, length);
}

Result<std::vector<models::TokenInfo>> RemoteModel::tokenize(const models::Input& input) const {
  return *call_remote<&Model::tokenize>(*this, input);
}

Result<std::shared_ptr<const Trace>> RemoteModel::run(const models::Input& input, const models::RunOptions& options,
                                                      StopToken stop, const Progress& progress) const {
  if (options.before_head || options.each_layer) {
    return unsupported("a run whose layers or predictions are read while it lasts: on that machine alone", info().name);
  }
  models::RunOptions wanted = options;
  if (options.early) {
    wanted.early = [&](const std::shared_ptr<const Trace>& trace) {
      give_input(*trace, input);
      options.early(trace);
    };
  }
  LOCUS_TRY(std::shared_ptr<const Trace> trace, *call_remote<&Model::run>(*this, input, wanted, stop, progress));
  give_input(*trace, input);
  return trace;
}

Status RemoteModel::read_weights(const StopToken& stop, const Progress& progress) const {
  return *call_remote<&Model::read_weights>(*this, stop, progress);
}

models::Estimate RemoteModel::estimate(std::int64_t length, const models::RunOptions& options) const {
  return *call_remote<&Model::estimate>(*this, length, options);
}

Result<models::Generation> RemoteModel::generate(const models::Input& input, const models::GenerateOptions& options,
                                                 const models::RunOptions& run_options, StopToken stop,
                                                 const Progress& progress) const {
  LOCUS_TRY(models::Generation made,
            *call_remote<&Model::generate>(*this, input, options, run_options, stop, progress));
  give_input(*made.trace, input);
  return made;
}

Result<std::shared_ptr<const Model>> RemoteModel::edited(models::Edits edits) const {
  return *call_remote<&Model::edited>(*this, edits);
}

Result<std::shared_ptr<const models::PositionTable>> RemoteModel::position_table(const models::PositionRequest& request,
                                                                                 std::int64_t layer) const {
  return *call_remote<&Model::position_table>(*this, request, layer);
}

Result<Field> RemoteTable::dot_product(std::int64_t head, Range rows, Range columns,
                                       const models::Similarity& similarity) const {
  return *call_remote<&models::PositionTable::dot_product>(*this, head, rows, columns, similarity);
}

}  // namespace locus::remote
