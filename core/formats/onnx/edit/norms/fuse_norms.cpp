// OnnxModel::fuseNorms: residual adds and their norms as one operator, with nothing folded.
#include <unordered_set>

#include "core/formats/onnx/edit/fuse_adds.h"
#include "core/formats/onnx/edit/norms/edited_norms.h"

namespace normlens::formats::onnx {
namespace {

struct NormNode {
  std::string name;
  const NodeProto* node = nullptr;
};

// Bodies of functions are left as they are.
std::vector<NormNode> normsOf(const analysis::Norms& norms, const Lowered& lowered, EditableModel& model) {
  std::vector<NormNode> nodes;
  for (const auto& norm : analysis::normsOfOneOp(norms)) {
    const NodePath& path = lowered.nodePath[static_cast<size_t>(norm.node)];
    if (!insideFunction(path)) nodes.push_back({norm.name, model.at(path, 0).node});
  }
  return nodes;
}

}  // namespace

Result<FusedModel> OnnxModel::fuseNorms(const analysis::Norms& norms, const Task& task) const {
  task.report("fusing adds and norms");
  return withEditedNorms(*this, "the norms cannot be fused", [&](EditableModel& edited) {
    const PlainAdds adds = findPlainAdds(source_, lowered_, edited);
    const auto candidates = normsOf(norms, lowered_, edited);
    std::unordered_set<const NodeProto*> wanted;
    for (const NormNode& norm : candidates) wanted.insert(norm.node);
    const auto fusedNodes = fuseAdds(edited, adds, [&](const NodeProto& node) { return wanted.contains(&node); });
    std::vector<std::string> fused;
    for (const NormNode& norm : candidates) {
      if (fusedNodes.contains(norm.node)) fused.push_back(norm.name);
    }
    return fused;
  });
}

}  // namespace normlens::formats::onnx
