#include <unistd.h>

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <filesystem>
#include <optional>

#include "app/engine/stop_signals.h"
#include "app/engine/verbs.h"
#include "core/service/describe/engine_info.h"

namespace normlens::engine {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// libnormlens_ops.so of this installation or build folder: beside the program, or in lib/ beside its folder.
std::optional<std::string> opsLibrary() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return std::nullopt;
  const fs::path folder = program.parent_path();
  for (const fs::path& candidate : {folder, folder.parent_path() / "lib", folder.parent_path() / "lib" / "normlens"}) {
    const fs::path library = candidate / "libnormlens_ops.so";
    if (fs::exists(library, error)) return library.string();
  }
  return std::nullopt;
}

struct Missing {
  std::string what, how;
};

std::vector<Missing> missingParts(const std::optional<std::string>& ops, bool noOnnxRuntime, bool gpu) {
  std::vector<Missing> missing;
  if (!ops) missing.push_back({"libnormlens_ops.so, so --norm fast cannot run", "build the target normlens_ops"});
  if (noOnnxRuntime)
    missing.push_back({"ONNX Runtime, so ONNX models open and fold but cannot be run or proved",
                       "build with -DONNXRUNTIME_ROOT=/path/to/an/unpacked/release"});
  if (!gpu) missing.push_back({"a CUDA GPU", "models run on the CPU; nothing else is lost"});
  return missing;
}

Exit runDoctor(Console& console) {
  const protocol::EngineInfo info = service::engineInfo();
  const std::optional<std::string> ops = opsLibrary();
  const bool gpu = info.device != "CPU";
  json gpus = json::array(), missing = json::array();
  const std::vector<std::string> providers = service::executionProviders();
  if (gpu) gpus.push_back(info.device);

  const bool readsOnnx = std::ranges::find(info.formats, "onnx") != info.formats.end();
  console.print("NormLens " + info.version + ", LibTorch " + info.torch +
                (info.onnx_runtime.empty() ? "" : ", ONNX Runtime " + info.onnx_runtime) + ", " + info.device);
  if (!providers.empty()) console.print("ONNX Runtime has: " + boost::algorithm::join(providers, ", "));
  console.print("ops library: " + ops.value_or("not found"));
  const confine::Confinement level = confine::offeredConfinement();
  console.print("confinement of models: " + std::string(confine::confinementName(level)));
  if (level != confine::Confinement::Full) console.print(std::string(confine::whatIsMissing(level)));
  for (const Missing& part : missingParts(ops, readsOnnx && info.onnx_runtime.empty(), gpu)) {
    console.print("missing: " + part.what + " (" + part.how + ")");
    missing.push_back({{"what", part.what}, {"how", part.how}});
  }
  const auto report = [&]() -> json {
    return {{"version", info.version},
            {"torch", info.torch},
            {"device", info.device},
            {"gpus", gpus},
            {"providers", providers},
            {"onnx_runtime", info.onnx_runtime.empty() ? json(nullptr) : json(info.onnx_runtime)},
            {"formats", info.formats},
            {"confinement", confine::confinementName(level)},
            {"ops_library", ops ? json(*ops) : json(nullptr)},
            {"missing", missing}};
  };
  return console.finish(report, Exit::Done);
}

}  // namespace

Declared declareDoctor(CLI::App&, const confine::Limits&) {
  return {{}, {}, [](Console& console) {
            StopSignals::letThrough();
            return runDoctor(console);
          }};
}

}  // namespace normlens::engine
