// Lays the rows of a norm out over blocks and threads of a GPU: a pure function of sizes that needs no GPU.
//
// Four paths, by where a row waits between being read and being normalized (each is read from memory once):
//   Registers  of the threads that share the row; several rows a block where they are narrow
//   Shared     memory of the block, for rows that are too wide for its registers
//   Split      nowhere: each row is cut into chunks, one block each, in two kernels; the second one reads the chunk
//              again, from the second-level cache if it fits. For rows that fit no block, and for few, wide rows.
//   Cluster    in the registers of a few blocks that exchange their sums: one kernel for what Split does in two,
//              and for rows of which one block has all of a multiprocessor (compute capability 9.0 and newer)
// The numbers are heuristics, chosen from the sizes of the machine; they are data, so a caller may change them: what
// has to be measured to be chosen is in LaunchTuning.
#pragma once

#include <cstdint>

namespace normlens::kernels::cuda {

struct DeviceLimits {
  int multiprocessors = 1;
  int64_t sharedBytes = int64_t{48} * 1024;  // that one block may request
  int64_t maxBlocks = (1LL << 31) - 1;       // Limits a grid, along x.
  int clusterBlocks = 1;                     // Limits a cluster; 1: there are none.
};

struct RowShape {
  int elementBytes = 4;
  int64_t rows = 0;      // at least 1
  int64_t width = 0;     // at least 1
  bool vectors = false;  // rows and constants may be read 16 bytes at a time, and the width is a multiple of that
};

struct LaunchConfig {
  enum class Path { Registers, Shared, Split, Cluster };
  Path path = Path::Registers;
  int vector = 1;        // elements that a thread reads at once: 16 bytes of them, or one
  int items = 1;         // how many of these a thread holds; not of Shared
  int lanes = 32;        // threads that share a row (of Split and Cluster: a chunk): all of a block, a warp or, where
                         // they hold less than kFewestItemsOfWarps, a power of two below
  int rowsPerBlock = 1;  // 1 where lanes is above 32
  int64_t blocks = 1;    // each goes on with the row, or chunk, that many blocks further on
  int64_t sharedBytes = 0;  // Used by Shared.
  int64_t chunks = 1;       // Split and Cluster: per row; for Cluster also the blocks of one, which divide `blocks`.
  int64_t chunkWidth = 0;   // Split and Cluster: elements, but for a row's last.
  bool persistent = false;  // Registers, rows in a warp or less: a block keeps weight and bias from row to row, and
                            // reads its next rows while these are summed up; items of kPersistentItems

  [[nodiscard]] int threads() const { return lanes * rowsPerBlock; }
  // Returns whether a launch has to be allowed its shared memory. 48 KB are there for every kernel, but what it keeps
  // for itself counts as well.
  [[nodiscard]] bool asksForShared() const { return sharedBytes > 0; }
};

inline constexpr int kWarp = 32;
inline constexpr int kMaxThreads = 1024;
inline constexpr int kThreadsOfNarrowRows = 256;  // Limits a block that holds several rows.
inline constexpr int kThreadsOfWideRows = 512;    // Limits a block that holds one in its registers.
inline constexpr int kThreadsOfChunks = 256;
inline constexpr int kFewestItemsOfWarps = 4;  // narrower rows need no more of a thread
// LaunchConfig::items has one of these values in the compiled kernels: for 16-byte vectors; for single elements.
inline constexpr int kVectorItems[] = {1, 2, 4, 8};
inline constexpr int kScalarItems[] = {2, 4, 8, 16};

inline constexpr int kPersistentItems[] = {2, 4};

// Measurements choose among these values. Nothing has been measured on a GPU yet. Few rows share blocks by default,
// because torch's kernels give 128 threads to a row there; the other defaults are what the kernels began with.
struct LaunchTuning {
  int fewRows = 4;  // with up to so many rows a multiprocessor, the warps of a block share a row, each thread with
                    // as little of it as they can; 0: one warp does, where it can
  int64_t wideRowBytes = int64_t{64} * 1024;  // from here on a few rows are cut into chunks
  int clusterBlocks = 1;  // Limits a cluster that shares such a row; 1: none, the chunks take two kernels.
  int persistentBlocks =
      0;  // Each multiprocessor has as many, for narrow rows; 0: as many blocks as the rows are worth.
  bool operator==(const LaunchTuning&) const = default;
};

LaunchConfig chooseLaunch(const RowShape& shape, const DeviceLimits& limits, const LaunchTuning& tuning = {});

}  // namespace normlens::kernels::cuda
