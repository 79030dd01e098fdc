#include "core/run/norm_diff.h"

#include <algorithm>
#include <unordered_map>

#include "core/graph/text.h"

namespace normlens::run {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

// Candidates for one norm of `a`: values of `b` that may be its output.
struct Match {
  std::string name;
  ValueId output = graph::kNoValue;
  graph::TensorView beta;  // no data where there is none
  std::vector<ValueId> candidates;
};

std::vector<NodeId> normNodes(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (const NodeId id : graph.executionOrder()) {
    const OpKind kind = graph.node(id).kind;
    if (kind == OpKind::LayerNorm || kind == OpKind::RmsNorm) nodes.push_back(id);
  }
  return nodes;
}

void addWithSum(const Graph& graph, ValueId value, std::vector<ValueId>& candidates) {
  candidates.push_back(value);
  for (const graph::Use& use : graph.value(value).uses) {
    if (use.node == graph::kNone || graph.node(use.node).kind != OpKind::Add) continue;
    candidates.push_back(graph.node(use.node).outputs.front());
  }
}

std::vector<Match> matchNorms(const Graph& a, const std::vector<analysis::LayerNorm>& norms, const Graph& b) {
  std::unordered_map<std::string, ValueId> byName;
  for (size_t id = 0; id < b.values.size(); ++id) byName.emplace(b.values[id].name, static_cast<ValueId>(id));
  const std::vector<NodeId> nodesOfA = normNodes(a), nodesOfB = normNodes(b);
  std::vector<Match> matches;
  for (const analysis::LayerNorm& norm : norms) {
    Match match{norm.name, norm.output, {}, {}};
    const auto beta = norm.beta == graph::kNoValue ? graph::kNone : a.value(norm.beta).constant;
    if (beta != graph::kNone) match.beta = a.constant(beta).view;
    if (const auto same = byName.find(a.value(norm.output).name); same != byName.end()) {
      addWithSum(b, same->second, match.candidates);
    }
    const auto place = std::ranges::find(nodesOfA, norm.node);
    if (nodesOfA.size() == nodesOfB.size() && place != nodesOfA.end()) {
      const NodeId partner = nodesOfB[static_cast<size_t>(place - nodesOfA.begin())];
      addWithSum(b, b.node(partner).outputs.front(), match.candidates);
    }
    std::ranges::sort(match.candidates);
    match.candidates.erase(std::ranges::unique(match.candidates).begin(), match.candidates.end());
    if (!match.candidates.empty()) matches.push_back(std::move(match));
  }
  return matches;
}

// x + v along the last axis, in float64; nullopt where that is not possible.
std::optional<graph::TensorView> plusVector(const graph::TensorView& x, const graph::TensorView& v) {
  if (v.data == nullptr || x.shape.empty()) return std::nullopt;
  auto numbers = graph::toDoubles(x);
  const auto addend = graph::toDoubles(v);
  if (!numbers || !addend || static_cast<int64_t>(addend->size()) != x.shape.back()) return std::nullopt;
  for (size_t i = 0; i < numbers->size(); ++i) (*numbers)[i] += (*addend)[i % addend->size()];
  return graph::tensorFromDoubles(x.shape, *numbers, graph::DType::Float64);
}

using Captured = std::unordered_map<ValueId, graph::TensorView>;

Result<Captured> capture(const formats::Model& model, std::vector<ValueId> values, const formats::Tensors& inputs,
                         const Task& task) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  auto tensors = model.runCapturing(inputs, values, task);
  if (!tensors) return tl::unexpected(tensors.error());
  Captured captured;
  if (tensors->size() == values.size()) {
    for (size_t i = 0; i < values.size(); ++i) captured[values[i]] = (*tensors)[i].view;
    return captured;
  }
  // Some were not reached (a branch not taken): the names tell which.
  for (const formats::NamedTensor& tensor : *tensors) {
    const auto value = std::ranges::find(values, tensor.name, [&](ValueId id) { return model.graph().value(id).name; });
    if (value != values.end()) captured[*value] = tensor.view;
  }
  return captured;
}

}  // namespace

Result<std::vector<TensorDiff>> compareNorms(const formats::Model& a, const std::vector<analysis::LayerNorm>& normsOfA,
                                             const formats::Model& b, const formats::Tensors& inputs,
                                             const Task& task) {
  const std::vector<Match> matches = matchNorms(a.graph(), normsOfA, b.graph());
  if (matches.empty()) return std::vector<TensorDiff>{};
  std::vector<ValueId> valuesOfA, valuesOfB;
  for (const Match& match : matches) {
    valuesOfA.push_back(match.output);
    valuesOfB.insert(valuesOfB.end(), match.candidates.begin(), match.candidates.end());
  }
  const auto capturedA = capture(a, valuesOfA, inputs, task);
  if (!capturedA) return tl::unexpected(capturedA.error());
  const auto capturedB = capture(b, valuesOfB, inputs, task);
  if (!capturedB) return tl::unexpected(capturedB.error());

  std::vector<TensorDiff> rows;
  for (const Match& match : matches) {
    const auto expected = capturedA->find(match.output);
    if (expected == capturedA->end() || !expected->second.data) continue;
    std::optional<TensorDiff> best;
    const auto consider = [&](const Result<TensorDiff>& diff) {
      if (diff && (!best || diff->maxRel < best->maxRel)) best = *diff;
    };
    for (const ValueId candidate : match.candidates) {
      const auto got = capturedB->find(candidate);
      if (got == capturedB->end() || !got->second.data) continue;
      consider(compareTensors(match.name, expected->second, got->second));
      if (const auto shifted = plusVector(got->second, match.beta)) {
        consider(compareTensors(match.name, expected->second, *shifted));
      }
    }
    if (best) rows.push_back(std::move(*best));
  }
  return rows;
}

std::string firstDiverging(const std::vector<TensorDiff>& norms, double limit) {
  const auto first = std::ranges::find_if(norms, [&](const TensorDiff& norm) { return !(norm.maxRel <= limit); });
  return first == norms.end() ? std::string() : first->name;
}

}  // namespace normlens::run
