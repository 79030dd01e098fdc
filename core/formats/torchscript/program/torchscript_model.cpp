#include "core/formats/torchscript/program/torchscript_model.h"

#include <torch/version.h>

#include <algorithm>
#include <future>
#include <map>
#include <unordered_set>

#include "core/base/parallel.h"
#include "core/formats/file/sha256.h"
#include "core/formats/fold_history.h"
#include "core/formats/torchscript/file/archive_check.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/forbidden_ops.h"
#include "core/formats/torchscript/program/loader.h"
#include "core/formats/torchscript/program/module_index.h"
#include "core/formats/torchscript/program/open.h"
#include "core/formats/torchscript/run/interpreter.h"
#include "core/formats/torchscript/run/probe.h"

namespace normlens::formats::torchscript {
namespace {

using ElementsByType = std::map<graph::DType, int64_t>;

void takeMostCommon(const ElementsByType& elements, ModelFacts& facts) {
  const auto most = std::ranges::max_element(elements, {}, &ElementsByType::value_type::second);
  if (most != elements.end()) facts.dtype = most->first;
}

// Counts every parameter and buffer once, and finds the floating type most of them have.
void countParameters(const torch::jit::Module& module, ModelFacts& facts) {
  std::unordered_set<std::string> seen;
  ElementsByType elementsByType;
  const auto count = [&](const at::Tensor& tensor, bool isParameter) {
    if (!tensor.defined() || !seen.insert(memoryKey(tensor)).second) return;
    if (tensor.is_floating_point()) elementsByType[dtypeOf(tensor.scalar_type())] += tensor.numel();
    if (!isParameter) return;
    facts.parameters += tensor.numel();
    facts.parameterBytes += static_cast<int64_t>(tensor.nbytes());
  };
  for (const at::Tensor& tensor : module.parameters()) count(tensor, true);
  for (const at::Tensor& tensor : module.buffers()) count(tensor, false);
  takeMostCommon(elementsByType, facts);
}

// A frozen module holds its weights as graph constants.
void countConstants(const Program& program, ModelFacts& facts) {
  if (facts.parameters > 0) return;
  ElementsByType elementsByType;
  for (const ConstantTensor& constant : program.constants) {
    if (!constant.tensor.is_floating_point()) continue;
    facts.parameters += constant.tensor.numel();
    facts.parameterBytes += static_cast<int64_t>(constant.tensor.nbytes());
    elementsByType[dtypeOf(constant.tensor.scalar_type())] += constant.tensor.numel();
  }
  takeMostCommon(elementsByType, facts);
}

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

// Changes what a probe saw to what a model in another floating type would have shown.
void retype(ValueRecord& record, graph::DType to) {
  if (graph::isFloat(record.dtype)) record.dtype = to;
  for (auto& element : record.elements) retype(element, to);
}

}  // namespace

TorchScriptModel::TorchScriptModel(ModuleSource source, Program program, ModelFacts facts)
    : source_(std::move(source)),
      program_(std::move(program)),
      lowered_(lowerProgram(program_, nullptr)),
      facts_(std::move(facts)),
      neverRun_(forbiddenCall(program_)) {}

Result<std::unique_ptr<TorchScriptModel>> TorchScriptModel::fromModule(ModuleSource source, ModelFacts facts) {
  auto program = buildProgram(source.module);
  if (!program) return tl::unexpected(program.error());
  for (size_t i = 0; i < std::min(source.declared.size(), program->inputs.size()); ++i)
    program->inputs[i].declared = source.declared[i];
  program->outputNames = source.outputNames;
  facts.format = "torchscript";
  facts.parameters = facts.parameterBytes = 0;
  countParameters(source.module, facts);
  countConstants(*program, facts);
  try {
    return std::unique_ptr<TorchScriptModel>(
        new TorchScriptModel(std::move(source), std::move(*program), std::move(facts)));
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported, "the model's graph cannot be read: " + shortText(error));
  }
}

Result<std::unique_ptr<TorchScriptModel>> TorchScriptModel::open(const std::filesystem::path& path, const Task& task,
                                                                 bool strict) {
  task.report("reading the file");
  auto file = MappedFile::open(path);
  if (!file) return tl::unexpected(file.error());
  auto archive = openCheckedArchive(*file);
  if (!archive) return tl::unexpected(archive.error());
  if (auto go = task.check(); !go) return tl::unexpected(go.error());
  task.report("loading the model");
  const int threads = std::clamp(hardwareThreads(), 2, 5) - 1;  // one loads
  auto tensorCheck = std::async(std::launch::async, [&, kept = *archive] {
    return checkCrcs(*kept, threads, [&](const ZipRecord& record) { return holdsTensor(*kept, record); });
  });
  auto loaded = loadModule(*archive, strict);
  if (const Status sound = tensorCheck.get(); !sound) return tl::unexpected(sound.error());
  if (!loaded) return tl::unexpected(loaded.error());
  if (auto go = task.check(); !go) return tl::unexpected(go.error());
  task.report("reading the graph");
  ModelFacts facts;
  facts.path = path;
  facts.fileBytes = static_cast<int64_t>((*file)->bytes().size());
  facts.modified = (*file)->modified();
  auto model = fromModule(std::move(loaded->source), std::move(facts));
  if (!model) {
    Error error = model.error();
    error.message = path.string() + ": " + error.message;
    return tl::unexpected(std::move(error));
  }
  (*model)->facts_.note = noteOf((*model)->program_, (*model)->source_.extraFiles, loaded->wasTraining);
  return model;
}

std::string TorchScriptModel::fileSha256(const std::function<bool()>& goOn) const {
  return source_.archive ? sha256Hex(source_.archive->file(), goOn) : std::string();
}

Status TorchScriptModel::probe(const Tensors& inputs, const Task& task) {
  auto arguments = argumentsFor(inputs);
  if (!arguments) return tl::unexpected(arguments.error());
  task.report("finding the shapes");
  const RunWatch watch(RunWatch::Kind::Probe);
  Recorder recorder(program_);
  Interpreter interpreter(program_, Interpreter::Effort::ShapesOnly, [&] { recorder = Recorder(program_); });
  interpreter.alsoTryBranches();
  auto results = interpreter.run(std::move(*arguments), recorder.hook(), task);
  if (!results) return tl::unexpected(results.error());
  records_ = recorder.take();
  lowered_ = lowerProgram(program_, &*records_);
  return {};
}

// Literals may be numbered differently where their types were rewritten; nodes and blocks correspond one to one.
void TorchScriptModel::adoptProbe(const TorchScriptModel& twin, graph::DType floats) {
  const Program& other = twin.program_;
  if (!twin.records_ || other.nodes.size() != program_.nodes.size() || other.blocks.size() != program_.blocks.size())
    return;
  ProbeRecords records;
  records.values.resize(program_.values.size());
  const auto adopt = [&](const std::vector<int>& mine, const std::vector<int>& theirs) {
    for (size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) {
      records.values[static_cast<size_t>(mine[i])] = twin.records_->values[static_cast<size_t>(theirs[i])];
      if (floats != graph::DType::Unknown) retype(records.values[static_cast<size_t>(mine[i])], floats);
    }
  };
  for (size_t i = 0; i < program_.nodes.size(); ++i) adopt(program_.nodes[i].outputs, other.nodes[i].outputs);
  for (size_t i = 0; i < program_.blocks.size(); ++i) adopt(program_.blocks[i].params, other.blocks[i].params);
  adoptRecords(std::move(records));
}

void TorchScriptModel::adoptRecords(ProbeRecords records) {
  records_ = std::move(records);
  lowered_ = lowerProgram(program_, &*records_);
}

Result<std::unique_ptr<Model>> openTorchScript(const std::filesystem::path& path, const Task& task, bool strict) {
  auto model = TorchScriptModel::open(path, task, strict);
  if (!model) return tl::unexpected(model.error());
  return std::unique_ptr<Model>(std::move(*model));
}

}  // namespace normlens::formats::torchscript
