#include "models/api/kernel.h"

#include <algorithm>
#include <utility>

#include "core/base/guarded.h"
#include "models/api/local.h"
#include "models/experiments/vocabulary.h"

namespace locus::models {

namespace {

// The N that is asked for, or the farthest key that the layer's window lets a query see.
std::int64_t wanted_reach(const Trace& trace, const KernelRequest& request) {
  return std::min(request.reach, trace.model().farthest(request.layer).value_or(request.reach));
}

}  // namespace

Result<HeadKernel> local::head_kernel(const Model& model, const Trace& trace, const KernelRequest& request,
                                      StopToken stop, const Progress& progress) {
  return guarded([&]() -> Result<HeadKernel> {
    LOCUS_TRY(const VocabularyHead head, VocabularyHead::of(model, trace, request.layer, request.head, stop));
    const std::int64_t wanted = wanted_reach(trace, request);
    LOCUS_TRY(const std::int64_t reach, head.longest(wanted));
    const at::Tensor ids = head.ids(request.sample);
    LOCUS_TRY(const analysis::KernelSource source, head.means(ids, reach, stop, progress));
    HeadKernel made;
    LOCUS_TRY(static_cast<analysis::Kernel&>(made), analysis::kernel(source, request.head, stop, progress));
    made.reach = reach;
    made.tokens = ids.size(0);
    made.vocabulary = head.tokens();
    made.shortened = reach < wanted;
    made.windowed = wanted < request.reach;
    made.exact = request.layer == 0;
    return made;
  });
}

Result<std::vector<TokenPair>> local::strongest_token_pairs(const Model& model, const Trace& trace,
                                                            const KernelRequest& request, std::int64_t distance,
                                                            std::int64_t count, StopToken stop,
                                                            const Progress& progress) {
  return guarded([&]() -> Result<std::vector<TokenPair>> {
    LOCUS_TRY(const VocabularyHead head, VocabularyHead::of(model, trace, request.layer, request.head, stop));
    LOCUS_TRY(const std::int64_t reach, head.longest(wanted_reach(trace, request)));
    if (distance < 0 || distance > reach) {
      return bad_input("kernel: expected a distance of 0 to " + std::to_string(reach) + ", found " +
                       std::to_string(distance));
    }
    const auto query_at = static_cast<double>(reach);
    const double key_at = query_at - static_cast<double>(distance);
    LOCUS_TRY(const VocabularyHead::Vectors tokens, head.vectors(query_at, key_at, stop));
    LOCUS_TRY(const analysis::CellVectors cells, head.cells(tokens, query_at, key_at));
    LOCUS_TRY(const std::vector<analysis::StrongPair> strongest,
              analysis::strongest_pairs(cells, count, stop, progress));
    std::vector<TokenPair> pairs;
    for (const analysis::StrongPair& each : strongest) {
      pairs.push_back({each.query, each.key, head.label(each.query), head.label(each.key), each.logit});
    }
    return pairs;
  });
}

}  // namespace locus::models
