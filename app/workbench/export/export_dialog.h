// Dialogs of exports: sizes, type and parts of a figure with a preview in true size; parts of the data.
#pragma once

#include "app/figures/figure_job.h"

class QSettings;
class QWidget;

namespace locus::workbench {

class Studio;

// The latest choice on this machine; a width of 0 follows the number of columns.
session::PaperState kept_paper(const QSettings& settings);
void keep_paper(QSettings& settings, const session::PaperState& paper);

// Asks for the options of `job`; false: the user cancelled.
bool ask_figure(QWidget* parent, Studio& studio, QSettings& settings, figures::FigureJob& job);
bool ask_data(QWidget* parent, figures::FigureJob& job);

}  // namespace locus::workbench
