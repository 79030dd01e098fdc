// The state of a run as a file, from which it goes on to the same numbers.
//
// Layout: "NLLAB001", the size of the JSON (8 bytes, little-endian), CRC-32 of all that follows (4 bytes), the JSON,
// the bytes of the tensors in its order. Thread: pure functions but for the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/run_record.h"

namespace normlens::lab {

struct KeptTensor {
  std::string name, dtype;  // dtype: float32, float64
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;  // row-major, of this machine's byte order

  bool operator==(const KeptTensor&) const = default;
};

// KeptMember is the state of one network in training.
struct KeptMember {
  RunMember member;
  int epoch = 0;     // that it has done
  int64_t step = 0;  // that its optimizer has done
  int64_t bytes = 0;
  bool begun = false;    // continued: its training has
  std::string diverged;  // empty: it has not
  std::vector<KeptTensor> tensors;

  bool operator==(const KeptMember&) const = default;
};

struct Checkpoint {
  RunSettings settings;
  int64_t data_sum = 0;  // Sums the data, which may lie in a file.
  int group = 0;         // depth, optimizer and seed that is in training; those before are done
  int epoch = 0;         // That group's.
  std::vector<RunRecord> records;
  std::vector<StepCost> costs;
  std::vector<std::string> weights;  // files of networks that are done
  std::vector<KeptMember> members;   // That group's; empty: it has not begun.

  bool operator==(const Checkpoint&) const = default;
};

// Error: WriteFailed. An older one is replaced once the new one is complete.
[[nodiscard]] Status writeCheckpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
// Error: Unreadable, one sentence that names the file: no such file, not a checkpoint, damaged.
[[nodiscard]] Result<Checkpoint> readCheckpoint(const std::filesystem::path& path);

}  // namespace normlens::lab

namespace normlens::protocol {
NORMLENS_FIELDS(lab::KeptTensor, name, dtype, shape)
NORMLENS_FIELDS(lab::KeptMember, member, epoch, step, bytes, begun, diverged, tensors)
NORMLENS_FIELDS(lab::Checkpoint, settings, data_sum, group, epoch, records, costs, weights, members)
}  // namespace normlens::protocol
