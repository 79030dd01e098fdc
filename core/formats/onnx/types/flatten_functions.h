// A private copy of a model for one session: calls of local functions written out, and taps put behind values.
//
// A tap is a node that reads one value and passes nothing on: when it runs, it notes the value's type and shape (and
// keeps a copy where it is to). So a run shows values inside If, Loop and Scan bodies and inside functions, and no
// value is kept alive longer than in a plain run. Private to formats/onnx; no ONNX Runtime.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

inline constexpr const char* kTapDomain = "normlens.tap";
inline constexpr const char* kTapOp = "Tap";
inline constexpr const char* kTapIndex = "index";

// Describes what the tap with this index reads.
struct TapSite {
  std::string path;                  // as Lowered::valuePath has it
  std::vector<std::string> aliases;  // paths of the outputs of functions that are this value
  std::string op;                    // Names the node that makes it: "Cast 'name'"; empty for inputs.
  bool bfloat16 = false;             // a float32 of the session is bfloat16 in the file
};

// By path: whether the value is to be tapped.
using TapFilter = std::function<bool(const std::string& path)>;

// Replaces all calls of the model's own functions by their bodies; values inside get their path as name, so they are
// unique. With a filter, taps are put behind the values that it accepts and `sites` lists what each one reads.
// prefix: of those paths. Errors: Unsupported where a function is written for other operator versions than the model
// and means something else.
[[nodiscard]] Status flattenFunctions(ModelProto& model, const TapFilter& filter, std::vector<TapSite>& sites,
                                      const std::string& prefix = {});

}  // namespace normlens::formats::onnx
