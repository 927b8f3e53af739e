// IdsPanel: an editor of the input as ids, for models without a tokenizer. Ids are typed, drawn at random, or taken
// from the tokenizer of another checkpoint.
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

// Parses integers below `vocabulary` separated by spaces, commas or brackets. Errors: kBadInput naming the word.
Result<std::vector<std::int64_t>> parse_ids(const std::string& typed, std::int64_t vocabulary);
// `count` ids, uniformly distributed; the same seed gives the same ids.
std::vector<std::int64_t> random_ids(std::int64_t count, std::uint64_t seed, std::int64_t vocabulary);

class IdsPanel : public QWidget {
  Q_OBJECT

 public:
  explicit IdsPanel(QWidget* parent);

  void set_ids(const std::vector<std::int64_t>& ids);  // emits no signal
  std::size_t caret() const;                           // ids that begin before it
  void set_vocabulary(std::int64_t vocabulary);        // smallest one of the shown models
  // The menu of tokenizers; its owner fills it when it opens.
  QMenu& lenders() { return *lenders_; }
  void take_focus();

 Q_SIGNALS:
  void changed(const std::vector<std::int64_t>& ids);
  void left();  // Esc: the keyboard goes to the canvas

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
