// The shared sample models in ONNX Runtime: each runs as its exporter's framework did, in its own type and in float64.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "core/formats/onnx/model/onnx_model.h"
#include "core/run/compare/diff.h"
#include "tests/formats/torchscript/read/sample_models.h"
#include "tests/support/must.h"
#include "tests/support/npz_files.h"

namespace normlens::formats::onnx {
namespace {

using test::filesEndingIn;
using test::sampleFolder;

constexpr double kFileLimit = 1e-4, kTwinLimit = 1e-4;  // max |a - b| / max |a|: another framework's float32

struct Sample {
  std::filesystem::path model;
  Tensors inputs, outputs;  // the framework's
};

std::optional<Sample> sampleOf(const std::filesystem::path& path, const char* arrays) {
  const std::string file = path.filename().string();
  const auto npz = path.parent_path() / (file.substr(0, file.find('.')) + arrays);
  if (!std::filesystem::exists(npz)) return std::nullopt;
  Sample sample{path, {}, {}};
  Tensors arraysOfFile = run::readArrays(npz).value();
  for (auto& array : arraysOfFile) {
    (array.name.starts_with("in_") ? sample.inputs : sample.outputs).push_back(std::move(array));
  }
  // By number: an archive may list out_10 before out_2.
  const auto number = [](const NamedTensor& tensor) {
    return std::stoi(tensor.name.substr(tensor.name.find('_') + 1));
  };
  std::ranges::sort(sample.inputs, {}, number);
  std::ranges::sort(sample.outputs, {}, number);
  return sample;
}

// nullopt: an error, which is reported.
std::optional<double> worst(const Tensors& expected, const Result<Tensors>& got) {
  if (!got) {
    ADD_FAILURE() << got.error().message;
    return std::nullopt;
  }
  Tensors firsts = *got;
  if (firsts.size() > expected.size()) firsts.resize(expected.size());  // caches, which the framework's model hides
  const auto diffs = run::compareOutputs(expected, firsts);
  if (!diffs) {
    ADD_FAILURE() << diffs.error().message;
    return std::nullopt;
  }
  double rel = 0;
  for (const auto& diff : *diffs) rel = std::max(rel, std::isnan(diff.maxRel) ? INFINITY : diff.maxRel);
  return rel;
}

class OnnxSamples : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = sampleFolder();
    NORMLENS_NEED_SAMPLES(folder_);
    models_ = filesEndingIn(folder_ / "visible", ".onnx");
    ASSERT_FALSE(models_.empty());
  }
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> models_;
};

TEST_F(OnnxSamples, RunAsTheirFrameworkDidInTheirOwnTypeAndInFloat64) {
  int passed = 0;
  double worstFile = 0, worstTwin = 0;
  for (const auto& path : models_) {
    SCOPED_TRACE(path.filename().string());
    const auto opened = must(OnnxModel::open(path, {}));
    const OnnxModel& model = *opened;
    const auto twin = model.toFloat64();
    EXPECT_TRUE(twin) << twin.error().message;
    bool good = twin.has_value();
    for (const char* arrays : {".inputs.npz", ".alt.npz"}) {
      const auto sample = sampleOf(path, arrays);
      if (!sample) continue;
      SCOPED_TRACE(arrays);
      const auto plain = model.run(sample->inputs, {});
      // A trace at one size may not take another.
      if (!plain && std::string(arrays) == ".alt.npz") continue;
      const auto file = worst(sample->outputs, plain);
      const auto inDouble = twin ? worst(sample->outputs, (*twin)->run(sample->inputs, {})) : std::nullopt;
      EXPECT_LE(file.value_or(INFINITY), kFileLimit);
      EXPECT_LE(inDouble.value_or(INFINITY), kTwinLimit);
      good = good && file.value_or(INFINITY) <= kFileLimit && inDouble.value_or(INFINITY) <= kTwinLimit;
      worstFile = std::max(worstFile, file.value_or(0));
      worstTwin = std::max(worstTwin, inDouble.value_or(0));
    }
    if (twin) {
      const auto sample = sampleOf(path, ".inputs.npz");
      const auto narrow = must((*twin)->narrowOp(sample->inputs, {}));
      EXPECT_EQ(narrow, "");
      good = good && narrow.empty();
    }
    passed += good ? 1 : 0;
  }
  std::printf("%d of %zu models; worst relative difference %.1e in their own type, %.1e in float64\n", passed,
              models_.size(), worstFile, worstTwin);
}

TEST_F(OnnxSamples, AProbeShowsTheShapeOfEachValue) {
  size_t values = 0, unknown = 0;
  for (const auto& path : models_) {
    SCOPED_TRACE(path.filename().string());
    const auto model = must(OnnxModel::open(path, {}));
    const auto sample = sampleOf(path, ".inputs.npz");
    ASSERT_TRUE(model->probe(sample->inputs, {}));
    const auto sound = graph::checkGraph(model->graph());
    EXPECT_TRUE(sound) << sound.error().message;
    for (const auto& value : model->graph().values) {
      ++values;
      if (value.shape && value.dtype != graph::DType::Unknown) continue;
      if (++unknown <= 20) std::printf("%s: '%s' has no shape\n", path.filename().c_str(), value.name.c_str());
    }
    const auto all = must(model->runCapturing(sample->inputs, model->graph().outputs(), {}));
    const auto plain = must(model->run(sample->inputs, {}));
    const auto same = must(run::compareOutputs(plain, all));
    for (const auto& diff : same) EXPECT_EQ(diff.maxAbs, 0) << diff.name;
  }
  std::printf("%zu values, %zu without a shape\n", values, unknown);
  EXPECT_EQ(unknown, 0U);
}

TEST_F(OnnxSamples, APerturbedModelDiffersByTheNoiseOfRounding) {
  for (const auto& path : models_) {
    SCOPED_TRACE(path.filename().string());
    const auto model = must(OnnxModel::open(path, {}));
    const auto sample = sampleOf(path, ".inputs.npz");
    const auto plain = must(model->run(sample->inputs, {}));
    const auto moved = must(model->perturbed(3));
    const auto noise = worst(plain, moved->run(sample->inputs, {}));
    EXPECT_LE(noise.value_or(INFINITY), 1e-4);
  }
}

}  // namespace
}  // namespace normlens::formats::onnx
