#include <limits>

#include "core/formats/pt2/translate/translator.h"

namespace normlens::formats::pt2 {
namespace {

namespace aten = c10::aten;
namespace prim = c10::prim;
using torch::jit::Block;
using torch::jit::WithInsertPoint;

const Json& argumentAt(const Json& node, size_t index) {
  const auto& inputs = node.at("inputs").items();
  if (index >= inputs.size()) throw BrokenDocument("a node has too few arguments");
  return inputs[index].at("arg");
}

}  // namespace

void Translator::higherOrder(const std::string& name, const Json& json, Scope& scope) {
  if (name == "cond") return cond(json, scope);
  if (name == "while_loop") return whileLoop(json, scope);
  if (name == "wrap_with_set_grad_enabled" || name == "wrap_with_autocast") return region(name, json, scope);
  opaqueNode("higher_order::" + name, json, scope);
}

Translator::Value* Translator::truth(Value* value, const Scope& scope) {
  if (value->type()->kind() == c10::TypeKind::BoolType) return value;
  Value* made = graph_->insert(aten::Bool, {value});
  mark(made->node(), scope, /*part=*/true, /*transparent=*/true);
  return made;
}

Translator::Values Translator::operands(const Json& argument, const Scope& scope) {
  Values values;
  const auto& [kind, list] = argument.only();
  if (kind == "as_tensor" || kind == "as_sym_int") return {read(argument, scope, nullptr)};
  for (const Json& item : list.items()) {
    if (const Json* name = item.find("name")) {
      values.push_back(named(name->text(), scope));
    } else {
      values.push_back(readSymbol(item, scope, nullptr));
    }
  }
  return values;
}

// The nodes of a graph that is an argument, where they are read.
Translator::Values Translator::inlined(const Json& graphArgument, const Values& operands, bool autocast) {
  const Json& graph = graphArgument.at("as_graph").at("graph");
  Scope inner{numbers_.at(&graph), &graph, {}, 0};
  if (autocast) made_.inAutocast[static_cast<size_t>(inner.graph)] = true;
  const auto& inputs = graph.at("inputs").items();
  if (inputs.size() != operands.size())
    throw BrokenDocument("a graph is given another number of operands than it takes");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& [kind, value] = inputs[i].only();
    const Json* name = kind == "as_tensor" ? value.find("name") : value.find("as_name");
    if (name == nullptr) continue;  // a number that is written where it is read
    checkName(name->text());
    inner.values[name->text()] = operands[i];
    made_.names[static_cast<size_t>(inner.graph)].emplace(operands[i], name->text());
    if (!made_.records.contains(operands[i])) made_.records[operands[i]] = recordOf(name->text(), graph);
  }
  nodes(inner);
  Values results;
  for (const Json& output : graph.at("outputs").items()) results.push_back(read(output, inner, nullptr));
  return results;
}

void Translator::cond(const Json& json, Scope& scope) {
  Node* branch = graph_->create(prim::If, {truth(read(argumentAt(json, 0), scope, nullptr), scope)}, 0);
  mark(graph_->insertNode(branch), scope);
  const Values given = operands(argumentAt(json, 3), scope);
  for (const size_t which : {size_t{1}, size_t{2}}) {
    Block* block = branch->addBlock();
    const WithInsertPoint inside(block);
    for (Value* result : inlined(argumentAt(json, which), given)) block->registerOutput(result);
  }
  const auto yes = branch->blocks()[0]->outputs(), no = branch->blocks()[1]->outputs();
  if (yes.size() != no.size()) throw BrokenDocument("the branches of a cond give different numbers of results");
  for (size_t i = 0; i < yes.size(); ++i) {
    if (*yes[i]->type() != *no[i]->type())
      throw BrokenDocument("the branches of a cond give results of different kinds");
    branch->addOutput()->setType(yes[i]->type());
  }
  bindOutputs(json, branch->outputs().vec(), scope);
}

void Translator::whileLoop(const Json& json, Scope& scope) {
  const Values carried = operands(argumentAt(json, 2), scope), extra = operands(argumentAt(json, 3), scope);
  const auto with = [&](Values values) {
    values.insert(values.end(), extra.begin(), extra.end());
    return values;
  };
  const auto goesOn = [&](const Values& values) {
    const Values result = inlined(argumentAt(json, 0), with(values));
    if (result.size() != 1) throw BrokenDocument("the condition of a loop is not one value");
    return truth(result[0], scope);
  };
  const Json& condition = argumentAt(json, 0).at("as_graph").at("graph");
  made_.runsTwice[static_cast<size_t>(numbers_.at(&condition))] = true;
  Values inputs = {constant(std::numeric_limits<int64_t>::max()), goesOn(carried)};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  Node* loop = mark(graph_->insertNode(graph_->create(prim::Loop, inputs, 0)), scope);
  Block* block = loop->addBlock();
  block->addInput()->setType(c10::IntType::get());
  Values inside;
  for (const Value* value : carried) inside.push_back(block->addInput()->setType(value->type()));
  {
    const WithInsertPoint here(block);
    const Values next = inlined(argumentAt(json, 1), with(inside));
    if (next.size() != carried.size()) throw BrokenDocument("a loop hands on another number of values than it takes");
    for (size_t i = 0; i < next.size(); ++i) {
      if (*next[i]->type() != *carried[i]->type())
        throw BrokenDocument("a loop hands on other kinds of values than it takes");
    }
    block->registerOutput(goesOn(next));
    for (Value* value : next) block->registerOutput(value);
  }
  for (const Value* value : carried) loop->addOutput()->setType(value->type());
  bindOutputs(json, loop->outputs().vec(), scope);
}

// A part of the program under another mode, which stays where it was.
void Translator::region(const std::string& name, const Json& json, Scope& scope) {
  const bool autocast = name == "wrap_with_autocast";
  const size_t graph = autocast ? 4 : 1;
  const bool enabled = autocast && argumentAt(json, 2).at("as_bool").boolean();
  Values given;
  for (size_t i = graph + 1; i < json.at("inputs").items().size(); ++i)
    given.push_back(read(argumentAt(json, i), scope, nullptr));
  bindOutputs(json, inlined(argumentAt(json, graph), given, enabled), scope);
}

}  // namespace normlens::formats::pt2
