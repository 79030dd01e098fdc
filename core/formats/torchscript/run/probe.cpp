#include "core/formats/torchscript/run/probe.h"

#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::torchscript {
namespace {

using Kind = ValueRecord::Kind;

// A list of tensors, of optional tensors, or of lists of them; long lists of numbers are not worth a record.
bool holdsTensors(const c10::IValue& content) {
  if (!content.isList()) return false;
  const auto elements = content.toListRef();
  return elements.empty() || elements[0].isTensor() || elements[0].isNone() || elements[0].isTuple() ||
         holdsTensors(elements[0]);
}

ValueRecord recordOf(const c10::IValue& content) {
  ValueRecord record;
  record.kind = Kind::Other;
  if (content.isTensor()) {
    const at::Tensor& tensor = content.toTensor();
    if (!tensor.defined()) return record;
    record.kind = Kind::Tensor;
    record.dtype = tensor.is_quantized() ? graph::DType::Quantized : dtypeOf(tensor.scalar_type());
    record.shape = tensor.sizes().vec();
  } else if (content.isInt() || content.isDouble() || content.isBool()) {
    record.kind = Kind::Scalar;
    record.dtype = content.isInt()      ? graph::DType::Int64
                   : content.isDouble() ? graph::DType::Float64
                                        : graph::DType::Bool;
  } else if (content.isTuple() || holdsTensors(content)) {
    record.kind = Kind::List;
    if (content.isTuple()) {
      for (const auto& element : content.toTupleRef().elements()) record.elements.push_back(recordOf(element));
    } else {
      for (const auto& element : content.toListRef()) record.elements.push_back(recordOf(element));
    }
  }
  return record;
}

// Keeps what stays true of a value that was seen twice (in a loop).
void merge(ValueRecord& seen, const ValueRecord& again) {
  if (seen.kind != again.kind) {
    seen = {};
    seen.kind = Kind::Other;
    return;
  }
  if (seen.dtype != again.dtype) seen.dtype = graph::DType::Unknown;
  if (seen.shape != again.shape) seen.shape.reset();
  if (seen.elements.size() != again.elements.size()) {
    seen.elements.clear();
    return;
  }
  for (size_t i = 0; i < seen.elements.size(); ++i) merge(seen.elements[i], again.elements[i]);
}

}  // namespace

void Recorder::note(size_t value, const c10::IValue& content) {
  ValueRecord& record = records_.values[value];
  if (record.kind == Kind::Unseen) {
    record = recordOf(content);
  } else {
    merge(record, recordOf(content));
  }
}

}  // namespace normlens::formats::torchscript
