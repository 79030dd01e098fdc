#include "core/formats/pt2/write/program_edits.h"

#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/pt2/translate/program.h"
#include "core/formats/pt2/write/document_editor.h"
#include "core/formats/pt2/write/tape.h"
#include "core/formats/torchscript/edit/apply_new_nodes.h"
#include "core/formats/torchscript/edit/norms/apply_fused_norm.h"
#include "core/formats/torchscript/program/each_node.h"
#include "core/formats/torchscript/program/memory_sharing.h"

namespace normlens::formats::pt2 {
namespace {

namespace journal = torchscript::journal;
namespace prim = c10::prim;
using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;
using torchscript::BodyEdit;
using torchscript::OperandSite;

constexpr size_t kLoopCarries = 2;  // behind the bound and the condition

[[noreturn]] void refuseCondition() { throw EditRefused("the condition of a loop would change"); }
[[noreturn]] void refusePart() {
  throw EditRefused("what belongs to an operation of the file would change without it");
}

struct DocumentRead {
  int graph = 0;
  int node = -1;        // of the graph; -1: an output of the graph itself
  size_t argument = 0;  // which of the node's inputs, or which output
  int element = -1;     // of a list; -1: the argument itself
};

// Finds where the document has what a node of the translated program reads.
class OperandPlaces {
 public:
  OperandPlaces(const Program& program, DocumentEditor& editor) : program_(program), editor_(editor) {}

  // The node's place in the document. Throws EditRefused where it has none of its own.
  [[nodiscard]] const Origin& placeOf(const Node& node) const {
    const int number = originNumber(node);
    if (number < 0) throw EditRefused("an operation has no place of its own in the file");
    const Origin& origin = program_.translation.origins[static_cast<size_t>(number)];
    if (origin.part) refusePart();
    return origin;
  }

  // An input of a node, of a list that a node reads, or of a return node. By the node that is in its place by now.
  // Throws EditRefused where the document has no place for it.
  [[nodiscard]] DocumentRead readAt(const Node& node, size_t input) const {
    const auto throughUser = [&] {
      const auto& uses = node.output()->uses();
      if (uses.size() != 1) refusePart();
      return readAt(*uses[0].user, uses[0].offset);
    };
    if (node.kind() == prim::Return) return returnAt(*node.owningBlock(), input);
    if (node.kind() == prim::ListConstruct || node.kind() == prim::TupleConstruct) {
      DocumentRead list = throughUser();
      if (list.node < 0) return returnAt(*node.owningBlock(), input);  // the program's results, as one tuple
      list.element = static_cast<int>(input);
      return list;
    }
    const int number = originNumber(node);
    const Translation& translation = program_.translation;
    const bool isPart = number >= 0 && translation.origins[static_cast<size_t>(number)].part;
    if (isPart && translation.origins[static_cast<size_t>(number)].transparent) return throughUser();
    const auto mutation = translation.mutations.find(number);
    if (mutation != translation.mutations.end() && input == 1) return {0, -1, mutation->second};
    const Origin& origin = placeOf(node);
    if (node.kind() != prim::Loop) return {origin.graph, origin.node, argumentOf(origin, node, input)};
    if (input < kLoopCarries) refuseCondition();
    return {origin.graph, origin.node, 2, static_cast<int>(input - kLoopCarries)};
  }

  [[nodiscard]] Json& argumentAt(const DocumentRead& read) const {
    if (program_.translation.runsTwice[static_cast<size_t>(read.graph)]) refuseCondition();
    if (read.node < 0) return editor_.graph(read.graph).at("outputs").items().at(read.argument);
    return editor_.node(read.graph, read.node).at("inputs").items().at(read.argument).at("arg");
  }

  // The name of the tensor that is read; null: a number that is written there.
  [[nodiscard]] Json* nameAt(const DocumentRead& read) const {
    Json* at = &argumentAt(read);
    if (read.element >= 0) {
      const auto element = static_cast<size_t>(read.element);
      if (Json* list = at->find("as_tensors")) return &list->items().at(element).at("name");
      Json* optional = at->find("as_optional_tensors");
      if (optional == nullptr) return nullptr;
      at = &optional->items().at(element);
    }
    Json* tensor = at->find("as_tensor");
    return tensor == nullptr ? nullptr : &tensor->at("name");
  }

 private:
  [[nodiscard]] DocumentRead returnAt(const Block& block, size_t output) const {
    const Node* owner = block.owningNode();
    if (owner != nullptr) {
      const Origin& origin = placeOf(*owner);
      const auto& inner = editor_.graphsOf(origin.graph, origin.node);
      const bool loop = owner->kind() == prim::Loop;
      if (loop && output == 0) refuseCondition();
      const bool second = loop || &block != owner->blocks()[0];
      return {inner.at(second ? 1 : 0), -1, output - (loop ? 1 : 0)};
    }
    const auto& outputs = program_.signature.outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].isResult && output-- == 0) return {0, -1, i};
    }
    throw EditRefused("the program has no such result");
  }

  // Operators on sizes, item() and cond name no arguments; what LibTorch does not have has no schema.
  [[nodiscard]] size_t argumentOf(const Origin& origin, const Node& node, size_t input) const {
    const Json& json = editor_.node(origin.graph, origin.node);
    const std::string& target = json.at("target").text();
    if (origin.writtenOut && input > 0) refusePart();
    const bool bySchema = target.starts_with("torch.ops.") && node.kind() != prim::If &&
                          !target.ends_with(".item.default") && !origin.writtenOut;
    if (!bySchema) return input;
    const auto& inputs = json.at("inputs").items();
    const std::string& name = schemaOfTarget(target).arguments().at(input).name();
    const auto found = std::ranges::find_if(inputs, [&](const Json& each) { return each.at("name").text() == name; });
    if (found == inputs.end()) throw EditRefused("an argument that the file leaves out would change");
    return static_cast<size_t>(found - inputs.begin());
  }

  const Program& program_;
  DocumentEditor& editor_;
};

std::string outputName(const Json& node, size_t output) {
  return node.at("outputs").items().at(output).at("as_tensor").at("name").text();
}

// Called with each record of the journal in turn.
class Repeater {
 public:
  Repeater(const Program& program, DocumentEditor& editor, const std::map<std::string, std::string>& added)
      : program_(program), editor_(editor), places_(program, editor), added_(added) {}

  void repeat(const BodyEdit& edit) {
    edit_ = &edit;
    std::visit(*this, edit.record);
  }

  void operator()(const std::monostate& /*none*/) const { throw EditRefused("an edit has no form in this format"); }

  void operator()(const journal::Sweep& /*sweep*/) const {}  // the editor does so at its end

  void operator()(const journal::InsertCode& code) const {
    std::map<GraphName, std::vector<DocumentRead>> groups;  // once in each graph
    for (const OperandSite& site : code.reads) {
      if (torchscript::writesInto(*site.node, static_cast<size_t>(site.input)))
        throw EditRefused("an operation writes into what would change");
      const DocumentRead read = readAt(site);
      if (places_.nameAt(read) == nullptr) {
        setNumber(read, code);
      } else {
        groups[valueAt(read)].push_back(read);
      }
    }
    for (const auto& [value, reads] : groups) {
      const auto& nodes = editor_.graph(value.first).at("nodes").items();
      size_t before = nodes.size();
      for (const DocumentRead& read : reads) before = std::min(before, static_cast<size_t>(read.node));
      Tape tape(program_.translation, editor_, value.first);
      const Value* made = code.emit(*tape.graph(), tape.tensor(value));
      tape.insert(before, nodes.empty() ? Json() : nodes[std::min(before, nodes.size() - 1)]);
      for (const DocumentRead& read : reads) see(read, tape.nameOf(made));
    }
  }

  void operator()(const journal::PassOn& record) const {
    const Origin& at = places_.placeOf(*record.node);
    const GraphName operand = valueAt(places_.readAt(*record.node, static_cast<size_t>(record.input)));
    editor_.readInstead({at.graph, outputName(editor_.node(at.graph, at.node), 0)}, operand.second);
    if (!record.stays) editor_.remove(at.graph, at.node);
  }

  void operator()(const journal::ReplaceNode& record) const {
    const Origin& at = places_.placeOf(*record.node);
    const Json old = editor_.node(at.graph, at.node);
    Tape tape(program_.translation, editor_, at.graph);
    torch::jit::Graph& graph = *tape.graph();
    Node* twin = record.readsOperands ? tape.add(old) : graph.insertNode(graph.create(prim::Uninitialized));
    const std::vector<Value*> operands = twin->inputs().vec();
    std::vector<std::string> results;
    for (size_t i = 0; i < twin->outputs().size(); ++i) {
      if (twin->outputs().size() > 1 && !record.node->output(i)->hasUses()) continue;
      results.push_back(outputName(old, i));
      graph.registerOutput(twin->output(i));
    }
    torchscript::GraphCopy copy(tape.graph(), record.node, twin,
                                [&](const OperandSite& site) { return tape.tensor(valueAt(readAt(site))); });
    edit_->run(copy);
    const auto made = graph.outputs();
    if (made[0]->node() == twin) return giveOperands(at, tape, *twin, operands);
    for (size_t i = 0; i < made.size(); ++i) tape.standFor(made[i], results[i]);
    tape.replace(at.node, old);
  }

  void operator()(const journal::ReadTensor& record) const {
    const DocumentRead read = readAt(record.read);
    if (record.attribute.empty()) return setNumber(read, record.tensor);
    see(read, editor_.handIn(added_.at(record.attribute), read.graph));
  }

  void operator()(const journal::SetTensor& record) const {
    for (const auto& use : record.node->output()->uses())
      setNumber(places_.readAt(*use.user, use.offset), record.tensor);
  }

  void operator()(const journal::CarryMean& record) {
    const int of = readAt(record.reads.front()).graph;
    std::vector<std::string> means;
    size_t last = 0;  // all are there in front of this node
    const auto held = [&](const journal::CarryMean::Held& tensor) {
      return editor_.handIn(added_.at(tensor.attribute), of);
    };
    // Written in front of the node that reads there.
    const auto before = [&](const OperandSite& site, const auto& emit) {
      const DocumentRead read = readAt(site);
      if (read.graph != of || read.node < 0)
        throw EditRefused("the parts of a mean are in several parts of the program");
      last = std::max(last, static_cast<size_t>(read.node));
      Tape tape(program_.translation, editor_, of);
      const Value* made = emit(tape, tape.tensor(valueAt(read)));
      tape.insert(static_cast<size_t>(read.node), editor_.node(of, read.node));
      means.push_back(tape.nameOf(made));
    };
    for (const auto& linear : record.linears) {
      before(linear.read, [&](Tape& tape, Value* x) {
        return torchscript::emittedRow(*tape.graph(), x, tape.tensor({of, held(linear.row)}));
      });
      if (linear.view == nullptr) continue;
      const Origin& view = places_.placeOf(*linear.view);
      if (view.graph != of) throw EditRefused("the parts of a mean are in several parts of the program");
      last = std::max(last, static_cast<size_t>(view.node) + 1);
      Tape tape(program_.translation, editor_, of);
      Value* rows = tape.tensor({of, outputName(editor_.node(of, view.node), 0)});
      const Value* viewed = torchscript::emittedWithRowsOf(*tape.graph(), tape.tensor({of, means.back()}), rows);
      tape.insert(static_cast<size_t>(view.node) + 1, editor_.node(of, view.node));
      means.back() = tape.nameOf(viewed);
    }
    for (const auto& value : record.values)
      before(value.read, [&](Tape& tape, Value* x) { return torchscript::emittedMean(*tape.graph(), x); });
    for (const auto& constant : record.constants) means.push_back(held(constant.row));
    for (const int earlier : record.earlier) {
      means.push_back(means_.at(earlier).name);
      last = std::max(last, means_.at(earlier).last);
    }
    const std::string mean = sumOf(of, last, means);
    means_[record.number] = {mean, last};
    std::vector<DocumentRead> reads;
    size_t first = editor_.graph(of).at("nodes").items().size();
    for (const OperandSite& site : record.reads) {
      reads.push_back(readAt(site));
      if (reads.back().graph != of) throw EditRefused("a stream is read in several parts of the program");
      first = std::min(first, static_cast<size_t>(reads.back().node));
    }
    const std::string whole = sumOf(of, first, {valueAt(reads.front()).second, mean});
    for (const DocumentRead& read : reads) see(read, whole);
  }

  void operator()(const journal::FuseNorm& record) const {
    const torchscript::FusedNorm& fused = *record.norm;
    const torchscript::BodyOnWay& body = fused.way.bodies.front();
    const Origin &add = places_.placeOf(*body.from), &norm = places_.placeOf(*fused.norm);
    if (norm.graph != add.graph) throw EditRefused("an add and its norm are in different parts of the program");
    Tape tape(program_.translation, editor_, add.graph);
    const auto read = [&](const Node& node, size_t input) { return tape.tensor(valueAt(places_.readAt(node, input))); };
    torch::jit::Graph& graph = *tape.graph();
    std::vector<Value*> inputs = {read(*body.from, 0), read(*body.from, 1)};
    for (const auto& number : {fused.gamma, fused.beta})
      inputs.push_back(number ? read(*fused.norm, number->input) : graph.insertConstant(c10::IValue()));
    inputs.push_back(graph.insertConstant(fused.eps));
    Node* both = torchscript::insertPair(graph, record.op, inputs);
    tape.standFor(both->output(0), outputName(editor_.node(add.graph, add.node), 0));
    tape.replace(add.node, editor_.node(norm.graph, norm.node));  // whose name the op has
    const std::string normalised = outputName(editor_.node(norm.graph, norm.node), 0);
    std::string y = tape.nameOf(both->output(1));
    const auto views = torchscript::viewsOfResult(body);
    for (const Node* view : views) y = viewed(*view, y, view == views.back() ? normalised : "", norm);
    editor_.readInstead({norm.graph, normalised}, y);
    editor_.remove(norm.graph, norm.node);
  }

 private:
  // The sum of these values, in front of a node.
  [[nodiscard]] std::string sumOf(int of, size_t before, const std::vector<std::string>& values) const {
    if (values.size() == 1) return values.front();
    const auto& nodes = editor_.graph(of).at("nodes").items();
    Tape tape(program_.translation, editor_, of);
    Value* sum = tape.tensor({of, values.front()});
    for (size_t i = 1; i < values.size(); ++i)
      sum = tape.graph()->insert(c10::aten::add, {sum, tape.tensor({of, values[i]})});
    tape.insert(before, nodes[std::min(before, nodes.size() - 1)]);
    return tape.nameOf(sum);
  }

  // The view of another value, behind the view of the document.
  std::string viewed(const Node& view, const std::string& value, const std::string& replaced,
                     const Origin& work) const {
    const Origin& at = places_.placeOf(view);
    Tape tape(program_.translation, editor_, at.graph);
    Node* same = tape.add(editor_.node(at.graph, at.node));
    same->replaceInput(0, tape.tensor({work.graph, value}));
    if (!replaced.empty()) tape.standFor(same->output(), replaced);
    tape.insert(static_cast<size_t>(at.node) + 1, editor_.node(work.graph, work.node));
    return tape.nameOf(same->output());
  }

  // The node is what it was, with other operands.
  void giveOperands(const Origin& at, Tape& tape, const Node& twin, const std::vector<Value*>& before) const {
    Json& json = editor_.node(at.graph, at.node);
    const auto& schema = schemaOfTarget(json.at("target").text());
    for (size_t i = 0; i < before.size(); ++i) {
      if (twin.input(i) == before[i]) continue;
      for (Json& input : json.at("inputs").items()) {
        if (input.at("name").text() == schema.arguments().at(i).name())
          input.set("arg", tape.argument(twin.input(i), schema.arguments().at(i).real_type()));
      }
    }
  }

  [[nodiscard]] DocumentRead readAt(const OperandSite& site) const {
    return places_.readAt(*site.node, static_cast<size_t>(site.input));
  }

  [[nodiscard]] GraphName valueAt(const DocumentRead& read) const {
    const Json* name = places_.nameAt(read);
    if (name == nullptr) throw EditRefused("a number is read where an edit wants a tensor");
    return {read.graph, editor_.nowRead({read.graph, name->text()})};
  }

  void see(const DocumentRead& read, const std::string& name) const {
    Json* at = places_.nameAt(read);
    if (at == nullptr) throw EditRefused("a number is read where an edit wants a tensor");
    *at = Json(name);
  }

  void setNumber(const DocumentRead& read, const at::Tensor& tensor) const {
    if (places_.nameAt(read) != nullptr) throw EditRefused("a tensor is read where an edit writes a number");
    places_.argumentAt(read) = literalArgument(tensor, c10::TensorType::get());
  }

  void setNumber(const DocumentRead& read, const journal::InsertCode& code) const {
    Tape tape(program_.translation, editor_, read.graph);
    Value* x = tape.read(places_.argumentAt(read));
    places_.argumentAt(read) = tape.argument(code.emit(*tape.graph(), x), x->type());
  }

  const Program& program_;
  DocumentEditor& editor_;
  OperandPlaces places_;
  const std::map<std::string, std::string>& added_;
  const BodyEdit* edit_ = nullptr;  // that is being repeated
  struct Mean {
    std::string name;
    size_t last = 0;  // it is there in front of this node
  };
  std::map<int, Mean> means_;  // by the number of a CarryMean
};

// What the module leaves out, assertions for one, is no reader.
DocumentEditor::Wanted wantedNodes(const Translation& translation) {
  DocumentEditor::Wanted wanted;
  torchscript::eachNode(*translation.module.get_method("forward").graph()->block(), [&](const Node& node) {
    const int number = originNumber(node);
    if (number < 0 || translation.origins[static_cast<size_t>(number)].part) return;
    const Origin& origin = translation.origins[static_cast<size_t>(number)];
    const bool goes = node.blocks().empty() && !node.hasSideEffects() && !torchscript::mayMutate(node);
    const auto [at, isNew] = wanted.try_emplace({origin.graph, origin.node}, goes);
    at->second = at->second && goes;
  });
  return wanted;
}

}  // namespace

ProgramFile repeatEdits(const Program& program, DocumentEditor& editor, const std::vector<BodyEdit>& edits,
                        const std::map<std::string, std::string>& added) {
  Repeater repeater(program, editor, added);
  for (const BodyEdit& edit : edits) {
    if (edit.use != torchscript::BodyUse::Alone) repeater.repeat(edit);  // nothing else calls the program
  }
  return editor.finish(wantedNodes(program.translation));
}

}  // namespace normlens::formats::pt2
