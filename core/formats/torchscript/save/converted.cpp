// TorchScriptModel::converted: the same program with every tensor and every literal type in another floating type.
#include "core/formats/torchscript/edit/apply_graph_copy.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/torchscript_model.h"
#include "core/formats/torchscript/save/retype.h"
#include "core/formats/torchscript/save/save_edits.h"
#include "core/formats/torchscript/save/tensor_rewrite.h"

namespace normlens::formats::torchscript {
namespace {

// What the probe saw, as the converted model would have shown it.
void retype(ValueRecord& record, graph::DType to) {
  if (graph::isFloat(record.dtype)) record.dtype = to;
  for (auto& element : record.elements) retype(element, to);
}

}  // namespace

Result<std::unique_ptr<Model>> TorchScriptModel::converted(graph::DType dtype) const {
  const std::string refusal = "the model cannot be run in " + std::string(graph::dtypeName(dtype)) + ": ";
  if (!graph::isFloat(dtype)) return fail(ErrorCode::Unsupported, refusal + "it is no floating type");
  try {
    const std::string obstacle = conversionObstacle(source_.module);
    if (!obstacle.empty()) return fail(ErrorCode::Unsupported, refusal + obstacle);
    const at::ScalarType to = scalarTypeOf(dtype);
    RewriteRules rules;
    rules.memory = [to](const at::Tensor& elements) { return saturated(elements, to); };
    rules.code = [to](torch::jit::Graph& graph) { retypeLiterals(graph, to); };
    rules.copyOthers = program_.writesState;
    ModuleSource made{rewriteTensors(source_.module, rules), source_.extraFiles, nullptr,
                      keepAlive(source_.edits, source_.module), to};
    auto model = fromModule(std::move(made), facts_);
    if (!model) return tl::unexpected<Error>(model.error());
    (*model)->facts_.dtype = dtype;
    (*model)->adoptProbe(*this);
    if (auto& twin = **model; twin.records_) {
      for (auto& record : twin.records_->values) retype(record, dtype);
      twin.lowered_ = lowerProgram(twin.program_, &*twin.records_);
    }
    return std::unique_ptr<Model>(std::move(*model));
  } catch (const EditRefused& refused) {
    return fail(ErrorCode::Unsupported, refusal + refused.what());
  } catch (const c10::Error& error) {
    return fail(ErrorCode::Unsupported, refusal + shortText(error));
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported, refusal + firstLine(error.what()));
  }
}

}  // namespace normlens::formats::torchscript
