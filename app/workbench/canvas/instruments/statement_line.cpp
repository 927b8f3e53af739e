#include "app/workbench/canvas/instruments/instruments.h"

#include <QClipboard>
#include <QElapsedTimer>
#include <QGuiApplication>
#include <QTimer>

#include "app/workbench/canvas/instruments/paint.h"

namespace locus::workbench {

namespace {

constexpr qint64 kCopiedMs = 1500;  // that it is said

class StatementLine final : public Instrument {
 public:
  std::string name() const override { return "statement"; }
  std::string title() const override { return "Statement"; }
  bool offered(const InstrumentFrame& frame) const override { return frame.canvas.statement != nullptr; }

  std::vector<figure::Rect> areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& /*taken*/) override {
    return {frame.canvas.statement->area};
  }

  void draw(const InstrumentFrame& frame, std::size_t /*n*/, const figure::Rect& area) override {
    whole_ = frame.canvas.whole_statement;
    ImGui::SetCursorScreenPos(paint::from(area));
    const bool clicked = ImGui::InvisibleButton("copy", paint::at(area.width, area.height));
    const bool hovered = ImGui::IsItemHovered();
    const std::string& line = frame.canvas.statement->lines.front();
    // ImGui's font is not quite the figure's: a line that is longer in it is made as long as it was measured.
    const ImVec2 usual = ImGui::CalcTextSize(line.c_str());
    const auto room = static_cast<float>(area.width);
    const float size = ImGui::GetFontSize() * (usual.x > room ? room / usual.x : 1.0F);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddText(ImGui::GetFont(), size, paint::from(area),
                 ImGui::GetColorU32(hovered ? ImGuiCol_CheckMark : ImGuiCol_Text), line.c_str());
    if (clicked) {
      copy(frame);
    }
    const bool copied = copied_.isValid() && copied_.elapsed() < kCopiedMs;
    if (hovered || copied) {
      std::vector<std::string> lines = line == whole_ ? std::vector<std::string>() : paint::clauses_of(whole_);
      lines.emplace_back(copied ? "copied" : "a click copies it");
      figure::Rect box = paint::box_of(frame, lines);
      box.x = area.x;
      box.y = area.bottom();
      paint::box(frame, *ImGui::GetForegroundDrawList(), box, lines);
    }
  }

  std::string said(const InstrumentFrame& frame) const override { return frame.canvas.whole_statement; }

  bool press(const InstrumentFrame& frame, const InstrumentKey& key) override {
    const bool copies = key.key == Qt::Key_Return || key.key == Qt::Key_Enter ||
                        (key.key == Qt::Key_C && key.modifiers.testFlag(Qt::ControlModifier));
    if (copies) {
      whole_ = frame.canvas.whole_statement;
      copy(frame);
    }
    return copies;
  }

 private:
  void copy(const InstrumentFrame& frame) {
    copied_.start();
    QTimer::singleShot(0, &frame.gesture,
                       [words = QString::fromStdString(whole_)] { QGuiApplication::clipboard()->setText(words); });
    QTimer::singleShot(kCopiedMs, &frame.gesture, frame.redraw);
  }

  std::string whole_;
  QElapsedTimer copied_;
};

}  // namespace

std::unique_ptr<Instrument> make_statement_line() {
  return std::make_unique<StatementLine>();
}

}  // namespace locus::workbench
