#include "core/analysis/explain.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <deque>
#include <map>

#include "core/analysis/claims/gains.h"
#include "core/analysis/graph_names.h"
#include "core/base/formatted.h"
#include "core/base/plural.h"
#include "core/ops/index_maps.h"

namespace normlens::analysis {
namespace {

// Returns whether the claim is only refused, or its shift only noticed, where no run came: numbers that are no tensors
// have no shape in any run.
bool lacksShape(const Graph& graph, const Claim& claim) {
  const bool refused = claim.kind == Claim::Kind::Refused;
  if (!refused && claim.otherReason == nullptr) return false;
  if ((refused ? claim.reason : *claim.otherReason) != ops::kNoShape) return false;
  const NodeId at = refused ? graph.value(claim.value).producer : claim.otherNode;
  if (at == kNone) return false;
  const auto missing = [&](ValueId value) { return ops::shapeOf(graph, value) == nullptr; };
  const auto endsUnseen = [&](graph::BlockId id) { return std::ranges::any_of(graph.block(id).returns, missing); };
  return std::ranges::any_of(graph.node(at).outputs, missing) || std::ranges::any_of(graph.node(at).blocks, endsUnseen);
}

// The claims from the root to the nearest leaf that blocks it; empty: none does. decided: leaves for which only
// a shape is missing are passed over.
std::vector<ClaimId> nearestBlocker(const Analysis& analysis, int norm, bool decided = false) {
  const Claims& claims = analysis.claims;
  const ClaimId root = claims.root(norm);
  if (root == kNone) return {};
  std::map<ClaimId, ClaimId> from{{root, kNone}};
  std::deque<std::pair<ClaimId, bool>> queue{{root, claims.rootTolerant(norm)}};
  while (!queue.empty()) {
    const auto [id, tolerant] = queue.front();
    queue.pop_front();
    const Claim& claim = claims[id];
    if (tolerant && claim.droppable) continue;
    const bool noticed = claim.kind == Claim::Kind::Constant && !claim.tolerated() && !tolerant;
    if ((claim.kind == Claim::Kind::Refused || noticed) && !(decided && lacksShape(analysis.scales.graph(), claim))) {
      std::vector<ClaimId> path;
      for (ClaimId at = id; at != kNone; at = from[at]) path.insert(path.begin(), at);
      return path;
    }
    for (const Need& need : claim.needs) {
      if (from.emplace(need.claim, id).second) queue.emplace_back(need.claim, need.throughTolerantUse);
    }
  }
  return {};
}

// "with γ between 0.61 and 1.38", of a norm whose output is not zero-mean for that reason.
std::string gammaRange(const Analysis& analysis, NodeId id) {
  const Graph& graph = analysis.scales.graph();
  const Node& node = graph.node(id);
  if (node.kind != graph::OpKind::LayerNorm || node.operands.size() < 2 || node.operands[1] == kNoValue) return {};
  const auto constant = graph.value(node.operands[1]).constant;
  if (constant == kNone) return {};
  const auto numbers = graph::toDoubles(graph.constant(constant).view);
  if (!numbers || numbers->empty()) return {};
  const auto [low, high] = std::minmax_element(numbers->begin(), numbers->end());
  if (*low == *high) return {};
  const auto norm = std::ranges::find(analysis.norms.layerNorms, id, &LayerNorm::node);
  const std::string which = norm == analysis.norms.layerNorms.end() ? "a LayerNorm" : "the LayerNorm " + norm->title;
  return which + " with \xCE\xB3 between " + formatted("%.3g", *low) + " and " + formatted("%.3g", *high);
}

std::string blockedSentence(const Analysis& analysis, const Claim& claim) {
  const Graph& graph = analysis.scales.graph();
  if (claim.kind == Claim::Kind::Constant || (claim.droppable && !claim.tolerated())) {
    const std::string reader = claim.otherNode == kNone ? "a model output" : describeNode(graph, claim.otherNode);
    return (claim.droppable ? "Dropping " : "Centering ") + describeValue(graph, claim.value) + " would change " +
           reader + ": " + *claim.otherReason + ".";
  }
  const auto& value = graph.value(claim.value);
  if (value.producer != kNone) {
    const std::string range = gammaRange(analysis, value.producer);
    if (!range.empty()) return "Its input comes from " + range + ": not zero-mean.";
  }
  return "Its input comes from " + describeValue(graph, claim.value) + ", which cannot be centered: " + claim.reason +
         ".";
}

bool isUnequal(const Graph& graph, ValueId value) {
  if (value == kNoValue || graph.value(value).constant == kNone) return false;
  const auto numbers = graph::toDoubles(graph.constant(graph.value(value).constant).view);
  return numbers && std::ranges::adjacent_find(*numbers, std::ranges::not_equal_to()) != numbers->end();
}

// The gamma of the norm that the node is, or ends, where its numbers are why the claim is refused; kNoValue: they are
// not.
ValueId unequalGamma(const Analysis& analysis, const Claim& claim, NodeId at) {
  const Graph& graph = analysis.scales.graph();
  const Node& node = graph.node(at);
  if (claim.kind != Claim::Kind::Refused) return kNoValue;
  if (node.kind == graph::OpKind::LayerNorm && claim.reason != ops::kUnequalGamma) return kNoValue;
  for (const LayerNorm& norm : analysis.norms.layerNorms) {
    const bool reads = std::ranges::find(node.operands, norm.gamma) != node.operands.end();
    if (reads && std::ranges::find(norm.members, at) != norm.members.end() && isUnequal(graph, norm.gamma))
      return norm.gamma;
  }
  return kNoValue;
}

Blocker blockerOf(const Analysis& analysis, const Claim& claim, NodeId at) {
  Blocker blocker{at, unequalGamma(analysis, claim, at), claim.reason};
  if (blocker.gamma != kNoValue) {
    blocker.reason = "\xCE\xB3 varies";
  } else if (claim.kind != Claim::Kind::Refused) {
    const std::string reader =
        claim.otherNode == kNone ? "a model output" : describeNode(analysis.scales.graph(), claim.otherNode);
    blocker.reason = (claim.droppable ? "dropping it would change " : "centering it would change ") + reader;
  }
  return blocker;
}

// Exporters write weights without their module ("onnx::MatMul_531"): it is that of the node that reads them.
std::string weightName(const Graph& graph, graph::ConstantId id, const graph::Uses& uses) {
  const std::string& name = graph.constant(id).name;
  if (name.find('.') != std::string::npos) return name;
  const auto reads = [&](const Use& use) {
    if (use.node == kNone) return false;
    const ValueId read = graph.node(use.node).operands[static_cast<size_t>(use.operand)];
    return read != kNoValue && graph.value(read).constant == id;
  };
  const auto use = std::ranges::find_if(uses, reads);
  const std::string module = use == uses.end() ? std::string() : graph.scope(graph.node(use->node).scope).path;
  return module.empty() ? name : module + " (" + name + ")";
}

// "q.weight and k.weight"
std::string weightNames(const Graph& graph, const fold::CenterConstant& edit) {
  std::string names;
  for (const auto& part : edit.parts)
    names += (names.empty() ? "" : " and ") + weightName(graph, part.constant, edit.uses);
  return names;
}

// "with a copy of wte.weight (+131 kB, 13%)"
std::string copiesText(const Analysis& analysis, const NormVerdict& verdict) {
  const Graph& graph = analysis.scales.graph();
  std::string names;
  int64_t bytes = 0;
  for (const size_t index : verdict.copies) {
    const PlannedEdit& planned = analysis.best.edits[index];
    names += (names.empty() ? "" : " and ") + weightNames(graph, std::get<fold::CenterConstant>(planned.edit));
    bytes += planned.bytesGrown;
  }
  return (verdict.copies.size() == 1 ? "with a copy of " : "with copies of ") + names + " (+" + bytesText(bytes) +
         ", " + percentText(growthPercent(analysis, bytes)) + ")";
}

std::string freeSentence(const Analysis& analysis, const NormVerdict& verdict) {
  if (!verdict.needsEdits) return "Its input is zero-mean already.";
  std::string text = verdict.copies.empty() ? "Every" : "Can fold free " + copiesText(analysis, verdict) + ": every";
  text += " path to it ends in a tensor that can be centered";
  return text + (verdict.dropsAddends ? ", or in an addend that is constant along the channels and is dropped." : ".");
}

std::string centeringSentence(const Analysis& analysis, const NormVerdict& verdict) {
  std::string where;
  for (const size_t index : verdict.centerings) {
    const auto& center = std::get<fold::InsertCentering>(analysis.best.edits[index].edit);
    where += (where.empty() ? "" : " and ") + describeValue(analysis.scales.graph(), center.value);
  }
  const std::string what = verdict.centerings.size() == 1 ? "One run-time centering, of " + where + ", frees it"
                                                          : plural(verdict.centerings.size(), "run-time centering") +
                                                                ", of " + where + ", free it";
  return what + " and " + plural(static_cast<size_t>(verdict.sharedWith.size()), "other LayerNorm") + ".";
}

std::string whyNoPattern(const graph::Graph& graph, graph::ValueId input) {
  if (graph.value(input).shape) return "Which axes it normalizes over is not known before the run.";
  const bool anythingRan = std::ranges::any_of(
      graph.values, [](const graph::Value& value) { return value.producer != graph::kNone && value.shape; });
  return anythingRan ? "No run has reached it, so nothing is known of its input."
                     : "The model was not run, so the shape of its input is not known.";
}

void explainBlocked(Analysis& analysis, int index) {
  const LayerNorm& norm = analysis.norms.layerNorms[static_cast<size_t>(index)];
  NormVerdict& verdict = analysis.verdicts[static_cast<size_t>(index)];
  verdict.blockerPath = {norm.node};
  if (!norm.blockedReason.empty()) {
    verdict.reason = "It cannot become an RMSNorm: " + norm.blockedReason + ".";
    return;
  }
  const Graph& graph = analysis.scales.graph();
  if (analysis.claims.root(index) == kNone) {
    if (ops::shapeOf(graph, norm.input) == nullptr) verdict.verdict = Verdict::Unknown;
    verdict.reason = whyNoPattern(graph, norm.input);
    return;
  }
  const auto path = nearestBlocker(analysis, index, true);
  if (path.empty()) {
    const auto unshown = nearestBlocker(analysis, index);
    verdict.reason = "A centering would have to serve this LayerNorm alone, and costs what folding it saves.";
    if (unshown.empty()) return;
    verdict.verdict = Verdict::Unknown;
    verdict.reason = "Its input comes from " + describeValue(graph, analysis.claims[unshown.back()].value) +
                     ", where no run has shown all shapes.";
    return;
  }
  for (const ClaimId id : path) {
    const NodeId node = graph.value(analysis.claims[id].value).producer;
    if (node != kNone && verdict.blockerPath.back() != node) verdict.blockerPath.push_back(node);
  }
  const Claim& claim = analysis.claims[path.back()];
  verdict.reason = blockedSentence(analysis, claim);
  if (verdict.blockerPath.size() > 1) verdict.blocker = blockerOf(analysis, claim, verdict.blockerPath.back());
}

}  // namespace

std::string asReason(std::string sentence) {
  if (!sentence.empty() && sentence.back() == '.') sentence.pop_back();
  // A name at the beginning keeps its letters.
  const bool isWord = sentence.size() > 1 && std::isupper(static_cast<unsigned char>(sentence[0])) != 0 &&
                      std::isupper(static_cast<unsigned char>(sentence[1])) == 0;
  if (isWord) sentence[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(sentence[0])));
  return sentence;
}

std::string blockerInWords(const Analysis& analysis, int norm) {
  const auto path = nearestBlocker(analysis, norm);
  return path.empty() ? std::string() : asReason(blockedSentence(analysis, analysis.claims[path.back()]));
}

double growthPercent(const Analysis& analysis, int64_t bytes) {
  constexpr double kPercent = 100;
  return kPercent * static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, analysis.bytesOfConstants));
}

std::string percentText(double percent) {
  constexpr double kWhole = 9.95;  // from here on without a decimal
  const double shown = std::round(percent * 10) / 10;
  return formatted(percent >= kWhole || shown == std::round(shown) ? "%.0f%%" : "%.1f%%", percent);
}

std::string opLabel(const Node& node) {
  const std::string label = node.op.substr(node.op.rfind(':') + 1);  // npos + 1 is 0
  return label.empty() ? std::string(opKindName(node.kind)) : label;
}

std::string describeNode(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return node.name.empty() ? opLabel(node) : node.name + " (" + opLabel(node) + ")";
}

std::string describeValue(const Graph& graph, ValueId id) {
  const auto& value = graph.value(id);
  if (value.constant != kNone) return graph.constant(value.constant).name;
  if (value.producer != kNone) return describeNode(graph, value.producer);
  if (value.literal) return "the number " + formatted("%.3g", *value.literal);
  if (value.paramOf == 0) return "the model input " + value.name;
  return value.name;
}

EditWords describeEdit(const Graph& graph, const std::vector<LayerNorm>& norms, const PlannedEdit& planned) {
  struct Visitor {
    const Graph& graph;
    const std::vector<LayerNorm>& norms;
    EditWords operator()(const fold::AbsorbScale& edit) const {
      const size_t others = edit.parts.size() - 1;
      const std::string subject = graph.constant(edit.parts.front().constant).name;
      return {"move the scale of " + describeNode(graph, edit.scaleNode) + " into " + subject +
                  (others > 0 ? " and " + plural(others, "other tensor") : std::string()),
              subject,
              {}};
    }
    EditWords operator()(const fold::CenterConstant& edit) const {
      const std::string names = weightNames(graph, edit);
      if (!edit.parts.front().pattern.sumsAnything()) return {"set " + names + " to 0", names, {}};
      std::string text = "center " + names;
      if (edit.parts.size() > 1) text += " together";
      if (!edit.split) return {text, names, {}};
      const std::string because = "a copy: its other readers keep the original";
      return {text + " (" + because + ")", names, because};
    }
    EditWords operator()(const fold::InsertCentering& edit) const {
      const std::string subject = describeValue(graph, edit.value);
      return {"center " + subject + " at run time", subject, {}};
    }
    EditWords operator()(const fold::DropAddend& edit) const {
      const std::string subject = describeValue(graph, edit.value);
      return {"drop " + subject + ", constant along the channels", subject, {}};
    }
    EditWords operator()(const fold::AbsorbShift& edit) const {
      const auto beta = graph.node(edit.shiftNode).operands[static_cast<size_t>(edit.shiftOperand)];
      return moved(beta, edit.parts.front().bias, edit.parts.back().bias, edit.parts.size(), "biases");
    }
    EditWords operator()(const fold::AbsorbGain& edit) const {
      const auto gamma = graph.node(edit.gainNode).operands[static_cast<size_t>(edit.gainOperand)];
      return moved(gamma, edit.parts.front().weight, edit.parts.back().weight, edit.parts.size(), "weights");
    }
    EditWords operator()(const fold::RestoreMean& edit) const {
      const std::string subject = describeValue(graph, edit.value);
      const std::string because = plural(edit.uses.size(), "read") + " of it would notice that it is gone";
      return {"carry the mean of " + subject + " next to it and give it back: " + because, subject, because};
    }
    EditWords operator()(const fold::ReplaceNorm& edit) const {
      const std::string& subject = norms[static_cast<size_t>(edit.norm)].title;
      return {"replace " + subject + " by an RMSNorm", subject, {}};
    }

    [[nodiscard]] EditWords moved(ValueId vector, graph::ConstantId first, graph::ConstantId last, size_t count,
                                  const char* tensors) const {
      const std::string subject = describeValue(graph, vector);
      std::string text = "move " + subject + " into " + graph.constant(first).name;
      if (count == 2) text += " and " + graph.constant(last).name;
      if (count > 2) text += " and " + std::to_string(count - 1) + " other " + tensors;
      return {text, subject, {}};
    }
  };
  return std::visit(Visitor{graph, norms}, planned.edit);
}

std::optional<OtherVerdict> gammaVerdict(const Graph& graph, const OtherNorm& norm) {
  if (norm.kind != OtherNormKind::RmsNorm) return std::nullopt;
  const auto gain = movableGain(graph, norm);
  if (gain) {
    const size_t count = gain->edit.parts.size();
    const std::string layers = count == 1 ? "linear layer" : plural(count, "linear layer");
    return OtherVerdict{Verdict::Free, "its weight can move into the " + layers + " behind it"};
  }
  const Obstacle& obstacle = gain.error();
  const std::string at = obstacle.node == kNone ? std::string() : describeNode(graph, obstacle.node);
  const auto blocked = [](std::string reason) { return OtherVerdict{Verdict::Blocked, std::move(reason)}; };
  switch (obstacle.kind) {
    case Obstacle::Kind::NoGamma:
      return std::nullopt;
    case Obstacle::Kind::ComputedGamma:
      return blocked("its weight is computed, is no vector of the file, or lies inside the norm");
    case Obstacle::Kind::BetaStays:
      return blocked("its bias stays behind it");
    case Obstacle::Kind::UnknownValue:
      return OtherVerdict{Verdict::Unknown, "no run has shown what its readers are"};
    case Obstacle::Kind::ModelOutput:
      return blocked("what it makes is an output of the model, or leaves a branch or a loop");
    case Obstacle::Kind::OtherReader:
      return blocked(at + " reads it, and is no linear layer");
    case Obstacle::Kind::NoReader:
      return blocked("no linear layer reads it");
    case Obstacle::Kind::ComputedWeight:
      return blocked("the weight of " + at + " is computed, or may change while the model runs");
    case Obstacle::Kind::OtherType:
      return blocked("the weight of " + at + " has another type than its output");
    case Obstacle::Kind::SharedWeight:
      break;
  }
  return blocked("the weight of " + at + " is read elsewhere, too");
}

NodeId placeOfEdit(const Graph& graph, const std::vector<LayerNorm>& norms, const fold::Edit& edit) {
  if (const auto* scale = std::get_if<fold::AbsorbScale>(&edit)) return scale->scaleNode;
  if (const auto* shift = std::get_if<fold::AbsorbShift>(&edit)) return shift->shiftNode;
  if (const auto* gain = std::get_if<fold::AbsorbGain>(&edit)) return gain->gainNode;
  if (const auto* norm = std::get_if<fold::ReplaceNorm>(&edit)) return norms[static_cast<size_t>(norm->norm)].node;
  if (const auto* mean = std::get_if<fold::RestoreMean>(&edit)) return graph.value(mean->value).producer;
  if (const auto* drop = std::get_if<fold::DropAddend>(&edit))
    return drop->uses.empty() ? kNone : drop->uses.front().node;
  if (const auto* center = std::get_if<fold::InsertCentering>(&edit)) {
    const NodeId made = graph.value(center->value).producer;
    return made != kNone || center->uses.empty() ? made : center->uses.front().node;
  }
  const auto& uses = std::get<fold::CenterConstant>(edit).uses;
  return uses.empty() ? kNone : uses.front().node;
}

void explainVerdicts(Analysis& analysis) {
  for (int n = 0; n < static_cast<int>(analysis.verdicts.size()); ++n) {
    NormVerdict& verdict = analysis.verdicts[static_cast<size_t>(n)];
    switch (verdict.verdict) {
      case Verdict::Free:
        verdict.reason = freeSentence(analysis, verdict);
        break;
      case Verdict::WithCentering:
        verdict.reason = centeringSentence(analysis, verdict);
        break;
      case Verdict::Blocked:
      case Verdict::Unknown:
        explainBlocked(analysis, n);
        break;
    }
  }
}

}  // namespace normlens::analysis
