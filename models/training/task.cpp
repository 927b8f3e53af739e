#include "models/training/task.h"

namespace locus::training {

TaskEntry counting_task();
TaskEntry flip_flop_task();
TaskEntry selective_copy_task();
TaskEntry text_task();

const std::vector<TaskEntry>& task_list() {
  static const std::vector<TaskEntry> list = {
      text_task(),
      flip_flop_task(),
      selective_copy_task(),
      counting_task(),
  };
  return list;
}

Result<std::unique_ptr<Task>> make_task(const std::string& name, const TaskRequest& request) {
  std::string known;
  for (const TaskEntry& entry : task_list()) {
    if (entry.info.name == name) {
      return entry.make(request);
    }
    known += (known.empty() ? "" : ", ") + entry.info.name;
  }
  return usage("unknown task " + name + "; known: " + known);
}

std::string_view metric_name(Metric metric) {
  return metric == Metric::kBitsPerByte ? "bits_per_byte" : "error";
}

std::vector<TaskInfo> tasks() {
  std::vector<TaskInfo> infos;
  for (const TaskEntry& entry : task_list()) {
    infos.push_back(entry.info);
  }
  return infos;
}

}  // namespace locus::training
