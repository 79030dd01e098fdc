#include "core/formats/onnx/model/onnx_model.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/base/printable.h"
#include "core/formats/file/file_hash.h"
#include "core/formats/fold_history.h"
#include "core/formats/onnx/edit/edits.h"
#include "core/formats/onnx/float64/float64_ops.h"
#include "core/formats/onnx/open.h"
#include "core/formats/onnx/read/read_model.h"
#include "core/formats/onnx/save/save.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/tensors/tensor_data.h"
namespace normlens::formats::onnx {
namespace {

// Weights: floating tensors, and the narrow integers of quantized ones. Wider integers are indices and sizes.
bool holdsWeights(int32_t type) {
  const graph::DType dtype = fromOnnxType(type);
  return graph::isFloat(dtype) || dtype == graph::DType::Quantized || dtype == graph::DType::Int8 ||
         dtype == graph::DType::UInt8;
}

void countParameters(const ModelProto& model, ModelFacts& facts) {
  facts.parameters = facts.parameterBytes = 0;
  std::map<graph::DType, int64_t> elementsByType;
  const auto count = [&](const TensorProto& tensor) {
    if (!holdsWeights(tensor.data_type())) return;
    const int64_t elements = graph::elementCount(dimsOf(tensor)).value_or(0);
    facts.parameters += elements;
    facts.parameterBytes += static_cast<int64_t>(rawBytes(tensor).value_or(0));
    const graph::DType dtype = fromOnnxType(tensor.data_type());
    if (graph::isFloat(dtype)) elementsByType[dtype] += elements;
  };
  for (const TensorProto& tensor : model.graph().initializer()) count(tensor);
  eachNode(model, [&](const NodeProto& node) {
    if (node.op_type() != "Constant") return;
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_t()) count(attribute.t());
    }
  });
  int64_t most = 0;
  for (const auto& [dtype, elements] : elementsByType) {
    if (elements <= most) continue;
    most = elements;
    facts.dtype = dtype;
  }
}

// Also what is quantized for a while only.
bool quantises(const std::string& op) {
  constexpr std::array kOps = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger",
                               "ConvInteger"};
  return isQuantised(op) || std::ranges::find(kOps, op) != kOps.end();
}

std::string noteOf(const ModelProto& model, const ModelFacts& facts) {
  std::set<std::string> strange;
  bool quantised = false;
  std::set<std::string> own;
  for (const auto& function : model.functions()) own.insert(functionKey(function));
  eachNode(model, [&](const NodeProto& node) {
    quantised = quantised || quantises(node.op_type());
    const bool known =
        isStandardDomain(node.domain()) || isRuntimeDomain(node.domain()) || own.contains(functionKey(node));
    if (!known) strange.insert(printable(node.domain() + "::" + node.op_type()));
  });
  if (!strange.empty())
    return "Operators that NormLens does not know (" + *strange.begin() + (strange.size() > 1 ? ", ..." : "") +
           "): the model can be viewed, but not run.";
  if (quantised) return "The model is quantised: its quantised layers are shown but not folded.";
  if (facts.dtype == graph::DType::BFloat16) return "bfloat16: runs in float32 on the CPU.";
  return foldHistory([&](const std::string& name) {
    const auto& entries = model.metadata_props();
    const auto found = std::ranges::find_if(entries, [&](const auto& entry) { return entry.key() == name; });
    return found == entries.end() ? std::string() : found->value();
  });
}

}  // namespace

OnnxModel::OnnxModel(OnnxSource source, Lowered lowered, ModelFacts facts)
    : source_(std::move(source)), lowered_(std::move(lowered)), facts_(std::move(facts)) {}

Result<std::unique_ptr<OnnxModel>> OnnxModel::fromSource(OnnxSource source, ModelFacts facts) {
  facts.format = "onnx";
  countParameters(*source.skeleton, facts);
  if (source.everyFloat != graph::DType::Unknown) facts.dtype = source.everyFloat;
  facts.computedIn = facts.dtype == graph::DType::BFloat16 ? graph::DType::Float32 : graph::DType::Unknown;
  try {
    // Shapes come from a run, or from inference where it fails (see probe).
    Lowered lowered = lowerModel(source, nullptr, Inference::None);
    return std::unique_ptr<OnnxModel>(new OnnxModel(std::move(source), std::move(lowered), std::move(facts)));
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported, "the model's graph cannot be read: " + printable(error.what()));
  }
}

Result<std::unique_ptr<OnnxModel>> OnnxModel::open(const std::filesystem::path& path, const Task& task) {
  task.report("reading the file");
  ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  ASSIGN_OR_RETURN(auto source, readModel(file, task));
  RETURN_IF_ERROR(task.check());
  task.report("reading the graph");
  ModelFacts facts;
  facts.path = path;
  for (const auto& each : filesOf(source)) {
    facts.fileBytes += static_cast<int64_t>(each->bytes().size());
    if (each != file) facts.dataFiles.push_back(each->path());
  }
  facts.modified = file->modified();
  auto model = fromSource(std::move(source), std::move(facts));
  if (!model) {
    Error error = model.error();
    error.message = path.string() + ": " + error.message;
    return tl::unexpected(std::move(error));
  }
  ModelFacts& known = (*model)->facts_;
  known.cannotRun = brokenTypeRule((*model)->source_);
  known.note = known.cannotRun.empty() ? noteOf(*(*model)->source_.skeleton, known) : known.cannotRun;
  return model;
}

std::string OnnxModel::fileHash(HashKind kind, const std::function<bool()>& goOn) const {
  if (!source_.file) return {};
  const auto files = filesOf(source_);
  std::string hash = hashHex(kind, files, goOn);
  if (kind == HashKind::Sha256 && std::ranges::all_of(files, &MappedFile::untouched)) {
    const std::lock_guard lock(source_.content->mutex);
    source_.content->sha256 = hash;
  }
  return hash;
}

Result<std::unique_ptr<Model>> OnnxModel::apply(const fold::FoldPlan& plan,
                                                const std::vector<analysis::LayerNorm>& norms, NormFlavour flavour,
                                                const Task& task) const {
  if (!facts_.cannotRun.empty()) return fail(ErrorCode::Unsupported, facts_.cannotRun);
  return asModel(applyPlan({source_, lowered_}, plan, norms, flavour, facts_.dtype, task));
}

Status OnnxModel::computeWeights(const Task& task) const { return onnx::computeWeights(source_, task); }

Result<std::unique_ptr<Model>> OnnxModel::singleNorm(int64_t rows, int64_t width, graph::DType dtype) const {
  ModelFacts facts;
  facts.format = facts_.format;
  facts.dtype = dtype;
  return fromSource(onnx::singleNorm(rows, width, dtype), std::move(facts));
}

Result<FusedModel> OnnxModel::withNorms(Result<EditedNorms> edited) const {
  if (!edited) return tl::unexpected(edited.error());
  if (!edited->source.skeleton) return FusedModel{};
  ASSIGN_OR_RETURN(auto model, fromSource(std::move(edited->source), facts_));
  return FusedModel{std::move(model), std::move(edited->fused)};
}

Result<FusedModel> OnnxModel::joinNorms(const analysis::Norms& norms, const Task& task) const {
  return withNorms(onnx::joinNorms({source_, lowered_}, norms, task));
}

Result<FusedModel> OnnxModel::fuseNorms(const analysis::Norms& norms, const Task& task) const {
  return withNorms(onnx::fuseNorms({source_, lowered_}, norms, task));
}

Result<std::vector<std::vector<std::string>>> OnnxModel::sectionsAt(const std::vector<Cut>& cuts) const {
  return onnx::sectionsAt(source_.skeleton->graph(), cuts);
}

Result<Section> OnnxModel::section(const std::vector<Cut>& cuts, const std::vector<std::string>& outputs,
                                   const std::vector<size_t>& begins, const Task& task) const {
  std::set<size_t> begun(begins.begin(), begins.end());
  ASSIGN_OR_RETURN(auto model, asModel(onnx::section(source_, cuts, outputs, begun, task)));
  return Section{std::move(model), {begun.begin(), begun.end()}};
}

Status OnnxModel::save(const std::filesystem::path& path, const Task& task) const {
  return saveModel(source_, path, properties_, late_, task);
}

Result<std::unique_ptr<Model>> OnnxModel::asModel(Result<OnnxSource> source) const {
  if (!source) return tl::unexpected(source.error());
  return fromSource(std::move(*source), facts_);
}

Result<std::unique_ptr<Model>> openOnnx(const std::filesystem::path& path, const Task& task) {
  return OnnxModel::open(path, task);
}

}  // namespace normlens::formats::onnx
