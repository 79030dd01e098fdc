// An ONNX file as a formats::Model, on top of the rooms: what they make of its source and its lowered graph becomes a
// model again here. Private to formats/onnx.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/formats/model.h"
#include "core/formats/norm_fuser.h"
#include "core/formats/onnx/edit/edits.h"
#include "core/formats/onnx/lower/lower.h"

namespace normlens::formats::onnx {

class Session;

class OnnxModel final : public Model, public NormFuser {
 public:
  // Checks the file (see read_model.h), then reads it. Errors: Unreadable, Unsupported.
  [[nodiscard]] static Result<std::unique_ptr<OnnxModel>> open(const std::filesystem::path& path, const Task& task);
  // A model made in memory (folded, float64 twin, perturbed). `facts`: of the file it came from; the rest is counted
  // anew.
  [[nodiscard]] static Result<std::unique_ptr<OnnxModel>> fromSource(OnnxSource source, ModelFacts facts);

  [[nodiscard]] const ModelFacts& facts() const override { return facts_; }
  [[nodiscard]] std::string fileHash(HashKind kind, const std::function<bool()>& goOn) const override;
  [[nodiscard]] const graph::Graph& graph() const override { return lowered_.graph; }
  void assume(std::vector<graph::SizeOfOne> sizes) override { lowered_.graph.assumed = std::move(sizes); }
  [[nodiscard]] Result<std::vector<InputSpec>> inferInputs(InputsFor use = InputsFor::Values) const override;
  [[nodiscard]] std::vector<InputSpec> inferSizesOfOne() const override;
  // Fails where the model cannot be run; graph() then has the shapes that onnx infers.
  Status probe(const Tensors& inputs, const Task& task) override;
  bool inferShapes(const Tensors& inputs, const Task& task) override;
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
  [[nodiscard]] Status computeWeights(const Task& task) const override;
  [[nodiscard]] Result<std::vector<std::vector<std::string>>> sectionsAt(const std::vector<Cut>& cuts) const override;
  [[nodiscard]] Result<Section> section(const std::vector<Cut>& cuts, const std::vector<std::string>& outputs,
                                        const std::vector<size_t>& begins, const Task& task) const override;
  [[nodiscard]] Result<std::unique_ptr<Model>> singleNorm(int64_t rows, int64_t width,
                                                          graph::DType dtype) const override;
  [[nodiscard]] Result<FusedModel> joinNorms(const analysis::Norms& norms, const Task& task) const override;
  [[nodiscard]] Result<FusedModel> fuseNorms(const analysis::Norms& norms, const Task& task) const override;
  [[nodiscard]] bool takesAnnotations() const override { return true; }
  void annotate(const std::map<std::string, std::string>& properties, const LateText& late = {}) override {
    properties_ = properties;
    late_ = late;
  }
  [[nodiscard]] Status save(const std::filesystem::path& path, const Task& task) const override;

  [[nodiscard]] const OnnxSource& source() const { return source_; }
  [[nodiscard]] const Lowered& lowered() const { return lowered_; }

 private:
  OnnxModel(OnnxSource source, Lowered lowered, ModelFacts facts);
  Status probeByRunning(const Tensors& inputs, const Task& task);
  [[nodiscard]] Result<std::shared_ptr<Session>> session() const;  // opened on first use
  void adoptShapes(ProbeShapes shapes);                            // A probe found them; the graph gets them.
  [[nodiscard]] Result<std::unique_ptr<Model>> asModel(
      Result<OnnxSource> source) const;                                          // Opens a source of this model's file.
  [[nodiscard]] Result<std::unique_ptr<Model>> asCopy(OnnxSource source) const;  // with its probe's shapes
  [[nodiscard]] Result<FusedModel> withNorms(Result<EditedNorms> edited) const;

  OnnxSource source_;
  Lowered lowered_;
  std::optional<ProbeShapes> shapes_;  // The last successful probe's.
  ModelFacts facts_;
  std::map<std::string, std::string> properties_;  // see annotate()
  LateText late_;                                  // the same
  mutable std::shared_ptr<Session> session_;       // null until the model is run
  mutable std::shared_ptr<Session> tapped_;        // Serves the last runSeeing(), at tappedPaths_.
  mutable std::set<std::string> tappedPaths_;
};

}  // namespace normlens::formats::onnx
