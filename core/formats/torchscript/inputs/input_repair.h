// Other inputs worth trying after a trial has failed: sizes that would make the numbers fit that met where it failed.
// Private to formats/torchscript: includes torch.
#pragma once

#include <vector>

#include "core/formats/torchscript/inputs/input_fault.h"
#include "core/formats/torchscript/inputs/input_slots.h"

namespace normlens::formats::torchscript {

// The likeliest first. `unknown`: shapes for inputs of which the graph says nothing.
[[nodiscard]] std::vector<InputCandidate> repairs(const InputCandidate& failed, const InputFault& fault,
                                                  const std::vector<InputSlot>& slots,
                                                  const std::vector<graph::Shape>& unknown, graph::DType floats);

}  // namespace normlens::formats::torchscript
