// A model whose norms are written as other operators, with nothing folded. Private to formats/onnx.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/formats/norm_fuser.h"
#include "core/formats/onnx/edit/editable_model.h"
#include "core/formats/onnx/read/onnx_model.h"

namespace normlens::formats::onnx {

// `edit` gives the names of the norms that it edits; `failed` is what cannot be done where it throws: "the norms cannot
// be fused". Errors: Refused.
[[nodiscard]] Result<FusedModel> withEditedNorms(const OnnxModel& model, const std::string& failed,
                                                 const std::function<std::vector<std::string>(EditableModel&)>& edit);

}  // namespace normlens::formats::onnx
