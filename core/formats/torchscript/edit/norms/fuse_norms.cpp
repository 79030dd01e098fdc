// TorchScriptModel::fuseNorms: residual add and norm as one op, with nothing folded.
#include "core/formats/torchscript/edit/apply_new_nodes.h"
#include "core/formats/torchscript/edit/norms/edited_norms.h"
#include "core/formats/torchscript/edit/norms/fusable_norms.h"

namespace normlens::formats::torchscript {
namespace {

const char* fusedOp(const torch::jit::Node& norm) {
  return isLayerNormOp(norm) ? "normlens::add_layer_norm" : "normlens::add_rms_norm";
}

}  // namespace

Result<FusedModel> TorchScriptModel::fuseNorms(const analysis::Norms& norms, const Task& task) const {
  task.report("fusing adds and norms");
  return withEditedNorms(*this, "the norms cannot be fused", [&](FrameEdits& frames) {
    std::vector<std::string> fused;
    FusableNorms fusable(*this);
    for (const auto& norm : analysis::normsOfOneOp(norms)) {
      const auto taken = fusable.take(norm.node);
      if (!taken) continue;
      for (auto& [frame, edit] : fuseNorm(*taken, fusedOp(*taken->norm))) {
        frames[static_cast<size_t>(frame)].push_back(std::move(edit));
      }
      fused.push_back(norm.name);
    }
    return fused;
  });
}

}  // namespace normlens::formats::torchscript
