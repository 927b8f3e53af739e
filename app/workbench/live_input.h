// LiveInput: what the models run on, and when: a text that is being typed runs once its typist pauses.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <optional>
#include <string>

#include "models/model.h"

namespace locus::workbench {

class LiveInput : public QObject {
  Q_OBJECT

 public:
  explicit LiveInput(int debounce_ms);

  const models::Input& value() const { return value_; }
  bool empty() const;
  // A text typed: due() follows when nothing more is typed for a while. The same text does nothing.
  void type(const std::string& text);
  // The same of any input whose parts are typed.
  void type(const models::Input& input);
  // Another input: due() follows at once.
  void set(const models::Input& input);
  // Another input that something else will run.
  void put(const models::Input& input);
  // What was typed runs now, or never.
  void flush();
  void forget() { debounce_.stop(); }
  bool waiting() const { return debounce_.isActive(); }

  // The time since the input changed, once for each change: call it when its figure is there.
  std::optional<double> take_elapsed_ms();

 Q_SIGNALS:
  void changed();
  void due();

 private:
  void start_watch();

  models::Input value_;
  QTimer debounce_;
  QElapsedTimer since_;
  bool measuring_ = false;
};

}  // namespace locus::workbench
