// The second half of EditableModel: from a copy with marked edits to a model.
#include <algorithm>

#include "core/formats/onnx/edit/dead_nodes.h"
#include "core/formats/onnx/edit/editable_model.h"
#include "core/formats/onnx/read/bodies.h"

namespace normlens::formats::onnx {
namespace {

// Entries about names that the body made before and makes no more.
template <class Infos>
void forget(Infos& infos, const std::unordered_set<std::string>& names) {
  for (int i = infos.size(); i-- > 0;) {
    if (names.count(infos.Get(i).name()) != 0) infos.DeleteSubrange(i, 1);
  }
}

}  // namespace

void EditableModel::placeNewNodes(Body& body) {
  if (!body.edited) return;
  auto& field = body.graph != nullptr ? *body.graph->mutable_node() : *body.function->mutable_node();
  std::vector<NodeProto*> old(static_cast<size_t>(field.size()));
  field.ExtractSubrange(0, field.size(), old.data());
  std::unordered_set<std::string> made;
  const auto put = [&](std::unique_ptr<NodeProto> node) {
    made.insert(node->output().begin(), node->output().end());
    field.AddAllocated(node.release());
  };
  for (auto& fresh : body.first) put(std::move(fresh));
  for (NodeProto* node : old) {
    if (const auto found = body.before.find(node); found != body.before.end()) {
      for (auto& fresh : found->second) put(std::move(fresh));
    }
    std::unique_ptr<NodeProto> kept(node);
    if (body.removed.count(node) != 0) {
      buried_.push_back(std::move(kept));
    } else {
      put(std::move(kept));
    }
    if (const auto found = body.behind.find(node); found != body.behind.end()) {
      for (auto& fresh : found->second) put(std::move(fresh));
    }
  }
  for (auto& fresh : body.last) put(std::move(fresh));
  std::unordered_set<std::string> vanished;
  for (const auto& [name, node] : body.madeBy) {
    if (made.count(name) == 0) vanished.insert(name);
  }
  if (vanished.empty()) return;
  forget(body.graph != nullptr ? *body.graph->mutable_value_info() : *body.function->mutable_value_info(), vanished);
}

void EditableModel::removeDead() {
  std::map<Body*, std::vector<LostRead>> byRoot;
  for (const auto& [body, name] : lost_) {
    byRoot[&rootOf(*body)].push_back({body->graph, body->function.get(), name});
  }
  for (auto& [root, lost] : byRoot) {
    if (root->function) {
      sweepFunction(*root->function, lost);
      continue;
    }
    std::vector<std::string> dropped;
    sweepGraph(*root->graph, lost, dropped);
    for (const auto& name : dropped) weights_->erase(name);
  }
}

void EditableModel::finishNodes() {
  for (size_t i = bodies_.size(); i-- > 0;) placeNewNodes(*bodies_[i]);
  removeDead();
}

// A function that is called as it was, with all that it calls.
void EditableModel::keepOriginal(int function, std::set<int>& originals) const {
  if (!originals.insert(function).second) return;
  std::vector<int> called;
  callees(proto_->functions(function).node(), called);
  for (const int next : called) keepOriginal(next, originals);
}

template <class Nodes>
void EditableModel::callees(const Nodes& nodes, std::vector<int>& out) const {
  eachNode(nodes, [&](const NodeProto& node) {
    if (const int called = functionOf(node); called >= 0) out.push_back(called);
  });
}

// Whether anything in these nodes, or in what they call, differs from the file.
bool EditableModel::findChangedCalls(::google::protobuf::RepeatedPtrField<NodeProto>& nodes, CallsByFunction& changed,
                                     std::set<int>& originals) {
  bool any = false;
  for (auto& node : nodes) {
    eachBody(node, [&](GraphProto& body) { any |= findChangedCalls(*body.mutable_node(), changed, originals); });
    const int function = functionOf(node);
    if (function < 0) continue;
    const auto own = inner_.find({&node, ""});
    bool differs = false;
    if (own != inner_.end() && own->second != nullptr) {
      auto& body = *own->second->function;
      differs = body.SerializeAsString() != proto_->functions(function).SerializeAsString();
      differs |= findChangedCalls(*body.mutable_node(), changed, originals);
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
  std::vector<int> called;
  callees(proto_->functions(function).node(), called);
  for (const int next : called) calleesFirst(next, order);
  order.push_back(function);
}

std::string EditableModel::freeFunctionName(const FunctionProto& function) {
  const std::string base = function.name() + "_folded";
  std::string name = base;
  for (int i = 2; functionOf(function.domain(), name, function.overload()) >= 0; ++i)
    name = base + "_" + std::to_string(i);
  return name;
}

// The copies of one function: equal ones become one, the first under the old name if nobody needs the old body.
void EditableModel::nameVariants(int function, const std::vector<Body*>& calls, bool originalStays) {
  std::map<std::string, std::vector<Body*>> variants;
  std::vector<const std::string*> order;
  for (Body* call : calls) {
    const auto [found, added] = variants.try_emplace(call->function->SerializeAsString());
    if (added) order.push_back(&found->first);
    found->second.push_back(call);
  }
  for (const std::string* content : order) {
    const auto& same = variants.at(*content);
    if (!originalStays) {
      *proto_->mutable_functions(function) = *same.front()->function;
      originalStays = true;
      continue;
    }
    FunctionProto variant = *same.front()->function;
    variant.set_name(freeFunctionName(variant));
    functions_.emplace(functionKey(variant.domain(), variant.name(), variant.overload()), proto_->functions_size());
    for (Body* call : same) call->owner->set_op_type(variant.name());
    *proto_->add_functions() = std::move(variant);
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
    if (calls != changed.end()) nameVariants(function, calls->second, originals.count(function) != 0);
  }
}

std::shared_ptr<const ModelProto> EditableModel::finish() {
  mergeFunctions();
  bodies_.clear();
  inner_.clear();
  return std::move(proto_);
}

}  // namespace normlens::formats::onnx
