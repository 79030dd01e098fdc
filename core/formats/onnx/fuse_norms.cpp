// OnnxModel::joinNorms and fuseNorms: norms that are written out, and residual adds with their norms, as one op each,
// with nothing folded.
#include <algorithm>
#include <functional>
#include <optional>

#include "core/formats/onnx/fuse_adds.h"
#include "core/formats/onnx/join_norms.h"
#include "core/formats/onnx/lift_opset.h"
#include "core/formats/onnx/onnx_model.h"

namespace normlens::formats::onnx {
namespace {

struct NormNode {
  std::string name;
  const NodeProto* node = nullptr;
};

// Bodies of functions are left as they are; so are norms that are still written out as several nodes, and those that
// ONNX Runtime has fused already.
std::vector<NormNode> normsOf(const analysis::Norms& norms, const Lowered& lowered, EditableModel& model) {
  std::vector<NormNode> nodes;
  const auto note = [&](const std::string& name, graph::NodeId node) {
    const NodePath& path = lowered.nodePath[static_cast<size_t>(node)];
    if (!insideFunction(path)) nodes.push_back({name, model.at(path, 0).node});
  };
  for (const auto& norm : norms.layerNorms) {
    if (norm.form == analysis::NormForm::Op) note(norm.name, norm.node);
  }
  for (const auto& norm : norms.others) {
    if (norm.kind == "RMSNorm" && norm.form != analysis::NormForm::Decomposed) note(norm.name, norm.node);
  }
  return nodes;
}

// `edit` gives the names of the norms that it edits.
Result<FusedModel> withEditedNorms(const OnnxModel& model, const std::string& failed,
                                   const std::function<std::vector<std::string>(EditableModel&)>& edit) {
  try {
    EditableModel edited(model.source());
    FusedModel result;
    result.fused = edit(edited);
    OnnxSource source = model.source();
    source.skeleton = edited.finish();
    source.weights = edited.takeWeights();
    auto made = OnnxModel::fromSource(std::move(source), model.facts());
    if (!made) return tl::unexpected<Error>(made.error());
    result.model = std::move(*made);
    return result;
  } catch (const EditRefused& refused) {
    return fail(ErrorCode::Refused, failed + ": " + refused.what());
  } catch (const std::exception& error) {
    return fail(ErrorCode::Internal, failed + ": " + error.what());
  }
}

// To the first version with LayerNormalization, where a norm needs it and it can be done.
std::optional<OpsetLift> liftFor(const std::vector<analysis::JoinableNorm>& norms, const Lowered& lowered,
                                 EditableModel& model) {
  const bool wanted = std::ranges::any_of(norms, [](const auto& named) { return named.norm.centers; });
  if (!wanted || model.opset(model.main()) >= kLayerNormOpset) return std::nullopt;
  auto lift = OpsetLift::plan(model, lowered, kLayerNormOpset);
  return lift ? std::optional(std::move(*lift)) : std::nullopt;
}

}  // namespace

Result<FusedModel> OnnxModel::joinNorms(const analysis::Norms& norms, const Task& task) const {
  const auto joinable = analysis::joinableNorms(graph(), norms, /*rmsWithBeta=*/false);
  if (joinable.empty()) return FusedModel{};
  task.report("joining norms that are written out");
  return withEditedNorms(*this, "the norms cannot be joined", [&](EditableModel& edited) {
    const auto lift = liftFor(joinable, lowered_, edited);
    NormJoiner joiner(source_, lowered_, edited, lift ? kLayerNormOpset : edited.opset(edited.main()));
    std::vector<std::string> joined;
    for (const auto& [name, norm] : joinable) {
      if (joiner.join(norm)) joined.push_back(name);
    }
    edited.finishNodes();
    if (lift && !joined.empty()) lift->apply(edited);
    return joined;
  });
}

Result<FusedModel> OnnxModel::fuseNorms(const analysis::Norms& norms, const Task& task) const {
  task.report("fusing adds and norms");
  return withEditedNorms(*this, "the norms cannot be fused", [&](EditableModel& edited) {
    const PlainAdds adds = findPlainAdds(source_, lowered_, edited);
    const auto candidates = normsOf(norms, lowered_, edited);
    const auto fusedNodes = fuseAdds(edited, adds, [&](const NodeProto& node) {
      return std::ranges::find(candidates, &node, &NormNode::node) != candidates.end();
    });
    std::vector<std::string> fused;
    for (const NormNode& norm : candidates) {
      if (fusedNodes.contains(norm.node)) fused.push_back(norm.name);
    }
    return fused;
  });
}

}  // namespace normlens::formats::onnx
