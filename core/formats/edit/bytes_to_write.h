// Makes the bytes of a model that is saved: computed where a weight is pending, read where they lie in an opened file
// (a mapping would be counted as memory of the process), as they are elsewhere. Thread: any.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/fold/pending_weights.h"
#include "core/formats/edit/opened_files.h"
#include "core/formats/file/atomic_file.h"
#include "core/formats/file/mapped_file.h"

namespace normlens::formats {

class BytesToWrite {
 public:
  // pending: null where nothing is.
  BytesToWrite(std::shared_ptr<const fold::PendingWeights> pending, OpenedFiles files)
      : pending_(std::move(pending)), files_(std::move(files)) {}

  // Empty where they are in memory. Read in ascending order, from one thread; outlives this object.
  [[nodiscard]] MakeBytes makerOf(std::span<const std::byte> bytes) const;

 private:
  [[nodiscard]] MakeBytes computing(const fold::PendingWeights::Part& part, uint64_t size) const;

  std::shared_ptr<const fold::PendingWeights> pending_;
  OpenedFiles files_;
};

}  // namespace normlens::formats
