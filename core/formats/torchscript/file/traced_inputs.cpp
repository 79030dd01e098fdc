#include "core/formats/torchscript/file/traced_inputs.h"

#include "core/formats/archive/pickle_scan.h"

namespace normlens::formats::torchscript {

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
    const graph::DType dtype = storageType(tensor.type).dtype;
    if (dtype == graph::DType::Unknown) return {};
    inputs.push_back({dtype, tensor.sizes});
  }
  return inputs;
}

}  // namespace normlens::formats::torchscript
