#include "tests/bench/norms/norm_bench.h"
#include "tests/bench/parts.h"
#include "tests/bench/timing.h"

namespace normlens::bench {
namespace {

void benchEngine(const Setting& setting) {
  const std::filesystem::path model = setting.folder / "gpt2_124m.pt",
                              output = setting.folder / "normlens_bench_torch.pt";
  for (const char* name : {"gpt2_124m.onnx", "gpt2_exported.onnx", "gpt2_exported.pt2"})
    benchCommand(setting.folder / name, setting.engine);
  const double ms = benchCommand(model, setting.engine);
  // Last: this process's own memory would count as that of the processes that it starts.
  printRow("fold, no verification / torch::jit::load and save",
           ms / medianMs(5, [&] { torchLoadAndSave(model, output); }), "");
  std::filesystem::remove(output);
}

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
  // The engine first: what another part leaves in memory would count as its peak, since a process is begun in ours.
  return {{"engine", true, benchEngine},
          {"norms", true, [](const Setting& setting) { benchNorms(setting.ops); }},
          {"kernels", false, [](const Setting& setting) { benchKernels(setting.ops, setting.json, Sizes::All, true); }},
          {"kernels-gpu", false, [](const Setting& setting) { benchKernels(setting.ops, setting.json, Sizes::All, false); }},
          {"onnx-nodes", true, benchNodes},
          {"onnx", true, benchOnnx},
          {"torchscript", true, benchTorchScript}};
}

}  // namespace normlens::bench
