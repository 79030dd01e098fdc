// The shared sample models: every one opens, runs the same op by op as in torch, and gets workable inputs.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/formats/file/file_hash.h"
#include "core/formats/formats.h"
#include "core/formats/torchscript/model/torchscript_model.h"
#include "core/formats/torchscript/program/tensor_convert.h"
#include "core/formats/torchscript/run/model_run.h"
#include "tests/formats/torchscript/read/sample_models.h"
#include "tests/support/must.h"
#include "tests/support/npz_files.h"

namespace normlens::formats::torchscript {
namespace {

using formats::test::filesEndingIn;
using formats::test::sampleFolder;

// "bert" of ".../bert.f64.pt".
std::string sampleName(const std::filesystem::path& path) {
  const std::string file = path.filename().string();
  return file.substr(0, file.find('.'));
}

Tensors inputsOf(const std::filesystem::path& npz) {
  auto arrays = run::readArrays(npz).value();
  std::erase_if(arrays, [](const NamedTensor& array) { return !array.name.starts_with("in_"); });
  return arrays;
}

TEST(SampleModels, TheInterpreterAgreesWithTorch) {
  const auto folder = sampleFolder();
  NORMLENS_NEED_SAMPLES(folder);
  const auto models = filesEndingIn(folder / "visible", ".pt");
  ASSERT_FALSE(models.empty());
  for (const auto& path : models) {
    SCOPED_TRACE(path.filename().string());
    auto model = must(openModel(path, {}, {}));
    EXPECT_EQ(model->fileHash(HashKind::Sha256, nullptr).size(), 64U);
    for (const char* which : {".inputs.npz", ".alt.npz"}) {
      const auto npz = folder / "visible" / (sampleName(path) + which);
      if (!std::filesystem::exists(npz)) continue;
      const auto inputs = inputsOf(npz);
      ASSERT_TRUE(model->probe(inputs, {}));
      const auto sound = graph::checkGraph(model->graph());
      EXPECT_TRUE(sound) << sound.error().message;
      const auto wanted = must(model->run(inputs, {}));
      const auto seen = must(model->runCapturing(inputs, model->graph().outputs(), {}));
      ASSERT_EQ(wanted.size(), seen.size());
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_TRUE(at::equal(tensorOf(wanted[i].view), tensorOf(seen[i].view))) << which << " output " << i;
    }
  }
}

bool same(const ValueRecord& a, const ValueRecord& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.shape == b.shape &&
         std::ranges::equal(a.elements, b.elements, same);
}

TEST(SampleModels, ARunForShapesAloneSeesWhatAFullRunSees) {
  const auto folder = sampleFolder();
  NORMLENS_NEED_SAMPLES(folder);
  int restarted = 0, models = 0;
  for (const auto& path : filesEndingIn(folder / "visible", ".pt")) {
    SCOPED_TRACE(path.filename().string());
    const auto opened = must(openModel(path, {}, {}));
    const auto& model = dynamic_cast<const TorchScriptModel&>(*opened);
    const auto records = [&](Interpreter::Effort effort) {
      Recorder recorder(model.program());
      Interpreter interpreter(model.program(), effort, [&] {
        recorder = Recorder(model.program());
        ++restarted;
      });
      const auto arguments =
          argumentsFor(model.opened(), inputsOf(folder / "visible" / (sampleName(path) + ".inputs.npz")));
      EXPECT_TRUE(interpreter.run(arguments.value(), recorder.hook(), {}));
      return recorder.take();
    };
    const ProbeRecords quick = records(Interpreter::Effort::ShapesOnly), full = records(Interpreter::Effort::Values);
    ASSERT_EQ(quick.values.size(), full.values.size());
    for (size_t i = 0; i < full.values.size(); ++i) EXPECT_TRUE(same(quick.values[i], full.values[i])) << "value " << i;
    ++models;
  }
  std::printf("%d models, %d needed the values\n", models, restarted);
}

TEST(SampleModels, WorkableInputsAreFoundForEach) {
  const auto folder = sampleFolder();
  NORMLENS_NEED_SAMPLES(folder);
  for (const auto& path : filesEndingIn(folder / "visible", ".pt")) {
    SCOPED_TRACE(path.filename().string());
    auto model = must(openModel(path, {}, {}));
    const auto specs = must(model->inferInputs());
    const auto given = inputsOf(folder / "visible" / (sampleName(path) + ".inputs.npz"));
    ASSERT_EQ(specs.size(), given.size());
    for (size_t i = 0; i < given.size(); ++i) {
      EXPECT_EQ(specs[i].shape.size(), given[i].view.shape.size());
      EXPECT_EQ(graph::isFloat(specs[i].dtype), graph::isFloat(given[i].view.dtype));
      EXPECT_FALSE(specs[i].assumed.empty());
    }
  }
}

// The refusals of broken/manifest.json for files that are not ONNX: words that the message must have.
TEST(SampleModels, BrokenFilesAreNamedForWhatTheyAre) {
  const auto folder = sampleFolder();
  NORMLENS_NEED_SAMPLES(folder);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"trunc_0.pt", "is empty"},
      {"trunc_3.pt", "truncated"},
      {"trunc_30.pt", "truncated"},
      {"trunc_0_25.pt", "truncated"},
      {"trunc_0_5.pt", "truncated"},
      {"trunc_0_9.pt", "truncated"},
      {"trunc_m1.pt", "truncated"},
      {"trunc_m22.pt", "truncated"},
      {"bitflip50.pt", "not a complete zip archive"},
      {"random.pt", "of no known kind"},
      {"text.pt", "plain text"},
      {"zip_wrong_crc.pt", "CRC mismatch"},
      {"zip_no_code.pt", "no code/"},
      {"zip_no_data.pt", "'data/0' is missing"},
      {"zip_no_version.pt", "version record is missing"},
      {"zip_short_tensor.pt", "has 2048 bytes, expected 1024 x 4"},
      {"zip_code_garbage.pt", "cannot parse the TorchScript code"},
      {"zip_empty.pt", "empty zip"},
      {"zip_other.pt", "ordinary zip"},
      {"state_dict.pt", "state_dict"},
      {"checkpoint_dict.pth", "pickled checkpoint"},
      {"pickled_module.pt", "nn.Module"},
      {"legacy_state_dict.pt", "old-format"},
      {"evil_pickle.pt", "pickle"},
      {"model.safetensors", "safetensors"},
      {"model_as_pt.pt", "safetensors"},
      {"does_not_exist.pt", "no file"},
      {"", "is a folder"},
  };
  for (const auto& [name, words] : expected) {
    SCOPED_TRACE(name);
    const Error model = failureOf(openModel(folder / "broken" / name, {}, {}));
    EXPECT_TRUE(model.code == ErrorCode::Unreadable || model.code == ErrorCode::Unsupported);
    EXPECT_NE(model.message.find(words), std::string::npos) << model.message;
    EXPECT_EQ(model.message.find('\n'), std::string::npos);
  }
  for (const char* name : {"zip_deflated.pt", "zip_bomb_lite.pt", "torchscript_named.onnx"})
    EXPECT_TRUE(openModel(folder / "broken" / name, {}, {})) << name;
  // The content counts, not the name: with the ONNX engine it opens.
  const auto onnx = openModel(folder / "broken" / "onnx_named.pt", {}, {});
  if (onnx) {
    EXPECT_EQ((*onnx)->facts().format, "onnx");
  } else {
    EXPECT_NE(onnx.error().message.find("looks like ONNX"), std::string::npos) << onnx.error().message;
  }
  for (const char* name : {"bitflip1.pt", "zip_slip.pt"}) (void)openModel(folder / "broken" / name, {}, {});
  EXPECT_FALSE(std::filesystem::exists("/tmp/PWNED_by_pickle"));
  EXPECT_FALSE(std::filesystem::exists("/tmp/evil.txt"));
}

}  // namespace
}  // namespace normlens::formats::torchscript
