#include "core/formats/onnx/run/counted_memory.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include "core/formats/onnx/run/ort_environment.h"

namespace normlens::formats::onnx {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

struct CountedMemory::Impl : OrtAllocator {
  Impl() : OrtAllocator{} {
    version = ORT_API_VERSION;
    Alloc = [](OrtAllocator* self, size_t bytes) { return static_cast<Impl*>(self)->allocate(bytes); };
    Reserve = Alloc;
    Free = [](OrtAllocator* self, void* memory) { static_cast<Impl*>(self)->release(memory); };
    Info = [](const OrtAllocator* self) {
      return static_cast<const OrtMemoryInfo*>(static_cast<const Impl*>(self)->info);
    };
  }

  void* allocate(size_t bytes) {
    if (bytes == 0) return nullptr;
    void* memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (memory == nullptr) return nullptr;
    const std::lock_guard lock(mutex);
    sizes.emplace(memory, static_cast<int64_t>(bytes));
    held += static_cast<int64_t>(bytes);
    most = std::max(most, held);
    return memory;
  }

  void release(void* memory) {
    {
      const std::lock_guard lock(mutex);
      if (const auto size = sizes.extract(memory)) held -= size.mapped();
    }
    std::free(memory);
  }

  std::shared_ptr<Ort::Env> environment = ortEnvironment();
  Ort::MemoryInfo info = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  std::mutex mutex;  // guards what follows
  std::unordered_map<void*, int64_t> sizes;
  int64_t held = 0, most = 0;
};

CountedMemory::CountedMemory(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

CountedMemory::~CountedMemory() {
  if (OrtStatus* status = Ort::GetApi().UnregisterAllocator(*impl_->environment, impl_->info)) {
    Ort::GetApi().ReleaseStatus(status);
  }
}

Result<std::unique_ptr<CountedMemory>> CountedMemory::make() {
  try {
    auto impl = std::make_unique<Impl>();
    Ort::ThrowOnError(Ort::GetApi().RegisterAllocator(*impl->environment, impl.get()));
    return std::unique_ptr<CountedMemory>(new CountedMemory(std::move(impl)));
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported, "ONNX Runtime lets its memory not be counted: " + plainOrtText(error.what()));
  }
}

int64_t CountedMemory::held() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->held;
}

int64_t CountedMemory::most() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->most;
}

void CountedMemory::restart() {
  const std::lock_guard lock(impl_->mutex);
  impl_->most = impl_->held;
}

}  // namespace normlens::formats::onnx
