// Which values share memory, and what in-place ops therefore mean. Private to formats/torchscript: includes torch.
#pragma once

#include <set>

#include "core/formats/torchscript/program/module_index.h"
#include "core/formats/torchscript/program/program.h"

namespace normlens::formats::torchscript {

// Lists the parts of the module's own state that a program writes into, other than by SetAttr.
struct StateWrites {
  std::set<const c10::StorageImpl*> memory;  // of tensors
  Attributes attributes;                     // containers that gain, lose or replace elements
};

[[nodiscard]] bool holdsWritten(const at::Tensor& tensor, const StateWrites& writes);

// Fills program.inPlace, the volatileReason of constants that the program writes, and sets writesState where it does.
// If it finds attributes, elements of theirs may have been taken for known that are not.
// See memory_sharing.h for what shares memory.
StateWrites analyseInPlace(Program& program, const ModuleIndex& index);

}  // namespace normlens::formats::torchscript
