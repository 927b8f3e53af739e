// DecoderField: the typed input of the decoder of encoder–decoders; visible while one is open.
#pragma once

#include <QLineEdit>

#include "app/workbench/state/studio.h"

namespace locus::workbench {

class DecoderField : public QLineEdit {
  Q_OBJECT

 public:
  DecoderField(Studio& studio, QWidget* parent);

 private:
  void show_read();

  Studio& studio_;
};

}  // namespace locus::workbench
