#include "tests/bench/norms/norm_bench.h"
#include "tests/bench/parts.h"
#include "tests/bench/timing.h"

namespace normlens::bench {
namespace {

void benchTorchScript(const Setting& setting) {
  const std::filesystem::path model = setting.folder / "gpt2_124m.pt";
  benchTorchLoad(model);
  benchFold(model, torchLoad(model));
}

void benchOnnx(const Setting& setting) {
  const std::filesystem::path model = setting.folder / "gpt2_124m.onnx";
  benchFold(model, onnxLoad(model));
}

void benchNodes(const Setting& setting) {
  benchOnnxOpen(setting.folder / "nodes_10000.onnx", setting.folder / "nodes_50000.onnx");
}

}  // namespace

std::vector<Part> allParts() {
  return {{"norms", true, [](const Setting& setting) { benchNorms(setting.ops); }},
          {"kernels", false, [](const Setting& setting) { benchKernels(setting.ops, setting.json, Sizes::All, true); }},
          {"kernels-gpu", false,
           [](const Setting& setting) { benchKernels(setting.ops, setting.json, Sizes::All, false); }},
          {"onnx-nodes", true, benchNodes},
          {"onnx", true, benchOnnx},
          {"torchscript", true, benchTorchScript}};
}

}  // namespace normlens::bench
