#include "core/formats/torchscript/edit/rebuild.h"

#include "core/formats/torchscript/save/save_edits.h"

namespace normlens::formats::torchscript {

Result<std::unique_ptr<TorchScriptModel>> rebuild(const TorchScriptModel& model, const FrameEdits& frames,
                                                  const OtherEntries& others, EditsByInstance instances) {
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  spreadToMethods(model.program(), frames, others, *unit, instances);
  const ModuleSource& source = model.source();
  ModuleSource made{ModuleCopier(unit, instances).copy(source.module), source.extraFiles, source.archive,
                    keepAlive(source.edits, source.module), source.defaultType};
  return TorchScriptModel::fromModule(std::move(made), model.facts());
}

}  // namespace normlens::formats::torchscript
