// TorchScriptModel::singleNorm.
#include <torch/script.h>

#include "core/formats/torchscript/program/torchscript_model.h"

namespace normlens::formats::torchscript {

Result<std::unique_ptr<Model>> TorchScriptModel::singleNorm(int64_t /*rows*/, int64_t width, graph::DType dtype) const {
  try {
    torch::jit::Module module("SingleNorm");
    module.register_parameter("weight", at::ones({width}, scalarTypeOf(dtype)), false);
    module.define("def forward(self, x):\n  return torch.layer_norm(x, [" + std::to_string(width) +
                  "], self.weight, None, 1e-05, False)\n");
    ModelFacts facts;
    facts.format = facts_.format;
    facts.dtype = dtype;
    auto model = fromModule({std::move(module), {}, nullptr, {}}, facts);
    if (!model) return tl::unexpected<Error>(model.error());
    return std::unique_ptr<Model>(std::move(*model));
  } catch (const std::exception& error) {
    return fail(ErrorCode::Internal, std::string("a LayerNorm cannot be measured: ") + error.what());
  }
}

}  // namespace normlens::formats::torchscript
