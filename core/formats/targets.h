// What runs a folded file (command line: --for), and which norm each loads: one row for each.
//
// What a row says is known from tests of this project, which run folds there (`ran`), or from the runtime's own
// documentation and issues. `source` names them: tests/conformance/test_targets.py --write puts there what ran, and the
// day. Thread: constant data.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "core/formats/model.h"

namespace normlens::formats {

struct Target {
  // The norm for a file format; of several rows of one format the first whose version is not newer than the wanted.
  struct Form {
    std::string_view format;  // as ModelFacts::format; empty: no row
    NormFlavour flavour = NormFlavour::Portable;
    int major = 0, minor = 0;
  };
  std::string_view name;   // "onnxruntime", of --for
  std::string_view title;  // "ONNX Runtime"
  std::array<Form, 4> forms;
  std::string_view speed;         // Which form is fast there.
  bool squaresInFloat16 = false;  // of a float16 model, or by itself
  std::string_view range;         // What that means, and what to do.
  std::string_view limits;        // What it cannot take.
  std::string_view source;        // How this is known.
  bool ran = false;               // Folds were run there, in tests of this project.
};
[[nodiscard]] std::span<const Target> targets();

struct TargetForm {
  const Target* target = nullptr;
  NormFlavour flavour = NormFlavour::Portable;
};
// Returns the norm to write into a file of this format for "openvino" or "torch@2.3".
// Errors: Usage: no such target or version, or it loads no file of this format.
[[nodiscard]] Result<TargetForm> formFor(std::string_view wanted, std::string_view format);

// Returns the operators that stand in a LayerNorm's place: "RMSNormalization", "Pow, ReduceMean, Add, Sqrt, Div".
[[nodiscard]] std::string_view operatorsOf(NormFlavour flavour, std::string_view format);

// Returns what loads operatorsOf(), for a fold that names no target.
[[nodiscard]] std::string_view loadedBy(NormFlavour flavour, std::string_view format);

}  // namespace normlens::formats
