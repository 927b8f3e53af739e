// TraceContents: the metadata and tensors of a trace file, by the names that one side of it has.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "models/formats/json/json.h"
#include "models/formats/tensor_source.h"
#include "models/formats/trace/sides.h"

namespace locus::models::trace {

using formats::TensorInfo;

class TraceContents {
 public:
  TraceContents(formats::Source source, std::string path, SideNames names)
      : source_(std::move(source)), path_(std::move(path)), names_(names) {}

  const std::string& path() const { return path_; }
  bool crosses() const { return names_.crosses(); }
  const std::vector<TensorInfo>& tensors() const { return source_->tensors(); }

  // A metadata entry; empty when absent. As JSON: null when absent.
  std::string text(const std::string& key) const;
  Result<nlohmann::json> value(const std::string& key) const;
  // "FILE: metadata KEY" and "FILE: tensor NAME", for errors.
  std::string metadata(const std::string& key) const { return path_ + ": metadata " + names_.metadata(key); }
  std::string where(const std::string& name) const { return path_ + ": tensor " + names_.tensor(name); }

  std::string tensor_name(const std::string& name) const { return names_.tensor(name); }
  const TensorInfo* find(const std::string& name) const { return source_->find(names_.tensor(name)); }
  // The tensor, or undefined. Errors: kBadInput for another shape; −1 stands for any size above 0.
  Result<at::Tensor> tensor(const std::string& name, const std::vector<std::int64_t>& shape) const;
  Result<at::Tensor> float_tensor(const std::string& name, const std::vector<std::int64_t>& shape) const;

 private:
  formats::Source source_;
  std::string path_;
  SideNames names_;
};

// Whether the tensor is there, of that rank, and not empty.
bool has_elements(const TensorInfo* info, std::size_t rank);

// A member of a metadata object, within 0 … most.
Result<std::int64_t> size_of(const JsonObject& object, const std::string& name, std::int64_t fallback,
                             std::int64_t most);

}  // namespace locus::models::trace
