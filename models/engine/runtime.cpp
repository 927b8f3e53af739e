// Threads and what this build can do.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include "core/position/list.h"
#include "models/api/local.h"
#include "models/api/model.h"
#include "models/engine/device.h"
#include "models/engine/threads.h"
#include "models/families/files/family_files.h"

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

FamilyInfo info_of(const families::Family& family) {
  return {std::string(family.name),
          {family.types.begin(), family.types.end()},
          std::string(family.file),
          family.replaces,
          ""};
}

}  // namespace

void local::set_threads(int threads) {
  set_product_threads(bounded_threads(threads));
}

Runtime local::runtime() {
  const Result<at::Device> device = device_of("auto");
  return {TORCH_VERSION, blas_name(), product_threads(), device.ok() ? device->str() : "cpu"};
}

std::vector<FamilyInfo> local::families() {
  std::vector<FamilyInfo> list;
  for (const families::Family& family : families::families()) {
    list.push_back({std::string(family.name), {std::string(family.name)}, "", false, ""});
  }
  for (const families::FamilyFile& file : families::family_files()) {
    list.push_back(file.family == nullptr
                       ? FamilyInfo{file.path.stem().string(), {}, file.path.string(), false, file.error->describe()}
                       : info_of(*file.family));
  }
  return list;
}

void local::set_families_folder(const std::filesystem::path& folder) {
  families::set_user_folder(folder);
}

Result<FamilyInfo> local::check_family(const std::filesystem::path& file) {
  LOCUS_TRY(const families::Family* const family, families::read_family(file));
  return info_of(*family);
}

std::vector<EncodingInfo> local::encodings() {
  std::vector<EncodingInfo> list;
  for (const position::Entry& entry : position::encodings()) {
    list.push_back(info_of(entry.description));
  }
  return list;
}

}  // namespace locus::models
