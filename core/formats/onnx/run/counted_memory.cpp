#include "core/formats/onnx/run/counted_memory.h"

#include <algorithm>
#include <cstdlib>

#include "core/formats/onnx/run/ort_environment.h"
#include "core/formats/onnx/run/runtime.h"

namespace normlens::formats::onnx {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

CountedMemory::CountedMemory()
    : OrtAllocator{},
      environment_(ortEnvironment()),
      info_(Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault)) {
  version = ORT_API_VERSION;
  Alloc = [](OrtAllocator* self, size_t bytes) { return static_cast<CountedMemory*>(self)->allocate(bytes); };
  Reserve = Alloc;
  Free = [](OrtAllocator* self, void* memory) { static_cast<CountedMemory*>(self)->release(memory); };
  Info = [](const OrtAllocator* self) {
    return static_cast<const OrtMemoryInfo*>(static_cast<const CountedMemory*>(self)->info_);
  };
}

CountedMemory::~CountedMemory() {
  OrtStatus* status = registered_ ? Ort::GetApi().UnregisterAllocator(*environment_, info_) : nullptr;
  if (status) Ort::GetApi().ReleaseStatus(status);
}

Result<std::unique_ptr<CountedMemory>> CountedMemory::make() {
  RETURN_IF_ERROR(runtimeVersion());
  try {
    std::unique_ptr<CountedMemory> made(new CountedMemory);
    Ort::ThrowOnError(Ort::GetApi().RegisterAllocator(*made->environment_, made.get()));
    made->registered_ = true;
    return made;
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported, "ONNX Runtime lets its memory not be counted: " + plainOrtText(error.what()));
  }
}

void* CountedMemory::allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  void* memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (memory == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  sizes_.emplace(memory, static_cast<int64_t>(bytes));
  held_ += static_cast<int64_t>(bytes);
  most_ = std::max(most_, held_);
  return memory;
}

void CountedMemory::release(void* memory) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto size = sizes_.extract(memory)) held_ -= size.mapped();
  }
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc): the runtime counts on no destructor
}

int64_t CountedMemory::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

int64_t CountedMemory::most() const {
  const std::lock_guard lock(mutex_);
  return most_;
}

void CountedMemory::restart() {
  const std::lock_guard lock(mutex_);
  most_ = held_;
}

}  // namespace normlens::formats::onnx
