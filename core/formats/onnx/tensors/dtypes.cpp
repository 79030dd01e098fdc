#include "core/formats/onnx/tensors/dtypes.h"

#include <array>

namespace normlens::formats::onnx {
namespace {

using graph::DType;
using ::ONNX_NAMESPACE::TensorProto;

struct TypeRow {
  int32_t onnx;
  DType dtype;
  int bits;
};

constexpr std::array kTypes = {
    TypeRow{TensorProto::FLOAT, DType::Float32, 32},
    TypeRow{TensorProto::UINT8, DType::UInt8, 8},
    TypeRow{TensorProto::INT8, DType::Int8, 8},
    TypeRow{TensorProto::UINT16, DType::Unknown, 16},
    TypeRow{TensorProto::INT16, DType::Int16, 16},
    TypeRow{TensorProto::INT32, DType::Int32, 32},
    TypeRow{TensorProto::INT64, DType::Int64, 64},
    TypeRow{TensorProto::STRING, DType::Unknown, 0},
    TypeRow{TensorProto::BOOL, DType::Bool, 8},
    TypeRow{TensorProto::FLOAT16, DType::Float16, 16},
    TypeRow{TensorProto::DOUBLE, DType::Float64, 64},
    TypeRow{TensorProto::UINT32, DType::Unknown, 32},
    TypeRow{TensorProto::UINT64, DType::Unknown, 64},
    TypeRow{TensorProto::COMPLEX64, DType::Complex64, 64},
    TypeRow{TensorProto::COMPLEX128, DType::Complex128, 128},
    TypeRow{TensorProto::BFLOAT16, DType::BFloat16, 16},
    TypeRow{TensorProto::FLOAT8E4M3FN, DType::Quantized, 8},
    TypeRow{TensorProto::FLOAT8E4M3FNUZ, DType::Quantized, 8},
    TypeRow{TensorProto::FLOAT8E5M2, DType::Quantized, 8},
    TypeRow{TensorProto::FLOAT8E5M2FNUZ, DType::Quantized, 8},
    TypeRow{TensorProto::UINT4, DType::Quantized, 4},
    TypeRow{TensorProto::INT4, DType::Quantized, 4},
    TypeRow{TensorProto::FLOAT4E2M1, DType::Quantized, 4},
    TypeRow{TensorProto::FLOAT8E8M0, DType::Quantized, 8},
    TypeRow{TensorProto::UINT2, DType::Quantized, 2},
    TypeRow{TensorProto::INT2, DType::Quantized, 2},
    TypeRow{TensorProto::FLOAT6E2M3, DType::Quantized, 6},
    TypeRow{TensorProto::FLOAT6E3M2, DType::Quantized, 6},
};

const TypeRow* rowOf(int32_t elementType) {
  for (const TypeRow& row : kTypes) {
    if (row.onnx == elementType) return &row;
  }
  return nullptr;
}

}  // namespace

DType fromOnnxType(int32_t elementType) {
  const TypeRow* row = rowOf(elementType);
  return row == nullptr ? DType::Unknown : row->dtype;
}

int32_t toOnnxType(DType dtype) {
  if (dtype == DType::Unknown || dtype == DType::Quantized) return TensorProto::UNDEFINED;
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return row.onnx;
  }
  return TensorProto::UNDEFINED;
}

bool isKnownOnnxType(int32_t elementType) { return rowOf(elementType) != nullptr; }

int onnxTypeBits(int32_t elementType) {
  const TypeRow* row = rowOf(elementType);
  return row == nullptr ? 0 : row->bits;
}

}  // namespace normlens::formats::onnx
