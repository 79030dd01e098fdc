// Repeats recorded edits of the translated program on its documents. Private to formats/pt2: includes torch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/formats/pt2/translate/program.h"
#include "core/formats/pt2/write/document_editor.h"
#include "core/formats/torchscript/edit/apply_variants.h"

namespace normlens::formats::pt2 {

// `added`: what a tensor that the edited module has under a new name is called in the program's own graph. Throws
// EditRefused, BrokenDocument.
[[nodiscard]] ProgramFile repeatEdits(const Program& program, DocumentEditor& editor,
                                      const std::vector<torchscript::BodyEdit>& edits,
                                      const std::map<std::string, std::string>& added);

}  // namespace normlens::formats::pt2
