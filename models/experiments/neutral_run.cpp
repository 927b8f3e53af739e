// models/api/analyses.h: the pictures of a run with a neutral text behind them.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "models/api/analyses.h"
#include "models/api/local.h"
#include "models/engine/picture_marks.h"

namespace locus::models {

Result<TracePointer> local::neutral_run(const Model& model, const Trace& trace, const std::string& neutral,
                                        StopToken stop, const Progress& progress) {
  const std::string what = "attention relative to a neutral text";
  if (trace.images().empty()) {
    return unsupported(what + " needs a picture in the text; " + trace.model().name + " read none");
  }
  const Input* const given = trace.input();
  if (given == nullptr || !given->text) {
    return unsupported(what + " needs the run of a typed text; " + trace.model().name + " read " +
                       (given == nullptr ? "a file of a run" : "ids"));
  }
  Input input = *given;
  std::size_t end = 0;  // of the last mark
  for (const std::string_view mark : {kPictureMark, kVideoMark}) {
    const std::size_t last = input.text->rfind(mark);
    end = last == std::string::npos ? end : std::max(end, last + mark.size());
  }
  input.text = end == 0 ? neutral : input.text->substr(0, end) + " " + neutral;
  LOCUS_TRY(TracePointer run, model.run(input, {}, std::move(stop), progress));
  const std::vector<ImageSpan>& cells = run->images();
  for (std::size_t n = 0; n < trace.images().size(); ++n) {
    if (cells.size() != trace.images().size() || cells[n].count != trace.images()[n].count) {
      return bad_input(what + ": expected the cells of the same pictures, found others");
    }
  }
  return run;
}

}  // namespace locus::models
