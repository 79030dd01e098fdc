#include "core/formats/targets.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace normlens::formats {
namespace {

constexpr std::string_view kOnnx = "onnx", kScript = "torchscript", kExported = "pt2";
using Form = Target::Form;
constexpr auto kPrimitives = NormFlavour::Primitives, kPortable = NormFlavour::Portable;

constexpr std::array<Target, 7> kTargets = {{
    {.name = "onnxruntime",
     .title = "ONNX Runtime",
     .forms = {Form{kOnnx, NormFlavour::Ort}},
     .speed = "its own norm, with the residual add taken in; its optimizer makes the same of primitives",
     .range = "a float16 norm sums in float32",
     .limits = "few others load the operator; OpenVINO does",
     .source = "ONNX Runtime 1.31.0, 2026-11-30",
     .ran = true},
    {.name = "openvino",
     .title = "OpenVINO",
     .forms = {Form{kOnnx, kPrimitives}},
     .speed = "primitives; its RMSFusion joins them into one operator",
     .squaresInFloat16 = true,
     .range = "squares in the model's type: set the precision to f32 for float16 models with large numbers",
     .limits = "RMSNormalization only in newer versions (openvino 36694)",
     .source = "OpenVINO 2026.4.1, 2026-11-30",
     .ran = true},
    {.name = "tensorrt",
     .title = "TensorRT",
     .forms = {Form{kOnnx, kPrimitives}},
     .speed = "not measured; primitives are fused by its compiler",
     .squaresInFloat16 = true,
     .range = "squares in float16 in an FP16 engine: keep these layers in FP32 (TensorRT 2564, 2781, 3692, 4493)",
     .limits = "RMSNormalization of opset 23 does not load (TensorRT 4639)",
     .source = "its issues and its guide to ONNX opsets"},
    {.name = "torch",
     .title = "torch",
     .forms = {Form{kScript, kPortable, 2, 4}, Form{kScript, kPrimitives}, Form{kExported, kPortable}},
     .speed = "aten::rms_norm, fused by torch.compile and AOTInductor; uncompiled on a CPU it is slower than LayerNorm "
              "(pytorch 157345), and normlens is faster there",
     .range = "sums in float32",
     .limits = "before 2.4 there is no rms_norm",
     .source = "torch 2.15.0, 2026-11-30",
     .ran = true},
    {.name = "executorch",
     .title = "ExecuTorch",
     .forms = {Form{kExported, kPrimitives}},
     .speed = "not measured; its FuseRMSNormPass joins primitives (executorch 22849)",
     .squaresInFloat16 = true,
     .range = "squares in the model's type on Core ML's backend (executorch 19523)",
     .limits = "rms_norm only in versions whose backend has it",
     .source = "its issues"},
    {.name = "coreml",
     .title = "Core ML",
     .forms = {Form{kScript, kPrimitives}, Form{kExported, kPrimitives}},
     .speed = "not measured",
     .squaresInFloat16 = true,
     .range = "squares in float16 unless compute_precision is FLOAT32 (coremltools 2585)",
     .limits = "its converter gives rms_norm a larger epsilon (coremltools 2821), so no rms_norm is written",
     .source = "coremltools' issues"},
    {.name = "normlens",
     .title = "torch with libnormlens_ops.so",
     .forms = {Form{kScript, NormFlavour::Fast}, Form{kExported, NormFlavour::Fast}},
     .speed = "one kernel for norm, scale, shift and the residual add before it",
     .range = "sums in float32",
     .limits = "the library is loaded before the model",
     .source = "torch 2.15.0, 2026-11-30",
     .ran = true},
}};

std::string names() {
  std::string all;
  for (const Target& target : kTargets) all += (all.empty() ? "" : ", ") + std::string(target.name);
  return all;
}

// "2.4.1" -> 2, 4; nullopt: it begins with no number. What is not given is as new as can be.
std::optional<std::pair<int, int>> versionIn(std::string_view text) {
  constexpr int kNewest = 1'000'000;
  std::pair<int, int> version{kNewest, kNewest};
  if (text.empty()) return version;
  const auto read = [](std::string_view digits, int& number) {
    return std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc();
  };
  if (!read(text, version.first)) return std::nullopt;
  const size_t dot = text.find('.');
  if (dot != std::string_view::npos && !read(text.substr(dot + 1), version.second)) return std::nullopt;
  return version;
}

}  // namespace

std::span<const Target> targets() { return kTargets; }

Result<TargetForm> formFor(std::string_view wanted, std::string_view format) {
  const std::string_view name = wanted.substr(0, wanted.find('@'));
  const auto version = versionIn(name.size() < wanted.size() ? wanted.substr(name.size() + 1) : "");
  const auto* const target = std::ranges::find(kTargets, name, &Target::name);
  if (target == kTargets.end() || !version || wanted.ends_with('@')) {
    return fail(ErrorCode::Usage, "there is no target '" + std::string(wanted) + "'",
                "choose " + names() + ", with @VERSION where it matters");
  }
  const auto* const form = std::ranges::find_if(target->forms, [&](const Form& row) {
    return row.format == format && std::pair(row.major, row.minor) <= *version;
  });
  if (form != target->forms.end()) return TargetForm{target, form->flavour};
  return fail(ErrorCode::Usage, std::string(target->title) + " loads no file of this format",
              format == kOnnx ? "export the model as .pt2 first" : "export the model to ONNX first");
}

std::string_view operatorsOf(NormFlavour flavour, std::string_view format) {
  const bool onnx = format == kOnnx;
  switch (flavour) {
    case NormFlavour::Standard:
      return "RMSNormalization (opset 23)";
    case NormFlavour::Ort:
      return "SimplifiedLayerNormalization";
    case NormFlavour::Fast:
      return onnx ? "SimplifiedLayerNormalization" : "normlens::rms_norm";
    case NormFlavour::Portable:
      if (!onnx) return "aten::rms_norm";
      [[fallthrough]];
    case NormFlavour::Primitives:
      return onnx ? "Pow, ReduceMean, Add, Sqrt, Div" : "pow, mean, add, rsqrt, mul";
  }
  return "";
}

std::string_view loadedBy(NormFlavour flavour, std::string_view format) {
  const bool onnx = format == kOnnx;
  switch (flavour) {
    case NormFlavour::Standard:
      return "runtimes with opset 23";
    case NormFlavour::Ort:
      return "ONNX Runtime, and few others";
    case NormFlavour::Fast:
      return onnx ? "ONNX Runtime, and few others" : "torch with libnormlens_ops.so";
    case NormFlavour::Portable:
      if (!onnx) return "torch 2.4 or newer; uncompiled on a CPU slower than LayerNorm, --for normlens is faster there";
      [[fallthrough]];
    case NormFlavour::Primitives:
      return "whatever loads the original";
  }
  return "";
}

}  // namespace normlens::formats
