// The training tasks: each is defined in its own file of tasks/ and listed by task_list().
#pragma once

#include "models/training/task.h"

namespace locus::training {

TaskEntry addition_task();
TaskEntry captions_task();
TaskEntry counting_task();
TaskEntry flip_flop_task();
TaskEntry passkey_task();
TaskEntry selective_copy_task();
TaskEntry shapes_task();
TaskEntry text_task();
TaskEntry word_count_task();
TaskEntry word_problem_task();

}  // namespace locus::training
