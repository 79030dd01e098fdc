#include "core/formats/pt2/translate/translator.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include <algorithm>
#include <array>
#include <unordered_set>

namespace normlens::formats::pt2 {
namespace {

namespace aten = c10::aten;
namespace prim = c10::prim;
using torch::jit::Block;
using torch::jit::WithInsertPoint;

c10::TypePtr typeOf(const UserInput& input) {
  switch (input.kind) {
    case UserInput::Kind::Int:
      return c10::IntType::get();
    case UserInput::Kind::Float:
      return c10::FloatType::get();
    case UserInput::Kind::Bool:
      return c10::BoolType::get();
    default:
      return c10::TensorType::get();
  }
}

std::map<std::string, std::string> classesIn(const std::vector<const Json*>& graphs) {
  std::map<std::string, std::string> classes;
  for (const Json* graph : graphs) {
    for (const Json& node : graph->at("nodes").items()) {
      for (const ModuleOnStack& module : moduleStack(node)) classes.try_emplace(module.path, module.className);
    }
  }
  return classes;
}

void addLive(const Block& block, std::unordered_set<const torch::jit::Value*>& values,
             std::unordered_set<const torch::jit::Node*>& nodes) {
  for (const auto* input : block.inputs()) values.insert(input);
  for (const auto* node : block.nodes()) {
    nodes.insert(node);
    for (const auto* output : node->outputs()) values.insert(output);
    for (const auto* inner : node->blocks()) addLive(*inner, values, nodes);
  }
}

// As EliminateDeadCode(), which reads the schema of every operator: opaque ones have none.
void removeUnread(Block& block) {
  constexpr std::array kHarmless = {prim::Constant, prim::GetAttr, prim::ListConstruct, prim::ListUnpack};
  auto nodes = block.nodes();
  for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
    for (Block* inner : at->blocks()) removeUnread(*inner);
    const auto* schema = at->maybeSchema();
    const bool harmless = std::ranges::find(kHarmless, at->kind()) != kHarmless.end() ||
                          (schema != nullptr && !at->kind().is_prim() && !schema->is_mutable());
    if (harmless && !at->hasUses()) at.destroyCurrent();
  }
}

}  // namespace

int originNumber(const torch::jit::Node& node) {
  const auto attribute = c10::Symbol::attr("pt2_origin");
  return node.hasAttribute(attribute) ? static_cast<int>(node.i(attribute)) : -1;
}

Translator::Translator(const ProgramFile& file, const Signature& signature)
    : file_(file), signature_(signature), graphs_(graphsIn(file.graph())) {
  for (size_t i = 0; i < graphs_.size(); ++i) numbers_[graphs_[i]] = static_cast<int>(i);
  made_.names.resize(graphs_.size());
  made_.inAutocast.resize(graphs_.size());
  made_.runsTwice.resize(graphs_.size());
}

void Translator::addModules(const std::function<at::Tensor(const HeldTensor&)>& tensorOf) {
  modules_.emplace(classesIn(graphs_));
  for (const HeldTensor& held : signature_.held) modules_->add(held, tensorOf(held));
  modules_->addKnown();
}

Translator::Value* Translator::readHeld(const HeldTensor& held) {
  Value* at = self_;
  for (const std::string& part : ModuleTree::partsOf(held.fqn)) at = graph_->insertGetAttr(at, part);
  return at;
}

void Translator::bindInputs(Scope& scope) {
  const auto add = [&](const std::string& name, Value* value) {
    scope.values[name] = value;
    made_.names[0].emplace(value, name);
    made_.records[value] = recordOf(name, *scope.json);
  };
  for (const UserInput& input : signature_.inputs) {
    Value* value = graph_->addInput()->setType(typeOf(input));
    const bool plain =
        std::ranges::all_of(input.name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
    if (plain) value->setDebugName(input.name);
    add(input.name, value);
  }
  const WithInsertPoint here(graph_->block());
  for (const HeldTensor& held : signature_.held) {
    const Json* meta = scope.json->at("tensor_values").find(held.placeholder);
    if (meta == nullptr) throw BrokenDocument("nothing is said of the value '" + held.placeholder.substr(0, 80) + "'");
    add(held.placeholder, readHeld(held));
  }
}

// Adds what a run returns, and after it what it has written to: an update of a buffer is an output of the program,
// which whoever runs it takes over.
void Translator::addResults(Scope& scope) {
  const auto& outputs = scope.json->at("outputs").items();
  Values results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputSpec& spec = signature_.outputs[i];
    if (spec.isToken) continue;
    if (spec.isResult) results.push_back(read(outputs[i], scope, nullptr));
    if (spec.isUsers) continue;
    const auto held = std::ranges::find(signature_.held, spec.written, &HeldTensor::fqn);
    Value* target = held != signature_.held.end() ? named(held->placeholder, scope) : named(spec.written, scope);
    Value* copied = graph_->insert(aten::copy_, {target, read(outputs[i], scope, nullptr)});
    made_.mutations[static_cast<int>(made_.origins.size())] = i;
    mark(copied->node(), scope, /*part=*/true);
  }
  if (results.empty()) throw UnsupportedProgram("gives no tensor and no number", "export a model that gives one");
  Value* all = results.size() == 1 ? results[0] : graph_->insertNode(graph_->createTuple(results))->output();
  graph_->registerOutput(all);
}

// Removes the records and names of values that only dead code made.
void Translator::keepLiveOnly(Translation& made) const {
  std::unordered_set<const Value*> values;
  std::unordered_set<const Node*> nodes;
  addLive(*graph_->block(), values, nodes);
  const auto isDead = [&](const auto& entry) { return !values.contains(entry.first); };
  std::erase_if(made.records, isDead);
  for (ValueNames& names : made.names) std::erase_if(names, isDead);
}

Translation Translator::run(const std::function<at::Tensor(const HeldTensor&)>& tensorOf) {
  addModules(tensorOf);
  torch::jit::Module& root = modules_->root();
  self_ = graph_->addInput("self")->setType(root.type());
  Scope scope{0, graphs_[0], {}, 0};
  bindInputs(scope);
  {
    const WithInsertPoint here(graph_->block());
    nodes(scope);
    addResults(scope);
  }
  if (made_.opaque.empty()) {
    torch::jit::EliminateDeadCode(graph_);
  } else {
    removeUnread(*graph_->block());
  }
  graph_->lint();
  keepLiveOnly(made_);
  const auto unit = root._ivalue()->compilation_unit();
  const c10::QualifiedName name(*root.type()->name(), "forward");
  root.type()->addMethod(unit->create_function(name, graph_));
  made_.module = root;
  return std::move(made_);
}

Translation translate(const ProgramFile& file, const Signature& signature,
                      const std::function<at::Tensor(const HeldTensor&)>& tensorOf) {
  return Translator(file, signature).run(tensorOf);
}

}  // namespace normlens::formats::pt2
