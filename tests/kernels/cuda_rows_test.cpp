// The GPU's kernels, run on the CPU, against the double reference: each path, kind and type, at the widths where a
// thread, a warp, a block or a chunk is just full.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/kernels/host_grid.h"
// After the words of CUDA.
#include "kernels/cuda/alignment.h"
#include "kernels/cuda/row_launch.cuh"
#include "tests/kernels/norm_trial.h"
#include "tests/kernels/numbers.h"

namespace normlens::kernels::cuda {

inline float toSum(Half x) { return static_cast<float>(test::kFloat16.decode(x.bits)); }
inline float toSum(BFloat x) { return static_cast<float>(test::kBFloat16.decode(x.bits)); }
inline void fromSum(float x, Half& to) { to.bits = test::kFloat16.encode(x); }
inline void fromSum(float x, BFloat& to) { to.bits = test::kBFloat16.encode(x); }
template <class T>
void toSums(Pair<T> pair, float& first, float& second) {
  first = toSum(T{static_cast<uint16_t>(pair.bits)});
  second = toSum(T{static_cast<uint16_t>(pair.bits >> 16)});
}
template <class T>
void fromSums(float first, float second, Pair<T>& to) {
  T low, high;
  fromSum(first, low);
  fromSum(second, high);
  to.bits = low.bits | static_cast<uint32_t>(high.bits) << 16;
}

}  // namespace normlens::kernels::cuda

namespace normlens::kernels::test {
namespace {

using cuda::DeviceLimits;
using cuda::LaunchConfig;
using cuda::LaunchTuning;
using Path = LaunchConfig::Path;

constexpr NormKind kKinds[] = {NormKind::Rms, NormKind::Layer, NormKind::Center};
// A small machine: few rows reach the wide paths, and blocks go on with further rows.
constexpr DeviceLimits kSmall{.multiprocessors = 4, .sharedBytes = int64_t{24} * 1024, .maxBlocks = 2};

struct HostStart {
  template <class... Parameters, class... Arguments>
  void operator()(void (*kernel)(Parameters...), const LaunchConfig& config, Arguments... arguments) const {
    const bool clusters = config.path == Path::Cluster;
    runGrid(
        config.blocks, config.threads(), config.sharedBytes, [&] { kernel(arguments...); },
        clusters ? static_cast<int>(config.chunks) : 1);
  }
};

template <class T, class C>
void launch(const NormRows& rows, int64_t count, const LaunchConfig& config, void* workspace) {
  const HostStart start;
  cuda::RowLaunch<T, C, HostStart>(rows, count, config, workspace, start)();
}

void launchAs(Scalar scalar, const NormRows& rows, int64_t count, const LaunchConfig& config, void* workspace) {
  switch (scalar) {
    case Scalar::Float32:
      return launch<float, float>(rows, count, config, workspace);
    case Scalar::Float64:
      return launch<double, double>(rows, count, config, workspace);
    case Scalar::Float16:
      return rows.constants == ConstantType::OfRows ? launch<cuda::Half, cuda::Half>(rows, count, config, workspace)
                                                    : launch<cuda::Half, float>(rows, count, config, workspace);
    case Scalar::BFloat16:
      return rows.constants == ConstantType::OfRows ? launch<cuda::BFloat, cuda::BFloat>(rows, count, config, workspace)
                                                    : launch<cuda::BFloat, float>(rows, count, config, workspace);
  }
}

// The launch that was chosen.
LaunchConfig execute(NormTrial& trial, const Type& type, const NormCase& c, const DeviceLimits& limits,
                     const LaunchTuning& tuning = {}) {
  LaunchConfig config;
  trial.execute([&](const NormRows& rows) {
    const cuda::RowShape shape{.elementBytes = cuda::elementBytes(type.scalar),
                               .rows = c.rows,
                               .width = c.width,
                               .vectors = cuda::allowsVectors(type.scalar, rows)};
    config = chooseLaunch(shape, limits, tuning);
    std::vector<double> workspace(static_cast<size_t>(cuda::workspaceBytes(type.scalar, c.rows, config)) / 8 + 1);
    launchAs(type.scalar, rows, c.rows, config, workspace.data());
  });
  return config;
}

LaunchConfig run(const Type& type, const NormCase& c, const DeviceLimits& limits = kSmall,
                 const LaunchTuning& tuning = {}) {
  NormTrial trial(type, c);
  const LaunchConfig config = execute(trial, type, c, limits, tuning);
  trial.check(describe(type, c) + ", path " + std::to_string(static_cast<int>(config.path)));
  return config;
}

class CudaRows : public testing::TestWithParam<Type> {};

TEST_P(CudaRows, AgreeWithTheReferenceAtEveryWidth) {
  for (const NormKind kind : kKinds) {
    for (const int64_t width : {1, 2, 7, 16, 31, 64, 65, 256, 513, 768, 1025, 4096, 5125}) {
      run(GetParam(), {.kind = kind, .width = width, .weight = true, .bias = true}, kSmall, {.fewRows = 0});
    }
  }
}

TEST_P(CudaRows, WeightBiasAndResidualAreOptional) {
  for (const NormKind kind : kKinds) {
    for (int options = 0; options < 8; ++options) {
      for (const int64_t width : {64, 77}) {
        run(GetParam(), {.kind = kind,
                         .width = width,
                         .gap = width == 64 ? 16 : 3,
                         .weight = (options & 1) != 0,
                         .bias = (options & 2) != 0,
                         .residual = (options & 4) != 0});
      }
    }
  }
}

TEST_P(CudaRows, MisalignedRowsAreReadOneByOne) {
  for (const int64_t width : {64, 1024}) {
    run(GetParam(), {.kind = NormKind::Layer, .width = width, .weight = true, .residual = true, .shift = 1});
    run(GetParam(), {.kind = NormKind::Rms, .width = width, .gap = 1, .bias = true});
  }
}

TEST_P(CudaRows, WideRowsWaitInSharedMemoryOrAreSplit) {
  const DeviceLimits roomy{.multiprocessors = 1, .sharedBytes = int64_t{227} * 1024};
  for (const NormKind kind : {NormKind::Rms, NormKind::Layer}) {
    for (const int64_t width : {8193, 16384 + 64, 33000}) {
      const NormCase c{.kind = kind, .rows = 1, .width = width, .weight = true, .residual = true};
      run(GetParam(), c, kSmall);
      run(GetParam(), c, roomy);
    }
  }
}

TEST_P(CudaRows, BlocksGoOnWithFurtherWideRows) {
  const DeviceLimits roomy{.multiprocessors = 1, .sharedBytes = int64_t{227} * 1024, .maxBlocks = 2};
  for (const NormKind kind : {NormKind::Rms, NormKind::Layer}) {
    for (const int64_t width : {4096, 8193, 16384 + 64}) {
      for (const bool residual : {false, true}) {
        run(GetParam(), {.kind = kind, .rows = 5, .width = width, .residual = residual}, roomy);
      }
    }
  }
}

TEST_P(CudaRows, HostileNumbersCostNoDigits) {
  for (const NormKind kind : {NormKind::Layer, NormKind::Center}) {
    for (const Draw draw : {Draw::FarMean, Draw::Step, Draw::Spike, Draw::Subnormal, Draw::Constant}) {
      for (const int64_t width : {65, 13000}) {
        run(GetParam(), {.kind = kind, .rows = 1, .width = width, .weight = true, .draw = draw, .eps = 1e-12});
      }
    }
  }
}

TEST_P(CudaRows, NanAndInfinityStayInTheirRowAndSpreadAsInTheReference) {
  for (const NormKind kind : kKinds) {
    for (const double poison : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      for (const int64_t width : {37, 13000}) {
        const NormCase c{.kind = kind, .rows = 3, .width = width};
        NormTrial trial(GetParam(), c);
        trial.setInput(1, 20, poison);
        execute(trial, GetParam(), c, kSmall);
        trial.checkNonFinite(describe(GetParam(), c));
      }
    }
  }
}

TEST_P(CudaRows, WeightAndBiasMayBeOfTheTypeOfTheRows) {
  for (const NormKind kind : kKinds) {
    for (const int64_t width : {1, 64, 77, 1024}) {
      run(GetParam(), {.kind = kind, .width = width, .weight = true, .bias = true, .constantsOfRows = true});
    }
  }
}

// What a run may choose: see LaunchTuning.
TEST_P(CudaRows, FewRowsAreSharedByTheWarpsOfABlock) {
  for (const NormKind kind : kKinds) {
    for (const int64_t width : {256, 768, 769, 1024, 4096}) {
      const NormCase c{.kind = kind, .rows = 3, .width = width, .weight = true, .bias = true, .residual = true};
      const LaunchConfig config = run(GetParam(), c);
      EXPECT_TRUE(width < 768 || config.lanes > cuda::kWarp) << width;
      run(GetParam(), c, kSmall, {.fewRows = 0});
    }
  }
}

TEST_P(CudaRows, FewWideRowsAreSharedByClusters) {
  DeviceLimits limits{.multiprocessors = 32, .sharedBytes = int64_t{24} * 1024, .maxBlocks = 9, .clusterBlocks = 8};
  const LaunchTuning tuning{.wideRowBytes = int64_t{16} * 1024, .clusterBlocks = 8};
  for (const NormKind kind : kKinds) {
    for (const int64_t width : {8192, 16384 + 64, 32000}) {
      for (const bool residual : {false, true}) {
        const NormCase c{.kind = kind,
                         .rows = 3,
                         .width = width,
                         .weight = true,
                         .bias = !residual,
                         .residual = residual,
                         .constantsOfRows = true};
        const LaunchConfig config = run(GetParam(), c, limits, tuning);
        EXPECT_EQ(config.path, Path::Cluster) << width;
        EXPECT_LT(config.blocks, 3 * config.chunks) << "no cluster goes on with a further row";
      }
    }
  }
  limits.clusterBlocks = 1;
  EXPECT_EQ(run(GetParam(), {.kind = NormKind::Rms, .rows = 1, .width = 16384}, limits, tuning).path, Path::Split);
}

TEST_P(CudaRows, ARowWithNanStaysOneRowOfAClusterToo) {
  constexpr DeviceLimits kLimits{
      .multiprocessors = 32, .sharedBytes = int64_t{24} * 1024, .maxBlocks = 9, .clusterBlocks = 8};
  for (const NormKind kind : kKinds) {
    const NormCase c{.kind = kind, .rows = 3, .width = 8192};
    NormTrial trial(GetParam(), c);
    trial.setInput(1, 20, std::numeric_limits<double>::infinity());
    execute(trial, GetParam(), c, kLimits, {.wideRowBytes = int64_t{16} * 1024, .clusterBlocks = 4});
    trial.checkNonFinite(describe(GetParam(), c));
  }
}

TEST_P(CudaRows, BlocksGoOnWithFurtherNarrowRows) {
  constexpr DeviceLimits kOne{.multiprocessors = 1, .sharedBytes = int64_t{24} * 1024};
  for (const NormKind kind : kKinds) {
    for (const int64_t width : {32, 64, 192, 256, 512, 1024}) {
      for (const bool residual : {false, true}) {
        const NormCase c{.kind = kind,
                         .rows = 301,
                         .width = width,
                         .weight = true,
                         .bias = !residual,
                         .residual = residual,
                         .constantsOfRows = true};
        const LaunchConfig config = run(GetParam(), c, kOne, {.persistentBlocks = 2});
        EXPECT_EQ(config.persistent, config.lanes <= cuda::kWarp && (config.items == 2 || config.items == 4)) << width;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaRows, testing::ValuesIn(kTypes),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace normlens::kernels::test
