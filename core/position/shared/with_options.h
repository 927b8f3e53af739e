// WithOptions: what encodings with options have in common.
#pragma once

#include <memory>
#include <utility>

#include "core/position/position_encoding.h"
#include "core/position/shared/option_table.h"

namespace locus::position {

// `Self` is the encoding, which about() describes; its `Options` are read by from() and written by settings().
template <class Self, class Options>
class WithOptions : public PositionEncoding {
 public:
  // Errors: those of Options::from() and of settle().
  static Result<std::unique_ptr<PositionEncoding>> make(const Settings& settings, const ModelShape& shape) {
    LOCUS_TRY(Options options, Options::from(settings));
    LOCUS_CHECK(Self::settle(options, shape));
    return std::unique_ptr<PositionEncoding>(std::make_unique<Self>(shape, std::move(options)));
  }
  // Completes options by the model's shape. Errors: kBadInput where the encoding is none for it.
  static Status settle(Options& /*options*/, const ModelShape& /*shape*/) { return {}; }

  WithOptions(const ModelShape& shape, Options options) : PositionEncoding(shape), options_(std::move(options)) {}

  const Description& description() const override { return Self::about(); }
  Settings settings() const override { return options_.settings(); }
  const Options& options() const { return options_; }

 protected:
  Options options_;
};

}  // namespace locus::position
