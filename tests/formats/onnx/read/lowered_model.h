// Small models as the graph that they are lowered to.
#pragma once

#include <gtest/gtest.h>

#include "core/formats/onnx/lower/lower.h"
#include "tests/formats/onnx/onnx_fixture.h"

namespace normlens::formats::onnx {

using graph::Node;

inline Lowered lowered(const ModelProto& model) {
  Lowered out = lowerModel(sourceOf(model), nullptr);
  const auto sound = graph::checkGraph(out.graph);
  EXPECT_TRUE(sound) << sound.error().message;
  return out;
}

inline Lowered lowered(std::string_view text) { return lowered(modelFromText(text)); }

// "Add Permute[2] ...": kinds in order, with the parts of fused operators in brackets.
inline std::string kindsOf(const Lowered& model) {
  std::string out;
  for (const auto id : model.graph.executionOrder()) {
    const auto& part = model.part[static_cast<size_t>(id)];
    out += (out.empty() ? "" : " ") + std::string(graph::opKindName(model.graph.node(id).kind));
    if (!part.empty()) out += "[" + part + "]";
  }
  return out;
}

inline const Node& last(const Lowered& model) { return model.graph.nodes.back(); }

// One operator: opset, input types, then the text of the node.
inline Lowered one(int opset, const std::string& inputs, const std::string& node,
                   const std::string& domain = "com.microsoft") {
  return lowered("<ir_version: 8, opset_import: [\"\": " + std::to_string(opset) + ", \"" + domain + "\": 1]> m (" +
                 inputs + ") => (float[A, B] y) { " + node + " }");
}

}  // namespace normlens::formats::onnx
