// Task results side by side: runs that differ in their seed as one row, rows by a setting of their training.
#pragma once

#include "app/views/curves/task_results.h"

namespace locus::views {

// Runs of the same settings but for `seed`, and the seeds that a run's own training.json keeps, as one row in the first
// one's place: mean, least and largest of each split. Rows without settings and rows with a map of lengths stay.
std::vector<Accuracy> join_seeds(std::vector<Accuracy> list);

// A row per encoding (with those options that tell its runs apart), a split per value of `setting`, numbers ascending:
// each the value of the runs' split `split`. Errors: kBadInput where a row has no such setting or split, naming those
// it has, and where two runs have the same place.
Result<std::vector<Accuracy>> grouped_by(const std::vector<Accuracy>& list, const std::string& setting,
                                         const std::string& split);

// The columns (their numbers) by training: those that differ in their seed alone are one group, if they run with the
// same encoding options and edits. Groups stand where their first column does.
std::vector<std::vector<std::size_t>> columns_by_training(const std::vector<Column>& columns);

// "lines: 95 %" or "lines: least and largest of 3 seeds"; empty where no row has intervals.
std::string interval_note(const std::vector<Accuracy>& list);

}  // namespace locus::views
