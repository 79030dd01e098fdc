// The launch configuration over the grid of sizes that the kernels are measured on, for several machines.
#include "kernels/cuda/launch_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>

#include "kernels/cuda/launch_tuning.h"

namespace normlens::kernels::cuda::test {
namespace {

using Path = LaunchConfig::Path;

constexpr DeviceLimits kMachines[] = {
    {.multiprocessors = 132, .sharedBytes = int64_t{227} * 1024, .clusterBlocks = 8},  // H100, H200
    {.multiprocessors = 40, .sharedBytes = int64_t{64} * 1024},                        // T4
    {.multiprocessors = 1, .sharedBytes = int64_t{48} * 1024, .maxBlocks = 65535},
};
// What a run may choose, one by one and together.
constexpr LaunchTuning kTunings[] = {
    {},
    {.fewRows = 0},
    {.wideRowBytes = int64_t{256} * 1024},
    {.clusterBlocks = 8},
    {.clusterBlocks = 2},
    {.persistentBlocks = 3},
    {.fewRows = 8, .wideRowBytes = int64_t{32} * 1024, .clusterBlocks = 4, .persistentBlocks = 1},
};

std::string describe(const RowShape& shape, const LaunchConfig& config) {
  return std::to_string(shape.rows) + " x " + std::to_string(shape.width) + " of " +
         std::to_string(shape.elementBytes) + " bytes" + (shape.vectors ? ", vectors" : "") + ": path " +
         std::to_string(static_cast<int>(config.path)) + ", vector " + std::to_string(config.vector) + ", items " +
         std::to_string(config.items) + ", lanes " + std::to_string(config.lanes) + ", rows a block " +
         std::to_string(config.rowsPerBlock) + ", blocks " + std::to_string(config.blocks);
}

void checkThreads(const LaunchConfig& config) {
  EXPECT_GE(config.threads(), kWarp);
  EXPECT_EQ(config.threads() % kWarp, 0);
  EXPECT_LE(config.threads(), kMaxThreads);
  if (config.lanes <= kWarp) {
    EXPECT_TRUE(std::has_single_bit(static_cast<unsigned>(config.lanes)));
    EXPECT_LE(config.threads(), kThreadsOfNarrowRows);
    if (config.lanes < kWarp) {
      EXPECT_LT(config.items, kFewestItemsOfWarps);
    }
  } else {
    EXPECT_EQ(config.lanes % kWarp, 0);
    EXPECT_EQ(config.rowsPerBlock, 1);
  }
}

void checkItems(const RowShape& shape, const LaunchConfig& config) {
  EXPECT_EQ(config.vector, shape.vectors ? 16 / shape.elementBytes : 1);
  const bool known = config.vector > 1 ? std::ranges::count(kVectorItems, config.items) == 1
                                       : std::ranges::count(kScalarItems, config.items) == 1;
  EXPECT_TRUE(known) << "no kernel is compiled for " << config.items << " items";
}

void checkPath(const RowShape& shape, const LaunchConfig& config, const DeviceLimits& limits) {
  const int64_t held = static_cast<int64_t>(config.lanes) * config.items * config.vector;
  switch (config.path) {
    case Path::Registers:
      EXPECT_GE(held, shape.width) << "the row does not fit";
      EXPECT_LE(config.threads(), kThreadsOfWideRows);
      checkItems(shape, config);
      break;
    case Path::Shared:
      EXPECT_EQ(config.sharedBytes, shape.width * shape.elementBytes);
      EXPECT_LE(config.sharedBytes, limits.sharedBytes);
      break;
    case Path::Cluster:
      EXPECT_LE(config.chunks, limits.clusterBlocks);
      EXPECT_GT(config.vector, 1);
      EXPECT_EQ(config.blocks % config.chunks, 0);
      [[fallthrough]];
    case Path::Split:
      EXPECT_EQ(config.lanes, kThreadsOfChunks);
      EXPECT_GE(held, config.chunkWidth);
      EXPECT_EQ(config.chunkWidth % config.vector, 0);
      EXPECT_GE(config.chunks * config.chunkWidth, shape.width);
      EXPECT_LT((config.chunks - 1) * config.chunkWidth, shape.width) << "the last chunk is empty";
      checkItems(shape, config);
      break;
  }
  if (!config.persistent) return;
  EXPECT_EQ(config.path, Path::Registers);
  EXPECT_LE(config.lanes, kWarp);
  EXPECT_EQ(std::ranges::count(kPersistentItems, config.items), 1);
}

void checkAll(const RowShape& shape, const DeviceLimits& limits) {
  for (const LaunchTuning& tuning : kTunings) {
    const LaunchConfig config = chooseLaunch(shape, limits, tuning);
    SCOPED_TRACE(describe(shape, config));
    checkThreads(config);
    checkPath(shape, config, limits);
    EXPECT_GE(config.blocks, 1);
    EXPECT_LE(config.blocks, limits.maxBlocks);
  }
}

TEST(LaunchConfigs, HoldOverTheGridOfSizes) {
  for (const DeviceLimits& limits : kMachines) {
    for (int64_t rows = 1; rows <= 65536; rows *= 4) {
      for (int64_t width = 1; width <= 65536; width += 1 + width / 7) {
        for (const int bytes : {2, 4, 8}) {
          for (const bool vectors : {false, true}) {
            if (vectors && width * bytes % 16 != 0) continue;
            checkAll({bytes, rows, width, vectors}, limits);
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
}

LaunchConfig onH200(int bytes, int64_t rows, int64_t width, const LaunchTuning& tuning = {}) {
  return chooseLaunch({bytes, rows, width, width * bytes % 16 == 0}, kMachines[0], tuning);
}

TEST(LaunchConfigs, NarrowRowsShareABlock) {
  const LaunchConfig config = onH200(2, 65536, 64);
  EXPECT_EQ(config.path, Path::Registers);
  EXPECT_GE(config.rowsPerBlock, 32);
  EXPECT_EQ(config.blocks * config.rowsPerBlock, 65536);
}

TEST(LaunchConfigs, FewNarrowRowsAreSpreadOverTheMachine) { EXPECT_EQ(onH200(4, 100, 768).blocks, 100); }

TEST(LaunchConfigs, TheUsualWidthsStayInRegisters) {
  for (const int bytes : {2, 4}) {
    for (const int64_t width : {768, 1024, 4096, 8192, 16384}) {
      EXPECT_EQ(onH200(bytes, 8192, width).path, Path::Registers) << width;
    }
  }
}

TEST(LaunchConfigs, WideRowsWaitInSharedMemoryAndWiderOnesAreSplit) {
  EXPECT_EQ(onH200(8, 8192, 16384).path, Path::Shared);
  EXPECT_EQ(onH200(8, 8192, 16384).lanes, 1024) << "one block has all of a multiprocessor";
  EXPECT_EQ(onH200(8, 8192, 12288).lanes, 512) << "two blocks share it";
  EXPECT_EQ(onH200(4, 8192, 65536).path, Path::Split);
}

// sumOverRow's arrays lie in the same 48 KB: 384 bytes, 768 for float64.
TEST(LaunchConfigs, RowsOfJustBelow48KBAskForTheirMemory) {
  constexpr int64_t kForEveryKernel = int64_t{48} * 1024;
  for (const int bytes : {2, 4, 8}) {
    const int64_t own = bytes == 8 ? 768 : 384;
    for (int64_t width = (kForEveryKernel - own) / bytes + 1; width <= kForEveryKernel / bytes; ++width) {
      const LaunchConfig config = chooseLaunch({bytes, 1000, width, false}, kMachines[0]);
      ASSERT_EQ(config.path, Path::Shared) << width;
      EXPECT_TRUE(config.asksForShared()) << width << " of " << bytes << " bytes";
    }
  }
}

TEST(LaunchConfigs, FewWideRowsAreSplitOverTheMachine) {
  const LaunchConfig config = onH200(4, 1, 65536);
  EXPECT_EQ(config.path, Path::Split);
  EXPECT_GE(config.blocks, 64);
}

TEST(LaunchTunings, FewRowsGetManyThreadsWithLittleEach) {
  EXPECT_EQ(onH200(4, 100, 768, {.fewRows = 0}).lanes, kWarp);
  const LaunchConfig few = onH200(4, 100, 768);
  EXPECT_EQ(few.lanes, 192);
  EXPECT_EQ(few.items, 1);
  EXPECT_EQ(few.blocks, 100);
  EXPECT_EQ(onH200(4, int64_t{5} * 132, 768).lanes, kWarp) << "five rows a multiprocessor";
  EXPECT_EQ(onH200(4, 100, 64).threads(), kWarp) << "nothing to share";
}

TEST(LaunchTunings, AWideRowIsOneKernelOfACluster) {
  const LaunchConfig one = onH200(4, 1, 65536, {.clusterBlocks = 8});
  EXPECT_EQ(one.path, Path::Cluster);
  EXPECT_EQ(one.chunks, 8);
  EXPECT_EQ(onH200(4, 33, 32768, {.clusterBlocks = 8}).chunks, 4) << "as many as there are multiprocessors";
  EXPECT_EQ(onH200(8, 8192, 16384).path, Path::Shared);
  EXPECT_EQ(onH200(8, 8192, 16384, {.clusterBlocks = 8}).path, Path::Cluster) << "one block would have it all";
  EXPECT_EQ(onH200(4, 1, 32768, {.wideRowBytes = int64_t{256} * 1024}).path, Path::Shared);
  EXPECT_EQ(onH200(4, 1, 1 << 20, {.clusterBlocks = 8}).path, Path::Split) << "no cluster holds it";
}

TEST(LaunchTunings, NarrowRowsGetAsManyBlocksAsAMultiprocessorHolds) {
  const LaunchConfig config = onH200(2, 65536, 64, {.persistentBlocks = 3});
  EXPECT_TRUE(config.persistent);
  EXPECT_EQ(config.blocks, 3 * 132);
  EXPECT_FALSE(onH200(2, 1000, 64, {.persistentBlocks = 3}).persistent) << "not enough rows";
  EXPECT_FALSE(onH200(2, 65536, 65, {.persistentBlocks = 3}).persistent) << "single elements";
}

TEST(LaunchTunings, AreReadFromWords) {
  EXPECT_EQ(tuningFrom(""), LaunchTuning());
  EXPECT_EQ(tuningFrom("few-rows=0,wide-row-bytes=262144,cluster-blocks=8,persistent-blocks=3"),
            LaunchTuning({.fewRows = 0, .wideRowBytes = 262144, .clusterBlocks = 8, .persistentBlocks = 3}));
  EXPECT_EQ(tuningFrom("cluster-blocks=2"), LaunchTuning({.clusterBlocks = 2}));
  for (const char* wrong : {"rows=4", "few-rows", "few-rows=", "few-rows=-1", "few-rows=4x", "few-rows=1;x=2", ","}) {
    EXPECT_FALSE(tuningFrom(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace normlens::kernels::cuda::test
