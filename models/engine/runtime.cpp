// Threads and what this build can do.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include "core/position/list.h"
#include "models/api/local.h"
#include "models/api/model.h"
#include "models/engine/threads.h"

namespace locus::models {

namespace {

EncodingInfo info_of(const position::Description& description) {
  EncodingInfo info;
  info.name = description.name;
  info.title = description.title;
  info.paper = description.paper;
  info.equation = description.equation;
  for (const position::ParameterDescription& parameter : description.parameters) {
    info.parameters.push_back({parameter.name, parameter.shape, parameter.meaning});
  }
  for (const position::OptionDescription& option : description.options) {
    info.options.push_back({option.name, option.fallback, option.meaning});
  }
  return info;
}

}  // namespace

void local::set_threads(int threads) {
  set_product_threads(bounded_threads(threads));
}

Runtime local::runtime() {
  return {TORCH_VERSION, blas_name(), product_threads(), at::hasCUDA()};
}

std::vector<EncodingInfo> local::encodings() {
  std::vector<EncodingInfo> list;
  for (const position::Entry& entry : position::encodings()) {
    list.push_back(info_of(entry.description));
  }
  return list;
}

}  // namespace locus::models
