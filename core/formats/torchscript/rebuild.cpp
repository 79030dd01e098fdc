#include "core/formats/torchscript/rebuild.h"

#include "core/formats/torchscript/save_edits.h"

namespace normlens::formats::torchscript {
namespace {

// State that the model writes must not be shared between the original and its copy. What an edit has put there is the
// copy's own already.
void copyWrittenState(const Program& program, EditsByInstance& instances) {
  for (const auto& constant : program.constants) {
    if (constant.volatileReason.empty()) continue;
    const at::Tensor copy = constant.tensor.clone();
    for (const auto& site : constant.sites) {
      if (site.owner && site.elements.empty()) instances[site.owner.get()].values.try_emplace(site.attribute, copy);
    }
  }
}

}  // namespace

Result<std::unique_ptr<TorchScriptModel>> rebuild(const TorchScriptModel& model, const FrameEdits& frames,
                                                  const OtherEntries& others, EditsByInstance instances) {
  copyWrittenState(model.program(), instances);
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  spreadToMethods(model.program(), frames, others, *unit, instances);
  const ModuleSource& source = model.source();
  ModuleSource made{ModuleCopier(unit, instances).copy(source.module), source.extraFiles, source.archive,
                    keepAlive(source.edits, source.module), source.defaultType};
  return TorchScriptModel::fromModule(std::move(made), model.facts());
}

}  // namespace normlens::formats::torchscript
