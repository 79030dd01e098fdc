#include "tests/bench/norms/norm_bench.h"
#include "tests/bench/parts.h"

namespace normlens::bench {

namespace {

Part ofGpu(const char* name, Sizes sizes) {
  return {name, false, [sizes](const Setting& setting) { benchKernels(setting.ops, setting.json, sizes, false); }};
}

}  // namespace

std::vector<Part> allParts() {
  return {{"norms", true, [](const Setting& setting) { benchNorms(setting.ops); }},
          {"kernels", false, [](const Setting& setting) { benchKernels(setting.ops, setting.json, Sizes::All, true); }},
          ofGpu("kernels-gpu", Sizes::All),
          ofGpu("kernels-few", Sizes::FewRows),
          ofGpu("kernels-wide", Sizes::WideRows),
          ofGpu("kernels-narrow", Sizes::NarrowRows)};
}

}  // namespace normlens::bench
