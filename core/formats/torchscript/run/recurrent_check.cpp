#include "core/formats/torchscript/run/recurrent_check.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

namespace normlens::formats::torchscript {
namespace {

using c10::IValue;

constexpr size_t kSettingsOfPadded = 6;  // behind the parameters; packed sequences have no batch_first

std::string text(at::IntArrayRef sizes) {
  std::string out;
  for (const int64_t size : sizes) out += (out.empty() ? "" : ", ") + std::to_string(size);
  return "[" + out + "]";
}

void checkState(const at::Tensor& state, const std::vector<int64_t>& wanted) {
  if (state.sizes() == at::IntArrayRef(wanted)) return;
  throw std::runtime_error("its state must have the shape " + text(wanted) + ", and has " + text(state.sizes()));
}

// [layers, batch, width]
void checkStates(const std::vector<IValue>& inputs, size_t parametersAt) {
  const auto parameters = inputs[parametersAt].toListRef();
  const auto setting = [&](size_t i) { return inputs.at(parametersAt + i); };
  const at::Tensor& recurrent = parameters[1].toTensor();  // [gates * hidden, width of what is fed back]
  if (recurrent.dim() != 2) return;
  const bool padded = inputs.size() - parametersAt - 1 == kSettingsOfPadded;
  const at::Tensor& input = inputs[0].toTensor();
  if (padded && input.dim() != 3) return;
  const int64_t batch = padded ? input.size(setting(6).toBool() ? 0 : 1) : inputs[1].toTensor()[0].item<int64_t>();
  const int64_t layers = setting(2).toInt() * (setting(5).toBool() ? 2 : 1);
  const IValue& states = inputs[parametersAt - 1];
  if (!states.isTensorList()) return checkState(states.toTensor(), {layers, batch, recurrent.size(1)});
  if (states.toListRef().size() != 2) return;  // torch reports it itself
  constexpr int64_t kGates = 4;                // of an LSTM, which has a list
  checkState(states.toListRef()[0].toTensor(), {layers, batch, recurrent.size(1)});
  checkState(states.toListRef()[1].toTensor(), {layers, batch, recurrent.size(0) / kGates});
}

}  // namespace

void checkRecurrentSizes(const torch::jit::Node* node, const std::vector<IValue>& inputs) {
  const std::string_view op = node->kind().toQualString();
  if (op != "aten::lstm" && op != "aten::gru" && op != "aten::rnn_tanh" && op != "aten::rnn_relu") return;
  // The parameters are the last list; its first tensor multiplies the input: [gates * hidden, input].
  const auto last = std::find_if(inputs.rbegin(), inputs.rend(), [](const IValue& v) { return v.isTensorList(); });
  if (last == inputs.rend() || !inputs[0].isTensor() || last->toListRef().size() < 2) return;
  const at::Tensor& weight = last->toListRef()[0].toTensor();
  const at::Tensor& input = inputs[0].toTensor();
  if (weight.dim() == 2 && (input.dim() == 0 || weight.size(1) != input.size(-1)))
    throw std::runtime_error("the input's last axis must have " + std::to_string(weight.size(1)) + " elements");
  checkStates(inputs, static_cast<size_t>(inputs.rend() - last) - 1);
}

}  // namespace normlens::formats::torchscript
