// IdsPanel: the input as ids, for models without a tokenizer: typed, drawn at random, or borrowed from the tokenizer of
// another checkpoint.
#pragma once

#include <QWidget>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

class QLabel;
class QMenu;

namespace locus::workbench {

class ExactEditor;

// Whole numbers below `vocabulary` with spaces, commas or brackets between them. Errors: kBadInput naming the word.
Result<std::vector<std::int64_t>> parse_ids(const std::string& typed, std::int64_t vocabulary);
// As many, each of them equally likely; the same seed gives the same.
std::vector<std::int64_t> random_ids(std::int64_t count, std::uint64_t seed, std::int64_t vocabulary);

class IdsPanel : public QWidget {
  Q_OBJECT

 public:
  explicit IdsPanel(QWidget* parent);

  void set_ids(const std::vector<std::int64_t>& ids);  // emits nothing
  void set_vocabulary(std::int64_t vocabulary);        // of the shown models, the smallest
  // Filled when it opens; what is chosen there borrows a tokenizer.
  QMenu& lenders() { return *lenders_; }
  void take_focus();

 Q_SIGNALS:
  void changed(const std::vector<std::int64_t>& ids);
  void left();  // Esc: the canvas takes the keyboard

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void read();

  ExactEditor* editor_ = nullptr;
  QLabel* error_ = nullptr;
  QMenu* lenders_ = nullptr;
  std::int64_t vocabulary_ = 0;
  bool filling_ = false;
};

}  // namespace locus::workbench
