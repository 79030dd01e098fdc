#include "core/formats/onnx/edit/editable_model.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <utility>

#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/source/operators.h"

namespace normlens::formats::onnx {
namespace {

using NameSet = std::unordered_set<std::string>;

void collectNames(const GraphProto& graph, NameSet& names);

void collectNames(const NodeProto& node, NameSet& names) {
  names.insert(node.name());
  for (const auto& input : node.input()) names.insert(input);
  for (const auto& output : node.output()) names.insert(output);
  eachBody(node, [&](const GraphProto& graph) { collectNames(graph, names); });
}

void collectNames(const GraphProto& graph, NameSet& names) {
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& output : graph.output()) names.insert(output.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.insert(tensor.values().name());
  for (const auto& node : graph.node()) collectNames(node, names);
}

int standardIn(const Opsets& opsets) {
  const auto standard = opsets.find("");
  return standard == opsets.end() ? 0 : static_cast<int>(standard->second);
}

bool areSame(const FunctionProto& function, int a, int b) {
  using ::ONNX_NAMESPACE::OpSchemaRegistry;
  bool same = true;
  eachNode(function.node(), [&](const NodeProto& node) {
    same = same && (!isStandardDomain(node.domain()) ||
                    OpSchemaRegistry::Schema(node.op_type(), a, "") == OpSchemaRegistry::Schema(node.op_type(), b, ""));
  });
  return same;
}

// A name that lost a reader, and the graph it was read in.
struct LostRead {
  const GraphProto* graph = nullptr;
  std::string name;
};

struct Scope {
  Scope* outer = nullptr;
  GraphProto* graph = nullptr;
  std::unordered_map<std::string, const NodeProto*> made;  // null: an input or an initializer
  std::unordered_map<std::string, int> reads;
  std::unordered_set<const NodeProto*> dead;
  std::unordered_set<std::string> gone;  // names that nothing makes any more
};

// Removes what an edit left unread from a graph with all its inner bodies: nodes and initializers whose last reader
// went away. What was dead in the file before stays.
class Sweep {
 public:
  explicit Sweep(GraphProto& graph) { addGraph(nullptr, graph); }

  void run(const std::vector<LostRead>& lost) {
    for (const auto& scope : scopes_) countReads(*scope);
    for (const auto& read : lost) {
      const auto scope = std::ranges::find(scopes_, read.graph, [](const auto& each) { return each->graph; });
      if (scope != scopes_.end()) look(**scope, read.name);
    }
    while (!waiting_.empty()) {
      const auto [scope, name] = waiting_.back();
      waiting_.pop_back();
      drop(*scope, name);
    }
    for (const auto& scope : scopes_) erase(*scope);
  }

  // Names that the outermost graph does not make any more, those of removed initializers among them.
  [[nodiscard]] const std::unordered_set<std::string>& goneFromRoot() const { return scopes_.front()->gone; }

 private:
  void addGraph(Scope* outer, GraphProto& graph) {
    scopes_.push_back(std::make_unique<Scope>());
    Scope& scope = *scopes_.back();
    scope.outer = outer;
    scope.graph = &graph;
    for (const auto& input : graph.input()) scope.made.emplace(input.name(), nullptr);
    for (const auto& tensor : graph.initializer()) scope.made.emplace(tensor.name(), nullptr);
    for (const auto& tensor : graph.sparse_initializer()) scope.made.emplace(tensor.values().name(), nullptr);
    for (auto& node : *graph.mutable_node()) {
      for (const auto& output : node.output()) scope.made.emplace(output, &node);
      eachBody(node, [&](GraphProto& body) { addGraph(&scope, body); });
    }
    scope.made.erase("");
  }

  // Returns the scope in which a name is made; null: no scope makes it.
  static Scope* scopeOf(Scope& from, const std::string& name) {
    Scope* at = &from;
    while (at != nullptr && !at->made.contains(name)) at = at->outer;
    return at;
  }

  static void countReads(Scope& scope) {
    const auto count = [&](const std::string& name) {
      if (Scope* at = scopeOf(scope, name)) ++at->reads[name];
    };
    for (const auto& node : scope.graph->node()) std::ranges::for_each(node.input(), count);
    for (const auto& output : scope.graph->output()) count(output.name());
  }

  Scope* look(Scope& from, const std::string& name) {
    Scope* at = scopeOf(from, name);
    if (at != nullptr) waiting_.emplace_back(at, name);
    return at;
  }

  void drop(Scope& scope, const std::string& name) {
    if (scope.reads[name] > 0) return;
    const NodeProto* node = scope.made.at(name);
    if (node == nullptr) {
      // Inputs are the model's face: only a tensor that is no input as well may go.
      const auto isIt = [&](const auto& input) { return input.name() == name; };
      if (std::ranges::none_of(scope.graph->input(), isIt)) scope.gone.insert(name);
      return;
    }
    const auto unread = [&](const std::string& output) { return output.empty() || scope.reads[output] == 0; };
    if (!std::ranges::all_of(node->output(), unread) || holdsBody(*node) || !scope.dead.insert(node).second) return;
    scope.gone.insert(node->output().begin(), node->output().end());
    for (const auto& input : node->input()) {
      if (Scope* from = look(scope, input)) --from->reads[input];
    }
  }

  static void erase(Scope& scope) {
    if (scope.gone.empty()) return;
    const auto present = [&](const auto& info) { return !scope.gone.contains(info.name()); };
    keepOnly(*scope.graph->mutable_node(), [&](const NodeProto& node) { return !scope.dead.contains(&node); });
    keepOnly(*scope.graph->mutable_initializer(), present);
    keepOnly(*scope.graph->mutable_sparse_initializer(), [&](const auto& t) { return present(t.values()); });
    keepOnly(*scope.graph->mutable_value_info(), present);
    keepOnly(*scope.graph->mutable_quantization_annotation(),
             [&](const auto& note) { return !scope.gone.contains(note.tensor_name()); });
  }

  std::vector<std::unique_ptr<Scope>> scopes_;  // outer ones first
  std::vector<std::pair<Scope*, std::string>> waiting_;
};

}  // namespace

EditableModel::EditableModel(const OnnxSource& source)
    : proto_(std::make_shared<ModelProto>(*source.skeleton)), weights_(std::make_shared<Weights>(*source.weights)) {
  for (int i = 0; i < proto_->functions_size(); ++i) {
    functions_.emplace(functionKey(proto_->functions(i)), i);
  }
  main_ = &addBody(nullptr, nullptr, proto_->mutable_graph());
}

int EditableModel::functionOf(const NodeProto& node) const {
  if (functions_.empty()) return -1;
  const auto found = functions_.find(functionKey(node));
  return found == functions_.end() ? -1 : found->second;
}

Body& EditableModel::addBody(Body* outer, NodeProto* owner, GraphProto* graph) {
  Body& body = *bodies_.emplace_back(std::make_unique<Body>());
  body.outer = outer;
  body.owner = owner;
  body.graph = graph;
  body.nodes.reserve(static_cast<size_t>(graph->node_size()));
  for (NodeProto& node : *graph->mutable_node()) {
    body.place.emplace(&node, static_cast<int>(body.nodes.size()));
    body.nodes.push_back(&node);
    for (const auto& output : node.output()) {
      if (!output.empty()) body.madeBy.emplace(output, &node);
    }
    for (int i = 0; i < node.input_size(); ++i) body.reads[node.input(i)].emplace_back(&node, i);
    if (holdsBody(node)) body.holders.push_back(&node);
  }
  for (int i = 0; i < graph->initializer_size(); ++i) body.initializer.emplace(graph->initializer(i).name(), i);
  for (int i = 0; i < graph->input_size(); ++i) body.input.emplace(graph->input(i).name(), i);
  return body;
}

Opsets EditableModel::opsetsAt(const Body& body) const {
  const int function = rootOf(body).function;
  return opsetsOf(function < 0 ? proto_->opset_import() : proto_->functions(function).opset_import());
}

int EditableModel::opset(const Body& body) const {
  const int own = standardIn(opsetsAt(body)), models = standardIn(opsetsOf(proto_->opset_import()));
  const int function = rootOf(body).function;
  if (function < 0 || own == models || models == 0) return own;
  const auto [known, added] = asModel_.try_emplace(function, false);
  if (added) known->second = areSame(proto_->functions(function), own, models);
  return known->second ? models : own;
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
    known = &addBody(&body, &node, held.mutable_g());
    return *known;
  }
  throw EditRefused("node '" + node.name() + "' has no body called " + attribute);
}

Body* EditableModel::calledBy(Body& body, NodeProto& node) {
  const int function = functionOf(node);
  if (function < 0 || isRuntimeOp(node, opsetsAt(body))) return nullptr;
  auto& known = inner_[{&node, ""}];
  if (known != nullptr) return known;
  const FunctionProto& called = proto_->functions(function);
  auto own = std::make_unique<GraphProto>();
  *own->mutable_node() = called.node();
  *own->mutable_value_info() = called.value_info();
  for (const auto& input : called.input()) own->add_input()->set_name(input);
  for (const auto& output : called.output()) own->add_output()->set_name(output);
  known = &addBody(&body, &node, own.get());
  known->own = std::move(own);
  known->function = function;
  return known;
}

FunctionProto EditableModel::functionIn(const Body& call) const {
  FunctionProto made = proto_->functions(call.function);
  *made.mutable_node() = call.graph->node();
  *made.mutable_value_info() = call.graph->value_info();
  for (int i = 0; i < made.output_size(); ++i) made.set_output(i, call.graph->output(i).name());
  if (made.SerializeAsString() == proto_->functions(call.function).SerializeAsString()) return made;
  for (auto& import : *made.mutable_opset_import()) {
    if (isStandardDomain(import.domain())) import.set_version(opset(call));
  }
  return made;
}

std::string EditableModel::nameAt(const ReadSite& site) {
  return site.node != nullptr ? site.node->input(site.input) : site.body->graph->output(site.input).name();
}

Origin EditableModel::originOf(Body& from, std::string name) {
  Origin origin;
  for (Body* at = &from;;) {
    Body& body = bodyThatMakes(*at, name);
    origin.body = &body;
    origin.name = name;
    if (const auto made = body.madeBy.find(name); made != body.madeBy.end()) {
      origin.kind = Origin::Kind::Node;
      origin.node = made->second;
      return origin;
    }
    if (body.initializer.contains(name)) {
      origin.kind = Origin::Kind::Initializer;
      return origin;
    }
    const auto input = body.input.find(name);
    const bool handedOn = body.function >= 0 && input != body.input.end() && input->second < body.owner->input_size();
    if (!handedOn) return origin;
    origin.calls.push_back({body.outer, body.owner, input->second});
    name = body.owner->input(input->second);
    at = body.outer;
  }
}

std::vector<ReadSite> EditableModel::readsOf(Body& body, const std::string& name, bool intoCalls) {
  std::vector<ReadSite> out;
  const auto append = [&](const std::vector<ReadSite>& more) { out.insert(out.end(), more.begin(), more.end()); };
  if (const auto found = body.reads.find(name); found != body.reads.end()) {
    for (const auto& [node, input] : found->second) {
      if (node->input(input) != name) continue;  // has been redirected
      Body* called = intoCalls ? calledBy(body, *node) : nullptr;
      if (called == nullptr) {
        out.push_back({&body, node, input});
      } else if (input < called->graph->input_size()) {
        append(readsOf(*called, called->graph->input(input).name()));
      }
    }
  }
  for (NodeProto* node : body.holders) {
    for (const auto& attribute : node->attribute()) {
      if (!attribute.has_g()) continue;
      Body& inner = bodyOf(body, *node, attribute.name());
      if (!inner.makes(name)) append(readsOf(inner, name, intoCalls));
    }
  }
  for (int i = 0; i < body.graph->output_size(); ++i) {
    if (body.graph->output(i).name() == name) out.push_back({&body, nullptr, i});
  }
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
  return std::ranges::any_of(bodies_,
                             [&](const auto& body) { return anyReads(body->before) || anyReads(body->behind); });
}

Body& EditableModel::bodyThatMakes(Body& from, const std::string& name) {
  for (Body* body = &from; body != nullptr; body = body->function < 0 ? body->outer : nullptr) {
    if (body->makes(name)) return *body;
  }
  return from;
}

std::string EditableModel::freshName(Body& body, const std::string& wanted) {
  Body& root = rootOf(body);
  if (root.names.empty()) {
    collectNames(*root.graph, root.names);
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
    site.body->reads[name].emplace_back(site.node, site.input);
  } else if (site.body->outer != nullptr) {
    site.body->graph->mutable_output(site.input)->set_name(name);
  } else {
    throw EditRefused("an output of the model would get another name");
  }
}

std::string EditableModel::renameOutput(Body& body, NodeProto& node, const std::string& name,
                                        const std::vector<ReadSite>& but) {
  const auto output = std::ranges::find(*node.mutable_output(), name);
  if (output == node.mutable_output()->end() || isReadByNewNodes(name))
    throw EditRefused("a value that an edit has read already would get another name");
  const std::string fresh = freshName(body, name + "_centered");
  for (const ReadSite& read : readsOf(body, name, /*intoCalls=*/false)) {
    if (std::ranges::find(but, read) == but.end()) setInput(read, fresh);
  }
  *output = fresh;
  body.madeBy[fresh] = &node;
  body.edited = true;
  return fresh;
}

void EditableModel::add(Body& body, NewNodes& list, std::vector<NodeProto> added) {
  body.edited = true;
  for (auto& node : added) {
    list.push_back(std::make_unique<NodeProto>(std::move(node)));
    new_.insert(list.back().get());
  }
}

void EditableModel::addBefore(Body& body, const NodeProto* node, std::vector<NodeProto> added) {
  add(body, body.before[node], std::move(added));
}

void EditableModel::addBehind(Body& body, const NodeProto* node, std::vector<NodeProto> added) {
  add(body, body.behind[node], std::move(added));
}

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

// From here on: from a copy with marked edits to a model.

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
    Sweep sweep(*root->graph);
    sweep.run(lost);
    for (const auto& name : sweep.goneFromRoot()) {
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
