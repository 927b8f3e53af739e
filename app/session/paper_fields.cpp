#include "app/session/paper_fields.h"

#include <algorithm>

#include "core/base/controls.h"
#include "core/base/listed.h"
#include "core/base/lists.h"
#include "core/base/shown.h"
#include "renderers/paper/limits.h"

namespace locus::session {

namespace {

// A number within the painter's limits, which its help names.
PaperField sized(const char* name, const char* flag, const char* label, const char* what, const paper::Limits& limits,
                 const char* unit, const char* more, double PaperState::*member) {
  const std::string help =
      std::string(what) + ", " + number_text(limits.low) + " to " + number_text(limits.high) + " " + unit + more;
  PaperField field =
      state_field<PaperState>(number(name, label, help, PaperState{}.*member, limits.low, limits.high), flag, member);
  field.unit = unit;
  return field;
}

PaperField width_field() {
  PaperField field = sized("width_mm", "--width-mm", "Width", "Width of the figure", paper::kWidthMm, "mm",
                           " (default 84, one column; 174 for several panels)", &PaperState::width_mm);
  field.parameter.fallback = std::string();  // it depends on the panels
  field.unset = 0.0;
  field.get = [](const PaperState& paper) {
    return paper.width_mm > 0 ? std::optional<SettingValue>(paper.width_mm) : std::nullopt;
  };
  field.put = [](PaperState& paper, const std::optional<SettingValue>& value) {
    paper.width_mm = 0;
    from_value(value, paper.width_mm);
  };
  return field;
}

const PaperPart* part_called(std::string_view name) {
  const auto part = std::ranges::find(paper_parts(), name, &PaperPart::name);
  return part == paper_parts().end() ? nullptr : &*part;
}

// Parts that a recipe leaves out stay so when a flag leaves out others.
PaperField without_field() {
  PaperField field{
      words("without", "Without",
            "Parts to leave out: " + listed(paper_parts(), &PaperPart::name) + ", separated by commas", "none"),
      "--without"};
  field.get = [](const PaperState& paper) -> std::optional<SettingValue> {
    std::string names;
    for (const PaperPart& part : paper_parts()) {
      names += paper.*part.shown ? "" : (names.empty() ? "" : ",") + std::string(part.name);
    }
    return names.empty() ? std::nullopt : std::optional<SettingValue>(names);
  };
  field.put = [](PaperState& paper, const std::optional<SettingValue>& value) {
    std::string names;
    from_value(value, names);
    for (const std::string_view name : split_terminated(names)) {
      if (const PaperPart* part = part_called(name)) {
        paper.*part->shown = false;
      }
    }
  };
  field.check = [](const SettingValue& value) -> Status {
    std::string names;
    from_value(value, names);
    for (const std::string_view name : split_terminated(names)) {
      if (part_called(name) == nullptr) {
        return usage("expected " + listed(paper_parts(), &PaperPart::name) +
                     " or several of them, separated by commas, found " + shown(name));
      }
    }
    return {};
  };
  return field;
}

PaperFields make_fields() {
  PaperField dpi = sized("dpi", "--dpi", "Resolution", "Resolution of a PNG", paper::kDpi, "dpi",
                         "; SVG and PDF keep text as text and maps at their own resolution", &PaperState::dpi);
  dpi.decimals = 0;
  return {
      width_field(),
      dpi,
      state_field<PaperState>(typed_toggle("dark", "Theme", "Theme of the figure", PaperState{}.dark, "light", "dark"),
                              "--theme", &PaperState::dark),
      unless_default(
          sized("text_pt", "--text-pt", "Type", "Size of the labels", paper::kTextPt, "pt", "", &PaperState::text_pt)),
      without_field(),
      unless_default(state_field<PaperState>(
          toggle("marks", "with marks", "Draw the profiles and measures too: profiles as curves below the maps"),
          "--marks", &PaperState::marks))};
}

}  // namespace

const std::vector<PaperPart>& paper_parts() {
  static const std::vector<PaperPart> parts{{"titles", "titles", &PaperState::titles},
                                            {"labels", "labels of axes", &PaperState::labels},
                                            {"legend", "legend and colour bar", &PaperState::legend}};
  return parts;
}

const PaperFields& paper_fields() {
  static const PaperFields fields = make_fields();
  return fields;
}

}  // namespace locus::session
