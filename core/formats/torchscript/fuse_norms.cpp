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

FusedNorm fusedNorm(const NormSite& site, const graph::Node& node) {
  const bool layer = site.norm->kind() == c10::aten::layer_norm;
  const auto given = [&](size_t operand) {
    return operand < node.operands.size() && node.operands[operand] != graph::kNoValue;
  };
  return {site, layer ? "normlens::layer_norm" : "normlens::rms_norm",
          layer ? "normlens::add_layer_norm" : "normlens::add_rms_norm", given(1), given(2)};
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
    for (const NormNode& norm : normsOf(norms)) {
      // Calls of a submodule's body are replaced, bodies of submodules are not changed.
      const auto found = findFusable(*this, norm.node, [](int) { return true; });
      if (!found) continue;
      frames[static_cast<size_t>(found->frame)].push_back(fuseNorm(fusedNorm(found->site, graph().node(norm.node))));
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
