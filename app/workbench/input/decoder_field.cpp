#include "app/workbench/input/decoder_field.h"

#include <QStringList>

#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

constexpr int kDecoderLetters = 24;  // of what a decoder has read

}  // namespace

DecoderField::DecoderField(Studio& studio, QWidget* parent) : QLineEdit(parent), studio_(studio) {
  give_name(this, "decoder-text", QStringLiteral("Input of the decoder"));
  setPlaceholderText(QStringLiteral("decoder: its start token"));
  setToolTip(
      QStringLiteral("Input of the decoder of an encoder-decoder, after its start token; ids if there is no "
                     "tokenizer. The text below is the encoder's"));
  setClearButtonEnabled(true);
  setMinimumWidth(kDecoderLetters * parent->fontMetrics().averageCharWidth());
  connect(this, &QLineEdit::textEdited, &studio_,
          [this](const QString& text) { studio_.inputs().set_decoder_input(text.toStdString()); });
  connect(&studio_, &Studio::input_changed, this, &DecoderField::show_read);
  connect(&studio_, &Studio::checkpoints_changed, this, &DecoderField::show_read);
  show_read();
}

void DecoderField::show_read() {
  const models::Input& input = studio_.input();
  QString read = qt(input.decoder_text.value_or(""));
  if (input.decoder_ids) {
    QStringList ids;
    for (const std::int64_t id : *input.decoder_ids) {
      ids << QString::number(id);
    }
    read = ids.join(QLatin1Char(','));
  }
  if (!hasFocus() && text() != read) {
    setText(read);
  }
  setVisible(studio_.checkpoints().has_decoder());
}

}  // namespace locus::workbench
