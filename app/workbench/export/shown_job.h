// The figure that the studio shows now, as a job that runs on the worker while the window goes on.
#pragma once

#include "app/figures/figure_job.h"

namespace locus::workbench {

class Studio;

// Errors: kUsage when there is nothing yet, or what is shown is of another input than the present one.
Result<figures::FigureJob> shown_job(const Studio& studio);

}  // namespace locus::workbench
