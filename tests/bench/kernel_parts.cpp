#include "tests/bench/norms/norm_bench.h"
#include "tests/bench/parts.h"

namespace normlens::bench {

std::vector<Part> allParts() {
  return {{"norms", true, [](const Setting& setting) { benchNorms(setting.ops); }},
          {"kernels", false, [](const Setting& setting) { benchKernels(setting.ops, setting.json, true); }},
          {"kernels-gpu", false, [](const Setting& setting) { benchKernels(setting.ops, setting.json, false); }}};
}

}  // namespace normlens::bench
