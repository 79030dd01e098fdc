// A torch.export archive as a formats::Model. Private to formats/pt2: includes torch.
//
// It owns a TorchScriptModel of the translated program and lets that run, analyze and edit; what the file states itself
// (shapes, inputs, guards) is read from the file. Edits are in pt2_apply.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/formats/model.h"
#include "core/formats/norm_fuser.h"
#include "core/formats/open_choice.h"
#include "core/formats/pt2/translate/program.h"
#include "core/formats/torchscript/edit/apply.h"
#include "core/formats/torchscript/model/torchscript_model.h"

namespace normlens::formats::pt2 {

class Pt2Model final : public Model, public NormFuser {
 public:
  // Errors: as openModel().
  [[nodiscard]] static Result<std::unique_ptr<Pt2Model>> open(const std::filesystem::path& path, const Task& task,
                                                              const OpenChoice& choice);

  [[nodiscard]] const ModelFacts& facts() const override { return facts_; }
  [[nodiscard]] std::string fileHash(HashKind kind, const std::function<bool()>& goOn) const override;
  [[nodiscard]] const graph::Graph& graph() const override { return inner_->graph(); }
  void assume(std::vector<graph::SizeOfOne> sizes) override { inner_->assume(std::move(sizes)); }
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
  [[nodiscard]] Status computeWeights(const Task& task) const override { return inner_->computeWeights(task); }
  [[nodiscard]] Result<std::unique_ptr<Model>> singleNorm(int64_t rows, int64_t width,
                                                          graph::DType dtype) const override;
  void annotate(const std::map<std::string, std::string>& properties, const LateText& /*late*/ = {}) override {
    history_ = properties;
  }
  [[nodiscard]] Status save(const std::filesystem::path& path, const Task& task) const override;

  [[nodiscard]] const Program& program() const { return *program_; }
  [[nodiscard]] const torchscript::TorchScriptModel& inner() const { return *inner_; }

 private:
  Pt2Model(std::shared_ptr<const Program> program, std::unique_ptr<torchscript::TorchScriptModel> inner,
           ModelFacts facts);
  // The same program with an inner model that was made of this one's.
  [[nodiscard]] Result<std::unique_ptr<Model>> with(Result<std::unique_ptr<Model>> inner) const;
  // The program with these edits of the inner model.
  [[nodiscard]] Result<std::unique_ptr<Model>> withEdits(const torchscript::RecordedEdits& edits,
                                                         const fold::StreamEdits& streams, const Task& task) const;
  [[nodiscard]] Result<FusedModel> withFused(const std::function<Result<torchscript::RecordedEdits>()>& fuse,
                                             const Task& task) const;
  // Error: Unsupported where `what` ("a fold of it") would be no use.
  [[nodiscard]] Status checkWritable(const std::string& what) const;
  [[nodiscard]] Status saveAsTorchScript(const std::filesystem::path& path, const Task& task) const;
  // Error: Unsupported where an operator is opaque; `so`: what that rules out.
  [[nodiscard]] Status checkOperators(const std::string& so) const;
  [[nodiscard]] Status checkInputs(const Tensors& inputs) const;
  // Returns what the file states of every value; nullopt where it leaves a shape open.
  [[nodiscard]] std::optional<torchscript::ProbeRecords> recordsOfFile() const;
  [[nodiscard]] bool isExample(const std::vector<GivenInput>& given) const;
  [[nodiscard]] Result<std::vector<GivenInput>> given(const Tensors& inputs) const;

  std::shared_ptr<const Program> program_;
  std::unique_ptr<torchscript::TorchScriptModel> inner_;
  ModelFacts facts_;
  bool isTwin_ = false;  // in a type of its own, types that the program names included
  Tensors probedWith_;   // the inputs of the last probe of this model, or of what it is a copy of
  std::map<std::string, std::string> history_;  // see annotate()
};

// The inner model of a translated program. `like`: what its module is to have beside itself (owners of what it shares,
// weights that are not computed yet). Throws BrokenDocument. Errors: Unsupported.
[[nodiscard]] Result<std::unique_ptr<torchscript::TorchScriptModel>> innerModel(const Program& program,
                                                                                torchscript::ModuleSource like,
                                                                                const ModelFacts& facts);

// Returns what was caught while a program was read, as an error of the file.
[[nodiscard]] Error programError(const std::filesystem::path& path);

}  // namespace normlens::formats::pt2
