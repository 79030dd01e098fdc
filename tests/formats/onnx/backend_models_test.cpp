// The onnx package's own test models, one per operator: each opens or says in one line why not, is analysed, and comes
// back unchanged from a fold that does nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/analysis/analysis.h"
#include "core/formats/file/mapped_file.h"
#include "core/formats/onnx/model/onnx_model.h"

namespace normlens::formats::onnx {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> modelsIn(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    if (entry.path().extension() == ".onnx") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// As one message: the weights are back in their places, in the fields that held them.
std::string contentOf(const fs::path& path) {
  const auto file = MappedFile::open(path);
  ModelProto model;
  const auto bytes = (*file)->bytes();
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return {};
  return model.SerializeAsString();
}

TEST(BackendModels, OpenAnalyseAndPassThroughAFoldThatDoesNothing) {
  const auto models = modelsIn(NORMLENS_BACKEND_MODELS);
  if (models.empty()) GTEST_SKIP() << "the onnx package is not here to write its models";
  const fs::path out = fs::temp_directory_path() / ("normlens-backend-" + std::to_string(::getpid()) + ".onnx");
  size_t opened = 0, refused = 0;
  for (const auto& path : models) {
    const auto model = OnnxModel::open(path, {});
    if (!model) {
      ++refused;
      EXPECT_EQ(model.error().message.find('\n'), std::string::npos) << model.error().message;
      continue;
    }
    ++opened;
    const auto analysis = analysis::analyze((*model)->graph(), {});
    ASSERT_TRUE(analysis.has_value()) << path;
    const Status sound = graph::checkGraph((*model)->graph());
    EXPECT_TRUE(sound.has_value()) << path << ": " << sound.error().message;
    const auto same = (*model)->apply({}, (*analysis)->norms.layerNorms, NormFlavour::Portable, {});
    ASSERT_TRUE(same.has_value()) << path << ": " << same.error().message;
    ASSERT_TRUE((*same)->save(out, {}).has_value()) << path;
    EXPECT_EQ(contentOf(out), contentOf(path)) << path;
  }
  fs::remove(out);
  std::printf("%zu backend models opened and passed through unchanged, %zu refused\n", opened, refused);
  EXPECT_GT(opened, refused * 20);
}

}  // namespace
}  // namespace normlens::formats::onnx
