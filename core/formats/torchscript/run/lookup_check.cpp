#include "core/formats/torchscript/run/lookup_check.h"

#include <ATen/WrapDimUtils.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/base/printable.h"

namespace normlens::formats::torchscript {
namespace {

using c10::IValue;

bool isNumbers(const IValue& index) {
  return index.isTensor() && index.toTensor().defined() && !index.toTensor().is_meta() &&
         (index.toTensor().scalar_type() == at::kLong || index.toTensor().scalar_type() == at::kInt);
}

// Throws what checkLookup() throws. name: what is looked up in. fromEnd: negative indices count from the end.
void checkIndex(const std::string& name, int64_t rows, int64_t axis, const IValue& index, bool fromEnd) {
  if (!isNumbers(index) || index.toTensor().numel() == 0) return;
  const auto [least, most] = at::aminmax(index.toTensor());
  const int64_t lowest = least.item().toLong(), highest = most.item().toLong();
  if (lowest >= (fromEnd ? -rows : 0) && highest < rows) return;
  throw LookupBeyond(
      printable(name) + " has " + std::to_string(rows) +
      (axis == 0 ? " rows" : " elements along axis " + std::to_string(axis)) + ", and the inputs need " +
      (highest < rows ? "number " + std::to_string(lowest) : std::to_string(static_cast<uint64_t>(highest) + 1)));
}

}  // namespace

void checkLookup(const Program& program, const ProgramNode& node, const std::vector<IValue>& inputs) {
  const std::string op = node.node->kind().toQualString();
  const bool byAxis = op == "aten::index_select" || op == "aten::gather";
  if (!byAxis && op != "aten::embedding" && op != "aten::index") return;
  if (!inputs[0].isTensor() || inputs[0].toTensor().dim() == 0) return;
  const at::Tensor& table = inputs[0].toTensor();
  if (table.layout() != at::kStrided) return;  // others count negative indices from the end
  const ProgramValue& read = program.value(node.inputs[0]);
  const std::string name = read.constant == kNone ? "what " + op + " reads"
                                                  : program.constants[static_cast<size_t>(read.constant)].sites[0].path;
  const auto check = [&](int64_t axis, const IValue& index, bool fromEnd) {
    checkIndex(name, table.size(axis), axis, index, fromEnd);
  };
  if (byAxis) {
    if (inputs[1].isInt()) check(at::maybe_wrap_dim(inputs[1].toInt(), table.dim()), inputs[2], false);
  } else if (op == "aten::embedding") {
    check(0, inputs[1], false);
  } else {
    // One for each axis, up to a mask, behind which the axes are others. Too many are torch's to refuse.
    const auto indices = inputs[1].toListRef();
    const auto isEmpty = [](const IValue& index) { return isNumbers(index) && index.toTensor().numel() == 0; };
    if (std::ranges::any_of(indices, isEmpty)) return;  // broadcast to nothing, no row is read
    for (size_t axis = 0; axis < std::min(indices.size(), table.sizes().size()); ++axis) {
      const bool isMask = indices[axis].isTensor() && indices[axis].toTensor().defined() && !isNumbers(indices[axis]);
      if (isMask) return;
      check(static_cast<int64_t>(axis), indices[axis], true);
    }
  }
}

}  // namespace normlens::formats::torchscript
