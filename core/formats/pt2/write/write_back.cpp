#include "core/formats/pt2/write/write_back.h"

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <optional>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/pt2/file/meta_algebra.h"
#include "core/formats/pt2/translate/module_tree.h"
#include "core/formats/pt2/write/difference.h"
#include "core/formats/pt2/write/node_writer.h"
#include "core/formats/pt2/write/place_tensors.h"
#include "core/formats/torchscript/program/module_index.h"

namespace normlens::formats::pt2 {
namespace {

using torch::jit::Module;
using torchscript::TorchScriptModel;

std::shared_ptr<torch::jit::Graph> forwardOf(const Module& module) { return module.get_method("forward").graph(); }

at::Tensor tensorAt(const Module& module, const std::string& path) {
  c10::IValue value = module._ivalue();
  for (const std::string& part : ModuleTree::partsOf(path)) value = value.toObjectRef().getAttr(part);
  return value.toTensor();
}

// The tensors of the edited module, with what is new of them put into the documents.
class HeldDifference {
 public:
  HeldDifference(const Program& program, const Module& before, const Module& after)
      : program_(program), before_(before), after_(after) {}

  // Those that are new get a name beside the one whose place they take, by which the nodes then read them.
  void add(const Difference& difference, DocumentEditor& editor, NodeWriter& writer) {
    for (const HeldTensor& held : program_.signature.held) {
      at::Tensor tensor = tensorAt(after_, held.fqn);
      if (!torchscript::sameTensor(tensorAt(before_, held.fqn), tensor)) {
        changed_.push_back({held, tensor, {}});
        const Json meta = *editor.metaOf({0, held.placeholder});
        editor.describe({0, held.placeholder}, metaOfRecord(meta, tensor));
      }
      tensors_[held.fqn] = std::move(tensor);
    }
    for (const auto& [path, was] : difference.newAttributes()) {
      const auto known = std::ranges::find(program_.signature.held, path, &HeldTensor::fqn);
      if (known != program_.signature.held.end()) {
        writer.addAttribute(path, known->placeholder);
        continue;
      }
      const auto like = std::ranges::find(program_.signature.held, was, &HeldTensor::fqn);
      if (like == program_.signature.held.end()) throw EditRefused("a new weight takes the place of none");
      const at::Tensor tensor = tensorAt(after_, path);
      const Json meta = *editor.metaOf({0, like->placeholder});
      const HeldTensor made = editor.addHeld(*like, metaOfRecord(meta, tensor));
      changed_.push_back({made, tensor, like->fqn});
      tensors_[made.fqn] = tensor;
      writer.addAttribute(path, made.placeholder);
    }
  }

  [[nodiscard]] const std::vector<ChangedTensor>& changed() const { return changed_; }
  [[nodiscard]] std::map<std::string, at::Tensor> tensors() && { return std::move(tensors_); }

 private:
  const Program& program_;
  const Module& before_;
  const Module& after_;
  std::vector<ChangedTensor> changed_;
  std::map<std::string, at::Tensor> tensors_;
};

// Describes values of a narrow stream, before nodes are written that read them.
void describeNarrow(const std::vector<fold::NarrowValue>& narrow, const TorchScriptModel& before,
                    const Translation& translation, const Difference& difference, DocumentEditor& editor) {
  for (const fold::NarrowValue& value : narrow) {
    const auto at = static_cast<size_t>(value.value);
    const int inProgram = before.lowered().programValue[at];
    if (inProgram < 0 || !before.lowered().elementPath[at].empty()) continue;
    const auto* original = difference.originalOfBefore(before.program().value(inProgram).value);
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

WrittenProgram writeBack(const Program& program, const TorchScriptModel& before, const TorchScriptModel& after,
                         const std::vector<fold::NarrowValue>& narrow) {
  const Module &was = before.source().module, &is = after.source().module;
  const auto original = forwardOf(program.translation.module), old = forwardOf(was), edited = forwardOf(is);
  const Difference difference(program.translation, *original, *old, *edited);
  DocumentEditor editor(program.file);
  NodeWriter writer(program, difference, editor, *edited);
  describeNarrow(narrow, before, program.translation, difference, editor);
  HeldDifference held(program, was, is);
  held.add(difference, editor, writer);
  writer.write();
  WrittenProgram made;
  made.file = editor.finish(writer.renamed(), difference.kept());
  made.written = placeTensors(program, held.changed(), made.file);
  made.tensors = std::move(held).tensors();
  return made;
}

}  // namespace normlens::formats::pt2
