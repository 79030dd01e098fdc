#include "core/formats/archive/storage_type.h"

#include <array>
#include <utility>

namespace normlens::formats {

graph::DType dtypeOfStorage(std::string_view type) {
  using graph::DType;
  constexpr std::array<std::pair<std::string_view, DType>, 10> kTypes = {{{"FloatStorage", DType::Float32},
                                                                          {"DoubleStorage", DType::Float64},
                                                                          {"HalfStorage", DType::Float16},
                                                                          {"BFloat16Storage", DType::BFloat16},
                                                                          {"LongStorage", DType::Int64},
                                                                          {"IntStorage", DType::Int32},
                                                                          {"ShortStorage", DType::Int16},
                                                                          {"CharStorage", DType::Int8},
                                                                          {"ByteStorage", DType::UInt8},
                                                                          {"BoolStorage", DType::Bool}}};
  for (const auto& [name, dtype] : kTypes) {
    if (name == type) return dtype;
  }
  return DType::Unknown;
}

}  // namespace normlens::formats
