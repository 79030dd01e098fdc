// A TorchScript file as a formats::Model. Private to formats/torchscript: includes torch.
//
// Split over files: torchscript_model.cpp (opening, facts, probe), run/model_run.cpp, inputs/infer_inputs.cpp,
// edit/apply.cpp and edit/norms, save/converted.cpp, perturb.cpp and save.cpp. A model made in memory (twin, folded)
// has no file of its own but keeps the archive it came from, so that save() copies unchanged records as they are.
#pragma once

#include <torch/script.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/fold/pending_weights.h"
#include "core/formats/archive/archive_reader.h"
#include "core/formats/model.h"
#include "core/formats/norm_fuser.h"
#include "core/formats/torchscript/lower/lower.h"
#include "core/formats/torchscript/program/program.h"
#include "core/formats/torchscript/run/probe_records.h"

namespace normlens::formats::torchscript {

// A module in memory with everything needed to write it again.
struct ModuleSource {
  torch::jit::Module module;               // on the CPU, eval mode; never changed after it got here
  torch::jit::ExtraFilesMap extraFiles;    // names without the "extra/" prefix
  std::shared_ptr<const Archive> archive;  // the opened file; kept by copies, may be null in tests
  // Owners of classes and functions that the module still uses but does not own.
  std::vector<std::shared_ptr<const torch::jit::CompilationUnit>> keptAlive;
  std::shared_ptr<fold::PendingWeights> pending = nullptr;  // edited weights that are not computed yet; null: none
  at::ScalarType defaultType =
      at::kFloat;  // what torch makes of an int that meets a float function; follows a conversion
  std::vector<std::optional<DeclaredInput>> declared = {};  // by input, where the module came from a file that says it
  std::vector<std::string> outputNames = {};                // by result, where it came from a file that names them

  // The same with a module that was made from this one.
  [[nodiscard]] ModuleSource with(torch::jit::Module made) const {
    ModuleSource other = *this;
    other.keptAlive.push_back(module._ivalue()->compilation_unit());
    other.module = std::move(made);
    return other;
  }
};

class TorchScriptModel final : public Model, public NormFuser {
 public:
  // Checks the container (archive_check.h), then loads. `strict`: see OpenChoice. Errors: Unreadable, Unsupported.
  [[nodiscard]] static Result<std::unique_ptr<TorchScriptModel>> open(const std::filesystem::path& path,
                                                                      const Task& task, bool strict = false);
  // Walks the module's forward() and makes its graph; nothing is read from disk. `facts`: of the file it came from
  // (path, fileBytes, modified); the rest is counted anew.
  [[nodiscard]] static Result<std::unique_ptr<TorchScriptModel>> fromModule(ModuleSource source, ModelFacts facts);

  [[nodiscard]] const ModelFacts& facts() const override { return facts_; }
  [[nodiscard]] std::string fileSha256(const std::function<bool()>& goOn) const override;
  [[nodiscard]] const graph::Graph& graph() const override { return lowered_.graph; }
  void assume(std::vector<graph::SizeOfOne> sizes) override { lowered_.graph.assumed = std::move(sizes); }
  [[nodiscard]] std::vector<InputArray> inputArrays(const std::vector<std::string>& given) const override;
  [[nodiscard]] std::vector<std::string> ownNames(std::vector<std::string> given) const override;
  [[nodiscard]] Result<std::vector<InputSpec>> inferInputs(InputsFor use = InputsFor::Values) const override;
  Status probe(const Tensors& inputs, const Task& task) override;
  [[nodiscard]] Result<Tensors> run(const Tensors& inputs, const Task& task) const override;
  [[nodiscard]] Result<std::unique_ptr<Runner>> runner(const Tensors& inputs,
                                                       const RunSettings& settings) const override;
  [[nodiscard]] Result<SeenRun> runSeeing(const Tensors& inputs, const std::vector<graph::ValueId>& values,
                                          const Task& task) const override;
  [[nodiscard]] Result<std::string> narrowOp(const Tensors& inputs, const Task& task) const override;

  // In save/ and edit/.
  [[nodiscard]] Result<std::unique_ptr<Model>> converted(graph::DType dtype) const override;
  [[nodiscard]] Result<std::unique_ptr<Model>> perturbed(uint64_t seed) const override;
  [[nodiscard]] Result<std::unique_ptr<Model>> apply(const fold::FoldPlan& plan,
                                                     const std::vector<analysis::LayerNorm>& norms, NormFlavour flavour,
                                                     const Task& task) const override;
  [[nodiscard]] Result<FusedModel> joinNorms(const analysis::Norms& norms, const Task& task) const override;
  [[nodiscard]] Result<FusedModel> fuseNorms(const analysis::Norms& norms, const Task& task) const override;
  [[nodiscard]] Status computeWeights(const Task& task) const override;
  [[nodiscard]] Result<std::unique_ptr<Model>> singleNorm(int64_t rows, int64_t width,
                                                          graph::DType dtype) const override;
  // The conditions of a fold become an extra file: torch.jit.load(…, _extra_files={"normlens.holds_if": ""}) reads it.
  void annotate(const std::map<std::string, std::string>& properties, const LateText& late = {}) override;
  [[nodiscard]] Status save(const std::filesystem::path& path, const Task& task) const override;

  // The inputs as forward() takes them: whatever runs the model begins here, and ends here where it must not be run.
  // Errors: Unsupported, BadInput.
  [[nodiscard]] Result<std::vector<c10::IValue>> argumentsFor(const Tensors& inputs) const;
  // Takes over what a probe of `twin` found. The two have the same program; `floats`: the type of all that is of a
  // floating type there, Unknown: its own.
  void adoptProbe(const TorchScriptModel& twin, graph::DType floats = graph::DType::Unknown);
  // The same from who knows the shapes without a run. records: by value of the program.
  void adoptRecords(ProbeRecords records);

  [[nodiscard]] const ModuleSource& source() const { return source_; }
  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Lowered& lowered() const { return lowered_; }
  // Return what a node and a constant of the graph are in the program.
  [[nodiscard]] const ProgramNode& programNode(graph::NodeId node) const {
    return program_.node(lowered_.programNode[static_cast<size_t>(node)]);
  }
  [[nodiscard]] const ConstantTensor& constantTensor(graph::ConstantId constant) const {
    return program_.constants[static_cast<size_t>(lowered_.programConstant[static_cast<size_t>(constant)])];
  }

 private:
  TorchScriptModel(ModuleSource source, Program program, ModelFacts facts);

  ModuleSource source_;
  Program program_;
  std::optional<ProbeRecords> records_;  // of the last successful probe
  Lowered lowered_;
  ModelFacts facts_;
  std::optional<Error> neverRun_;  // instead of any run: forward() has an op that no model may run (forbidden_ops.h)
};

// at::Tensor <-> the border's tensors. The view shares memory with the tensor and keeps it alive.
[[nodiscard]] graph::TensorView viewOf(const at::Tensor& tensor);
[[nodiscard]] at::Tensor tensorOf(const graph::TensorView& view);  // shares memory; the view's owner is kept alive
[[nodiscard]] graph::DType dtypeOf(at::ScalarType type);
[[nodiscard]] at::ScalarType scalarTypeOf(graph::DType dtype);

}  // namespace normlens::formats::torchscript
