// A headless browser that opens pages of figures, where one is installed.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/atomic_file.h"

namespace locus::test {

// Chromium by one of its names; none where it is not installed.
inline std::optional<std::string> browser() {
  for (const char* name : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}) {
    if (access(name, X_OK) == 0) {
      return name;
    }
  }
  return std::nullopt;
}

// Its answer to `options` (--dump-dom, --screenshot=FILE) for a page, drawn in a window of 1000 × 800. It uses no
// network, and a folder of its own that is removed afterwards.
inline std::string browse(const std::filesystem::path& page, const std::string& options) {
  const auto profile = std::filesystem::temp_directory_path() / ("locus_browser_" + std::to_string(getpid()));
  const std::string command =
      "timeout 60 " + *browser() +
      " --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
      " --disable-component-update --disable-sync --disable-extensions --hide-scrollbars --window-size=1000,800"
      " --host-resolver-rules='MAP * ~NOTFOUND' --virtual-time-budget=4000 --user-data-dir=" +
      profile.string() + " " + options + " 'file://" + page.string() + "' 2>/dev/null";
  std::string answer;
  if (FILE* pipe = popen(command.c_str(), "r"); pipe != nullptr) {
    std::array<char, 65536> buffer{};
    for (std::size_t count = 0; (count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
      answer.append(buffer.data(), count);
    }
    pclose(pipe);
  }
  std::error_code code;
  std::filesystem::remove_all(profile, code);
  return answer;
}

// What `actions` (the body of an async function; say(text) collects lines, at(stage, u, v, type, more) sends the event
// of a pointer over a plot at shares of it from its left and top) say of a page whose own script has drawn it. The
// page's policy is lifted for them.
inline std::string driven(std::string page, const std::string& actions, const std::filesystem::path& file) {
  const std::size_t begin = page.find("script-src '");
  const std::size_t end = page.find('\'', begin + 12);
  EXPECT_NE(begin, std::string::npos);
  page.replace(begin, end + 1 - begin, "script-src 'unsafe-inline'");
  const std::string driver = R"(<script>
(async () => {
  while (document.body.dataset.ready !== 'yes') await new Promise((done) => setTimeout(done, 20));
  const lines = [];
  const say = (text) => lines.push(String(text));
  const at = (stage, u, v, type, more = {}) => {
    const box = stage.querySelector('canvas').getBoundingClientRect();
    const place = { clientX: box.left + u * box.width, clientY: box.top + v * box.height, bubbles: true, cancelable: true };
    const kind = type === 'wheel' ? WheelEvent : type === 'dblclick' ? MouseEvent : PointerEvent;
    stage.dispatchEvent(new kind(type, { ...place, pointerId: 1, ...more }));
  };
  const stages = [...document.querySelectorAll('.stage')];
  const tip = () => document.querySelector('.tip').hidden ? '(hidden)'
      : [...document.querySelectorAll('.tip div')].map((line) => [...line.children].map((part) => part.textContent).join('=')).join('; ');
  const ticks = (stage) => [...stage.querySelectorAll('text.tick')].map((text) => text.textContent).join('|');
  try {
)" + actions + R"(
  } catch (error) { say('error: ' + error.stack); }
  const result = document.createElement('pre');
  result.id = 'result';
  result.textContent = lines.join('\n');
  document.body.replaceChildren(result);
})();
</script>)";
  page.insert(page.rfind("</body>"), driver);
  EXPECT_TRUE(write_file(file, page));
  const std::string dom = browse(file, "--dump-dom");
  const std::size_t from = dom.find("<pre id=\"result\">");
  const std::size_t to = dom.find("</pre>", from);
  return from == std::string::npos ? "the page did not answer: " + dom.substr(0, 2000)
                                   : dom.substr(from + 17, to - from - 17) + "\n";
}

// A line for each page, all in one run of the browser: its name and how many panels it has drawn, or "not ready" where
// its script has not ended well.
inline std::string looked_at(const std::vector<std::filesystem::path>& pages, const std::filesystem::path& file) {
  std::string all = "<!DOCTYPE html><meta charset=\"utf-8\"><body>";
  for (const auto& page : pages) {
    const auto read = read_file(page, std::size_t{64} << 20);
    EXPECT_TRUE(read.ok()) << page;
    std::string text = read.ok() ? *read : "";
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"&", "&amp;"}, {"\"", "&quot;"}}) {
      for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, 1, to);
      }
    }
    all += "<iframe width=900 height=600 name=\"" + page.stem().string() + "\" srcdoc=\"" + text + "\"></iframe>\n";
  }
  all += R"(<script>
(async () => {
  const lines = [];
  for (const frame of document.querySelectorAll('iframe')) {
    const body = () => frame.contentDocument?.body;
    for (let n = 0; n < 200 && body()?.dataset.ready !== 'yes'; ++n) await new Promise((done) => setTimeout(done, 20));
    const drawn = body()?.querySelectorAll('.panel svg, .panel .token').length ?? 0;
    lines.push(frame.name + ': ' + (body()?.dataset.ready === 'yes' && drawn > 0
        ? body().querySelectorAll('.panel').length + ' panels' : 'not ready'));
  }
  const result = document.createElement('pre');
  result.id = 'result';
  result.textContent = lines.join('\n');
  document.body.replaceChildren(result);
})();
</script></body>)";
  EXPECT_TRUE(write_file(file, all));
  const std::string dom = browse(file, "--dump-dom");
  const std::size_t from = dom.find("<pre id=\"result\">");
  const std::size_t to = dom.find("</pre>", from);
  return from == std::string::npos ? "the pages did not answer" : dom.substr(from + 17, to - from - 17) + "\n";
}

}  // namespace locus::test

#define LOCUS_NEEDS_BROWSER()                                                                   \
  if (!test::browser()) {                                                                       \
    GTEST_SKIP() << "no browser: install Debian's chromium to check pages where they are read"; \
  }
