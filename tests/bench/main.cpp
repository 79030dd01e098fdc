// normlens-bench FOLDER ENGINE OPS_LIBRARY [PART...]: prints what NormLens costs beside what the same bytes cost
// without it. FOLDER holds the models (see run); PART is norms, torchscript, onnx-nodes or onnx; all of them unless
// named.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "tests/bench/timing.h"

namespace {

using namespace normlens::bench;

void benchTorchScript(const std::filesystem::path& model, const std::string& engine) {
  benchCommand(model, engine);
  benchTorchLoad(model);
  benchFold(model, torchLoad(model));
}

void benchOnnx(const std::filesystem::path& model, const std::string& engine) {
  benchCommand(model, engine);
  benchFold(model, onnxLoad(model));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: normlens-bench FOLDER NORMLENS_ENGINE LIBNORMLENS_OPS [norms|torchscript|onnx-nodes|onnx ...]"
                 " (tests/bench/run does it all)\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const std::vector<std::string> parts(argv + 4, argv + argc);
  const auto wanted = [&](const char* part) { return parts.empty() || std::ranges::find(parts, part) != parts.end(); };
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // rows appear as they are measured
  try {
    if (wanted("norms")) benchNorms(argv[3]);
    if (wanted("onnx-nodes")) benchOnnxOpen(folder / "nodes_10000.onnx", folder / "nodes_50000.onnx");
    if (wanted("onnx")) benchOnnx(folder / "gpt2_124m.onnx", argv[2]);
    if (wanted("torchscript")) benchTorchScript(folder / "gpt2_124m.pt", argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "normlens-bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
