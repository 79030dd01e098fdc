#include "core/formats/torchscript/edit/norms/edited_norms.h"

#include "core/formats/torchscript/edit/norms/fast_norm.h"
#include "core/formats/torchscript/program/error_text.h"

namespace normlens::formats::torchscript {

Result<FusedModel> withEditedNorms(const TorchScriptModel& model, const std::string& failed,
                                   const std::function<std::vector<std::string>(FrameEdits&)>& edit) {
  if (!fastNormAvailable()) {
    return fail(ErrorCode::Unsupported, "the operators of libnormlens_ops.so are not available here",
                "build NormLens with its kernels");
  }
  try {
    const c10::InferenceMode noGradients(false);
    FrameEdits frames(model.program().frames.size());
    FusedModel result;
    result.fused = edit(frames);
    auto edited = rebuild(model, frames, model.program().others, {});
    if (!edited) return tl::unexpected<Error>(edited.error());
    result.model = std::move(*edited);
    return result;
  } catch (...) {
    return tl::unexpected(torchEditError(failed));
  }
}

}  // namespace normlens::formats::torchscript
