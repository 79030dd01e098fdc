// Indices of lookups, checked before the op runs. On a GPU an index beyond the rows fails an assertion, after which the
// process can run nothing there any more; on the CPU torch's own error names no weight.
// Private to formats/torchscript: includes torch.
#pragma once

#include <stdexcept>
#include <vector>

#include "core/formats/torchscript/program/program.h"

namespace normlens::formats::torchscript {

// Its text is a sentence: "wpe.weight has 1024 rows, and the inputs need 2048".
struct LookupBeyond : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws LookupBeyond where `node` is a lookup and one of its indices is beyond what it reads. inputs: the node's, on
// any device; the check waits for the indices.
void checkLookup(const Program& program, const ProgramNode& node, const std::vector<c10::IValue>& inputs);

}  // namespace normlens::formats::torchscript
