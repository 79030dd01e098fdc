#include "core/formats/torchscript/model/torchscript_model.h"

#include <algorithm>
#include <future>

#include "core/base/parallel.h"
#include "core/formats/file/file_hash.h"
#include "core/formats/fold_history.h"
#include "core/formats/torchscript/edit/apply.h"
#include "core/formats/torchscript/file/archive_check.h"
#include "core/formats/torchscript/inputs/infer_inputs.h"
#include "core/formats/torchscript/model/open.h"
#include "core/formats/torchscript/program/loader.h"
#include "core/formats/torchscript/program/tensor_convert.h"
#include "core/formats/torchscript/run/model_run.h"
#include "core/formats/torchscript/save/save.h"

namespace normlens::formats::torchscript {
namespace {

// A trace writes the mode of its day into the op.
bool staysRandom(const ProgramNode& node) {
  const std::string_view op = node.node->kind().toQualString();
  if (!op.ends_with("dropout") && !op.ends_with("dropout_")) return false;
  const auto train = node.node->inputs().size() > 2 ? torch::jit::toIValue(node.node->input(2)) : std::nullopt;
  return train && train->isBool() && train->toBool();
}

std::string noteOf(const Program& program, const torch::jit::ExtraFilesMap& extraFiles, bool wasTraining) {
  std::string note = foldHistory([&](const std::string& name) {
    const auto found = extraFiles.find(name);
    return found == extraFiles.end() ? std::string() : found->second;
  });
  const auto add = [&](const char* sentence) { note += (note.empty() ? "" : " ") + std::string(sentence); };
  const auto isQuantised = [](const ProgramNode& node) {
    return std::string_view(node.node->kind().toQualString()).starts_with("quantized::");
  };
  if (std::ranges::any_of(program.nodes, isQuantised))
    add("The model is quantised: its quantised layers are shown but not folded.");
  if (wasTraining) add("The file was saved in training mode; NormLens runs it, and writes it, in evaluation mode.");
  if (std::ranges::any_of(program.nodes, staysRandom))
    add("Its dropout was traced in training mode and stays random in every mode: trace it again after model.eval().");
  return note;
}

// A copy of an opened model, as what everyone else knows.
Result<std::unique_ptr<Model>> asModel(Result<LoweredModel> made) {
  if (!made) return tl::unexpected(made.error());
  return std::make_unique<TorchScriptModel>(std::move(*made));
}

Result<FusedModel> asModel(Result<FusedNorms> made) {
  if (!made) return tl::unexpected(made.error());
  FusedModel model{nullptr, std::move(made->names)};
  if (made->model) model.model = std::make_unique<TorchScriptModel>(std::move(*made->model));
  return model;
}

}  // namespace

Result<std::unique_ptr<TorchScriptModel>> TorchScriptModel::fromModule(ModuleSource source, ModelFacts facts) {
  ASSIGN_OR_RETURN(auto model, torchscript::lowered(std::move(source), std::move(facts)));
  return std::make_unique<TorchScriptModel>(std::move(model));
}

Result<std::unique_ptr<TorchScriptModel>> TorchScriptModel::open(const std::filesystem::path& path, const Task& task,
                                                                 bool strict) {
  task.report("reading the file");
  ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  ASSIGN_OR_RETURN(auto archive, openCheckedArchive(file));
  RETURN_IF_ERROR(task.check());
  task.report("loading the model");
  const int threads = std::clamp(hardwareThreads(), 2, 5) - 1;  // one loads
  auto tensorCheck = std::async(std::launch::async, [&, kept = archive] {
    return checkCrcs(*kept, threads, [&](const ZipRecord& record) { return holdsTensor(*kept, record); });
  });
  auto loaded = loadModule(archive, strict);
  RETURN_IF_ERROR(tensorCheck.get());
  if (!loaded) return tl::unexpected(loaded.error());
  RETURN_IF_ERROR(task.check());
  task.report("reading the graph");
  ModelFacts facts;
  facts.path = path;
  facts.fileBytes = static_cast<int64_t>(file->bytes().size());
  facts.modified = file->modified();
  auto model = fromModule(std::move(loaded->source), std::move(facts));
  if (!model) {
    Error error = model.error();
    error.message = path.string() + ": " + error.message;
    return tl::unexpected(std::move(error));
  }
  LoweredModel& opened = (*model)->model_;
  opened.facts.note = noteOf(opened.program, opened.source.extraFiles, loaded->wasTraining);
  return model;
}

std::string TorchScriptModel::fileHash(HashKind kind, const std::function<bool()>& goOn) const {
  return model_.source.archive ? hashHex(kind, model_.source.archive->file(), goOn) : std::string();
}

std::vector<InputArray> TorchScriptModel::inputArrays(const std::vector<std::string>& given) const {
  return inputArraysOf(model_.program, given);
}

std::vector<std::string> TorchScriptModel::ownNames(std::vector<std::string> given) const {
  return ownNamesOf(model_.program, std::move(given));
}

Result<std::vector<InputSpec>> TorchScriptModel::inferInputs(InputsFor use) const {
  return torchscript::inferInputs(model_, use);
}

Status TorchScriptModel::probe(const Tensors& inputs, const Task& task) { return probeModel(model_, inputs, task); }

Result<Tensors> TorchScriptModel::run(const Tensors& inputs, const Task& task) const {
  return runModel(model_, inputs, task);
}

Result<std::unique_ptr<Runner>> TorchScriptModel::runner(const Tensors& inputs, const RunSettings& settings) const {
  return makeRunner(model_, inputs, settings);
}

Result<Model::SeenRun> TorchScriptModel::runSeeing(const Tensors& inputs, const std::vector<graph::ValueId>& values,
                                                   const Task& task) const {
  return argumentsFor(model_, inputs).and_then([&](auto&& arguments) {
    return seeRun(model_, model_.program, std::move(arguments), values, task);
  });
}

Result<std::unique_ptr<Model>> TorchScriptModel::converted(graph::DType dtype) const {
  return asModel(torchscript::converted(model_, dtype));
}

Result<std::unique_ptr<Model>> TorchScriptModel::perturbed(uint64_t seed) const {
  return asModel(torchscript::perturbed(model_, seed));
}

Result<std::unique_ptr<Model>> TorchScriptModel::apply(const fold::FoldPlan& plan,
                                                       const std::vector<analysis::LayerNorm>& norms,
                                                       NormFlavour flavour, const Task& task) const {
  ASSIGN_OR_RETURN(auto made, asModel(rebuild(model_, recordPlan(model_, plan, norms, flavour, task), kNotApplied)));
  return std::move(made.model);
}

Result<FusedModel> TorchScriptModel::joinNorms(const analysis::Norms& norms, const Task& task) const {
  return asModel(rebuild(model_, recordJoins(model_, norms, task), kNotJoined));
}

Result<FusedModel> TorchScriptModel::fuseNorms(const analysis::Norms& norms, const Task& task) const {
  return asModel(rebuild(model_, recordFusions(model_, norms, task), kNotFused));
}

Result<std::unique_ptr<Model>> TorchScriptModel::singleNorm(int64_t /*rows*/, int64_t width, graph::DType dtype) const {
  try {
    torch::jit::Module module("SingleNorm");
    module.register_parameter("weight", at::ones({width}, scalarTypeOf(dtype)), false);
    module.define("def forward(self, x):\n  return torch.layer_norm(x, [" + std::to_string(width) +
                  "], self.weight, None, 1e-05, False)\n");
    ModelFacts facts;
    facts.dtype = dtype;
    return asModel(torchscript::lowered({std::move(module), {}, nullptr, {}}, facts));
  } catch (const std::exception& error) {
    return fail(ErrorCode::Internal, std::string("a LayerNorm cannot be measured: ") + error.what());
  }
}

void TorchScriptModel::annotate(const std::map<std::string, std::string>& properties, const LateText&) {
  constexpr auto kToBeTold = "normlens.holds_if";
  if (const auto conditions = properties.find(kToBeTold); conditions != properties.end())
    model_.source.extraFiles[conditions->first] = conditions->second;
}

Status TorchScriptModel::save(const std::filesystem::path& path, const Task& task) const {
  return saveModel(model_, path, task);
}

Result<std::unique_ptr<Model>> openTorchScript(const std::filesystem::path& path, const Task& task, bool strict) {
  ASSIGN_OR_RETURN(auto model, TorchScriptModel::open(path, task, strict));
  return std::unique_ptr<Model>(std::move(model));
}

}  // namespace normlens::formats::torchscript
