// An edited module as a document again: what differs from the translation is written into a copy of the program's JSON
// and tables, everything else stays byte for byte. Private to formats/pt2: includes torch.
#pragma once

#include <map>
#include <string>

#include "core/fold/stream_edits.h"
#include "core/formats/pt2/translate/program.h"
#include "core/formats/torchscript/model/torchscript_model.h"

namespace normlens::formats::pt2 {

struct WrittenProgram {
  ProgramFile file;
  std::map<std::string, at::Tensor> tensors;  // that the file holds, by FQN
  std::map<std::string, at::Tensor> written;  // records, by name
};

// `before`: the translation's module, or a copy in another type; `after`: an edited copy of it; `narrow`: values of
// `before` that have another size in it. Throws EditRefused for what has no form in the file, BrokenDocument.
[[nodiscard]] WrittenProgram writeBack(const Program& program, const torchscript::TorchScriptModel& before,
                                       const torchscript::TorchScriptModel& after,
                                       const std::vector<fold::NarrowValue>& narrow);

}  // namespace normlens::formats::pt2
