#include "core/formats/torchscript/inputs/input_fault.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace normlens::formats::torchscript {
namespace {

constexpr size_t kMostNumbers = 24;

class Numbers {
 public:
  void add(int64_t number) {
    if (number > 0 && numbers_.size() < kMostNumbers && std::ranges::find(numbers_, number) == numbers_.end())
      numbers_.push_back(number);
  }

  // Sizes of tensors, and numbers; of a list of sizes (view) also how many elements they make.
  void add(const c10::IValue& value) {
    if (value.isTensor() && value.toTensor().defined()) {
      for (const int64_t size : value.toTensor().sizes()) add(size);
    } else if (value.isInt()) {
      add(value.toInt());
      add(value.toInt() + 1);  // of an index: the size that it asks for
    } else if (value.isIntList()) {
      int64_t product = 1;
      for (const int64_t number : value.toIntVector()) {
        add(number);
        if (number > 0 && product < (int64_t{1} << 40)) product *= number;
      }
      add(product);
    } else if (value.isList()) {
      for (const auto& element : value.toListRef()) add(c10::IValue(element));
    }
  }

  void addOf(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      int64_t number = 0;
      const auto [end, status] = std::from_chars(text.data() + at, text.data() + text.size(), number);
      if (status == std::errc()) add(number);
      at = status == std::errc::invalid_argument ? at + 1 : static_cast<size_t>(end - text.data());
    }
  }

  std::vector<int64_t> take() { return std::move(numbers_); }

 private:
  std::vector<int64_t> numbers_;
};

// Which parameters of forward() these values are computed from.
class Origins {
 public:
  explicit Origins(const Program& program) : program_(program), seen_(program.values.size(), false) {
    homeOf_.assign(program.values.size(), kNone);
    for (size_t b = 0; b < program.blocks.size(); ++b) {
      for (const int param : program.blocks[b].params) homeOf_[static_cast<size_t>(param)] = static_cast<int>(b);
    }
  }

  std::vector<bool> of(std::vector<int> values) {
    while (!values.empty()) {
      const auto value = static_cast<size_t>(values.back());
      values.pop_back();
      if (seen_[value]) continue;
      seen_[value] = true;
      const int producer = program_.values[value].producer;
      const int owner = homeOf_[value] == kNone ? kNone : program_.blocks[static_cast<size_t>(homeOf_[value])].owner;
      for (const int node : {producer, owner}) {
        if (node != kNone) addSources(program_.nodes[static_cast<size_t>(node)], values);
      }
    }
    std::vector<bool> inputs;
    for (const int param : program_.blocks[0].params) inputs.push_back(seen_[static_cast<size_t>(param)]);
    return inputs;
  }

 private:
  void addSources(const ProgramNode& node, std::vector<int>& values) const {
    values.insert(values.end(), node.inputs.begin(), node.inputs.end());
    for (const int block : node.blocks) {
      const auto& returns = program_.blocks[static_cast<size_t>(block)].returns;
      values.insert(values.end(), returns.begin(), returns.end());
    }
  }

  const Program& program_;
  std::vector<bool> seen_;
  std::vector<int> homeOf_;  // by value: the block whose parameter it is
};

// "if h != 224: raise": what is compared, as far as it is known before the run.
void addCompared(const Program& program, int condition, Numbers& numbers) {
  std::vector<int> left{condition};
  for (int steps = 0; !left.empty() && steps < 16; ++steps) {
    const int producer = program.values[static_cast<size_t>(left.back())].producer;
    left.pop_back();
    if (producer == kNone) continue;
    for (const int input : program.nodes[static_cast<size_t>(producer)].inputs) {
      const auto& known = program.values[static_cast<size_t>(input)].known;
      if (known && known->isInt()) numbers.add(known->toInt());
      if (!known) left.push_back(input);
    }
  }
}

}  // namespace

InputFault inputFault(const Program& program, const Interpreter::Fault& fault) {
  InputFault told;
  told.reached = fault.reached;
  told.inputs.assign(program.blocks[0].params.size(), true);
  if (fault.node == kNone) return told;
  const ProgramNode& node = program.nodes[static_cast<size_t>(fault.node)];
  Numbers numbers;
  std::vector<int> from = node.inputs;
  told.raised = node.node->kind() == c10::prim::RaiseException;
  if (told.raised) {
    if (!fault.inputs.empty() && fault.inputs[0].isString()) numbers.addOf(fault.inputs[0].toStringRef());
    const int owner = program.blocks[static_cast<size_t>(node.block)].owner;
    if (owner != kNone) {
      from = program.nodes[static_cast<size_t>(owner)].inputs;
      addCompared(program, from[0], numbers);
    }
  } else {
    for (const c10::IValue& input : fault.inputs) numbers.add(input);
    const bool lists = std::ranges::any_of(fault.inputs, &c10::IValue::isIntList);
    if (lists && fault.inputs[0].isTensor()) numbers.add(fault.inputs[0].toTensor().numel());
  }
  told.numbers = numbers.take();
  const auto inputs = Origins(program).of(std::move(from));
  if (std::ranges::find(inputs, true) != inputs.end()) told.inputs = inputs;
  return told;
}

}  // namespace normlens::formats::torchscript
