#include "app/workbench/help.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QTextBrowser>
#include <QVBoxLayout>
#include <set>

#include "app/workbench/studio.h"
#include "models/model.h"

namespace locus::workbench {

namespace {

QString text(const std::string& words) {
  return QString::fromStdString(words).toHtmlEscaped();
}

void show_page(QWidget* parent, const QString& title, const QString& html) {
  auto* dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(title);
  dialog->resize(640, 560);
  auto* layout = new QVBoxLayout(dialog);
  auto* page = new QTextBrowser(dialog);
  page->setAccessibleName(title);
  page->setHtml(html);
  layout->addWidget(page);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
  layout->addWidget(buttons);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::accept);
  dialog->show();
}

QString encoding_text(const models::EncodingInfo& info, bool whole) {
  QString html = QStringLiteral("<h3>%1</h3><p><code>%2</code></p>").arg(text(info.title), text(info.equation));
  html += QStringLiteral("<p>%1</p>").arg(text(info.look_for));
  if (!info.content.empty()) {
    html += QStringLiteral("<p><b>Content logit:</b> %1</p>").arg(text(info.content));
  }
  if (whole && !info.options.empty()) {
    html += QStringLiteral("<p><b>Options</b></p><ul>");
    for (const auto& option : info.options) {
      html += QStringLiteral("<li><code>%1</code> (%2): %3</li>")
                  .arg(text(option.name), text(option.shape), text(option.meaning));
    }
    html += QStringLiteral("</ul>");
  }
  return html + QStringLiteral("<p><i>%1</i></p>").arg(text(info.paper));
}

}  // namespace

void show_view_help(QWidget* parent, const Studio& studio) {
  const views::ViewInfo& info = studio.view().info();
  QString html = QStringLiteral("<h2>%1</h2><p>%2</p><p><b>What to look for.</b> %3</p>")
                     .arg(text(info.title), text(info.shows), text(info.look_for));
  if (!info.paper.empty()) {
    html += QStringLiteral("<p><b>In the papers:</b> %1</p>").arg(text(info.paper));
  }
  if (!info.controls.empty()) {
    html += QStringLiteral("<p><b>Controls</b></p><ul>");
    for (const views::Control& control : info.controls) {
      html += QStringLiteral("<li><b>%1</b>: %2</li>").arg(text(control.label), text(control.help));
    }
    html += QStringLiteral("</ul>");
  }
  std::set<std::string> shown;
  for (const Checkpoint* column : studio.columns()) {
    shown.insert(column->info()->encoding);
  }
  for (const models::EncodingInfo& encoding : models::encodings()) {
    if (shown.count(encoding.name) > 0) {
      html += QStringLiteral("<hr>") + encoding_text(encoding, true);
    }
  }
  show_page(parent, QStringLiteral("What this view shows"), html);
}

void show_messages(QWidget* parent, const QStringList& messages) {
  QString html = messages.isEmpty() ? QStringLiteral("<p>None yet.</p>") : QString();
  for (const QString& message : messages) {
    html += QStringLiteral("<p>%1</p>").arg(message.toHtmlEscaped());
  }
  show_page(parent, QStringLiteral("Messages of this session"), html);
}

void show_keys(QWidget* parent) {
  struct Key {
    const char* keys;
    const char* does;
  };
  static constexpr Key kCanvas[] = {
      {"← →", "previous, next head (before head 0: the mean of all)"},
      {"↑ ↓", "previous, next layer"},
      {"wheel", "zoom at the pointer"},
      {"drag", "pan"},
      {"F, double click", "fit the whole map"},
      {"Ctrl+0", "actual size: one cell a pixel"},
      {"hover, click, Esc", "preview a cell, pin it, unpin"},
      {"Shift (hold)", "every column shows the first checkpoint: what moves is what differs"},
      {"1 … 9", "choose the checkpoint whose tokens and predictions are shown"},
      {"N", "range of colours from the data"},
      {"R", "reset the view; start a cancelled run again"},
      {"?", "this list"},
  };
  static constexpr Key kEverywhere[] = {
      {"Ctrl+O", "open a checkpoint folder"},
      {"Ctrl+Shift+O", "open a file"},
      {"Ctrl+S", "save the session"},
      {"Ctrl+E", "export the figure"},
      {"Ctrl+Shift+E", "export the numbers"},
      {"Ctrl+Shift+C", "copy the figure"},
      {"Ctrl+D", "keep this view in the session"},
      {"Ctrl+Z, Ctrl+Shift+Z", "undo, redo a change of view"},
      {"Ctrl+,", "preferences"},
      {"Ctrl+B", "only the figure"},
      {"F11", "full screen"},
      {"F1", "what this view shows"},
      {"Esc (in the editor)", "back to the canvas"},
      {"← → ↑ ↓ (on the tokens)", "choose the query; Esc: none"},
  };
  const auto table = [](const auto& keys) {
    QString html = QStringLiteral("<table cellpadding=4>");
    for (const Key& key : keys) {
      html += QStringLiteral("<tr><td><b>%1</b></td><td>%2</td></tr>")
                  .arg(QString::fromUtf8(key.keys), QString::fromUtf8(key.does));
    }
    return html + QStringLiteral("</table>");
  };
  show_page(parent, QStringLiteral("Keys"),
            QStringLiteral("<h3>On the canvas (a click gives it the keyboard)</h3>") + table(kCanvas) +
                QStringLiteral("<h3>Everywhere</h3>") + table(kEverywhere));
}

void show_encodings(QWidget* parent) {
  QString html;
  for (const models::EncodingInfo& encoding : models::encodings()) {
    html += encoding_text(encoding, false);
  }
  show_page(parent, QStringLiteral("Position encodings"), html);
}

void show_caution(QWidget* parent) {
  show_page(
      parent, QStringLiteral("Attention is not explanation"),
      QStringLiteral(
          "<h2>Attention is not explanation</h2>"
          "<p>A bright cell says that a head moved information from that key's position in that layer. It does not say "
          "that the token there mattered for the prediction: by then the position holds a mixture of what came before, "
          "values can be small where weights are large, and other heads and the residual stream may carry the same "
          "thing. Heads often park their attention on the first token when they have nothing to say (a sink).</p>"
          "<p>Maps are good for seeing <i>how a model addresses positions</i>: which distances a head prefers, whether "
          "it counts tokens or something else, what changes with length. To claim that a head matters, change it and "
          "measure the prediction.</p>"
          "<p><i>Jain and Wallace 2019 (arXiv:1902.10186); Wiegreffe and Pinter 2019 (arXiv:1908.04626)</i></p>"));
}

void show_about(QWidget* parent) {
  const models::Runtime runtime = models::runtime();
  show_page(parent, QStringLiteral("About Locus"),
            QStringLiteral("<h2>Locus %1</h2><p>A microscope for how transformers address positions.</p>"
                           "<p>LibTorch %2, %3, %4 threads%5<br>Qt %6</p><p>Apache License 2.0</p>")
                .arg(QStringLiteral(LOCUS_VERSION), text(runtime.torch), text(runtime.blas))
                .arg(runtime.threads)
                .arg(runtime.cuda ? QStringLiteral(", CUDA") : QString(), QString::fromLatin1(qVersion())));
}

}  // namespace locus::workbench
