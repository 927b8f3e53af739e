// How soon a frame that is asked for is drawn.
#pragma once

namespace locus::viewport {

// Makes Qt draw a frame 1 ms after it is asked for, where it waits 5 by default, unless QT_QPA_UPDATE_IDLE_TIME says
// otherwise. To be called before the QApplication is made, while no other thread reads the environment.
void draw_promptly();

}  // namespace locus::viewport
