// A TorchScript file as a formats::Model. Private to formats/torchscript and pt2: includes torch.
//
// It says which room does what: each function is that of a room, called with the opened model.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/formats/model.h"
#include "core/formats/norm_fuser.h"
#include "core/formats/torchscript/lower/lowered_model.h"

namespace normlens::formats::torchscript {

class TorchScriptModel final : public Model, public NormFuser {
 public:
  explicit TorchScriptModel(LoweredModel model) : model_(std::move(model)) {}

  // Checks the container (archive_check.h), then loads. `strict`: see OpenChoice. Errors: Unreadable, Unsupported.
  [[nodiscard]] static Result<std::unique_ptr<TorchScriptModel>> open(const std::filesystem::path& path,
                                                                      const Task& task, bool strict = false);
  // As lowered().
  [[nodiscard]] static Result<std::unique_ptr<TorchScriptModel>> fromModule(ModuleSource source, ModelFacts facts);

  [[nodiscard]] const ModelFacts& facts() const override { return model_.facts; }
  [[nodiscard]] std::string fileHash(HashKind kind, const std::function<bool()>& goOn) const override;
  [[nodiscard]] const graph::Graph& graph() const override { return model_.graph(); }
  void assume(std::vector<graph::SizeOfOne> sizes) override { model_.lowered.graph.assumed = std::move(sizes); }
  [[nodiscard]] std::vector<InputArray> inputArrays(const std::vector<std::string>& given) const override;
  [[nodiscard]] std::vector<std::string> ownNames(std::vector<std::string> given) const override;
  [[nodiscard]] Result<std::vector<InputSpec>> inferInputs(InputsFor use = InputsFor::Values) const override;
  Status probe(const Tensors& inputs, const Task& task) override;
  [[nodiscard]] Result<Tensors> run(const Tensors& inputs, const Task& task) const override;
  [[nodiscard]] Result<std::unique_ptr<Runner>> runner(const Tensors& inputs,
                                                       const RunSettings& settings) const override;
  [[nodiscard]] Result<SeenRun> runSeeing(const Tensors& inputs, const std::vector<graph::ValueId>& values,
                                          const Task& task) const override;

  [[nodiscard]] Result<std::unique_ptr<Model>> converted(graph::DType dtype) const override;
  [[nodiscard]] Result<std::unique_ptr<Model>> perturbed(uint64_t seed) const override;
  [[nodiscard]] Result<std::unique_ptr<Model>> apply(const fold::FoldPlan& plan,
                                                     const std::vector<analysis::LayerNorm>& norms, NormFlavour flavour,
                                                     const Task& task) const override;
  [[nodiscard]] Result<FusedModel> joinNorms(const analysis::Norms& norms, const Task& task) const override;
  [[nodiscard]] Result<FusedModel> fuseNorms(const analysis::Norms& norms, const Task& task) const override;
  [[nodiscard]] Status computeWeights(const Task& task) const override { return model_.source.computeWeights(task); }
  [[nodiscard]] Result<std::unique_ptr<Model>> singleNorm(int64_t rows, int64_t width,
                                                          graph::DType dtype) const override;
  // The conditions of a fold become an extra file: torch.jit.load(…, _extra_files={"normlens.holds_if": ""}) reads it.
  void annotate(const std::map<std::string, std::string>& properties, const LateText& late = {}) override;
  [[nodiscard]] Status save(const std::filesystem::path& path, const Task& task) const override;

  // See LoweredModel::adoptRecords.
  void adoptRecords(ProbeRecords records) { model_.adoptRecords(std::move(records)); }

  [[nodiscard]] const LoweredModel& opened() const { return model_; }
  [[nodiscard]] const ModuleSource& source() const { return model_.source; }
  [[nodiscard]] const Program& program() const { return model_.program; }
  [[nodiscard]] const Lowered& lowered() const { return model_.lowered; }

 private:
  LoweredModel model_;
};

}  // namespace normlens::formats::torchscript
