// Element types of all values of a flat model. Private to formats/onnx; no ONNX Runtime.
#pragma once

#include <string>
#include <unordered_map>

#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

inline constexpr int32_t kUnknownType = 0;
inline constexpr int32_t kNotATensor = -1;  // a sequence, a map, an optional

// Names of one graph; those of the graphs around it through `outer`.
class ElementTypes {
 public:
  ElementTypes(const GraphProto& graph, const ElementTypes* outer);
  [[nodiscard]] int32_t of(const std::string& name) const;
  void set(const std::string& name, int32_t type) { types_[name] = type; }

 private:
  const ElementTypes* outer_;
  std::unordered_map<std::string, int32_t> types_;
};

// Fills value_info by shape inference as far as it goes. Operators that the onnx library does not know are stepped
// over, but for the doubles that ONNX Runtime's own operators make of doubles.
void inferTypes(ModelProto& model);

}  // namespace normlens::formats::onnx
