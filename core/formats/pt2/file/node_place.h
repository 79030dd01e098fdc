// Reads where a node of an exported program was written: the modules around it and the source line, from its metadata.
// No torch here. Nothing relies on it: what cannot be read is left out.
#pragma once

#include <string>
#include <vector>

#include "core/formats/pt2/file/json.h"

namespace normlens::formats::pt2 {

struct ModuleOnStack {
  std::string path;       // "transformer.h.0.ln_1"; "" for the model
  std::string className;  // "LayerNorm"
};
// From the model inwards; empty where the node has none.
[[nodiscard]] std::vector<ModuleOnStack> moduleStack(const Json& node);

struct SourceLine {
  std::string file;  // "modeling_gpt2.py", with whatever folders the file names
  int line = 0;      // 0: not known
};
// The innermost line of its stack trace.
[[nodiscard]] SourceLine sourceLine(const Json& node);

}  // namespace normlens::formats::pt2
