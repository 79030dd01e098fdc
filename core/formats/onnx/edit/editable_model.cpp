#include "core/formats/onnx/edit/editable_model.h"

#include <utility>

#include "core/formats/onnx/read/bodies.h"
#include "core/formats/onnx/run/runtime_ops.h"

namespace normlens::formats::onnx {
namespace {

template <class Imports>
int standardVersion(const Imports& imports) {
  for (const auto& import : imports) {
    if (import.domain().empty() || import.domain() == "ai.onnx") return static_cast<int>(import.version());
  }
  return 0;
}

using Names = std::unordered_set<std::string>;

void collectNames(const GraphProto& graph, Names& names);

void collectNames(const NodeProto& node, Names& names) {
  names.insert(node.name());
  for (const auto& input : node.input()) names.insert(input);
  for (const auto& output : node.output()) names.insert(output);
  eachBody(node, [&](const GraphProto& graph) { collectNames(graph, names); });
}

void collectNames(const GraphProto& graph, Names& names) {
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& output : graph.output()) names.insert(output.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.insert(tensor.values().name());
  for (const auto& node : graph.node()) collectNames(node, names);
}

}  // namespace

std::string EditableModel::functionKey(const std::string& domain, const std::string& name,
                                       const std::string& overload) {
  return (domain == "ai.onnx" ? "" : domain) + '\0' + name + '\0' + overload;
}

EditableModel::EditableModel(const OnnxSource& source)
    : proto_(std::make_shared<ModelProto>(*source.skeleton)), weights_(std::make_shared<Weights>(*source.weights)) {
  for (int i = 0; i < proto_->functions_size(); ++i) {
    const auto& function = proto_->functions(i);
    functions_.emplace(functionKey(function.domain(), function.name(), function.overload()), i);
  }
  main_ = &addBody(nullptr, nullptr, proto_->mutable_graph(), nullptr);
}

int EditableModel::functionOf(const std::string& domain, const std::string& name, const std::string& overload) const {
  if (functions_.empty()) return -1;
  const auto found = functions_.find(functionKey(domain, name, overload));
  return found == functions_.end() ? -1 : found->second;
}

int EditableModel::functionOf(const NodeProto& node) const {
  return functionOf(node.domain(), node.op_type(), node.overload());
}

Body& EditableModel::addBody(Body* outer, NodeProto* owner, GraphProto* graph,
                             std::unique_ptr<FunctionProto> function) {
  auto body = std::make_unique<Body>();
  body->outer = outer;
  body->owner = owner;
  body->graph = graph;
  body->function = std::move(function);
  auto* nodes = graph != nullptr ? graph->mutable_node() : body->function->mutable_node();
  body->nodes.reserve(static_cast<size_t>(nodes->size()));
  for (int i = 0; i < nodes->size(); ++i) {
    NodeProto* node = nodes->Mutable(i);
    body->nodes.push_back(node);
    body->place.emplace(node, i);
    for (const auto& output : node->output()) {
      if (!output.empty()) body->madeBy.emplace(output, node);
    }
  }
  if (graph != nullptr) {
    for (int i = 0; i < graph->initializer_size(); ++i) body->initializer.emplace(graph->initializer(i).name(), i);
  } else {
    for (int i = 0; i < body->function->input_size(); ++i) body->formal.emplace(body->function->input(i), i);
  }
  bodies_.push_back(std::move(body));
  return *bodies_.back();
}

int EditableModel::opset(const Body& body) const { return standardVersion(importsOf(body)); }

const EditableModel::Imports& EditableModel::importsOf(const Body& body) const {
  const Body* at = &body;
  while (!at->function && at->outer != nullptr) at = at->outer;
  return at->function ? at->function->opset_import() : proto_->opset_import();
}

bool EditableModel::insideFunction(const Body& body) {
  for (const Body* at = &body; at != nullptr; at = at->outer) {
    if (at->function) return true;
  }
  return false;
}

std::vector<Body*> EditableModel::bodies() {
  std::vector<Body*> out;
  for (const auto& body : bodies_) out.push_back(body.get());
  return out;
}

ReadSite EditableModel::at(const NodePath& path, int input) {
  Body* body = main_;
  for (size_t i = 0; i < path.size(); ++i) {
    auto* node = body->nodes.at(static_cast<size_t>(path[i].node));
    if (i + 1 == path.size()) return {body, node, input};
    if (!path[i].body.empty()) {
      body = &bodyOf(*body, *node, path[i].body);
    } else {
      body = calledBy(*body, *node);
      if (body == nullptr) throw EditRefused("a node inside a call of '" + node->op_type() + "' was not found");
    }
  }
  throw EditRefused("a node has no place in the file");
}

Body& EditableModel::bodyOf(Body& body, NodeProto& node, const std::string& attribute) {
  auto& known = inner_[{&node, attribute}];
  if (known != nullptr) return *known;
  for (auto& held : *node.mutable_attribute()) {
    if (held.name() != attribute || !held.has_g()) continue;
    known = &addBody(&body, &node, held.mutable_g(), nullptr);
    return *known;
  }
  throw EditRefused("node '" + node.name() + "' has no body called " + attribute);
}

Body* EditableModel::calledBy(Body& body, NodeProto& node) {
  const int function = functionOf(node);
  if (function < 0 || isRuntimeOp(node, opsetsOf(importsOf(body)))) return nullptr;
  auto& known = inner_[{&node, ""}];
  if (known == nullptr) {
    known = &addBody(&body, &node, nullptr, std::make_unique<FunctionProto>(proto_->functions(function)));
  }
  return known;
}

std::string EditableModel::nameAt(const ReadSite& site) {
  if (site.node != nullptr) return site.node->input(site.input);
  return site.body->graph != nullptr ? site.body->graph->output(site.input).name()
                                     : site.body->function->output(site.input);
}

Origin EditableModel::originOf(Body& from, std::string name) {
  Origin origin;
  for (Body* body = &from;;) {
    origin.body = body;
    origin.name = name;
    if (const auto made = body->madeBy.find(name); made != body->madeBy.end()) {
      origin.kind = Origin::Kind::Node;
      origin.node = made->second;
      return origin;
    }
    if (body->initializer.contains(name)) {
      origin.kind = Origin::Kind::Initializer;
      return origin;
    }
    if (body->function) {
      const auto formal = body->formal.find(name);
      if (formal == body->formal.end() || formal->second >= body->owner->input_size()) return origin;
      origin.calls.push_back({body->outer, body->owner, formal->second});
      name = body->owner->input(formal->second);
    } else {
      for (const auto& input : body->graph->input()) {
        if (input.name() == name) return origin;
      }
    }
    if (body->outer == nullptr) return origin;
    body = body->outer;
  }
}

std::vector<ReadSite> EditableModel::readsOf(Body& body, const std::string& name) {
  std::vector<ReadSite> out;
  collectReads(body, name, /*intoCalls=*/true, out);
  return out;
}

std::vector<ReadSite> EditableModel::directReadsOf(Body& body, const std::string& name) {
  std::vector<ReadSite> out;
  collectReads(body, name, /*intoCalls=*/false, out);
  return out;
}

bool EditableModel::isReadByNewNodes(const std::string& name) const {
  const auto reads = [&](const NewNodes& nodes) {
    return std::ranges::any_of(
        nodes, [&](const auto& node) { return std::ranges::find(node->input(), name) != node->input().end(); });
  };
  const auto anyReads = [&](const auto& lists) {
    return std::ranges::any_of(lists, [&](const auto& entry) { return reads(entry.second); });
  };
  return std::ranges::any_of(bodies_, [&](const auto& body) {
    return anyReads(body->before) || anyReads(body->behind) || reads(body->first) || reads(body->last);
  });
}

Body& EditableModel::bodyThatMakes(Body& from, const std::string& name) {
  for (Body* body = &from; body != nullptr; body = body->outer) {
    if (body->madeBy.contains(name) || body->initializer.contains(name) || body->formal.contains(name)) {
      return *body;
    }
    if (body->function) break;
    for (const auto& input : body->graph->input()) {
      if (input.name() == name) return *body;
    }
  }
  return from;
}

void EditableModel::index(Body& body) {
  if (body.indexed) return;
  body.indexed = true;
  for (NodeProto* node : body.nodes) {
    for (int i = 0; i < node->input_size(); ++i) body.reads[node->input(i)].emplace_back(node, i);
    if (holdsBody(*node)) body.holders.push_back(node);
  }
}

void EditableModel::collectReads(Body& body, const std::string& name, bool intoCalls, std::vector<ReadSite>& out) {
  index(body);
  if (const auto found = body.reads.find(name); found != body.reads.end()) {
    for (const auto& [node, input] : found->second) {
      if (node->input(input) != name) continue;  // has been redirected
      Body* called = intoCalls ? calledBy(body, *node) : nullptr;
      if (called != nullptr) {
        if (input < called->function->input_size()) collectReads(*called, called->function->input(input), true, out);
      } else {
        out.push_back({&body, node, input});
      }
    }
  }
  for (NodeProto* node : body.holders) {
    for (const auto& attribute : node->attribute()) {
      if (!attribute.has_g()) continue;
      Body& inner = bodyOf(body, *node, attribute.name());
      bool hidden = inner.madeBy.contains(name) || inner.initializer.contains(name);
      for (const auto& input : inner.graph->input()) hidden = hidden || input.name() == name;
      if (!hidden) collectReads(inner, name, intoCalls, out);
    }
  }
  const int outputs = body.graph != nullptr ? body.graph->output_size() : body.function->output_size();
  for (int i = 0; i < outputs; ++i) {
    if (nameAt({&body, nullptr, i}) == name) out.push_back({&body, nullptr, i});
  }
}

Body& EditableModel::rootOf(Body& body) {
  Body* at = &body;
  while (!at->function && at->outer != nullptr) at = at->outer;
  return *at;
}

std::string EditableModel::freshName(Body& body, const std::string& wanted) {
  Body& root = rootOf(body);
  if (root.names.empty()) {
    if (root.function) {
      root.names.insert(root.function->input().begin(), root.function->input().end());
      for (const auto& node : root.function->node()) collectNames(node, root.names);
    } else {
      collectNames(*root.graph, root.names);
    }
    root.names.insert("");
  }
  std::string name = wanted;
  int& number = root.lastNumber[wanted];
  while (!root.names.insert(name).second) name = wanted + "_" + std::to_string(++number + 1);
  return name;
}

void EditableModel::lost(Body& body, const NodeProto& node) {
  for (const auto& input : node.input()) {
    if (!input.empty()) lost_.emplace_back(&body, input);
  }
}

void EditableModel::setInput(const ReadSite& site, const std::string& name) {
  lost_.emplace_back(site.body, nameAt(site));
  if (site.node != nullptr) {
    site.node->set_input(site.input, name);
    if (site.body->indexed) site.body->reads[name].emplace_back(site.node, site.input);
  } else if (site.body->graph == nullptr) {
    site.body->function->set_output(site.input, name);
  } else if (site.body->outer != nullptr) {
    site.body->graph->mutable_output(site.input)->set_name(name);
  } else {
    throw EditRefused("an output of the model would get another name");
  }
}

void EditableModel::add(Body& body, NewNodes& list, std::vector<NodeProto> added) {
  body.edited = true;
  for (auto& node : added) {
    list.push_back(std::make_unique<NodeProto>(std::move(node)));
    new_.insert(list.back().get());
  }
}

void EditableModel::addBefore(Body& body, const NodeProto& node, std::vector<NodeProto> added) {
  add(body, body.before[&node], std::move(added));
}

void EditableModel::addBehind(Body& body, const NodeProto& node, std::vector<NodeProto> added) {
  add(body, body.behind[&node], std::move(added));
}

void EditableModel::addAtStart(Body& body, NodeProto added) { add(body, body.first, {std::move(added)}); }

void EditableModel::addAtEnd(Body& body, std::vector<NodeProto> added) { add(body, body.last, std::move(added)); }

void EditableModel::replace(Body& body, NodeProto& node, NodeProto with) {
  lost(body, node);
  node = std::move(with);
  new_.insert(&node);
  body.edited = true;
}

void EditableModel::remove(Body& body, NodeProto& node) {
  lost(body, node);
  body.removed.insert(&node);
  body.edited = true;
}

void EditableModel::importDomain(const std::string& domain, int version) {
  for (const auto& import : proto_->opset_import()) {
    if (import.domain() == domain) return;
  }
  auto* import = proto_->add_opset_import();
  import->set_domain(domain);
  import->set_version(version);
}

}  // namespace normlens::formats::onnx
