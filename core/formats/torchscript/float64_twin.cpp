// TorchScriptModel::toFloat64: the same program with every tensor and every literal type in float64.
#include "core/formats/torchscript/apply_graph_copy.h"
#include "core/formats/torchscript/float64_types.h"
#include "core/formats/torchscript/save_edits.h"
#include "core/formats/torchscript/tensor_rewrite.h"
#include "core/formats/torchscript/torchscript_model.h"

namespace normlens::formats::torchscript {
namespace {

// What the probe saw, as the twin would have shown it.
void widen(ValueRecord& record) {
  if (graph::isFloat(record.dtype)) record.dtype = graph::DType::Float64;
  for (auto& element : record.elements) widen(element);
}

}  // namespace

Result<std::unique_ptr<Model>> TorchScriptModel::toFloat64() const {
  try {
    const std::string obstacle = float64Obstacle(source_.module);
    if (!obstacle.empty()) {
      return fail(ErrorCode::Unsupported, "the model cannot be run in float64: " + obstacle);
    }
    RewriteRules rules;
    rules.memory = [](const at::Tensor& elements) { return elements.to(at::kDouble, false, true); };
    rules.code = widenLiteralTypes;
    rules.copyOthers = program_.writesState;
    ModuleSource made{rewriteTensors(source_.module, rules), source_.extraFiles, nullptr,
                      keepAlive(source_.edits, source_.module), at::kDouble};
    auto model = fromModule(std::move(made), facts_);
    if (!model) return tl::unexpected<Error>(model.error());
    (*model)->adoptProbe(*this);
    if (auto& twin = **model; twin.records_) {
      for (auto& record : twin.records_->values) widen(record);
      twin.lowered_ = lowerProgram(twin.program_, &*twin.records_);
    }
    return std::unique_ptr<Model>(std::move(*model));
  } catch (const EditRefused& refused) {
    return fail(ErrorCode::Unsupported, std::string("the model cannot be run in float64: ") + refused.what());
  } catch (const c10::Error& error) {
    return fail(ErrorCode::Unsupported,
                std::string("the model cannot be run in float64: ") + error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported, std::string("the model cannot be run in float64: ") + error.what());
  }
}

}  // namespace normlens::formats::torchscript
