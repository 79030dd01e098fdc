#include "core/formats/onnx/edit/norms/edited_norms.h"

#include "core/formats/edit/edit_refused.h"

namespace normlens::formats::onnx {

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
  } catch (...) {
    return tl::unexpected(editError(failed));
  }
}

}  // namespace normlens::formats::onnx
