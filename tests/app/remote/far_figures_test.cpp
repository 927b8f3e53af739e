// Every view of bundled checkpoints (of every one with LOCUS_EVERY_CHECKPOINT in the environment): the numbers of its
// figure from another machine are those from this one, bit for bit, and where there is nothing to show both say the
// same of it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "app/views/shared/view.h"
#include "tests/support/data_text.h"
#include "tests/support/far_same.h"
#include "tests/support/test_name.h"

namespace locus {
namespace {

class FarFigures : public test::FarTest, public testing::WithParamInterface<std::string> {
 protected:
  views::Column column(const fs::path& path) const {
    const ModelPointer model = opened(path);
    if (model == nullptr) {
      return {};
    }
    const auto trace = model->run(input_for(model->info()));
    EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
    return {"the checkpoint", model, trace.ok() ? *trace : nullptr};
  }
};

std::string without_machine(std::string text) {
  for (std::size_t at = 0; (at = text.find("ssh://here", at)) != std::string::npos;) {
    text.erase(at, 10);
  }
  return text;
}

TEST_P(FarFigures, TheirDataAreTheSame) {
  const views::Column here = column(bundled_path(GetParam()));
  const views::Column there = column(test::FarMachine::path(bundled_path(GetParam())));
  ASSERT_TRUE(here.trace && there.trace);
  std::size_t with_numbers = 0;
  for (const views::View* const view : views::views()) {
    const std::string name = view->info().name;
    const auto answer = [&](const views::Column& column) -> Result<std::string> {
      if (const Status status = view->available(column); !status.ok()) {
        return status.error();
      }
      views::ViewInput input;
      input.columns = {column};
      input.layer = column.trace->model().layers - 1;
      input.head = 0;
      if (name == "knock-out") {
        input.options = {{"null", std::int64_t{0}}};  // which takes twenty times as long; FarModels asks for it
      }
      input.query = column.trace->length() / 2;
      LOCUS_TRY(const views::Data data, view->data(input));
      return test::written(data, ".npy");
    };
    const Result<std::string> own = answer(here);
    const Result<std::string> far = answer(there);
    ASSERT_EQ(own.ok(), far.ok()) << name << ": " << (own.ok() ? far : own).error().describe();
    if (own.ok()) {
      EXPECT_TRUE(*own == *far) << name << ": other numbers";
      ++with_numbers;
    } else {
      EXPECT_EQ(own.error().describe(), without_machine(far.error().describe())) << name;
    }
  }
  EXPECT_GE(with_numbers, 6U);
}

// Text, an image, a text with a picture, and a task; all of them take minutes.
std::vector<std::string> compared_names() {
  return std::getenv("LOCUS_EVERY_CHECKPOINT") != nullptr
             ? test::bundled_names()
             : std::vector<std::string>{"captions-mrope", "counting-cope", "shapes-rope-mixed", "text-rope"};
}

INSTANTIATE_TEST_SUITE_P(Bundled, FarFigures, testing::ValuesIn(compared_names()),
                         [](const auto& info) { return test::test_name(info.param); });

}  // namespace
}  // namespace locus
