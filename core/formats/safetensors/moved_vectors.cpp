#include "core/formats/safetensors/moved_vectors.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/fold/work.h"
#include "core/formats/edit/edit_refused.h"

namespace normlens::formats::safetensors {
namespace {

using graph::ConstantId;
using graph::OpKind;

std::string nodeName(const graph::Node& node) { return "'" + (node.name.empty() ? node.op : node.name) + "'"; }

// The constant that an operand is, behind ops that move its elements and that nothing else reads, and its read.
MovedVector vectorBehind(const graph::Graph& graph, graph::Use use) {
  const auto& scaling = graph.node(use.node);
  for (;;) {
    const graph::ValueId id = graph.node(use.node).operands.at(static_cast<size_t>(use.operand));
    if (id == graph::kNoValue) break;
    const auto& value = graph.value(id);
    if (value.constant != graph::kNone) return {value.constant, -1, {use}};
    if (value.producer == graph::kNone || value.uses.size() != 1) break;
    const OpKind kind = graph.node(value.producer).kind;
    const bool moves = kind == OpKind::Reshape || kind == OpKind::Permute || kind == OpKind::Identity ||
                       kind == OpKind::Expand || kind == OpKind::Cast;
    if (!moves) break;
    use = {value.producer, 0, graph::kNone};
  }
  throw EditRefused(
      "the scale of " + nodeName(scaling) +
      " would move into a weight, but it is no tensor that could become ones, so that a class which is not "
      "changed would scale twice");
}

MovedVector scaleOf(const graph::Graph& graph, const fold::AbsorbScale& edit) {
  const auto& node = graph.node(edit.scaleNode);
  const bool plain = (node.kind == OpKind::Mul || node.kind == OpKind::Div) && !edit.nodeStays &&
                     std::ranges::all_of(edit.parts, [](const auto& part) { return part.addend.empty(); });
  if (!plain)
    throw EditRefused("the scale of " + nodeName(node) +
                      ", a BatchNorm, would move into a weight, and a class which is not changed would scale twice");
  return vectorBehind(graph, {edit.scaleNode, 1 - edit.dataOperand, graph::kNone});
}

MovedVector shiftOf(const graph::Graph& graph, const fold::AbsorbShift& edit) {
  const auto& node = graph.node(edit.shiftNode);
  const auto constant = graph.value(node.operands.at(static_cast<size_t>(edit.shiftOperand))).constant;
  if (constant == graph::kNone) throw EditRefused("the shift of " + nodeName(node) + " is not a constant");
  return {constant, edit.norm, {{edit.shiftNode, edit.shiftOperand, graph::kNone}}};
}

}  // namespace

std::vector<MovedVector> movedVectors(const fold::FoldPlan& plan, const graph::Graph& graph) {
  std::vector<MovedVector> all;
  const auto add = [&](MovedVector vector) {
    const auto known = std::ranges::find(all, vector.constant, &MovedVector::constant);
    if (known == all.end()) {
      all.push_back(std::move(vector));
    } else {
      known->moved.push_back(vector.moved[0]);
    }
  };
  for (const auto& edit : plan.edits) {
    if (const auto* scale = std::get_if<fold::AbsorbScale>(&edit)) add(scaleOf(graph, *scale));
    if (const auto* shift = std::get_if<fold::AbsorbShift>(&edit)) add(shiftOf(graph, *shift));
  }
  return all;
}

void checkAllMoved(const MovedVector& vector, const graph::Graph& graph, const graph::Uses& uses) {
  for (const graph::Use& use : uses) {
    const bool gone = std::ranges::any_of(
        vector.moved, [&](const graph::Use& moved) { return moved.node == use.node && moved.operand == use.operand; });
    if (gone) continue;
    const std::string reader = use.node == graph::kNone ? "an output" : nodeName(graph.node(use.node));
    throw EditRefused("'" + graph.constant(vector.constant).name + "' would move into what comes behind it, but " +
                      reader + " reads it as well");
  }
}

std::map<ConstantId, std::string> constantsOf(const fold::FoldPlan& plan, const std::vector<MovedVector>& moved,
                                              const graph::Graph& graph) {
  std::map<ConstantId, std::string> all;
  const auto name = [&](ConstantId constant) { return "'" + graph.constant(constant).name + "'"; };
  const auto add = [&](ConstantId constant, const std::string& why) { all.try_emplace(constant, why); };
  for (const auto& edit : plan.edits) {
    if (const auto* shift = std::get_if<fold::AbsorbShift>(&edit)) {
      const auto beta = std::ranges::find_if(moved, [&](const MovedVector& v) { return v.norm == shift->norm; });
      const std::string what = beta == moved.end() ? "a β" : name(beta->constant);
      for (const auto& part : shift->parts) {
        add(part.bias, "the shift " + what + " has to go into " + name(part.bias));
        add(part.weight, "the shift " + what + " goes through " + name(part.weight));
      }
    }
  }
  for (const auto& edit : plan.edits) {
    if (const auto* scale = std::get_if<fold::AbsorbScale>(&edit)) {
      for (const auto& part : scale->parts) add(part.constant, name(part.constant) + " is to be scaled");
    } else if (const auto* center = std::get_if<fold::CenterConstant>(&edit)) {
      for (const auto& part : center->parts) add(part.constant, name(part.constant) + " is to be centered");
    }
  }
  for (const auto& vector : moved) add(vector.constant, name(vector.constant) + " is to move");
  return all;
}

graph::TensorView filledLike(const graph::TensorView& view, float number) {
  graph::TensorView filled = view;
  const auto count = static_cast<size_t>(graph::elementCount(view.shape).value_or(0));
  const auto memory = std::make_shared<std::vector<std::byte>>(count * graph::dtypeBytes(view.dtype));
  fold::withElementType(view.dtype, [&]<class T>(T*) {
    const T element = fold::narrow<T>(number);
    for (size_t i = 0; i < count; ++i) std::memcpy(memory->data() + i * sizeof(T), &element, sizeof(T));
  });
  filled.data = memory->data();
  filled.owner = memory;
  return filled;
}

}  // namespace normlens::formats::safetensors
