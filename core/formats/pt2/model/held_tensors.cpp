#include "core/formats/pt2/model/held_tensors.h"

#include <cstring>

#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::pt2 {

at::Tensor HeldTensors::storage(const Payload& payload) {
  at::Tensor& known = storages_[{payload.record, payload.dtype}];
  if (known.defined()) return known;
  const ZipRecord* record = archive_->find(std::string(archive_->prefix()) + payload.record);
  if (record == nullptr) throw BrokenDocument("the record '" + payload.record + "' is missing");
  const auto type = torchscript::scalarTypeOf(payload.dtype);
  const auto bytes = graph::dtypeBytes(payload.dtype);
  const auto count = static_cast<int64_t>(record->size / bytes);
  const auto writable = archive_->file().copyOnWrite();
  const bool stored = record->method == ZipMethod::Stored && record->dataOffset % bytes == 0;
  if (stored && !writable.empty()) {
    std::byte* data = writable.data() + record->dataOffset;
    return known = at::from_blob(
               data, {count}, [kept = archive_](void*) {}, type);
  }
  constexpr uint64_t kMostUnpacked = uint64_t{2} << 30;
  const auto content = archive_->read(*record, stored ? record->size : kMostUnpacked);
  if (!content) throw BrokenDocument("the record '" + payload.record + "' does not unpack, or to more than 2 GiB");
  known = at::empty({count}, type);
  std::memcpy(known.data_ptr(), content->data(), static_cast<size_t>(count) * bytes);
  return known;
}

at::Tensor HeldTensors::of(const HeldTensor& held) {
  const Payload& payload = payloads_.of(held);
  if (payload.isEmpty) return at::empty(payload.sizes, torchscript::scalarTypeOf(payload.dtype));
  return storage(payload).as_strided(payload.sizes, payload.strides, payload.offset);
}

}  // namespace normlens::formats::pt2
