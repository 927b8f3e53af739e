#include "models/training/task.h"

#include <utility>

#include "core/base/listed.h"
#include "core/base/shown.h"
#include "models/training/task_list.h"

namespace locus::training {

const std::vector<TaskEntry>& task_list() {
  static const std::vector<TaskEntry> list = {
      text_task(),     flip_flop_task(),    selective_copy_task(), counting_task(), word_count_task(),
      addition_task(), word_problem_task(), passkey_task(),        shapes_task(),   captions_task(),
  };
  return list;
}

Result<std::unique_ptr<Task>> make_task(const std::string& name, const TaskRequest& request) {
  for (const TaskEntry& entry : task_list()) {
    if (entry.name == name) {
      return entry.make(request);
    }
  }
  const std::string known = listed_known(task_list(), "training", [](const TaskEntry& entry) { return entry.name; });
  return usage("unknown task " + shown(name) + "; known: " + known);
}

Result<std::unique_ptr<Task>> typed_task(const std::string& name, const TaskRequest& request, const Settings& typed) {
  auto task = make_task(name, request);
  const bool of_options = !task.ok() && task.error().code == ErrorCode::kBadInput && task.error().context.empty();
  return of_options && !typed.values().empty() ? usage("--task-option: " + task.error().message) : std::move(task);
}

Examples Examples::slice(std::int64_t begin, std::int64_t end) const {
  Examples part;
  part.targets = targets.slice(0, begin, end);
  part.ids = ids.defined() ? ids.slice(0, begin, end) : at::Tensor();
  part.pixels = pixels.defined() ? pixels.slice(0, begin, end) : at::Tensor();
  return part;
}

std::string_view metric_name(Metric metric) {
  return metric == Metric::kBitsPerByte ? "bits_per_byte" : "error";
}

}  // namespace locus::training
