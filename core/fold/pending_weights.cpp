#include "core/fold/pending_weights.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "core/base/parallel.h"
#include "core/base/plain_error.h"

namespace normlens::fold {
namespace {

// Filling fresh memory is bound by page faults (4 KiB pages: twice the time of the copy itself), so large weights start
// where a huge page can.
constexpr size_t kHugePage = size_t{2} << 20;

size_t roundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

size_t alignmentOf(size_t bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes >= kHugePage ? kHugePage : page;
}

}  // namespace

std::shared_ptr<PendingWeights> PendingWeights::reserve(
    const std::vector<std::shared_ptr<const EditedWeight>>& weights) {
  const std::shared_ptr<PendingWeights> made(new PendingWeights);
  std::vector<size_t> offsets;
  size_t end = 0;
  for (const auto& weight : weights) {
    const auto bytes = static_cast<size_t>(graph::byteCount(weight->view()));
    offsets.push_back(roundUp(end, alignmentOf(bytes)));
    made->places_.push_back({weight, bytes});
    end = offsets.back() + bytes;
  }
  made->regionBytes_ = end + kHugePage;
  void* region = ::mmap(nullptr, made->regionBytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) throw std::bad_alloc();
  made->region_ = static_cast<std::byte*>(region);
  const size_t skipped = roundUp(reinterpret_cast<size_t>(region), kHugePage) - reinterpret_cast<size_t>(region);
  for (size_t i = 0; i < offsets.size(); ++i) made->places_[i].address = made->region_ + skipped + offsets[i];
  return made;
}

PendingWeights::~PendingWeights() {
  if (region_ != nullptr) ::munmap(region_, regionBytes_);
}

graph::TensorView PendingWeights::view(size_t weight) const {
  graph::TensorView view = places_.at(weight).weight->view();
  view.data = places_[weight].address;
  view.owner = shared_from_this();
  return view;
}

size_t PendingWeights::placeAt(const std::byte* address) const {
  const auto next = std::ranges::upper_bound(places_, address, {}, &Place::address);
  if (next == places_.begin()) return places_.size();
  const auto place = std::prev(next);
  return address < place->address + place->bytes ? static_cast<size_t>(place - places_.begin()) : places_.size();
}

Status PendingWeights::computeLocked(Place& place) {
  if (place.computed) return {};
  const size_t whole = roundUp(place.bytes, alignmentOf(0));
  if (::mprotect(place.address, whole, PROT_READ | PROT_WRITE) != 0)
    return fail(ErrorCode::RunFailed, plainError(std::bad_alloc()));
#ifdef MADV_HUGEPAGE
  // Only whole huge pages: the rounded-up tail would otherwise be memory that nobody wanted. A refusal is harmless.
  if (place.bytes >= kHugePage) ::madvise(place.address, place.bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  Status status;
  try {
    status = place.weight->compute({place.address, place.bytes}, hardwareThreads());
  } catch (const std::bad_alloc& error) {
    status = fail(ErrorCode::RunFailed, plainError(error));
  }
  place.computed = status.has_value();
  if (!status) {
    ::madvise(place.address, whole, MADV_DONTNEED);
    ::mprotect(place.address, whole, PROT_NONE);
  }
  return status;
}

Status PendingWeights::computeAll(const Task& task) {
  const std::lock_guard lock(mutex_);
  for (Place& place : places_) {
    RETURN_IF_ERROR(task.check());
    RETURN_IF_ERROR(computeLocked(place));
  }
  return {};
}

Status PendingWeights::compute(const std::byte* address) {
  const std::lock_guard lock(mutex_);
  const size_t place = placeAt(address);
  return place == places_.size() ? Status() : computeLocked(places_[place]);
}

void PendingWeights::protectPending(int protection) {
  for (const Place& place : places_) {
    if (!place.computed) ::mprotect(place.address, roundUp(place.bytes, alignmentOf(0)), protection);
  }
}

PendingWeights::AsZeros::AsZeros(std::shared_ptr<PendingWeights> weights) : weights_(std::move(weights)) {
  if (!weights_) return;
  lock_ = std::unique_lock(weights_->mutex_);
  weights_->protectPending(PROT_READ);
}

PendingWeights::AsZeros::~AsZeros() {
  if (weights_) weights_->protectPending(PROT_NONE);
}

std::optional<PendingWeights::Part> PendingWeights::partAt(std::span<const std::byte> bytes) const {
  const std::lock_guard lock(mutex_);
  const size_t place = placeAt(bytes.data());
  if (bytes.empty() || place == places_.size() || places_[place].computed) return std::nullopt;
  return Part{places_[place].weight.get(), static_cast<uint64_t>(bytes.data() - places_[place].address)};
}

}  // namespace normlens::fold
