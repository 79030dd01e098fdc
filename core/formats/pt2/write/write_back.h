// Recorded edits of the translated module, made on a copy of the program's JSON and tables; everything else stays byte
// for byte. Private to formats/pt2: includes torch.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/fold/stream_edits.h"
#include "core/formats/pt2/translate/program.h"
#include "core/formats/torchscript/edit/apply_variants.h"
#include "core/formats/torchscript/model/torchscript_model.h"

namespace normlens::formats::pt2 {

struct WrittenProgram {
  std::shared_ptr<Program> program;           // its signature and translation are those of read()
  std::map<std::string, at::Tensor> tensors;  // that the file holds, by FQN

  // Anew, after the document has changed.
  void read() const;
};

// `model`: the translation's module, or a copy in another type, of which the edits are; `narrow`: values of it that
// have another size after them. Throws EditRefused for what has no form in the file, BrokenDocument.
[[nodiscard]] WrittenProgram writeBack(const Program& program, const torchscript::TorchScriptModel& model,
                                       const torchscript::RecordedEdits& recorded,
                                       const std::vector<fold::NarrowValue>& narrow);

// Describes values whose sizes an edit has changed along axes that the program fixes: between a narrow weight and
// a stream, and at new nodes. `probed`: the program's own module, after a probe. Symbols stay. Throws BrokenDocument.
void describeSizes(Program& program, const torchscript::TorchScriptModel& probed);

}  // namespace normlens::formats::pt2
