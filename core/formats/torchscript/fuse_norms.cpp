// TorchScriptModel::fuseNorms: residual add and norm as one op, with nothing folded.
#include <algorithm>

#include "core/formats/edit_refused.h"
#include "core/formats/torchscript/fast_norm.h"
#include "core/formats/torchscript/fusable_norms.h"
#include "core/formats/torchscript/rebuild.h"

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
    if (norm.kind == "RMSNorm") nodes.push_back({norm.name, norm.node});
  }
  return nodes;
}

const char* fusedOp(const torch::jit::Node& norm) {
  return norm.kind() == c10::aten::layer_norm ? "normlens::add_layer_norm" : "normlens::add_rms_norm";
}

}  // namespace

Result<FusedModel> TorchScriptModel::fuseNorms(const analysis::Norms& norms, const Task& task) const {
  if (!fastNormAvailable()) {
    return fail(ErrorCode::Unsupported, "the operators of libnormlens_ops.so are not available here",
                "build NormLens with its kernels");
  }
  try {
    const c10::InferenceMode noGradients(false);
    task.report("fusing adds and norms");
    FrameEdits frames(program_.frames.size());
    FusedModel result;
    FusableNorms fusable(*this);
    for (const NormNode& norm : normsOf(norms)) {
      const auto fused = fusable.take(norm.node);
      if (!fused) continue;
      for (auto& [frame, edit] : fuseNorm(*fused, fusedOp(*fused->norm))) {
        frames[static_cast<size_t>(frame)].push_back(std::move(edit));
      }
      result.fused.push_back(norm.name);
    }
    auto model = rebuild(*this, frames, otherEntries(source_.module), {});
    if (!model) return tl::unexpected<Error>(model.error());
    result.model = std::move(*model);
    return result;
  } catch (const EditRefused& refused) {
    return fail(ErrorCode::Refused, std::string("the norms cannot be fused: ") + refused.what());
  } catch (const c10::Error& error) {
    return fail(ErrorCode::Internal, std::string("the norms cannot be fused: ") + error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(ErrorCode::Internal, std::string("the norms cannot be fused: ") + error.what());
  }
}

}  // namespace normlens::formats::torchscript
