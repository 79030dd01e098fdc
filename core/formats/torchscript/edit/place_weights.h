// Writes the changed tensors of a fold into the copied module. Private to formats/torchscript: includes torch.
//
// Each place that holds a constant (attribute or graph constant) gets the version that its reads want; reads that want
// another one than their place holds are redirected to a new attribute.
#pragma once

#include "core/formats/edit/weight_versions.h"
#include "core/formats/torchscript/edit/apply_variants.h"
#include "core/formats/torchscript/lower/lowered_model.h"

namespace normlens::formats::torchscript {

// Says what the copy differs in. Throws EditRefused, c10::Error.
void placeWeights(const LoweredModel& model, const WeightVersions& weights, FrameEdits& frames,
                  EditsByInstance& instances);

// A tensor that the module holds from now on. Returns its name: `wanted`, or that with a number.
std::string addAttribute(EditsByInstance& instances, const ObjectPtr& self, const std::string& wanted,
                         const at::Tensor& tensor, bool parameter);
// What is held there is a parameter of a module.
[[nodiscard]] bool isParameter(const TensorSite& site);

}  // namespace normlens::formats::torchscript
