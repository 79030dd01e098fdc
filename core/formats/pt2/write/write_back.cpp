#include "core/formats/pt2/write/write_back.h"

#include <algorithm>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/pt2/file/meta_algebra.h"
#include "core/formats/pt2/translate/module_tree.h"
#include "core/formats/pt2/write/place_tensors.h"
#include "core/formats/pt2/write/program_edits.h"
#include "core/formats/torchscript/program/program.h"

namespace normlens::formats::pt2 {
namespace {

namespace journal = torchscript::journal;
using torch::jit::Module;
using torch::jit::Node;
using torch::jit::Value;
using torchscript::RecordedEdits;
using torchscript::TorchScriptModel;

// The tensor that an attribute holds after the edits.
at::Tensor editedTensorAt(const Module& module, const std::string& path, const torchscript::EditsByInstance& edits) {
  c10::IValue owner = module._ivalue();
  const auto parts = ModuleTree::partsOf(path);
  for (size_t i = 0; i + 1 < parts.size(); ++i) owner = owner.toObjectRef().getAttr(parts[i]);
  if (const auto edited = edits.find(&owner.toObjectRef()); edited != edits.end()) {
    const auto value = edited->second.values.find(parts.back());
    if (value != edited->second.values.end()) return value->second.toTensor();
  }
  return owner.toObjectRef().getAttr(parts.back()).toTensor();
}

// The tensors of the edited module, with what is new of them put into the documents.
struct HeldTensorsAfter {
  std::vector<ChangedTensor> changed;
  std::map<std::string, at::Tensor> tensors;  // by FQN
  std::map<std::string, std::string> added;   // placeholders by the module's name for them
};

// Those that are new get a name beside the one whose place they take, by which the nodes then read them.
HeldTensorsAfter holdTensors(const Program& program, const TorchScriptModel& model, const RecordedEdits& recorded,
                             DocumentEditor& editor) {
  const auto& held = program.signature.held;
  const Module& module = model.source().module;
  HeldTensorsAfter after;
  for (const HeldTensor& each : held) {
    at::Tensor tensor = editedTensorAt(module, each.fqn, recorded.instances);
    if (!torchscript::sameTensor(editedTensorAt(module, each.fqn, {}), tensor)) {
      after.changed.push_back({each, tensor, {}});
      const Json meta = *editor.metaOf({0, each.placeholder});
      editor.describe({0, each.placeholder}, metaOfRecord(meta, tensor));
    }
    after.tensors[each.fqn] = std::move(tensor);
  }
  std::map<std::string, journal::ReadTensor> added;  // by the attribute's name
  for (const auto& edit : recorded.frames[0]) {
    const auto* read = std::get_if<journal::ReadTensor>(&edit.record);
    if (read != nullptr && !read->attribute.empty()) added.emplace(read->attribute, *read);
  }
  for (const auto& [attribute, read] : added) {
    const auto like = std::ranges::find(held, read.like, &HeldTensor::fqn);
    if (like == held.end()) throw EditRefused("a new weight takes the place of none");
    const Json meta = *editor.metaOf({0, like->placeholder});
    const HeldTensor made = editor.addHeld(*like, metaOfRecord(meta, read.tensor));
    after.changed.push_back({made, read.tensor, like->fqn});
    after.tensors[made.fqn] = read.tensor;
    after.added[attribute] = made.placeholder;
  }
  return after;
}

// The translation's value that one of a copy of its module is (of a float64 twin): copies keep the numbers of nodes.
const Value* originalOf(const Value& value, const Translation& translation) {
  const bool isGiven = value.node()->kind() == c10::prim::Param;
  const Node* node = isGiven ? value.node()->owningBlock()->owningNode() : value.node();
  if (node == nullptr) return translation.module.get_method("forward").graph()->inputs()[value.offset()];
  const int number = originNumber(*node);
  if (number < 0) return nullptr;
  const Node* original = translation.nodes[static_cast<size_t>(number)];
  return isGiven ? original->blocks()[0]->inputs()[value.offset()] : original->output(value.offset());
}

// Describes values of a narrow stream, before nodes are written that read them.
void describeNarrow(const std::vector<fold::NarrowValue>& narrow, const TorchScriptModel& model,
                    const Translation& translation, DocumentEditor& editor) {
  for (const fold::NarrowValue& value : narrow) {
    const auto at = static_cast<size_t>(value.value);
    const int inProgram = model.lowered().programValue[at];
    if (inProgram < 0 || !model.lowered().elementPath[at].empty()) continue;
    const Value* original = originalOf(*model.program().value(inProgram).value, translation);
    for (size_t graph = 0; graph < translation.names.size(); ++graph) {
      const auto name = translation.names[graph].find(original);
      if (name == translation.names[graph].end()) continue;
      const GraphName of{static_cast<int>(graph), name->second};
      if (const Json* meta = editor.metaOf(of))
        editor.describe(of, resizedMeta(*meta, static_cast<size_t>(value.axis), value.channels.width));
    }
  }
}

}  // namespace

WrittenProgram writeBack(const Program& program, const TorchScriptModel& model, const RecordedEdits& recorded,
                         const std::vector<fold::NarrowValue>& narrow) {
  DocumentEditor editor(program.file);
  describeNarrow(narrow, model, program.translation, editor);
  HeldTensorsAfter held = holdTensors(program, model, recorded, editor);
  auto made = std::make_shared<Program>();
  made->archive = program.archive;
  made->file = repeatEdits(program, editor, recorded.frames[0], held.added);
  made->rules = program.rules;
  made->samples = program.samples;
  made->dtype = program.dtype;
  made->isAsInFile = false;
  made->isRepacked = program.isRepacked;
  made->written = placeTensors(program, held.changed, made->file);
  made->written.insert(program.written.begin(), program.written.end());  // but for those that are written again
  WrittenProgram written{std::move(made), std::move(held.tensors)};
  written.read();
  return written;
}

void WrittenProgram::read() const {
  program->signature = readSignature(program->file);
  program->translation =
      translate(program->file, program->signature, [&](const HeldTensor& held) { return tensors.at(held.fqn); });
}

}  // namespace normlens::formats::pt2
