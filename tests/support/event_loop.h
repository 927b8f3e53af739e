// A test with an event loop and no window: timers fire, queued calls arrive.
#pragma once

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <functional>
#include <memory>

#include "tests/support/waits.h"

namespace locus::test {

class EventLoopTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static int count = 1;
    static char name[] = "tests";
    static char* arguments[] = {name, nullptr};
    application_ = std::make_unique<QCoreApplication>(count, arguments);
  }
  static void TearDownTestSuite() { application_.reset(); }

  static bool wait(const std::function<bool()>& done, int limit_ms = kLimitMs) {
    QElapsedTimer timer;
    timer.start();
    while (!done()) {
      if (timer.elapsed() > limit_ms) {
        return false;
      }
      QCoreApplication::processEvents(QEventLoop::AllEvents, 10);
    }
    return true;
  }

 private:
  static inline std::unique_ptr<QCoreApplication> application_;
};

}  // namespace locus::test
