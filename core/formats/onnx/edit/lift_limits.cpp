#include "core/formats/onnx/edit/lift_limits.h"

#include "core/formats/onnx/edit/node_maker.h"

namespace normlens::formats::onnx {
namespace {

constexpr int kNumbersAsInputs = 11;  // of Clip and Pad
constexpr int kCoordinateModes = 11;  // of Resize: before, there was one, which is no longer the usual one
constexpr int kBooleanMask = 10;      // of Dropout
constexpr int kOneAxis = 13;          // of Hardmax: before, it worked on all axes from `axis` on

bool worksOnLastAxis(const NodeProto& node, const graph::Value* x) {
  const auto* axis = findAttribute(node, "axis");
  const int64_t at = axis == nullptr ? 1 : axis->i();
  return at == -1 || (x != nullptr && x->shape && at + 1 == static_cast<int64_t>(x->shape->size()));
}

}  // namespace

std::string liftObstacle(const NodeProto& node, int since, const graph::Value* x) {
  const std::string& op = node.op_type();
  const std::string old = op + " of opset " + std::to_string(since);
  if (op == "Upsample" || (op == "Resize" && since < kCoordinateModes))
    return old + " takes its elements from other places there";
  if (op == "Hardmax" && since < kOneAxis && !worksOnLastAxis(node, x)) return old + " works on several axes at once";
  if (op == "Dropout" && since < kBooleanMask && node.output_size() > 1 && !node.output(1).empty())
    return old + " gives a mask of another type";
  const bool typed = x != nullptr && x->dtype != graph::DType::Unknown;
  if ((op == "Clip" || op == "Pad") && since < kNumbersAsInputs && !typed)
    return "the type that " + old + " computes in is not known";
  return {};
}

}  // namespace normlens::formats::onnx
