// OnnxModel::fuseNorms: residual add and norm as one op, with nothing folded.
#include <algorithm>

#include "core/formats/onnx/fuse_adds.h"
#include "core/formats/onnx/onnx_model.h"

namespace normlens::formats::onnx {
namespace {

struct NormNode {
  std::string name;
  const NodeProto* node = nullptr;
};

// Bodies of functions are left as they are; so are norms written out as several nodes, and those that ONNX Runtime has
// fused already.
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
    if (norm.kind == "RMSNorm") note(norm.name, norm.node);
  }
  return nodes;
}

}  // namespace

Result<FusedModel> OnnxModel::fuseNorms(const analysis::Norms& norms, const Task& task) const {
  try {
    task.report("fusing adds and norms");
    EditableModel edited(source_);
    const PlainAdds adds = findPlainAdds(source_, lowered_, edited);
    const auto candidates = normsOf(norms, lowered_, edited);
    const auto fusedNodes = fuseAdds(edited, adds, [&](const NodeProto& node) {
      return std::ranges::find(candidates, &node, &NormNode::node) != candidates.end();
    });
    FusedModel result;
    for (const NormNode& norm : candidates) {
      if (fusedNodes.contains(norm.node)) result.fused.push_back(norm.name);
    }
    OnnxSource fused = source_;
    fused.skeleton = edited.finish();
    fused.weights = edited.takeWeights();
    auto model = fromSource(std::move(fused), facts_);
    if (!model) return tl::unexpected<Error>(model.error());
    result.model = std::move(*model);
    return result;
  } catch (const EditRefused& refused) {
    return fail(ErrorCode::Refused, std::string("the norms cannot be fused: ") + refused.what());
  } catch (const std::exception& error) {
    return fail(ErrorCode::Internal, std::string("the norms cannot be fused: ") + error.what());
  }
}

}  // namespace normlens::formats::onnx
