// The second half of EditableModel: from a copy with marked edits to a model.
#include <algorithm>

#include "core/formats/onnx/edit/dead_nodes.h"
#include "core/formats/onnx/edit/editable_model.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/source/operators.h"

namespace normlens::formats::onnx {

void EditableModel::placeNewNodes(Body& body) {
  if (!body.edited) return;
  auto& nodes = *body.graph->mutable_node();
  std::vector<NodeProto*> old(static_cast<size_t>(nodes.size()));
  nodes.ExtractSubrange(0, nodes.size(), old.data());
  const auto put = [&](NewNodes& fresh) {
    for (auto& node : fresh) nodes.AddAllocated(node.release());
  };
  put(body.behind[nullptr]);
  for (NodeProto* node : old) {
    put(body.before[node]);
    if (body.removed.contains(node)) {
      buried_.emplace_back(node);
    } else {
      nodes.AddAllocated(node);
    }
    put(body.behind[node]);
  }
  put(body.before[nullptr]);
  std::unordered_set<std::string> made;
  for (const auto& node : nodes) made.insert(node.output().begin(), node.output().end());
  keepOnly(*body.graph->mutable_value_info(),
           [&](const auto& info) { return made.contains(info.name()) || !body.madeBy.contains(info.name()); });
}

void EditableModel::forgetShapes() {
  for (const auto& body : bodies_) {
    for (auto& info : *body->graph->mutable_value_info()) {
      if (info.type().has_tensor_type()) info.mutable_type()->mutable_tensor_type()->clear_shape();
    }
  }
}

void EditableModel::removeDead() {
  std::map<Body*, std::vector<LostRead>> byRoot;
  for (const auto& [body, name] : lost_) byRoot[&rootOf(*body)].push_back({body->graph, name});
  for (const auto& [root, lost] : byRoot) {
    for (const auto& name : sweepDead(*root->graph, lost)) {
      if (root == main_) weights_->erase(name);
    }
  }
}

void EditableModel::finishNodes() {
  for (size_t i = bodies_.size(); i-- > 0;) placeNewNodes(*bodies_[i]);
  removeDead();
}

// A function that is called as it was, with all that it calls.
void EditableModel::keepOriginal(int function, std::set<int>& originals) const {
  if (!originals.insert(function).second) return;
  for (const int next : callees(function)) keepOriginal(next, originals);
}

std::vector<int> EditableModel::callees(int function) const {
  std::vector<int> out;
  eachNode(proto_->functions(function).node(), [&](const NodeProto& node) {
    if (const int called = functionOf(node); called >= 0) out.push_back(called);
  });
  return out;
}

// Returns whether anything in these nodes, or in what they call, differs from the file.
bool EditableModel::findChangedCalls(::google::protobuf::RepeatedPtrField<NodeProto>& nodes, CallsByFunction& changed,
                                     std::set<int>& originals) {
  bool any = false;
  for (auto& node : nodes) {
    eachBody(node, [&](GraphProto& body) { any |= findChangedCalls(*body.mutable_node(), changed, originals); });
    const int function = functionOf(node);
    if (function < 0) continue;
    const auto own = inner_.find({&node, ""});
    bool differs = false;
    if (own != inner_.end()) {
      differs = functionIn(*own->second).SerializeAsString() != proto_->functions(function).SerializeAsString();
      differs |= findChangedCalls(*own->second->graph->mutable_node(), changed, originals);
    }
    if (differs) {
      changed[function].push_back(own->second);
    } else {
      keepOriginal(function, originals);
    }
    any |= differs;
  }
  return any;
}

void EditableModel::calleesFirst(int function, std::vector<int>& order) const {
  if (std::find(order.begin(), order.end(), function) != order.end()) return;
  for (const int next : callees(function)) calleesFirst(next, order);
  order.push_back(function);
}

// The copies of one function: equal ones become one, the first under the old name if nobody needs the old body.
void EditableModel::nameVariants(int function, const std::vector<Body*>& calls, bool originalStays) {
  std::vector<std::pair<std::string, std::string>> variants;  // how each is serialized, and its name
  for (Body* call : calls) {
    FunctionProto variant = functionIn(*call);
    const std::string content = variant.SerializeAsString();
    auto known = std::ranges::find(variants, content, &std::pair<std::string, std::string>::first);
    if (known == variants.end()) {
      if (!originalStays && variants.empty()) {
        variants.emplace_back(content, variant.name());
        *proto_->mutable_functions(function) = std::move(variant);
        continue;
      }
      const std::string base = variant.name() + "_folded";
      variant.set_name(base);
      for (int i = 2; functions_.contains(functionKey(variant)); ++i) variant.set_name(base + "_" + std::to_string(i));
      functions_.emplace(functionKey(variant), proto_->functions_size());
      known = variants.emplace(variants.end(), content, variant.name());
      *proto_->add_functions() = std::move(variant);
    }
    call->owner->set_op_type(known->second);
  }
}

void EditableModel::mergeFunctions() {
  if (!hasFunctions()) return;
  CallsByFunction changed;
  std::set<int> originals;
  std::vector<int> order;
  for (int i = 0; i < proto_->functions_size(); ++i) calleesFirst(i, order);
  findChangedCalls(*proto_->mutable_graph()->mutable_node(), changed, originals);
  for (const int function : order) {
    const auto calls = changed.find(function);
    if (calls != changed.end()) nameVariants(function, calls->second, originals.contains(function));
  }
}

std::shared_ptr<const ModelProto> EditableModel::finish() {
  mergeFunctions();
  bodies_.clear();
  inner_.clear();
  return std::move(proto_);
}

}  // namespace normlens::formats::onnx
