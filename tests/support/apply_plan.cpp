#include "tests/support/apply_plan.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "tests/support/dense_tensor.h"
#include "tests/support/graph_text.h"

namespace normlens::testing {

using graph::BlockId;
using graph::ConstantId;
using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::Use;
using graph::ValueId;

namespace {

class Applier {
 public:
  Applier(const Graph& original, const std::vector<analysis::LayerNorm>& norms)
      : original_(original), graph_(original), norms_(norms) {}

  void add(const fold::AbsorbScale& edit) {
    for (const auto& part : edit.parts) {
      Tensor tensor = fromView(graph_.constant(part.constant).view);
      forEachIndex(tensor.shape, [&](const Index& index) {
        const auto at = static_cast<size_t>(index.at(static_cast<size_t>(part.dim)));
        tensor[index] = tensor(index) * part.factor.at(at) + (part.addend.empty() ? 0.0 : part.addend.at(at));
      });
      store(part.constant, tensor);
    }
    if (edit.nodeStays) return;
    Node& node = nodeAt(edit.scaleNode);
    node.operands = {node.operands.at(static_cast<size_t>(edit.dataOperand))};
    node.kind = OpKind::Identity;
  }

  void add(const fold::CenterConstant& edit) {
    // The tensors that the listed reads hold at this point, by part.
    std::vector<std::vector<ValueId>> versions;
    for (const auto& part : edit.parts) versions.push_back(versionsFor(part.constant, edit));
    if (edit.parts.size() == 1) {
      for (const ValueId version : versions[0]) centerTogether({version}, {edit.parts[0].pattern});
      return;
    }
    std::vector<ValueId> together;
    std::vector<ops::Pattern> patterns;
    for (size_t i = 0; i < versions.size(); ++i) {
      if (versions[i].size() != 1) throw std::logic_error("a joint centering of a split tensor");
      together.push_back(versions[i][0]);
      patterns.push_back(edit.parts[i].pattern);
    }
    centerTogether(together, patterns);
  }

  void add(const fold::InsertCentering& edit) {
    std::map<ValueId, graph::Uses> byValue;
    for (const Use& use : edit.uses) byValue[operandAt(use)].push_back(use);
    for (const auto& [value, uses] : byValue) {
      const ValueId centered = insertCentering(value, edit.pattern);
      for (const Use& use : uses) operandAt(use) = centered;
    }
  }

  void add(const fold::DropAddend& edit) {
    for (const Use& use : edit.uses) {
      const graph::Value read = graph_.value(operandAt(use));
      graph::Constant zero;
      zero.name = read.name + ".dropped" + std::to_string(graph_.constants.size());
      const Tensor zeros(read.shape.value());
      zero.view = graph::tensorFromDoubles(zeros.shape, zeros.at, read.literal ? graph::DType::Float64 : read.dtype);
      operandAt(use) = graph_.addConstant(std::move(zero));
    }
  }

  // b' = b + sum over i of W[i] * beta[i], with what the reads hold at this point.
  void add(const fold::AbsorbShift& edit) {
    Node& node = nodeAt(edit.shiftNode);
    const auto operand = static_cast<size_t>(edit.shiftOperand);
    const auto beta = graph::toDoubles(graph_.constant(graph_.value(node.operands.at(operand)).constant).view).value();
    for (const auto& part : edit.parts) {
      const auto weightId = graph_.value(operandAt(part.weightUse)).constant;
      const Tensor weight = fromView(graph_.constant(weightId).view);
      Tensor bias = fromView(graph_.constant(part.bias).view);
      const auto in = static_cast<size_t>(part.inputDim);
      forEachIndex(weight.shape, [&](const Index& index) {
        bias.at.at(static_cast<size_t>(index.at(1 - in))) += weight(index) * beta.at(static_cast<size_t>(index.at(in)));
      });
      store(part.bias, bias);
    }
    if (node.kind == OpKind::LayerNorm) {
      node.operands.at(operand) = kNoValue;
      return;
    }
    node.operands = {node.operands.at(1 - operand)};
    node.kind = OpKind::Identity;
  }

  // W' = W diag(gamma), with what the reads hold at this point.
  void add(const fold::AbsorbGain& edit) {
    Node& node = nodeAt(edit.gainNode);
    const auto operand = static_cast<size_t>(edit.gainOperand);
    const auto gamma = graph::toDoubles(graph_.constant(graph_.value(node.operands.at(operand)).constant).view).value();
    for (const auto& part : edit.parts) {
      Tensor weight = fromView(graph_.constant(part.weight).view);
      size_t at = 0;
      forEachIndex(weight.shape, [&](const Index& index) {
        weight.at.at(at++) *= gamma.at(static_cast<size_t>(index.at(static_cast<size_t>(part.inputDim))));
      });
      store(part.weight, weight);
    }
    if (node.kind == OpKind::Mul) {
      node.operands = {node.operands.at(1 - operand)};
      node.kind = OpKind::Identity;
    } else {
      node.operands.at(operand) = kNoValue;
    }
  }

  // Before all others; everything right behind the stream's value.
  void add(const fold::RestoreMean& edit) {
    NodeId last = original_.value(edit.value).producer;
    const graph::Value& stream = original_.value(edit.value);
    const auto sized = [](graph::Shape shape) {
      shape.back() = 1;
      return shape;
    };
    std::vector<ValueId> terms;
    for (const auto& linear : edit.linears) {
      const ValueId x = nodeAt(linear.node).operands.at(static_cast<size_t>(linear.input));
      const Tensor weight = fromView(original_.constant(linear.weight).view);
      const auto in = static_cast<size_t>(linear.inputDim);
      Tensor row({1, weight.shape[in]});
      forEachIndex(weight.shape, [&](const Index& index) {
        row.at.at(static_cast<size_t>(index.at(in))) += weight(index) / static_cast<double>(weight.shape[1 - in]);
      });
      const graph::Shape shape = sized(graph_.value(x).shape.value());
      terms.push_back(insertBehind(last, {OpKind::Linear, {x, addConstant(row), kNoValue}, {}}, shape));
      if (linear.viewed == kNoValue) continue;
      const graph::Shape rows = sized(original_.value(linear.viewed).shape.value());
      terms.back() = insertBehind(last, {OpKind::Reshape, {terms.back()}, {}}, rows);
    }
    for (const Use& use : edit.constants) terms.push_back(addConstant(rowMeans(operandAt(use))));
    for (const Use& use : edit.values) {
      const ValueId x = operandAt(use);
      const graph::Shape shape = sized(graph_.value(x).shape.value());
      graph::Attributes mean{{"op", std::string("mean")},
                             {"axes", std::vector<int64_t>{static_cast<int64_t>(shape.size()) - 1}},
                             {"keepdim", true}};
      terms.push_back(insertBehind(last, {OpKind::Reduce, {x}, std::move(mean)}, shape));
    }
    for (const ValueId earlier : edit.earlier) terms.push_back(means_.at(earlier));
    const graph::Shape shape = sized(stream.shape.value());
    ValueId mean = terms.at(0);
    for (size_t i = 1; i < terms.size(); ++i) mean = insertBehind(last, {OpKind::Add, {mean, terms[i]}, {}}, shape);
    means_[edit.value] = mean;
    const ValueId whole = insertBehind(last, {OpKind::Add, {edit.value, mean}, {}}, stream.shape.value());
    for (const Use& use : edit.uses) operandAt(use) = whole;
  }

  void add(const fold::ReplaceNorm& edit) {
    const auto& norm = norms_.at(static_cast<size_t>(edit.norm));
    if (norm.type != NormType::LayerNorm) return nodeAt(norm.node).attributes.push_back({"keeps_mean", true});
    if (norm.form != analysis::NormForm::Decomposed) {
      nodeAt(norm.node).kind = OpKind::RmsNorm;
      if (edit.narrow > 0) nodeAt(norm.node).operands.resize(1);
      return;
    }
    for (const auto& leftOut : norm.leftOut)
      replaceEverywhere(original_.node(leftOut.node).outputs[0], nodeAt(leftOut.node).operands.at(leftOut.operand));
    for (const NodeId member : norm.members) {
      const Node& node = original_.node(member);
      if (node.operands.empty() || node.operands[0] != norm.input) continue;
      if (node.kind == OpKind::Sub) replaceEverywhere(node.outputs[0], nodeAt(member).operands[0]);
      if (node.kind == OpKind::Reduce && graph::stringAttribute(node, "op") == "var") {
        for (auto& [name, attribute] : nodeAt(member).attributes) {
          if (name == "op") attribute = std::string("mean_square");
        }
      }
    }
  }

  void add(const fold::StreamEdits& edits) {
    for (const auto& edit : edits.constants) {
      const double scale = edit.channels.scale();
      std::vector<double> factor(static_cast<size_t>(edit.channels.full), edit.readsNorm ? 1 / scale : scale);
      if (edit.gamma.node != kNone) {
        const auto& norm = original_.node(edit.gamma.node);
        const auto& value = original_.value(norm.operands.at(static_cast<size_t>(edit.gamma.operand)));
        const auto gamma = graph::toDoubles(original_.constant(value.constant).view).value();
        for (size_t i = 0; i < factor.size(); ++i) factor[i] *= gamma.at(i);
      }
      for (const Use& use : edit.uses) edited(use, edit.dim, edit.channels, factor);
    }
    for (const auto& edit : edits.reads) {
      std::map<ValueId, graph::Uses> byValue;
      for (const Use& use : edit.uses) byValue[operandAt(use)].push_back(use);
      for (const auto& [value, uses] : byValue) {
        const ValueId seen = rewritten(value, edit);
        for (const Use& use : uses) operandAt(use) = seen;
      }
    }
    for (const auto& edit : edits.values) {
      auto& size = valueAt(edit.value).shape.value().at(static_cast<size_t>(edit.axis));
      if (size != edit.channels.full) throw std::logic_error("a value is narrowed twice");
      size = edit.channels.width;
    }
  }

  Graph take() {
    for (auto& value : graph_.values) value.uses.clear();
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id) {
      for (size_t i = 0; i < graph_.node(id).operands.size(); ++i) {
        if (graph_.node(id).operands[i] != kNoValue)
          valueAt(graph_.node(id).operands[i]).uses.push_back({id, static_cast<int>(i), kNone});
      }
    }
    for (BlockId id = 0; id < static_cast<BlockId>(graph_.blocks.size()); ++id) {
      for (size_t i = 0; i < graph_.block(id).returns.size(); ++i) {
        if (graph_.block(id).returns[i] != kNoValue)
          valueAt(graph_.block(id).returns[i]).uses.push_back({kNone, static_cast<int>(i), id});
      }
    }
    if (const auto status = graph::checkGraph(graph_); !status) throw std::logic_error(status.error().message);
    return std::move(graph_);
  }

 private:
  Node& nodeAt(NodeId id) { return graph_.nodes.at(static_cast<size_t>(id)); }
  graph::Value& valueAt(ValueId id) { return graph_.values.at(static_cast<size_t>(id)); }
  ValueId& operandAt(const Use& use) {
    const auto at = static_cast<size_t>(use.operand);
    if (use.node != kNone) return nodeAt(use.node).operands.at(at);
    return graph_.blocks.at(static_cast<size_t>(use.block)).returns.at(at);
  }
  void store(ConstantId id, const Tensor& tensor) {
    auto& view = graph_.constants.at(static_cast<size_t>(id)).view;
    view = graph::tensorFromDoubles(tensor.shape, tensor.at, view.dtype);
  }

  [[nodiscard]] graph::Uses usesOf(ConstantId constant) const {
    for (const auto& value : original_.values) {
      if (value.constant == constant) return value.uses;
    }
    return {};
  }

  std::vector<ValueId> versionsFor(ConstantId constant, const fold::CenterConstant& edit) {
    const graph::Uses all = usesOf(constant);
    std::map<ValueId, graph::Uses> wanted;
    std::map<ValueId, int> reads;
    for (const Use& use : all) {
      const bool listed = std::find(edit.uses.begin(), edit.uses.end(), use) != edit.uses.end();
      ++reads[operandAt(use)];
      if (!edit.split || listed) wanted[operandAt(use)].push_back(use);
    }
    std::vector<ValueId> out;
    for (const auto& [value, uses] : wanted) {
      if (static_cast<int>(uses.size()) == reads[value]) {
        out.push_back(value);
        continue;
      }
      graph::Constant copy = graph_.constant(graph_.value(value).constant);
      copy.name += ".copy" + std::to_string(graph_.constants.size());
      copy.view = graph::tensorFromDoubles(copy.view.shape, graph::toDoubles(copy.view).value(), copy.view.dtype);
      out.push_back(graph_.addConstant(std::move(copy)));
      for (const Use& use : uses) operandAt(use) = out.back();
    }
    return out;
  }

  // A tensor of its own for the read, narrow along `dim`.
  void edited(const Use& use, int dim, const fold::Channels& channels, const std::vector<double>& factor) {
    const graph::Constant& held = graph_.constant(graph_.value(operandAt(use)).constant);
    const Tensor from = fromView(held.view);
    const auto axis = static_cast<size_t>(dim);
    if (from.shape.at(axis) != channels.full) throw std::logic_error("a tensor without the channels is narrowed");
    graph::Shape shape = from.shape;
    shape[axis] = channels.width;
    Tensor to(shape);
    forEachIndex(shape, [&](const Index& index) {
      if (index[axis] >= channels.full - 1) return;
      std::vector<double> row = factor;
      Index other = index;
      for (other[axis] = 0; other[axis] < channels.full; ++other[axis])
        row[static_cast<size_t>(other[axis])] *= from(other);
      to[index] = reflected(row)[static_cast<size_t>(index[axis])];
    });
    graph::Constant made;
    made.name = held.name + ".narrow" + std::to_string(graph_.constants.size());
    made.view = graph::tensorFromDoubles(to.shape, to.at, held.view.dtype);
    operandAt(use) = graph_.addConstant(std::move(made));
  }

  ValueId rewritten(ValueId value, const fold::RewriteReads& edit) {
    graph::Shape shape = graph_.value(edit.value).shape.value();
    shape.at(static_cast<size_t>(edit.axis)) = edit.restores ? edit.channels.full : edit.channels.width;
    return insertBehind(
        value, edit.restores ? "test::restore" : "test::narrow",
        {{"axis", static_cast<int64_t>(edit.axis)}, {"full", edit.channels.full}, {"scale", edit.channels.scale()}},
        shape);
  }

  void centerTogether(const std::vector<ValueId>& values, const std::vector<ops::Pattern>& patterns) {
    std::vector<Tensor> tensors;
    for (const ValueId value : values) tensors.push_back(fromView(graph_.constant(graph_.value(value).constant).view));
    std::vector<Tensor*> pointers;
    for (Tensor& tensor : tensors) pointers.push_back(&tensor);
    centerJointly(pointers, patterns);
    for (size_t i = 0; i < values.size(); ++i) store(graph_.value(values[i]).constant, tensors[i]);
  }

  ValueId insertCentering(ValueId value, const ops::Pattern& pattern) {
    const graph::Value from = graph_.value(value);
    if (from.constant != kNone || from.literal) throw std::logic_error("a run-time centering of a constant");
    return insertBehind(value, "test::center", {{"pattern", pattern.text()}}, from.shape);
  }

  struct NewNode {
    OpKind kind;
    std::vector<ValueId> operands;
    graph::Attributes attributes;
  };
  // `last`: the node that it is put behind; it becomes the new one.
  ValueId insertBehind(NodeId& last, NewNode made, const graph::Shape& shape) {
    Node node;
    node.kind = made.kind;
    node.operands.insert(node.operands.end(), made.operands.begin(), made.operands.end());
    node.attributes = std::move(made.attributes);
    node.block = nodeAt(last).block;
    graph::Value value;
    value.name = "mean" + std::to_string(graph_.nodes.size());
    value.dtype = graph::DType::Float64;
    value.shape = shape;
    const BlockId block = node.block;
    const NodeId id = graph_.addNode(std::move(node), {value});
    auto& order = graph_.blocks.at(static_cast<size_t>(block)).nodes;
    order.pop_back();
    order.insert(std::find(order.begin(), order.end(), last) + 1, id);
    last = id;
    return graph_.node(id).outputs[0];
  }

  ValueId addConstant(const Tensor& tensor) {
    graph::Constant made;
    made.name = "mean.row" + std::to_string(graph_.constants.size());
    made.view = graph::tensorFromDoubles(tensor.shape, tensor.at, graph::DType::Float64);
    return graph_.addConstant(std::move(made));
  }

  Tensor rowMeans(ValueId constant) {
    const Tensor held = fromView(graph_.constant(graph_.value(constant).constant).view);
    graph::Shape shape = held.shape;
    const auto size = static_cast<size_t>(shape.back());
    shape.back() = 1;
    Tensor means(shape);
    for (size_t i = 0; i < held.at.size(); ++i) means.at.at(i / size) += held.at[i] / static_cast<double>(size);
    return means;
  }

  ValueId insertBehind(ValueId value, const std::string& op, graph::Attributes attributes,
                       const std::optional<graph::Shape>& shape) {
    const graph::Value from = graph_.value(value);
    Node node;
    node.kind = OpKind::Opaque;
    node.op = op;
    node.attributes = std::move(attributes);
    node.operands = {value};
    node.block = from.producer == kNone ? std::max(from.paramOf, BlockId{0}) : graph_.node(from.producer).block;
    graph::Value made;
    made.name = from.name + "." + op + std::to_string(graph_.nodes.size());
    made.dtype = from.dtype;
    made.shape = shape;
    const BlockId block = node.block;
    const NodeId id = graph_.addNode(std::move(node), {made});
    auto& order = graph_.blocks.at(static_cast<size_t>(block)).nodes;
    order.pop_back();
    const auto after = std::find(order.begin(), order.end(), from.producer);
    order.insert(after == order.end() ? order.begin() : after + 1, id);
    return graph_.node(id).outputs[0];
  }

  void replaceEverywhere(ValueId old, ValueId by) {
    for (Node& node : graph_.nodes) std::replace(node.operands.begin(), node.operands.end(), old, by);
    for (auto& block : graph_.blocks) std::replace(block.returns.begin(), block.returns.end(), old, by);
  }

  const Graph& original_;
  Graph graph_;
  const std::vector<analysis::LayerNorm>& norms_;
  std::map<ValueId, ValueId> means_;  // by the value of a RestoreMean
};

// Whole factors of an axis take the axis's new size; anything finer must keep its axis as it is.
std::optional<ops::Pattern> patternAtOtherSize(const ops::Pattern& pattern, const graph::Shape& from,
                                               const graph::Shape& to) {
  auto dims = ops::alignTo(pattern, from);
  if (!dims || from.size() != to.size()) return std::nullopt;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[i]) continue;
    auto& factors = (*dims)[i];
    if (factors.size() != 1 || !factors[0].whole()) return std::nullopt;
    factors[0] = {to[i], 0, to[i], factors[0].summed};
  }
  return ops::joinDims(*dims);
}

}  // namespace

Graph applyPlan(const Graph& graph, const std::vector<analysis::LayerNorm>& norms, const analysis::Plan& plan) {
  fold::FoldPlan edits{plan.policy, {}};
  for (const auto& planned : plan.edits) edits.edits.push_back(planned.edit);
  return applyPlan(graph, norms, edits);
}

Graph applyPlan(const Graph& graph, const std::vector<analysis::LayerNorm>& norms, const fold::FoldPlan& plan) {
  Applier applier(graph, norms);
  const auto addAll = [&](const auto& counts) {
    for (const auto& edit : plan.edits) {
      if (counts(edit)) std::visit([&](const auto& each) { applier.add(each); }, edit);
    }
  };
  const auto restores = [](const fold::Edit& edit) { return std::holds_alternative<fold::RestoreMean>(edit); };
  const auto replaces = [](const fold::Edit& edit) { return std::holds_alternative<fold::ReplaceNorm>(edit); };
  addAll(restores);
  addAll([&](const fold::Edit& edit) { return !restores(edit) && !replaces(edit); });
  applier.add(plan.streams);
  addAll(replaces);
  return applier.take();
}

std::optional<analysis::Plan> atOtherSize(analysis::Plan plan, const Graph& from, const Graph& to) {
  for (auto& planned : plan.edits) {
    auto* insert = std::get_if<fold::InsertCentering>(&planned.edit);
    if (insert == nullptr) continue;
    auto pattern =
        patternAtOtherSize(insert->pattern, *from.value(insert->value).shape, *to.value(insert->value).shape);
    if (!pattern) return std::nullopt;
    insert->pattern = std::move(*pattern);
  }
  return plan;
}

}  // namespace normlens::testing
