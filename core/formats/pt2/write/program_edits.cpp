#include "core/formats/pt2/write/program_edits.h"

#include <algorithm>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/pt2/write/literals.h"
#include "core/formats/pt2/write/operand_places.h"
#include "core/formats/pt2/write/tape.h"
#include "core/formats/torchscript/edit/norms/apply_fused_norm.h"
#include "core/formats/torchscript/program/each_node.h"
#include "core/formats/torchscript/program/memory_sharing.h"

namespace normlens::formats::pt2 {
namespace {

namespace journal = torchscript::journal;
using torch::jit::Node;
using torch::jit::Value;
using torchscript::BodyEdit;
using torchscript::OperandSite;

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
    Node* twin = record.readsOperands ? tape.add(old) : graph.insertNode(graph.create(c10::prim::Uninitialized));
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
    Node* both = graph.insertNode(graph.create(c10::Symbol::fromQualString(record.op), inputs, 2));
    for (Value* output : both->outputs()) output->setType(c10::TensorType::get());
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
