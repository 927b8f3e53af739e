#include "models/atlas/examples.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "core/base/numbers.h"
#include "models/training/random.h"

namespace locus::models::atlas {

namespace {

constexpr std::uint64_t kSampleStream = 0x65786D70;  // random numbers of samples
constexpr std::int64_t kOfSample = 4;                // windows that are kept at first for each of a sample

enum Item : int { kEnd = 0, kWindow = 1, kExample = 2 };

// The larger activation first, of equal ones the earlier window.
bool acts_more(const KeptWindow& a, const KeptWindow& b) {
  return a.activation != b.activation ? a.activation > b.activation : a.window < b.window;
}

}  // namespace

std::int64_t ExamplePlan::first_windows() const {
  return std::min(windows, options.levels * std::max<std::int64_t>(options.sample, 1) * kOfSample);
}

Status check_plan(const ExamplePlan& plan) {
  const auto options = read_example_options(example_options_text(plan.options), "examples");
  if (!options.ok()) {
    return usage(options.error().describe());
  }
  if (plan.length > kLongestExample) {
    return unsupported("examples: expected windows of at most " + std::to_string(kLongestExample) + " tokens, found " +
                       std::to_string(plan.length));
  }
  return {};
}

ExampleFinder::ExampleFinder(const ExamplePlan& plan)
    : plan_(plan), largest_(static_cast<std::size_t>(plan.layers * plan.heads)) {}

bool ExampleFinder::may_stay(std::int64_t layer, std::int64_t head, std::int64_t window, double activation) {
  if (std::isnan(activation)) {
    return false;
  }
  std::vector<double>& largest = largest_[static_cast<std::size_t>(layer * plan_.heads + head)];
  if (std::ssize(largest) < plan_.options.top) {
    largest.insert(std::ranges::upper_bound(largest, activation), activation);
    return true;
  }
  if (activation > largest.front()) {  // an equal one comes too late
    largest.erase(largest.begin());
    largest.insert(std::ranges::upper_bound(largest, activation), activation);
    return true;
  }
  return window < plan_.first_windows();
}

void write_window(std::int64_t window, std::span<const std::int64_t> ids, std::vector<double>& items) {
  items.insert(items.end(), {double{kWindow}, static_cast<double>(window)});
  items.insert(items.end(), ids.begin(), ids.end());
}

void write_example(std::int64_t layer, std::int64_t head, std::int64_t window, double activation,
                   std::span<const analysis::SparseCell> cells, std::int64_t length, std::vector<double>& items) {
  items.insert(items.end(), {double{kExample}, static_cast<double>(layer), static_cast<double>(head),
                             static_cast<double>(window), activation, static_cast<double>(cells.size())});
  for (const analysis::SparseCell& cell : cells) {
    const std::int64_t weight = std::llround(static_cast<double>(cell.weight) * kExampleUnits);
    items.push_back(static_cast<double>((cell.query * length + cell.key) * kCellScale + weight));
  }
}

Examples::Examples(const ExamplePlan& plan) : plan_(plan), heads_(static_cast<std::size_t>(plan.layers * plan.heads)) {}

Examples::Head& Examples::head_at(std::int64_t layer, std::int64_t head) {
  return heads_[static_cast<std::size_t>(layer * plan_.heads + head)];
}

void Examples::add(std::span<const double> items) {
  const auto take = [&items](std::size_t count) {
    const std::span<const double> first = items.first(count);
    items = items.subspan(count);
    return first;
  };
  const auto whole = [](double number) { return static_cast<std::int64_t>(number); };
  bool any = false;
  while (!items.empty() && items.front() != double{kEnd}) {
    any = true;
    if (take(1).front() == double{kWindow}) {
      const std::int64_t window = whole(take(1).front());
      std::vector<std::int64_t>& ids = ids_[window];
      ids.clear();
      std::ranges::transform(take(static_cast<std::size_t>(plan_.length)), std::back_inserter(ids), whole);
      continue;
    }
    const std::span<const double> head = take(5);
    KeptWindow kept{whole(head[1]), whole(head[2]), head[3], 0, true, false, false, {}};
    kept.waiting = kept.window < plan_.first_windows();
    std::ranges::transform(take(static_cast<std::size_t>(whole(head[4]))), std::back_inserter(kept.cells), whole);
    keep(whole(head[0]), std::move(kept));
  }
  if (any) {
    forget_windows();
  }
}

void Examples::keep(std::int64_t layer, KeptWindow window) {
  std::vector<KeptWindow>& kept = head_at(layer, window.head).kept;
  kept.push_back(std::move(window));
  if (std::ranges::count_if(kept, &KeptWindow::top) <= plan_.options.top) {
    return;
  }
  std::size_t least = kept.size() - 1;
  for (std::size_t n = 0; n < kept.size(); ++n) {
    least = kept[n].top && acts_more(kept[least], kept[n]) ? n : least;
  }
  kept[least].top = false;
  if (!kept[least].sampled && !kept[least].waiting) {
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(least));
  }
}

void Examples::settle(std::int64_t done) {
  if (drawn_ || done < plan_.first_windows()) {
    return;
  }
  for (std::size_t place = 0; place < heads_.size(); ++place) {
    draw(place);
  }
  drawn_ = true;
  forget_windows();
}

void Examples::draw(std::size_t place) {
  Head& head = heads_[place];
  std::vector<KeptWindow*> waiting;
  for (KeptWindow& window : head.kept) {
    if (window.waiting) {
      waiting.push_back(&window);
    }
  }
  std::ranges::sort(waiting, [](const KeptWindow* a, const KeptWindow* b) { return acts_more(*b, *a); });
  const std::int64_t levels = plan_.options.levels;
  const std::int64_t count = std::ssize(waiting);
  head.bounds.assign(static_cast<std::size_t>(levels - 1), kNaN);
  std::vector<std::vector<std::pair<std::uint64_t, KeptWindow*>>> drawn(static_cast<std::size_t>(levels));
  for (std::int64_t rank = count; rank-- > 0;) {  // down, so that a bound is the least of its level and those above it
    KeptWindow& window = *waiting[static_cast<std::size_t>(rank)];
    window.level = ((rank + 1) * levels + count - 1) / count;
    window.waiting = false;
    std::fill(head.bounds.begin(), head.bounds.begin() + (window.level - 1), window.activation);
    training::Random random{plan_.seed, kSampleStream, place, static_cast<std::uint64_t>(window.window)};
    drawn[static_cast<std::size_t>(window.level - 1)].emplace_back(random.next(), &window);
  }
  for (auto& of_level : drawn) {
    std::ranges::sort(of_level, {}, [](const auto& one) { return std::pair(one.first, one.second->window); });
    const std::size_t sampled = std::min(of_level.size(), static_cast<std::size_t>(plan_.options.sample));
    for (std::size_t n = 0; n < sampled; ++n) {
      of_level[n].second->sampled = true;
    }
  }
  std::erase_if(head.kept, [](const KeptWindow& window) { return !window.top && !window.sampled; });
}

void Examples::forget_windows() {
  std::set<std::int64_t> used;
  for (const Head& head : heads_) {
    for (const KeptWindow& window : head.kept) {
      used.insert(window.window);
    }
  }
  std::erase_if(ids_, [&](const auto& entry) { return !used.contains(entry.first); });
}

std::int64_t Examples::level_of(const Head& head, double activation) const {
  return 1 + std::ranges::count_if(head.bounds, [&](double bound) { return activation >= bound; });
}

Status Examples::write_to(ExampleContents& contents, const LabelsOf& labels) const {
  contents = {};
  contents.windows = ids_;
  contents.layers.resize(static_cast<std::size_t>(plan_.layers));
  for (std::size_t place = 0; place < heads_.size(); ++place) {
    LayerExamples& layer = contents.layers[place / static_cast<std::size_t>(plan_.heads)];
    std::vector<KeptWindow> kept = heads_[place].kept;
    for (KeptWindow& window : kept) {
      window.level = drawn_ && window.level == 0 ? level_of(heads_[place], window.activation) : window.level;
    }
    std::ranges::sort(kept, {}, &KeptWindow::window);
    std::ranges::move(kept, std::back_inserter(layer.kept));
    layer.bounds.insert(layer.bounds.end(), heads_[place].bounds.begin(), heads_[place].bounds.end());
  }
  std::set<std::int64_t> used;
  for (const auto& [window, ids] : ids_) {
    used.insert(ids.begin(), ids.end());
  }
  const std::vector<std::int64_t> ids(used.begin(), used.end());
  LOCUS_TRY(const std::vector<std::string> names, labels(ids));
  for (std::size_t n = 0; n < ids.size(); ++n) {
    contents.labels[ids[n]] = names[n];
  }
  return {};
}

void Examples::read_from(const ExampleContents& contents) {
  ids_ = contents.windows;
  drawn_ = false;
  for (std::size_t layer = 0; layer < contents.layers.size(); ++layer) {
    const LayerExamples& own = contents.layers[layer];
    for (const KeptWindow& window : own.kept) {
      head_at(static_cast<std::int64_t>(layer), window.head).kept.push_back(window);
    }
    drawn_ = !own.bounds.empty();
    for (std::int64_t head = 0; head < (drawn_ ? plan_.heads : 0); ++head) {
      const auto begin = own.bounds.begin() + head * (plan_.options.levels - 1);
      head_at(static_cast<std::int64_t>(layer), head).bounds.assign(begin, begin + (plan_.options.levels - 1));
    }
  }
}

}  // namespace locus::models::atlas
