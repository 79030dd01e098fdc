#include "core/formats/torchscript/rebuild.h"

#include "core/formats/torchscript/save_edits.h"
#include "core/formats/torchscript/written_state.h"

namespace normlens::formats::torchscript {

Result<std::unique_ptr<TorchScriptModel>> rebuild(const TorchScriptModel& model, const FrameEdits& frames,
                                                  const OtherEntries& others, EditsByInstance instances) {
  // What an edit has put there is the copy's own already.
  for (auto& [object, state] : copiesOfWrittenState(model.source().module, model.program())) {
    instances[object].values.merge(state.values);
  }
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  spreadToMethods(model.program(), frames, others, *unit, instances);
  const ModuleSource& source = model.source();
  ModuleSource made{ModuleCopier(unit, instances).copy(source.module), source.extraFiles, source.archive,
                    keepAlive(source.edits, source.module), source.defaultType};
  return TorchScriptModel::fromModule(std::move(made), model.facts());
}

}  // namespace normlens::formats::torchscript
