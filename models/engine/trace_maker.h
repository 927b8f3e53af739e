// TraceMaker: from what was observed of a run to its trace.
#pragma once

#include <cstdint>
#include <memory>

#include "models/edits/run_edits.h"
#include "models/engine/checkpoint.h"
#include "models/engine/prepared_input.h"

namespace locus::models {

class RecordedTrace;
struct SeenImages;
struct TraceData;

// Observations of both sides of a run; the encoder's is empty but in an encoder–decoder.
struct Observed {
  transformer::Observation encoder;
  transformer::Observation own;
  std::shared_ptr<const SeenImages> images;  // of a text with pictures
};

class TraceMaker {
 public:
  TraceMaker(const Checkpoint& checkpoint, const Edits& edits)
      : checkpoint_(checkpoint), parts_(checkpoint.parts()), edits_(edits) {}

  // `scores`: with the layers' scores.
  std::shared_ptr<const Trace> trace_of(PreparedInput prepared, const Observed& observed, double time_ms,
                                        bool scores = true) const;
  // Lets a run give options.each_layer each layer, or options.early traces of the layers that are done, and keep no more
  // of them than `options` says; `prepared` and `options` must outlive it.
  void tell_layers(const PreparedInput& prepared, const RunOptions& options, transformer::ObserveOptions& wanted) const;

 private:
  // The trace of the first `layers` layers, of which those in `kept` have what they were computed from.
  TraceData trace_data(const transformer::Transformer& model, PreparedInput prepared,
                       const transformer::Observation& observation, std::int64_t layers, Range kept) const;
  std::shared_ptr<const RecordedTrace> encoder_trace(PreparedInput prepared,
                                                     const transformer::Observation& observation) const;
  std::shared_ptr<const RecordedTrace> cross_trace(const TraceData& decoder, const PreparedInput& read,
                                                   const transformer::Observation& observation) const;
  // The maps that layers without a soft-max imply, of the run that `text` is about.
  std::shared_ptr<const RecordedTrace> mixer_trace(const TraceData& text,
                                                   const transformer::Observation& observation) const;
  // The tower's side of a run, which is the same as long as its pictures are.
  std::shared_ptr<const RecordedTrace> vision_trace(const TextImages& pictures, const SeenImages& seen) const;

  const Checkpoint& checkpoint_;
  const CheckpointParts& parts_;
  const Edits& edits_;
};

}  // namespace locus::models
