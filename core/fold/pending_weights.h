// Edited weights of a model, each with an address and no memory: their bytes are computed where they are wanted, block
// by block into a file (`partAt`), or at their addresses before something runs (`compute`).
//
// Until then nothing can be read there: who reads before that crashes, and never sees other numbers.
// Thread: any.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/fold/edited_weight.h"

namespace normlens::fold {

class PendingWeights : public std::enable_shared_from_this<PendingWeights> {
 public:
  // Throws std::bad_alloc where there are no addresses left.
  [[nodiscard]] static std::shared_ptr<PendingWeights> reserve(
      const std::vector<std::shared_ptr<const EditedWeight>>& weights);
  ~PendingWeights();
  PendingWeights(const PendingWeights&) = delete;
  PendingWeights& operator=(const PendingWeights&) = delete;

  // In the order given; they keep this object alive.
  [[nodiscard]] graph::TensorView view(size_t weight) const;
  // Errors: see blocks.h; Cancelled; RunFailed where the memory is not to be had.
  [[nodiscard]] Status computeAll(const Task& task);
  // The weight at this address; does nothing where none is.
  [[nodiscard]] Status compute(const std::byte* address);

  // While it lives, zeros can be read where weights are pending: for a serializer that looks at bytes which it only
  // passes on. Nothing is computed meanwhile.
  class AsZeros {
   public:
    explicit AsZeros(std::shared_ptr<PendingWeights> weights);  // null: none
    ~AsZeros();
    AsZeros(const AsZeros&) = delete;
    AsZeros& operator=(const AsZeros&) = delete;

   private:
    std::shared_ptr<PendingWeights> weights_;
    std::unique_lock<std::mutex> lock_;
  };

  // Returns whether it is the address of one of them, computed or not.
  [[nodiscard]] bool isAt(const void* address) const {
    return weightAt(static_cast<const std::byte*>(address)) != pending_.size();
  }
  // Bytes that are not in memory.
  struct Part {
    const EditedWeight* weight;
    uint64_t offset;  // Where the first of them lies in it.
  };
  // nullopt: they can be read.
  [[nodiscard]] std::optional<Part> partAt(std::span<const std::byte> bytes) const;

 private:
  struct PendingWeight {
    std::shared_ptr<const EditedWeight> weight;
    size_t bytes = 0;
    std::byte* address = nullptr;
    bool computed = false;
  };
  PendingWeights() = default;
  [[nodiscard]] size_t weightAt(const std::byte* address) const;  // pending_.size(): none
  [[nodiscard]] static Status computeLocked(PendingWeight& pending);
  void protectPending(int protection);

  std::byte* region_ = nullptr;
  size_t regionBytes_ = 0;
  std::vector<PendingWeight> pending_;  // by address, which never changes
  mutable std::mutex mutex_;
};

}  // namespace normlens::fold
