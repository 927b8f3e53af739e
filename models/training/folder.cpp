#include "models/training/folder.h"
#include "models/api/local.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/families/list.h"
#include "models/formats/json/json.h"
#include "models/formats/json/settings_json.h"
#include "models/formats/tensor_source.h"
#include "models/transformer/connector_config.h"
#include "models/transformer/locus_config.h"
#include "models/transformer/weights.h"

namespace locus::training {

namespace {

using nlohmann::ordered_json;
using transformer::Spec;

constexpr const char* kStateFile = "training_state.safetensors";
constexpr const char* kRecordFile = "training.json";
constexpr std::size_t kLargestRecord = std::size_t{64} << 20;
constexpr const char* kCurveHeader = "step,loss,learning_rate,validation";
// Options that are recorded only where a run has them.
constexpr std::array<const char*, 6> kOnlyWhereGiven{"from", "freeze_base", "lora", "train_size", "every", "windows"};

struct NamedTensor {
  std::string name;
  at::Tensor value;  // contiguous
};

Status write_tensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                     const std::map<std::string, std::string>& metadata) {
  std::vector<formats::OutputTensor> output;
  for (const NamedTensor& tensor : tensors) {
    const bool half = tensor.value.scalar_type() == at::kHalf;
    output.push_back({tensor.name,
                      half ? formats::DType::kF16 : formats::DType::kF32,
                      tensor.value.sizes().vec(),
                      {static_cast<const std::byte*>(tensor.value.data_ptr()), tensor.value.nbytes()}});
  }
  return formats::write_safetensors(path, output, metadata);
}

// The last part of a path, which is recorded.
std::string base_name(const std::filesystem::path& path) {
  const std::filesystem::path normal = path.lexically_normal();
  return normal.has_filename() ? normal.filename().string() : normal.parent_path().filename().string();
}

// The options that determine a run's numbers; a resumed run must have the same.
ordered_json options_json(const TrainOptions& options) {
  const ordered_json task_options = models::to_json(options.task_options);
  ordered_json encoding = {{"name", options.encoding}};
  encoding.update(models::to_json(options.encoding_options));
  ordered_json json = {{"task", options.task}, {"task_options", task_options}};
  if (!options.from.empty()) {
    json["from"] = base_name(options.from);
    json["freeze_base"] = options.freeze_base;
    if (options.lora > 0) {
      json["lora"] = options.lora;
    }
  }
  json.update(ordered_json{{"encoding", encoding},
                           {"layers", options.layers},
                           {"heads", options.heads},
                           {"kv_heads", options.kv_heads},
                           {"width", options.width},
                           {"inner", options.inner},
                           {"length", options.length},
                           {"batch", options.batch},
                           {"gradient_parts", options.gradient_parts},
                           {"steps", options.steps},
                           {"learning_rate", options.learning_rate},
                           {"warmup", options.warmup},
                           {"decay", word_of(kDecays, options.decay)},
                           {"weight_decay", options.weight_decay},
                           {"clip", options.clip},
                           {"seed", options.seed}});
  if (options.train_size > 0) {
    json["train_size"] = options.train_size;
  }
  for (const auto& [step, name] : options.every) {
    json["every"].push_back({step, name});
  }
  for (const auto& [layer, window] : options.windows) {
    json["windows"].push_back({layer, window});
  }
  return json;
}

// A column a split behind the others; empty cells where a step was not measured.
std::string curve_csv(const std::vector<CurvePoint>& curve, const std::vector<std::string>& splits) {
  std::ostringstream csv;
  csv.precision(9);
  csv << kCurveHeader;
  for (const std::string& split : splits) {
    csv << ',' << split;
  }
  csv << '\n';
  for (const CurvePoint& point : curve) {
    csv << point.step << ',' << point.loss << ',' << point.learning_rate << ',';
    if (!std::isnan(point.validation)) {
      csv << point.validation;
    }
    for (std::size_t n = 0; n < splits.size(); ++n) {
      csv << ',';
      if (n < point.splits.size() && !std::isnan(point.splits[n])) {
        csv << point.splits[n];
      }
    }
    csv << '\n';
  }
  return csv.str();
}

// A row of loss.csv; empty where one of the first three cells is not a number. `columns`: of the splits, 0 for one that
// the file has not.
std::optional<CurvePoint> curve_point(const std::string& line, const std::vector<std::size_t>& columns) {
  std::vector<std::string_view> cells = split(line);
  const std::size_t given = cells.size();
  cells.resize(std::max<std::size_t>(given, 4));
  const auto step = parse_number<std::int64_t>(cells[0]);
  const auto loss = parse_number<double>(cells[1]);
  const auto rate = parse_number<double>(cells[2]);
  const auto validation = parse_number<double>(cells[3]);
  if (!step || !loss || !rate) {
    return std::nullopt;
  }
  CurvePoint point{*step, *loss, *rate, validation.value_or(kNaN)};
  bool measured = false;
  for (const std::size_t column : columns) {
    const auto value = column > 0 && column < given ? parse_number<double>(cells[column]) : std::nullopt;
    point.splits.push_back(value.value_or(kNaN));
    measured = measured || value;
  }
  if (!measured) {
    point.splits.clear();
  }
  return point;
}

// The rows of loss.csv up to `step`, without rows written after the resumed state.
std::vector<CurvePoint> read_curve(const std::filesystem::path& path, std::int64_t step,
                                   const std::vector<std::string>& splits) {
  std::vector<CurvePoint> curve;
  const auto text = read_file(path, std::size_t{1} << 28);
  if (!text.ok()) {
    return curve;
  }
  std::istringstream lines(*text);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string_view> header = split(line);
  std::vector<std::size_t> columns;
  for (const std::string& name : splits) {
    const auto found = std::find(header.begin(), header.end(), name);
    columns.push_back(found == header.end() ? 0 : static_cast<std::size_t>(found - header.begin()));
  }
  while (std::getline(lines, line)) {
    const auto point = curve_point(line, columns);
    if (point && point->step <= step) {
      curve.push_back(*point);
    }
  }
  return curve;
}

Status copy_into(const formats::TensorSource& source, const std::string& name, at::Tensor& value) {
  const formats::TensorInfo* const info = source.find(name);
  const std::string where = std::string(kStateFile) + ": tensor " + name;
  if (info == nullptr) {
    return bad_input("is missing", where);
  }
  if (info->dtype != formats::DType::kF32 || info->shape != value.sizes().vec() || !info->contiguous()) {
    return bad_input("does not fit the model that these options make", where);
  }
  const at::NoGradGuard no_grad;
  at::Tensor host = at::empty(value.sizes(), at::kFloat);  // the file's numbers may not be aligned
  std::memcpy(host.data_ptr(), info->storage.data() + info->offset * 4, host.nbytes());
  value.copy_(host);
  return {};
}

template <class Document>
std::string dumped(const Document& value) {
  return value.dump(-1, ' ', false, Document::error_handler_t::replace);
}

// Compares the run recorded in `file` with the present one.
Status check_same(const nlohmann::json& before, const ordered_json& now, const char* file) {
  for (const char* const name : kOnlyWhereGiven) {
    if (before.is_object() && before.contains(name) && !now.contains(name)) {
      return bad_input("cannot resume with other options: " + std::string(name) + " was " +
                           shown(dumped(before[name])) + ", now nothing",
                       file);
    }
  }
  for (const auto& [name, value] : now.items()) {
    const bool there = before.is_object() && before.contains(name);
    if (!there || before[name] != nlohmann::json(value)) {
      return bad_input("cannot resume with other options: " + name + " was " +
                           (there ? shown(dumped(before[name])) : std::string("nothing")) + ", now " +
                           shown(dumped(value)),
                       file);
    }
  }
  return {};
}

}  // namespace

Status write_model(const std::filesystem::path& folder, const OwnNetwork& network, const Task& task, bool half) {
  // Writes Llama-shaped models so that programs for Llama open them.
  const Spec spec = transformer::full_spec(*network.model);
  const std::optional<families::Written> llama =
      network.tower ? std::nullopt : families::written(families::kLlama, spec);
  ordered_json config;
  if (llama) {
    config["architectures"] = {std::string(families::kLlama.architecture)};
    for (const auto& [name, value] : llama->fields) {
      config[name] = std::visit([](const auto& held) { return ordered_json(held); }, value);
    }
    config["bos_token_id"] = config["eos_token_id"] = nullptr;
  } else {
    config = transformer::locus_config(spec);
  }
  if (network.tower) {
    config["vision"] = transformer::locus_config(transformer::full_spec(*network.tower));
    config["connector"] = transformer::connector_config(network.connector->spec());
    config["placeholder"] = network.placeholder;
  }
  const std::vector<std::string> labels = task.labels();
  for (std::size_t n = 0; n < labels.size(); ++n) {
    config["id2label"][std::to_string(n)] = labels[n];
  }
  config["torch_dtype"] = half ? "float16" : "float32";
  families::Plan own;
  own.own_names = true;
  std::vector<NamedTensor> tensors;
  const auto add = [&](const std::string& name, const at::Tensor& value) {
    tensors.push_back({name, value.detach().to(at::kCPU, half ? at::kHalf : at::kFloat).contiguous()});
  };
  for (const auto& [name, value] : transformer::stored_tensors(*network.model, llama ? llama->plan : own)) {
    add(name, value);
  }
  for (const transformer::Parameter& parameter : network.sight_parameters()) {
    add(parameter.name, *parameter.value);
  }
  LOCUS_CHECK(
      write_file(folder / "config.json", config.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n"));
  LOCUS_CHECK(task.write_input_files(folder));
  return write_tensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
}

std::vector<std::filesystem::path> local::written_files(const std::filesystem::path& out) {
  std::vector<std::filesystem::path> files;
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json", "preprocessor_config.json",
                           kRecordFile, "loss.csv", kStateFile}) {
    files.push_back(out / name);
  }
  return files;
}

Status write_record(const std::filesystem::path& folder, const TrainOptions& options, const Task& task,
                    const RunRecord& record) {
  ordered_json training = {{"command", options.command}};
  training.update(options_json(options));
  training["data"] = ordered_json::parse(task.data_json());
  training["steps_done"] = record.step;
  training["tokens"] = record.step * options.batch * options.length;
  training["metric"] = std::string(metric_name(task.metric()));
  training["splits"] = ordered_json::object();
  for (const auto& [split, value] : record.splits) {
    training["splits"][split] = value;
  }
  LOCUS_CHECK(
      write_file(folder / kRecordFile, training.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n"));
  return write_file(folder / "loss.csv", curve_csv(record.curve, options.splits));
}

Status write_state(const std::filesystem::path& folder, const OwnNetwork& network, AdamW& optimiser,
                   const TrainOptions& options, const RunRecord& record) {
  std::vector<NamedTensor> tensors;
  const std::vector<transformer::Parameter> parameters = network.parameters();
  for (std::size_t n = 0; n < parameters.size(); ++n) {
    const AdamW::Group& group = optimiser.groups()[n];
    tensors.push_back({parameters[n].name, group.value.detach().to(at::kCPU).contiguous()});
    tensors.push_back({parameters[n].name + "/mean", group.mean.to(at::kCPU).contiguous()});
    tensors.push_back({parameters[n].name + "/square", group.square.to(at::kCPU).contiguous()});
  }
  return write_tensors(
      folder / kStateFile, tensors,
      {{"locus.format", "training/1"},
       {"step", std::to_string(record.step)},
       {"options", options_json(options).dump(-1, ' ', false, ordered_json::error_handler_t::replace)}});
}

Result<bool> read_state(const std::filesystem::path& folder, const OwnNetwork& network, AdamW& optimiser,
                        const TrainOptions& options, RunRecord& record) {
  if (!has_state(folder)) {
    return false;
  }
  LOCUS_TRY(const formats::Source source, formats::open_tensors(folder / kStateFile));
  const auto step = source->metadata().find("step");
  const auto written = source->metadata().find("options");
  if (step == source->metadata().end() || written == source->metadata().end()) {
    return bad_input("is not a training state", kStateFile);
  }
  LOCUS_TRY(const nlohmann::json before, parse_json(written->second, kStateFile));
  LOCUS_CHECK(check_same(before, options_json(options), kStateFile));
  const std::vector<transformer::Parameter> parameters = network.parameters();
  for (std::size_t n = 0; n < parameters.size(); ++n) {
    AdamW::Group& group = optimiser.groups()[n];
    LOCUS_CHECK(copy_into(*source, parameters[n].name, group.value));
    LOCUS_CHECK(copy_into(*source, parameters[n].name + "/mean", group.mean));
    LOCUS_CHECK(copy_into(*source, parameters[n].name + "/square", group.square));
  }
  record.step = std::strtoll(step->second.c_str(), nullptr, 10);
  optimiser.set_steps(record.step);
  record.curve = read_curve(folder / "loss.csv", record.step, options.splits);
  return true;
}

Result<std::optional<RunRecord>> read_record(const std::filesystem::path& folder, const TrainOptions& options,
                                             const Task& task) {
  std::error_code ignored;
  if (!std::filesystem::exists(folder / kRecordFile, ignored)) {
    return std::optional<RunRecord>();
  }
  LOCUS_TRY(const std::string text, read_file(folder / kRecordFile, kLargestRecord));
  LOCUS_TRY(const nlohmann::json before, parse_json(text, (folder / kRecordFile).string()));
  ordered_json now = options_json(options);
  now["data"] = ordered_json::parse(task.data_json());
  LOCUS_CHECK(check_same(before, now, kRecordFile));
  const auto steps = before.find("steps_done");
  if (steps == before.end() || !steps->is_number_integer()) {
    return bad_input("expected the steps done of a run (steps_done), found none", kRecordFile);
  }
  RunRecord record;
  record.step = steps->get<std::int64_t>();
  return std::optional<RunRecord>(std::move(record));
}

bool has_state(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder / kStateFile, ignored);
}

Status remove_state(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::remove(folder / kStateFile, error);
  return error ? Status(bad_input("cannot be removed: " + error.message(), kStateFile)) : Status();
}

namespace {

constexpr const char* kStep = "step";

}  // namespace

std::filesystem::path kept_folder(const std::filesystem::path& out, std::int64_t step) {
  return out / (kStep + std::to_string(step));
}

std::vector<std::filesystem::path> kept_folders(const std::filesystem::path& out) {
  std::map<std::int64_t, std::filesystem::path> found;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(out, failure)) {
    const std::string name = entry.path().filename().string();
    const auto step = name.starts_with(kStep) ? parse_number<std::int64_t>(name.substr(4)) : std::nullopt;
    std::error_code ignored;
    if (step && *step >= 0 && name == kStep + std::to_string(*step) && entry.is_directory(ignored) &&
        !entry.is_symlink(ignored)) {
      found[*step] = entry.path();
    }
  }
  std::vector<std::filesystem::path> folders;
  for (const auto& [step, folder] : found) {
    folders.push_back(folder);
  }
  return folders;
}

}  // namespace locus::training
