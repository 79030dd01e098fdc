// TorchScriptModel::fuseNorms: residual add and norm as one op, with nothing folded.
#include "core/formats/torchscript/apply_new_nodes.h"
#include "core/formats/torchscript/edited_norms.h"
#include "core/formats/torchscript/fusable_norms.h"

namespace normlens::formats::torchscript {
namespace {

struct NormNode {
  std::string name;
  graph::NodeId node;
};

std::vector<NormNode> normsOf(const analysis::Norms& norms) {
  std::vector<NormNode> nodes;
  for (const auto& norm : norms.layerNorms) {
    if (norm.form == analysis::NormForm::Op) nodes.push_back({norm.name, norm.node});
  }
  for (const auto& norm : norms.others) {
    if (norm.kind == "RMSNorm" && norm.form == analysis::NormForm::Op) nodes.push_back({norm.name, norm.node});
  }
  return nodes;
}

FusedNorm fusedNorm(const NormSite& site, const graph::Node& node) {
  const bool layer = isLayerNormOp(*site.norm);
  const auto given = [&](size_t operand) {
    return operand < node.operands.size() && node.operands[operand] != graph::kNoValue;
  };
  return {site, layer ? "normlens::layer_norm" : "normlens::rms_norm",
          layer ? "normlens::add_layer_norm" : "normlens::add_rms_norm", given(1), given(2)};
}

}  // namespace

Result<FusedModel> TorchScriptModel::fuseNorms(const analysis::Norms& norms, const Task& task) const {
  task.report("fusing adds and norms");
  return withEditedNorms(*this, "the norms cannot be fused", [&](FrameEdits& frames) {
    std::vector<std::string> fused;
    for (const NormNode& norm : normsOf(norms)) {
      // Calls of a submodule's body are replaced, bodies of submodules are not changed.
      const auto found = findFusable(*this, norm.node, [](int) { return true; });
      if (!found) continue;
      frames[static_cast<size_t>(found->frame)].push_back(fuseNorm(fusedNorm(found->site, graph().node(norm.node))));
      fused.push_back(norm.name);
    }
    return fused;
  });
}

}  // namespace normlens::formats::torchscript
