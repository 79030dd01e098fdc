// A model whose norms are written as operators of libnormlens_ops.so. Private to formats/torchscript: includes torch.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/formats/norm_fuser.h"
#include "core/formats/torchscript/edit/rebuild.h"

namespace normlens::formats::torchscript {

// `edit` adds to the edits of the bodies and gives the names of the norms that it edits; `failed` is what cannot be
// done where it throws: "the norms cannot be fused". Errors: Unsupported where there is no such library, Refused.
[[nodiscard]] Result<FusedModel> withEditedNorms(const TorchScriptModel& model, const std::string& failed,
                                                 const std::function<std::vector<std::string>(FrameEdits&)>& edit);

}  // namespace normlens::formats::torchscript
