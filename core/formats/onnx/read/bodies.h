// The graphs that nodes hold: the bodies of If, Loop and Scan, and lists of graphs. Private to formats/onnx.
#pragma once

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <concepts>
#include <string>

namespace normlens::formats::onnx {

// Calls visit(body) or visit(body, name of the attribute).
template <class Node, class Visit>
void eachBody(Node& node, const Visit& visit) {
  const auto give = [&](auto& body, const std::string& name) {
    if constexpr (std::invocable<const Visit&, decltype(body), const std::string&>) {
      visit(body, name);
    } else {
      visit(body);
    }
  };
  if constexpr (std::is_const_v<Node>) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) give(attribute.g(), attribute.name());
      for (const auto& body : attribute.graphs()) give(body, attribute.name());
    }
  } else {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) give(*attribute.mutable_g(), attribute.name());
      for (auto& body : *attribute.mutable_graphs()) give(body, attribute.name());
    }
  }
}

// Calls visit(node) for every node of a list and of all bodies in it, outer ones first.
template <class Nodes, class Visit>
void eachNode(Nodes& nodes, const Visit& visit) {
  for (auto& node : nodes) {
    visit(node);
    eachBody(node, [&](auto& body) {
      if constexpr (std::is_const_v<std::remove_reference_t<decltype(body)>>) {
        eachNode(body.node(), visit);
      } else {
        eachNode(*body.mutable_node(), visit);
      }
    });
  }
}

// Of main graph, bodies and functions.
template <class Visit>
void eachNode(const ::ONNX_NAMESPACE::ModelProto& model, const Visit& visit) {
  eachNode(model.graph().node(), visit);
  for (const auto& function : model.functions()) eachNode(function.node(), visit);
}

[[nodiscard]] inline bool holdsBody(const ::ONNX_NAMESPACE::NodeProto& node) {
  return std::ranges::any_of(node.attribute(),
                             [](const auto& attribute) { return attribute.has_g() || attribute.graphs_size() > 0; });
}

}  // namespace normlens::formats::onnx
