#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <map>
#include <memory>
#include <optional>

#include "app/engine/stop_signals.h"
#include "app/engine/supervise_verb.h"
#include "app/engine/verbs.h"
#include "core/base/formatted.h"
#include "core/base/library/own_library.h"
#include "core/formats/targets.h"
#include "core/protocol/json.h"
#include "core/service/describe/engine_info.h"

namespace normlens::engine {
namespace {

using nlohmann::json;
struct Missing {
  std::string what, how;
};

std::vector<Missing> missingParts(bool ops, bool gpu) {
  std::vector<Missing> missing;
  if (!ops) missing.push_back({"libnormlens_ops.so, so --norm fast cannot run", "build the target normlens_ops"});
  if (const auto providers = service::executionProviders(); !providers)
    missing.push_back(
        {"ONNX Runtime, so ONNX models open and fold but cannot be run or proved: " + providers.error().message,
         providers.error().hint.text()});
  if (const auto torch = loadOwnLibrary(kTorchScriptLibrary); !torch)
    missing.push_back(
        {"LibTorch, so .pt and .pt2 files cannot be opened: " + torch.error().message, torch.error().hint.text()});
  for (const std::string& wall : confine::missingWalls())
    missing.push_back({wall + ", a part of the confinement of models",
                       "a Linux kernel (5.13 or newer) that has it enabled; containers may hide it"});
  if (!gpu) missing.push_back({"a CUDA GPU", "models run on the CPU; everything else works"});
  return missing;
}

// A hang of the driver is not waited for: a check takes a few seconds, most of them to load LibTorch's CUDA half.
constexpr std::chrono::seconds kGpuCheckLimit{30};

// Returns what holds where the step works.
std::string gpuStepText(const std::string& step) {
  static const std::map<std::string, std::string> kTexts = {
      {"driver", "the driver is loaded"},
      {"start", "the driver starts (cuInit) and shows a GPU"},
      {"torch", "LibTorch's CUDA part is loaded"},
      {"memory", "memory is allocated, written and read"},
      {"own_kernel", "normlens::rms_norm agrees with float64"},
      {"torch_kernel", "torch's layer_norm agrees with float64"},
      {"graph", "a CUDA graph is captured and replayed"},
  };
  const auto text = kTexts.find(step);
  return text == kTexts.end() ? step : text->second;
}

// True: every step works.
bool printGpuCheck(const protocol::GpuCheck& check, Console& console) {
  for (const protocol::GpuStep& step : check.steps) {
    console.print("GPU: " + (step.error.empty() ? gpuStepText(step.step) + formatted(", %.1f ms", step.ms)
                                                : step.error + (step.hint.empty() ? "" : " (" + step.hint + ")")));
  }
  return !check.steps.empty() && check.steps.back().error.empty();
}

json targetsReport() {
  json all = json::array();
  for (const formats::Target& target : formats::targets()) {
    json forms = json::array();
    for (const auto& form : target.forms) {
      if (form.format.empty()) continue;
      const std::string since = std::to_string(form.major) + "." + std::to_string(form.minor);
      forms.push_back({{"format", form.format},
                       {"norm", formats::normFlavourName(form.flavour)},
                       {"operators", formats::operatorsOf(form.flavour, form.format)},
                       {"since", form.major > 0 ? json(since) : json(nullptr)}});
    }
    all.push_back({{"name", target.name},
                   {"title", target.title},
                   {"forms", std::move(forms)},
                   {"speed", target.speed},
                   {"range", target.range},
                   {"limits", target.limits},
                   {"source", target.source},
                   {"ran", target.ran}});
  }
  return all;
}

// check: of the GPU, where one was requested.
Exit runDoctor(Console& console, confine::Confinement level, const std::optional<protocol::GpuCheck>& check) {
  const protocol::EngineInfo info = service::engineInfo();
  const auto ops = ownLibrary(kOpsLibrary);
  const bool gpu = info.device != "CPU";
  json gpus = json::array(), missing = json::array();
  const std::vector<std::string> providers = service::executionProviders().value_or(std::vector<std::string>());
  if (gpu) gpus.push_back(info.device);

  console.print("NormLens " + info.version + (info.torch.empty() ? "" : ", LibTorch " + info.torch) +
                (info.onnx_runtime.empty() ? "" : ", ONNX Runtime " + info.onnx_runtime) + ", " + info.device);
  if (!providers.empty()) console.print("ONNX Runtime has: " + boost::algorithm::join(providers, ", "));
  console.print("ops library: " + (ops ? ops->string() : "not found"));
  console.print("confinement of models: " + std::string(confine::confinementName(level)));
  if (level != confine::Confinement::Full) console.print(std::string(confine::whatIsMissing(level, gpu)));
  const bool gpuWorks = !check || printGpuCheck(*check, console);
  for (const Missing& part : missingParts(ops.has_value(), gpu)) {
    console.print("missing: " + part.what + " (" + part.how + ")");
    missing.push_back({{"what", part.what}, {"how", part.how}});
  }
  const auto report = [&]() -> json {
    return {{"version", info.version},
            {"torch", info.torch.empty() ? json(nullptr) : json(info.torch)},
            {"device", info.device},
            {"gpus", gpus},
            {"providers", providers},
            {"onnx_runtime", info.onnx_runtime.empty() ? json(nullptr) : json(info.onnx_runtime)},
            {"formats", info.formats},
            {"confinement", confine::confinementName(level)},
            {"ops_library", ops ? json(ops->string()) : json(nullptr)},
            {"gpu_check", check ? protocol::toJson(check->steps) : json(nullptr)},
            {"targets", targetsReport()},
            {"missing", missing}};
  };
  return console.finish(report, gpuWorks ? Exit::Done : Exit::NotDone);
}

}  // namespace

Declared declareDoctor(CLI::App& app, const confine::Limits& limits) {
  const auto gpu = std::make_shared<bool>(false);
  app.add_flag("--gpu", *gpu, "Test the GPU, confined like a model: driver, memory, kernels, a CUDA graph");
  return {{}, {}, [gpu, &limits](Console& console) {
            const confine::Confinement level = confine::offeredConfinement();
            if (!*gpu) {
              StopSignals::letThrough();
              return runDoctor(console, level, std::nullopt);
            }
            // The check runs in the worker: a driver that was started before a fork does not work after it.
            const Declared confined{[level](const Call& call) -> Result<Exit> {
                                      ASSIGN_OR_RETURN(const auto check, service::checkGpu());
                                      return runDoctor(call.console, level, check);
                                    },
                                    [] {
                                      return NamedFiles{"the GPU", {}, {}, true};
                                    },
                                    {}};
            confine::Limits own = limits;
            own.setTime(kGpuCheckLimit);
            return superviseVerb(confined, own, console);
          }};
}

}  // namespace normlens::engine
