#include "tests/bench/norms/norm_bench.h"

#include <ATen/Parallel.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/InferenceMode.h>
#include <malloc.h>

#include <cstdio>
#include <vector>

#include "core/base/machine.h"
#include "tests/bench/norms/gpu_memory.h"
#include "tests/bench/norms/norm_report.h"

namespace normlens::bench {
namespace {

using Numbers = std::vector<int64_t>;

struct Grid {
  std::vector<at::ScalarType> types;
  Numbers rows;
  Numbers widths;
};

// What says most comes first: a run may be cut short.
std::vector<Grid> gridsOf(Sizes sizes) {
  const std::vector<at::ScalarType> usual = {at::kFloat, at::kBFloat16};
  switch (sizes) {
    case Sizes::FewRows:
      return {{usual, {1, 16, 128, 512, 1024}, {768, 1024}}};
    case Sizes::WideRows:
      return {{{at::kFloat}, {1, 8, 32}, {16384, 32768, 65536, 131072}}, {{at::kDouble}, {8192}, {16384}}};
    case Sizes::NarrowRows:
      return {{usual, {8192, 65536, 524288}, {64, 128, 256, 512}}};
    case Sizes::All:
      break;
  }
  const Numbers rows = {1, 128, 1024, 8192, 65536, 16}, widths = {64, 768, 1024, 4096, 16384};
  const std::vector<at::ScalarType> all = {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble};
  return {{all, rows, widths}, {all, rows, {769}}};  // of the odd width, no 16 bytes are aligned
}

// Results go to memory that the process already has: else page faults, which depend on what was freed before, are
// measured.
void keepMemory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

std::vector<NormPoint> pointsOf(Sizes sizes, at::Device device) {
  std::vector<NormPoint> points;
  for (const Grid& grid : gridsOf(sizes)) {
    for (const at::ScalarType type : grid.types) {
      for (const int64_t rows : grid.rows) {
        for (const int64_t width : grid.widths) points.push_back({device, type, rows, width});
      }
    }
  }
  return points;
}

int64_t largestTensor(at::Device device) {
  if (!device.is_cuda()) return int64_t{128} << 20;
  const auto [freeBytes, allBytes] = c10::getDeviceAllocator(device.type())->getMemoryInfo(device.index());
  return largestTensorOnGpu(static_cast<int64_t>(freeBytes));
}

struct Measured {
  std::vector<PointTimes> points;
  std::vector<NormPoint> leftOut;
};

// json is written after every point: what ends the program too early leaves what was measured.
void measureGrid(Sizes sizes, at::Device device, Measured& measured, const std::string& json) {
  const MachineFacts machine = machineFacts();
  std::printf("%s: %s\n", device.str().c_str(), (device.is_cuda() ? machine.gpu : machine.cpu).c_str());
  printTableHead();
  const ClockReader clocks;
  const int64_t largest = largestTensor(device);
  for (const NormPoint& point : pointsOf(sizes, device)) {
    if (bytesOf(point) > largest) {
      measured.leftOut.push_back(point);
      continue;
    }
    measured.points.push_back(timePoint(point, device.is_cuda() ? 15 : 7, clocks));
    printTableRow(measured.points.back());
    if (!json.empty()) writeJson(json, measured.points, checkGoals(measured.points), measured.leftOut);
  }
}

}  // namespace

void benchNorms(const std::string& opsLibrary) {
  loadOps(opsLibrary);
  keepMemory();
  const c10::InferenceMode inference;
  std::printf("Norms\n");
  printTableHead();
  const ClockReader clocks;
  const int all = at::get_num_threads();
  for (const int threads : {1, all}) {
    at::set_num_threads(threads);
    for (const int64_t width : {768, 1024, 4096})
      printTableRow(timePoint({at::kCPU, at::kFloat, 2048, width}, 25, clocks));
    if (all == 1) break;
  }
  at::set_num_threads(all);
}

void benchKernels(const std::string& opsLibrary, const std::string& json, Sizes sizes, bool onCpu) {
  loadOps(opsLibrary);
  keepMemory();
  const c10::InferenceMode inference;
  Measured measured;
  if (onCpu) measureGrid(sizes, at::kCPU, measured, json);
  if (hasGpu()) {
    measureGrid(sizes, at::Device(at::kCUDA, 0), measured, json);
  } else {
    std::printf("cuda: there is no GPU here; its goals are not measured\n");
  }
  printGoals(measured.points, checkGoals(measured.points));
}

}  // namespace normlens::bench
