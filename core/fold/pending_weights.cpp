#include "core/fold/pending_weights.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "core/base/map_ahead.h"
#include "core/base/parallel.h"
#include "core/base/plain_error.h"

namespace normlens::fold {
namespace {

// Filling fresh memory is bound by page faults (4 KiB pages: twice the time of the copy itself), so large weights start
// where a huge page can.

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
    made->pending_.push_back({weight, bytes});
    end = offsets.back() + bytes;
  }
  made->regionBytes_ = end + kHugePage;
  void* region = ::mmap(nullptr, made->regionBytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) throw std::bad_alloc();
  made->region_ = static_cast<std::byte*>(region);
  const size_t skipped = roundUp(reinterpret_cast<size_t>(region), kHugePage) - reinterpret_cast<size_t>(region);
  for (size_t i = 0; i < offsets.size(); ++i) made->pending_[i].address = made->region_ + skipped + offsets[i];
  return made;
}

PendingWeights::~PendingWeights() {
  if (region_ != nullptr) ::munmap(region_, regionBytes_);
}

graph::TensorView PendingWeights::view(size_t weight) const {
  graph::TensorView view = pending_.at(weight).weight->view();
  view.data = pending_[weight].address;
  view.owner = shared_from_this();
  return view;
}

size_t PendingWeights::weightAt(const std::byte* address) const {
  const auto next = std::ranges::upper_bound(pending_, address, {}, &PendingWeight::address);
  if (next == pending_.begin()) return pending_.size();
  const auto pending = std::prev(next);
  return address < pending->address + pending->bytes ? static_cast<size_t>(pending - pending_.begin())
                                                     : pending_.size();
}

Status PendingWeights::computeLocked(PendingWeight& pending) {
  if (pending.computed) return {};
  const size_t whole = roundUp(pending.bytes, alignmentOf(0));
  if (::mprotect(pending.address, whole, PROT_READ | PROT_WRITE) != 0)
    return fail(ErrorCode::RunFailed, plainError(std::bad_alloc()));
  wantHugePages(pending.address, pending.bytes);
  Status status;
  try {
    status = pending.weight->compute({pending.address, pending.bytes}, hardwareThreads());
  } catch (const std::bad_alloc& error) {
    status = fail(ErrorCode::RunFailed, plainError(error));
  }
  pending.computed = status.has_value();
  if (!status) {
    ::madvise(pending.address, whole, MADV_DONTNEED);
    ::mprotect(pending.address, whole, PROT_NONE);
  }
  return status;
}

Status PendingWeights::computeAll(const Task& task) {
  const std::lock_guard lock(mutex_);
  for (PendingWeight& pending : pending_) {
    RETURN_IF_ERROR(task.check());
    RETURN_IF_ERROR(computeLocked(pending));
  }
  return {};
}

Status PendingWeights::compute(const std::byte* address) {
  const std::lock_guard lock(mutex_);
  const size_t at = weightAt(address);
  return at == pending_.size() ? Status() : computeLocked(pending_[at]);
}

void PendingWeights::protectPending(int protection) {
  for (const PendingWeight& pending : pending_) {
    if (!pending.computed) ::mprotect(pending.address, roundUp(pending.bytes, alignmentOf(0)), protection);
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
  const size_t at = weightAt(bytes.data());
  if (bytes.empty() || at == pending_.size() || pending_[at].computed) return std::nullopt;
  return Part{pending_[at].weight.get(), static_cast<uint64_t>(bytes.data() - pending_[at].address)};
}

}  // namespace normlens::fold
