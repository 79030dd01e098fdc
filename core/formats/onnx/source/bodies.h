// The graphs and tensors that nodes hold: the bodies of If, Loop and Scan, and what attributes have. Private to
// formats/onnx.
#pragma once

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

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
    }
  } else {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) give(*attribute.mutable_g(), attribute.name());
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

// Calls visit(node) for every node of the main graph, bodies and functions.
template <class Visit>
void eachNode(const ::ONNX_NAMESPACE::ModelProto& model, const Visit& visit) {
  eachNode(model.graph().node(), visit);
  for (const auto& function : model.functions()) eachNode(function.node(), visit);
}

// The attribute of that name; null: there is none.
template <class Node>
[[nodiscard]] auto* findAttribute(Node& node, std::string_view name) {
  if constexpr (std::is_const_v<Node>) {
    const auto found = std::ranges::find(node.attribute(), name, &::ONNX_NAMESPACE::AttributeProto::name);
    return found == node.attribute().end() ? nullptr : &*found;
  } else {
    const auto found = std::ranges::find(*node.mutable_attribute(), name, &::ONNX_NAMESPACE::AttributeProto::name);
    return found == node.mutable_attribute()->end() ? nullptr : &*found;
  }
}

[[nodiscard]] inline bool holdsBody(const ::ONNX_NAMESPACE::NodeProto& node) {
  return std::ranges::any_of(node.attribute(), [](const auto& attribute) { return attribute.has_g(); });
}

// Calls visit(name) for every name that the nodes and outputs of a body read, and of the bodies in it; those that they
// make themselves too.
template <class Visit>
void eachRead(const ::ONNX_NAMESPACE::GraphProto& body, const Visit& visit) {
  for (const auto& node : body.node()) {
    for (const auto& input : node.input()) visit(input);
    eachBody(node, [&](const auto& inner) { eachRead(inner, visit); });
  }
  for (const auto& output : body.output()) visit(output.name());
}

// Does the same for what a node and its bodies read.
template <class Visit>
void eachRead(const ::ONNX_NAMESPACE::NodeProto& node, const Visit& visit) {
  for (const auto& input : node.input()) visit(input);
  eachBody(node, [&](const auto& body) { eachRead(body, visit); });
}

// Calls visit(message) for a part of a model and all messages in it but texts, at whatever depth, outer ones first.
template <class Visit>
void eachMessage(::google::protobuf::Message& part, const Visit& visit) {
  visit(part);
  const auto* reflection = part.GetReflection();
  std::vector<const ::google::protobuf::FieldDescriptor*> given;
  reflection->ListFields(part, &given);
  for (const auto* field : given) {
    const auto* held = field->message_type();  // null: a number or a text
    if (held == nullptr || held == ::ONNX_NAMESPACE::StringStringEntryProto::descriptor()) continue;
    const int count = field->is_repeated() ? reflection->FieldSize(part, field) : 1;
    for (int i = 0; i < count; ++i) {
      eachMessage(field->is_repeated() ? *reflection->MutableRepeatedMessage(&part, field, i)
                                       : *reflection->MutableMessage(&part, field),
                  visit);
    }
  }
}

// Calls visit(tensor) for every TensorProto in it.
template <class Visit>
void eachTensor(::google::protobuf::Message& part, const Visit& visit) {
  eachMessage(part, [&](::google::protobuf::Message& message) {
    if (message.GetDescriptor() == ::ONNX_NAMESPACE::TensorProto::descriptor())
      visit(static_cast<::ONNX_NAMESPACE::TensorProto&>(message));
  });
}

// Takes out of a repeated field what keep(item) is false for; the others stay where they are in memory.
template <class Field, class Keep>
void keepOnly(Field& field, const Keep& keep) {
  const auto end =
      std::stable_partition(field.pointer_begin(), field.pointer_end(), [&](const auto* item) { return keep(*item); });
  field.DeleteSubrange(static_cast<int>(end - field.pointer_begin()), static_cast<int>(field.pointer_end() - end));
}

}  // namespace normlens::formats::onnx
