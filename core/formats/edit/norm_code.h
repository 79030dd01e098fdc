// y = gamma * x / sqrt(mean(x^2) + eps) + beta, written as ops: once, for every format and flavour. Thread: one.
// Source: papers 000/001, RMSNorm; docs/method.md 8.
//
// `Ops` writes one op each, holds x's axes, eps and types, and returns its value:
//   Value rmsNorm(Value x, std::optional<Value> gamma)     the format's own op
//   Value toSumType(Value x)      to the type that squares are summed in; x where it has that
//   Value meanSquare(Value x)     over the norm's axes, which stay, with size 1
//   Value overRoot(Value x, Value meanSquare)              x / sqrt(meanSquare + eps)
//   Value toGammaType(Value y)    before gamma and beta; y where no op of the format needs it
//   Value multiply(Value a, Value b), add(Value a, Value b)
//   Value toResultType(Value y)   after them; y where it has that type
#pragma once

#include <optional>

namespace normlens::formats {

template <class Ops, class Value = typename Ops::Value>
Value normCode(Ops& ops, bool asOneOp, const Value& x, const std::optional<Value>& gamma,
               const std::optional<Value>& beta) {
  Value y;
  if (asOneOp) {
    y = ops.rmsNorm(x, gamma);
  } else {
    const Value summed = ops.toSumType(x);
    y = ops.toGammaType(ops.overRoot(summed, ops.meanSquare(summed)));
    if (gamma) y = ops.multiply(y, *gamma);
  }
  if (beta) y = ops.add(y, *beta);
  return ops.toResultType(y);
}

}  // namespace normlens::formats
