#include "core/analysis/finite_weights.h"

#include <algorithm>
#include <map>
#include <thread>

#include "core/fold/finite.h"

namespace normlens::analysis {

void refuseWithoutMean(const graph::Graph& graph, std::vector<Claim>& claims) {
  std::map<graph::ConstantId, std::vector<size_t>> claimed;
  for (size_t c = 0; c < claims.size(); ++c) {
    if (claims[c].kind == Claim::Kind::Constant || claims[c].kind == Claim::Kind::Joint)
      claimed[graph.value(claims[c].value).constant].push_back(c);
  }
  std::vector<graph::TensorView> weights;
  for (const auto& [constant, which] : claimed) weights.push_back(graph.constant(constant).view);
  const auto strange =
      fold::holdNonFinite(weights, static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  size_t weight = 0;
  for (const auto& [constant, which] : claimed) {
    if (!strange[weight++]) continue;
    for (const size_t c : which) {
      claims[c].kind = Claim::Kind::Refused;
      claims[c].reason = "it holds infinite or NaN values, which have no mean";
    }
  }
}

}  // namespace normlens::analysis
