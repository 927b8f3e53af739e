#include "app/workbench/window/help.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QTextBrowser>
#include <QVBoxLayout>
#include <algorithm>

#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/manual_window.h"
#include "app/workbench/widgets/qt_text.h"
#include "core/base/version.h"
#include "models/api/model.h"

namespace locus::workbench {

namespace {

QString text(const std::string& words) {
  return qt(words).toHtmlEscaped();
}

void show_page(QWidget* parent, const QString& title, const QString& html) {
  auto* dialog = new QDialog(parent);
  make_lasting(dialog, "", title);
  dialog->resize(640, 560);
  auto* layout = new QVBoxLayout(dialog);
  auto* page = new QTextBrowser(dialog);
  page->setAccessibleName(title);
  page->setHtml(html);
  layout->addWidget(page);
  layout->addWidget(make_close_box(dialog));
  dialog->show();
}

}  // namespace

void show_view_help(QWidget* parent, const Studio& studio) {
  ManualWindow& manual = ManualWindow::of(parent);
  std::vector<std::string> encodings;
  for (const Checkpoint* column : studio.checkpoints().shown()) {
    const std::string& name = column->info()->first_encoding().name;
    if (std::find(encodings.begin(), encodings.end(), name) == encodings.end()) {
      encodings.push_back(name);
    }
  }
  manual.page().set_encodings(std::move(encodings));
  manual.page().open({studio.view().info().name, {}});
}

void show_messages(QWidget* parent, const QStringList& messages) {
  QString html = messages.isEmpty() ? QStringLiteral("<p>None yet.</p>") : QString();
  for (const QString& message : messages) {
    html += QStringLiteral("<p>%1</p>").arg(message.toHtmlEscaped());
  }
  show_page(parent, QStringLiteral("Messages of this session"), html);
}

void show_about(QWidget* parent) {
  const models::Runtime runtime = models::runtime();
  show_page(parent, QStringLiteral("About Locus"),
            QStringLiteral("<h2>Locus %1</h2><p>A microscope for how transformers address positions.</p>"
                           "<p>LibTorch %2, %3, %4 threads%5<br>Qt %6</p><p>Apache License 2.0</p>")
                .arg(QString::fromUtf8(program_version()), text(runtime.torch), text(runtime.blas))
                .arg(runtime.threads)
                .arg(runtime.device == "cpu" ? QString() : QStringLiteral(", CUDA"), QString::fromLatin1(qVersion())));
}

}  // namespace locus::workbench
