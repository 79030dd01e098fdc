// Code that several bodies are to read in a value's place, a run-time centering for one: written once, where the value
// is made, whatever calls lie between. Private to formats/torchscript: includes torch.
#pragma once

#include <vector>

#include "core/formats/torchscript/edit/apply_new_nodes.h"
#include "core/formats/torchscript/edit/apply_variants.h"

namespace normlens::formats::torchscript {

// The value, with the reads that are to see it centered.
struct CenteredReads {
  struct Read {
    OperandSite site;
    torch::jit::Value* value = nullptr;  // what is read there; null: it exists within the op, which is written out
  };
  int frame = 0;  // where the value is made
  std::vector<Read> reads;
  bool writtenInto = false;  // an op changes it in place: every body then centers what it reads
  ReadCode code;
};
[[nodiscard]] CenteredReads::Read readAt(const OperandSite& site);

// A call whose body reads its argument only so is handed the centered value; one that reads it otherwise, too, is
// handed both, and one that makes the value returns both. frames: gets the edits.
void centerAcrossBodies(const Program& program, const CenteredReads& reads, FrameEdits& frames);

}  // namespace normlens::formats::torchscript
