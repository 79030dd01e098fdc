// Norms that are written out as several nodes become one operator. Private to formats/onnx.
#pragma once

#include <string>
#include <vector>

#include "core/analysis/whole_norm.h"
#include "core/formats/onnx/editable_model.h"
#include "core/formats/onnx/lower.h"

namespace normlens::formats::onnx {

// The first version with LayerNormalization.
inline constexpr int kLayerNormOpset = 17;

class NormJoiner {
 public:
  // opset: of the main graph in the result; bodies of functions keep theirs.
  NormJoiner(const OnnxSource& source, const Lowered& lowered, EditableModel& model, int opset)
      : source_(source), lowered_(lowered), model_(model), opset_(opset) {}

  // Puts LayerNormalization, RMSNormalization where the version has it, or ONNX Runtime's SimplifiedLayerNormalization,
  // which it does not take in functions, in the place of the norm's last node, under the name of the norm and with the
  // output as it was called. False, and nothing is changed, unless all of the norm stands in one body, it has a gamma,
  // and is of a type that these operators take.
  bool join(const analysis::WholeNorm& norm);

 private:
  [[nodiscard]] const char* operatorFor(bool centers, const Body& body) const;
  [[nodiscard]] bool standsTogether(const analysis::WholeNorm& norm, graph::NodeId end) const;
  [[nodiscard]] bool isWholeNode(graph::NodeId node);
  // What a node of the norm calls the value; empty where it does not stand there by itself.
  [[nodiscard]] std::string nameOf(const analysis::WholeNorm& norm, graph::ValueId value, graph::NodeId end);

  const OnnxSource& source_;
  const Lowered& lowered_;
  EditableModel& model_;
  int opset_;
};

}  // namespace normlens::formats::onnx
