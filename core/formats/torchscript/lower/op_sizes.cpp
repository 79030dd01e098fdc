// Numbers that a file computes from sizes: those that every run has, and those that are the size of an axis.
#include <algorithm>
#include <array>

#include "core/formats/torchscript/lower/op_rule.h"
#include "core/ops/axis_size.h"

namespace normlens::formats::torchscript {
namespace {

constexpr int kDeepest = 16;
constexpr int64_t kLargest = int64_t{1} << 31;  // sums and products of two stay far from overflow

struct ListedSizes {
  std::vector<ops::ListedSize> sizes;
  bool fixedLength = true;  // in every run
};

// A number and the same number as a tensor, as tracers write it.
bool isCopy(std::string_view op) {
  constexpr std::array<std::string_view, 5> kCopies = {"prim::NumToTensor", "aten::Int", "aten::IntImplicit",
                                                       "aten::ScalarImplicit", "aten::detach"};
  return std::ranges::find(kCopies, op) != kCopies.end();
}

std::optional<int64_t> computed(std::string_view op, int64_t a, int64_t b) {
  if (std::min(a, b) < -kLargest || std::max(a, b) > kLargest) return std::nullopt;
  if (op == "aten::add") return a + b;
  if (op == "aten::sub") return a - b;
  if (op == "aten::mul") return a * b;
  const bool divides = op == "aten::floordiv" || op == "aten::floor_divide";
  return divides && a >= 0 && b > 0 ? std::optional(a / b) : std::nullopt;
}

class SizeReader {
 public:
  explicit SizeReader(Lowering& lowering) : lowering_(lowering) {}

  std::optional<int64_t> number(int value, int depth = 0) {
    const ProgramValue& from = lowering_.program().value(value);
    if (from.known) return numberIn(*from.known);
    if (from.producer == kNone || depth > kDeepest) return std::nullopt;
    const ProgramNode& at = lowering_.node(from.producer);
    const std::string_view op = at.node->kind().toQualString();
    if (isCopy(op)) return number(at.inputs[0], depth + 1);
    if (const auto read = readBy(value)) return fixedSize(*read);
    // add(a, b, alpha=1), floor_divide(a, b)
    if (at.inputs.size() != 2 && !(at.inputs.size() == 3 && number(at.inputs[2], depth + 1) == 1)) return std::nullopt;
    const auto a = number(at.inputs[0], depth + 1), b = number(at.inputs[1], depth + 1);
    return a && b ? computed(op, *a, *b) : std::nullopt;
  }

  // The size of an axis, and nothing else.
  std::optional<ops::SizeRead> readBy(int value) {
    const ProgramNode* at = producerOf(value);
    for (int step = 0; at != nullptr && isCopy(at->node->kind().toQualString()) && step < kDeepest; ++step) {
      value = at->inputs[0];
      at = producerOf(value);
    }
    if (at == nullptr) return std::nullopt;
    const std::string_view op = at->node->kind().toQualString();
    if (op == "aten::size" && at->inputs.size() == 2) return axisOf(value, number(at->inputs[1]));
    if (op == "prim::ListUnpack" && isShape(at->inputs[0])) {
      const auto place = std::ranges::find(at->outputs, value) - at->outputs.begin();
      return axisOf(at->inputs[0], place);
    }
    const bool element = op == "aten::__getitem__" && at->inputs.size() == 2 && isShape(at->inputs[0]);
    return element ? axisOf(at->inputs[0], number(at->inputs[1])) : std::nullopt;
  }

  std::optional<ListedSizes> listed(int list, int depth = 0) {
    if (const auto literal = lowering_.literalOf(list); literal && literal->isIntList()) {
      ListedSizes all;
      for (const int64_t size : literal->toIntVector()) all.sizes.push_back({size, std::nullopt});
      return all;
    }
    const ProgramNode* at = producerOf(list);
    if (at == nullptr || depth > kDeepest || lowering_.changedList(list) != nullptr) return std::nullopt;
    const std::string_view op = at->node->kind().toQualString();
    ListedSizes all;
    if (op == "prim::ListConstruct") {
      for (const int element : at->inputs) all.sizes.push_back({number(element), readBy(element)});
      return all;
    }
    if (isShape(list)) return sizesOf(valueRead(list));
    if (op == "aten::add" && at->inputs.size() == 2) {
      auto first = listed(at->inputs[0], depth + 1);
      const auto second = listed(at->inputs[1], depth + 1);
      if (!first || !second) return std::nullopt;
      first->sizes.insert(first->sizes.end(), second->sizes.begin(), second->sizes.end());
      first->fixedLength = first->fixedLength && second->fixedLength;
      return first;
    }
    return op == "aten::slice" && at->inputs.size() == 4 ? sliced(*at, depth) : std::nullopt;
  }

  std::optional<ListedSizes> sizesOf(graph::ValueId value) {
    const graph::Shape* shape = shapeOf(value);
    if (shape == nullptr) return std::nullopt;
    ListedSizes all;
    for (size_t i = 0; i < shape->size(); ++i) all.sizes.push_back({fixedSize({value, i}), ops::SizeRead{value, i}});
    all.fixedLength = lowering_.graph().value(value).constant != graph::kNone;  // another run's x may have another rank
    return all;
  }

 private:
  static std::optional<int64_t> numberIn(const c10::IValue& known) {
    if (known.isInt()) return known.toInt();
    if (!known.isTensor() || !known.toTensor().defined()) return std::nullopt;
    const at::Tensor& tensor = known.toTensor();
    const bool one = tensor.device().is_cpu() && tensor.numel() == 1 && at::isIntegralType(tensor.scalar_type(), false);
    return one ? std::optional(tensor.item<int64_t>()) : std::nullopt;
  }

  [[nodiscard]] const ProgramNode* producerOf(int value) const {
    const int producer = lowering_.program().value(value).producer;
    return producer == kNone ? nullptr : &lowering_.node(producer);
  }

  // All sizes of a tensor.
  [[nodiscard]] bool isShape(int value) const {
    const ProgramNode* at = producerOf(value);
    return at != nullptr && at->inputs.size() == 1 && at->node->kind() == c10::aten::size;
  }

  // Returns the value whose size (or sizes) is read.
  graph::ValueId valueRead(int size) {
    const auto read = lowering_.operandsOf(lowering_.program().value(size).producer, 0);
    return read.size() == 1 ? read[0].value : graph::kNoValue;
  }

  [[nodiscard]] const graph::Shape* shapeOf(graph::ValueId value) const {
    if (value == graph::kNoValue) return nullptr;
    const auto& shape = lowering_.graph().value(value).shape;
    return shape ? &*shape : nullptr;
  }

  std::optional<ops::SizeRead> axisOf(int size, std::optional<int64_t> axis) {
    const graph::ValueId value = valueRead(size);
    const graph::Shape* shape = shapeOf(value);
    if (shape == nullptr || !axis) return std::nullopt;
    const auto rank = static_cast<int64_t>(shape->size());
    if (*axis < -rank || *axis >= rank) return std::nullopt;
    return ops::SizeRead{value, static_cast<size_t>(*axis < 0 ? *axis + rank : *axis)};
  }

  std::optional<int64_t> fixedSize(const ops::SizeRead& read) {
    if (!lowering_.sizes().isFixed(read.value, read.axis)) return std::nullopt;
    return (*shapeOf(read.value))[read.axis];
  }

  std::optional<ListedSizes> sliced(const ProgramNode& at, int depth) {
    auto of = listed(at.inputs[0], depth + 1);
    if (!of || number(at.inputs[3]) != 1) return std::nullopt;
    const auto size = static_cast<int64_t>(of->sizes.size());
    const auto bound = [&](int value, int64_t otherwise) -> std::optional<int64_t> {
      const auto literal = lowering_.literalOf(value);
      if (literal && literal->isNone()) return otherwise;
      const auto place = number(value);
      return place ? std::optional(std::clamp(*place < 0 ? *place + size : *place, int64_t{0}, size)) : std::nullopt;
    };
    const auto from = bound(at.inputs[1], 0), to = bound(at.inputs[2], size);
    if (!from || !to) return std::nullopt;
    // x.shape[-1:] has one, whatever the rank.
    const auto end = lowering_.literalOf(at.inputs[2]);
    const bool last = isShape(at.inputs[0]) && number(at.inputs[1]) == -1 && end && end->isNone();
    of->sizes = {of->sizes.begin() + *from, of->sizes.begin() + std::max(*from, *to)};
    of->fixedLength = of->fixedLength || last;
    return of;
  }

  Lowering& lowering_;
};

}  // namespace

std::optional<int64_t> OpContext::fixedIntOf(std::string_view argument) const {
  const int value = valueOf(argument);
  return value == kNone ? std::nullopt : SizeReader(lowering_).number(value);
}

std::optional<std::vector<int64_t>> OpContext::fixedIntsOf(std::string_view argument) const {
  const int value = valueOf(argument);
  const auto sizes = value == kNone ? std::nullopt : SizeReader(lowering_).listed(value);
  if (!sizes) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const ops::ListedSize& size : sizes->sizes) {
    if (!size.number) return std::nullopt;
    numbers.push_back(*size.number);
  }
  return numbers;
}

bool OpContext::isSizeFixed(size_t operand, int64_t axis) const {
  return lowering_.sizes().isFixed(operands.at(operand).value, static_cast<size_t>(axis));
}

bool OpContext::isSizeOf(std::string_view argument, size_t operand, size_t axis) const {
  const int value = valueOf(argument);
  const auto read = value == kNone ? std::nullopt : SizeReader(lowering_).readBy(value);
  return read &&
         lowering_.sizes().of(read->value, read->axis) == lowering_.sizes().of(operands.at(operand).value, axis);
}

std::optional<int64_t> OpContext::fixedLengthOf(std::string_view argument) const {
  if (const auto ints = intsOf(argument)) return static_cast<int64_t>(ints->size());
  const int value = valueOf(argument);
  const auto listed = value == kNone ? std::nullopt : SizeReader(lowering_).listed(value);
  return listed && listed->fixedLength ? std::optional(static_cast<int64_t>(listed->sizes.size())) : std::nullopt;
}

void OpContext::markFixedAxes(std::string_view sizes) {
  const auto y = outputShape();
  const int value = valueOf(sizes);
  const auto listed = y && value != kNone ? SizeReader(lowering_).listed(value) : std::nullopt;
  if (!listed || listed->sizes.size() != y->size()) return;
  std::vector<int64_t> fixed;
  for (size_t i = 0; i < y->size(); ++i) {
    if (listed->sizes[i].number == (*y)[i]) fixed.push_back(static_cast<int64_t>(i));
  }
  if (!fixed.empty()) set("fixed", std::move(fixed));
}

void OpContext::markComputedAxes(std::string_view sizes) {
  const auto y = outputShape();
  const int value = valueOf(sizes);
  if (!y || value == kNone || operands.empty()) return;
  SizeReader reader(lowering_);
  const bool ofTensor = at_.node->input(static_cast<size_t>(find(sizes)))->type()->isSubtypeOf(*c10::TensorType::get());
  const auto listed = ofTensor ? reader.sizesOf(take(sizes).value) : reader.listed(value);
  const bool known = listed && listed->sizes.size() == y->size();
  const auto sizesOfY = known ? listed->sizes : std::vector<ops::ListedSize>();
  std::vector<int64_t> ones;
  for (size_t i = 0; i < sizesOfY.size(); ++i) {
    if (sizesOfY[i].number == 1) ones.push_back(static_cast<int64_t>(i));
  }
  auto computedAxes = ops::computedAxes(lowering_.sizes(), operands[0].value, *y, sizesOfY);
  if (!computedAxes.empty()) set("computed", std::move(computedAxes));
  if (!ones.empty()) set("ones", std::move(ones));
}

void OpContext::markJoinedAxis(size_t first, size_t end) {
  auto joined = ops::axisJoinedAnew(lowering_.sizes(), operands.at(0).value, first, end, static_cast<int64_t>(first));
  if (!joined.empty()) set("computed", std::move(joined));
}

}  // namespace normlens::formats::torchscript
