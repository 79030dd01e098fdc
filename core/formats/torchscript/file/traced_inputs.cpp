#include "core/formats/torchscript/file/traced_inputs.h"

#include <array>
#include <utility>

#include "core/formats/archive/pickle_scan.h"

namespace normlens::formats::torchscript {
namespace {

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

}  // namespace

std::vector<TracedInput> readTracedInputs(const Archive& archive) {
  const ZipRecord* record = archive.find(std::string(archive.prefix()) + "traced_inputs.pkl");
  if (record == nullptr) return {};
  constexpr uint64_t kMost = 1 << 20;
  const auto pickle = archive.read(*record, kMost);
  if (!pickle) return {};
  const auto scan = scanPickle(*pickle);
  if (!scan) return {};
  std::vector<TracedInput> inputs;
  for (const DeclaredTensor& tensor : scan->tensors) {
    const graph::DType dtype = dtypeOfStorage(tensor.type);
    if (dtype == graph::DType::Unknown) return {};
    inputs.push_back({dtype, tensor.sizes});
  }
  return inputs;
}

}  // namespace normlens::formats::torchscript
