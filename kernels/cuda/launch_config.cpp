#include "kernels/cuda/launch_config.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <span>

namespace normlens::kernels::cuda {
namespace {

constexpr int64_t kSharedOfKernel = 2048;  // that a block has beside the row, and a little more

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// At most 32 registers of a thread hold the row: the rest of the kernel needs as many again.
std::span<const int> itemsOf(int vector, int elementBytes) {
  if (vector > 1) return kVectorItems;
  return std::span<const int>(kScalarItems).first(elementBytes == 8 ? 3 : 4);
}

int64_t cappedBlocks(int64_t blocks, const DeviceLimits& limits) { return std::min(blocks, limits.maxBlocks); }

// A multiprocessor with few rows has time to wait for: many threads, each with few reads on its way, and with weight
// and bias on their way at the same time.
std::optional<LaunchConfig> fewRows(const RowShape& shape, int vector, const DeviceLimits& limits,
                                    const LaunchTuning& tuning) {
  const int64_t slots = ceilDiv(shape.width, vector);
  if (shape.rows > static_cast<int64_t>(tuning.fewRows) * limits.multiprocessors || slots <= kWarp) return std::nullopt;
  for (const int items : itemsOf(vector, shape.elementBytes)) {
    const int64_t lanes = ceilDiv(ceilDiv(slots, items), kWarp) * kWarp;
    if (lanes > kThreadsOfNarrowRows) continue;
    return LaunchConfig{
        .vector = vector, .items = items, .lanes = static_cast<int>(lanes), .blocks = cappedBlocks(shape.rows, limits)};
  }
  return std::nullopt;
}

// Starts as many blocks as a multiprocessor holds, where there are rows for more.
void makePersistent(LaunchConfig& config, const DeviceLimits& limits, const LaunchTuning& tuning) {
  const int64_t blocks = static_cast<int64_t>(tuning.persistentBlocks) * limits.multiprocessors;
  const bool compiled =
      config.vector > 1 && std::ranges::find(kPersistentItems, config.items) != std::end(kPersistentItems);
  if (!compiled || blocks < 1 || blocks >= config.blocks) return;
  config.persistent = true;
  config.blocks = cappedBlocks(blocks, limits);
}

// Puts a row into at most one warp: nothing has to wait for another warp.
std::optional<LaunchConfig> narrowRows(const RowShape& shape, int vector, const DeviceLimits& limits,
                                       const LaunchTuning& tuning) {
  const int64_t slots = ceilDiv(shape.width, vector);
  // With rows enough to fill the machine many times, two loads a thread hide more of the memory's latency than one.
  const int atLeast = slots > 1 && shape.rows >= 64LL * limits.multiprocessors ? 2 : 1;
  for (const int items : itemsOf(vector, shape.elementBytes)) {
    if (items < atLeast || kWarp * static_cast<int64_t>(items) < slots) continue;
    LaunchConfig config{.vector = vector, .items = items};
    config.lanes = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(ceilDiv(slots, items))));
    config.rowsPerBlock = kThreadsOfNarrowRows / config.lanes;
    while (config.threads() > kWarp && ceilDiv(shape.rows, config.rowsPerBlock) < limits.multiprocessors) {
      config.rowsPerBlock /= 2;
    }
    config.blocks = cappedBlocks(ceilDiv(shape.rows, config.rowsPerBlock), limits);
    makePersistent(config, limits, tuning);
    return config;
  }
  return std::nullopt;
}

// Puts a row into the registers of one block of several warps.
std::optional<LaunchConfig> blockRows(const RowShape& shape, int vector, const DeviceLimits& limits) {
  const int64_t slots = ceilDiv(shape.width, vector);
  const auto choices = itemsOf(vector, shape.elementBytes);
  for (const int items : choices.subspan(choices.size() - 2)) {
    const int64_t lanes = ceilDiv(ceilDiv(slots, items), kWarp) * kWarp;
    if (lanes > kThreadsOfWideRows) continue;
    return LaunchConfig{
        .vector = vector, .items = items, .lanes = static_cast<int>(lanes), .blocks = cappedBlocks(shape.rows, limits)};
  }
  return std::nullopt;
}

// Registers allow a multiprocessor 1024 threads of this kernel: better in two blocks, one of which reads or writes
// while the other sums up, where the memory of two is there.
bool twoFitShared(const RowShape& shape, const DeviceLimits& limits) {
  return 2 * (shape.width * shape.elementBytes + kSharedOfKernel) <= limits.sharedBytes;
}

std::optional<LaunchConfig> sharedRows(const RowShape& shape, int vector, const DeviceLimits& limits) {
  const int64_t bytes = shape.width * shape.elementBytes;
  if (bytes > limits.sharedBytes) return std::nullopt;
  const bool twoFit = twoFitShared(shape, limits);
  return LaunchConfig{.path = LaunchConfig::Path::Shared,
                      .vector = vector,
                      .lanes = twoFit ? kMaxThreads / 2 : kMaxThreads,
                      .blocks = cappedBlocks(shape.rows, limits),
                      .sharedBytes = bytes};
}

// The fewest blocks that hold a row; more of them where multiprocessors would be left without one.
std::optional<LaunchConfig> clusterRows(const RowShape& shape, int vector, const DeviceLimits& limits,
                                        const LaunchTuning& tuning) {
  const int64_t most = std::min(limits.clusterBlocks, tuning.clusterBlocks), slots = ceilDiv(shape.width, vector);
  if (vector == 1 || most < 2 || slots < most * most) return std::nullopt;  // else the last chunk might be empty
  const auto itemsFor = [&](int64_t chunks) { return ceilDiv(ceilDiv(slots, chunks), kThreadsOfChunks); };
  int64_t chunks = 2;
  while (2 * chunks <= most && itemsFor(chunks) > kVectorItems[std::size(kVectorItems) - 1]) chunks *= 2;
  while (2 * chunks <= most && 2 * chunks * shape.rows <= limits.multiprocessors) chunks *= 2;
  for (const int items : kVectorItems) {
    if (items < itemsFor(chunks)) continue;
    return LaunchConfig{.path = LaunchConfig::Path::Cluster,
                        .vector = vector,
                        .items = items,
                        .lanes = kThreadsOfChunks,
                        .blocks = std::min(shape.rows, limits.maxBlocks / chunks) * chunks,
                        .chunks = chunks,
                        .chunkWidth = ceilDiv(slots, chunks) * vector};
  }
  return std::nullopt;
}

// Makes chunks as large as leaves no multiprocessor without one.
LaunchConfig splitRows(const RowShape& shape, int vector, const DeviceLimits& limits) {
  LaunchConfig config{.path = LaunchConfig::Path::Split, .vector = vector, .lanes = kThreadsOfChunks};
  const auto choices = itemsOf(vector, shape.elementBytes);
  for (const int items : choices) {
    const int64_t chunkWidth = static_cast<int64_t>(items) * vector * kThreadsOfChunks;
    const int64_t chunks = ceilDiv(shape.width, chunkWidth);
    if (items != choices.front() && shape.rows * chunks < limits.multiprocessors) break;
    config.items = items;
    config.chunkWidth = chunkWidth;
    config.chunks = chunks;
  }
  config.blocks = cappedBlocks(shape.rows * config.chunks, limits);
  return config;
}

}  // namespace

LaunchConfig chooseLaunch(const RowShape& shape, const DeviceLimits& limits, const LaunchTuning& tuning) {
  const int vector = shape.vectors ? 16 / shape.elementBytes : 1;
  if (shape.rows * 4 <= limits.multiprocessors && shape.width * shape.elementBytes >= tuning.wideRowBytes) {
    if (const auto config = clusterRows(shape, vector, limits, tuning)) return *config;
    return splitRows(shape, vector, limits);
  }
  if (const auto config = fewRows(shape, vector, limits, tuning)) return *config;
  if (const auto config = narrowRows(shape, vector, limits, tuning)) return *config;
  if (const auto config = blockRows(shape, vector, limits)) return *config;
  if (!twoFitShared(shape, limits)) {
    if (const auto config = clusterRows(shape, vector, limits, tuning)) return *config;
  }
  if (const auto config = sharedRows(shape, vector, limits)) return *config;
  return splitRows(shape, vector, limits);
}

}  // namespace normlens::kernels::cuda
