// The onnx package's operator tests: what ONNX Runtime can run has a float64 twin that says the same, or says why not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "core/formats/onnx/model/onnx_model.h"
#include "core/run/compare/diff.h"
#include "tests/formats/torchscript/read/sample_models.h"
#include "tests/support/npz_files.h"

namespace normlens::formats::onnx {
namespace {

// float32 and float16 results against double; a few functions of the tests are ill-conditioned.
constexpr double kLimit = 2e-5, kHalfLimit = 5e-3;

struct Arrays {
  Tensors inputs, outputs;
};

Arrays arraysOf(const std::filesystem::path& npz) {
  Arrays arrays;
  Tensors all = run::readArrays(npz).value();
  for (auto& array : all) (array.name.starts_with("in_") ? arrays.inputs : arrays.outputs).push_back(std::move(array));
  const auto number = [](const NamedTensor& tensor) {
    return std::stoi(tensor.name.substr(tensor.name.find('_') + 1));
  };
  std::ranges::sort(arrays.inputs, {}, number);
  std::ranges::sort(arrays.outputs, {}, number);
  return arrays;
}

double worst(const Tensors& a, const Tensors& b) {
  const auto diffs = run::compareOutputs(a, b);
  if (!diffs) return INFINITY;
  double rel = 0;
  for (size_t i = 0; i < diffs->size(); ++i) {
    // Of bytes, one of 255 steps is one of 255, whatever the others are.
    const double apart = a[i].view.dtype == graph::DType::UInt8 ? (*diffs)[i].maxAbs / 255 : (*diffs)[i].maxRel;
    rel = std::max(rel, std::isnan(apart) ? INFINITY : apart);
  }
  return rel;
}

bool hasHalves(const Tensors& tensors) {
  return std::ranges::any_of(tensors, [](const NamedTensor& t) { return t.view.dtype == graph::DType::Float16; });
}

TEST(BackendModels, RunInFloat64) {
  const std::filesystem::path folder = NORMLENS_BACKEND_RUNS;
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "the models were not written: no Python with onnx";
  int equal = 0, cannot = 0, refused = 0;
  for (const auto& path : test::filesEndingIn(folder, ".onnx")) {
    SCOPED_TRACE(path.filename().string());
    const auto model = OnnxModel::open(path, {});
    if (!model) continue;  // another test's matter
    const Arrays arrays = arraysOf(std::filesystem::path(path).replace_extension(".npz"));
    const auto plain = (*model)->run(arrays.inputs, {});
    if (!plain) {
      ++cannot;
      EXPECT_EQ(plain.error().message.find('\n'), std::string::npos);
      continue;
    }
    EXPECT_TRUE((*model)->probe(arrays.inputs, {}));
    const auto twin = (*model)->toFloat64();
    const auto inDouble = twin ? (*twin)->run(arrays.inputs, {}) : Result<Tensors>(tl::unexpected(twin.error()));
    if (!inDouble) {
      ++refused;
      std::printf("no twin: %s: %s\n", path.filename().c_str(), inDouble.error().message.c_str());
      continue;
    }
    const auto narrow = (*twin)->narrowOp(arrays.inputs, {});
    EXPECT_TRUE(narrow && narrow->empty()) << (narrow ? *narrow : narrow.error().message);
    // Where ONNX Runtime and the definition differ (a few resizes), the twin may follow either.
    // One step of 255 where a number lies between two of them.
    const bool coarse =
        hasHalves(*plain) || hasHalves(arrays.inputs) || path.string().find("quantize") != std::string::npos;
    const double limit = coarse ? kHalfLimit : kLimit;
    const double apart = std::min(worst(*plain, *inDouble), worst(arrays.outputs, *inDouble));
    EXPECT_LE(apart, limit);
    equal += apart <= limit ? 1 : 0;
  }
  std::printf("%d operator tests agree in float64, %d have no twin, %d are not for ONNX Runtime\n", equal, refused,
              cannot);
  EXPECT_GT(equal, 1000);
}

}  // namespace
}  // namespace normlens::formats::onnx
