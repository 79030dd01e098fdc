// What the tests of opening ONNX files stand on: a folder with an odd name, and a model to spoil.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "core/formats/onnx/model/onnx_model.h"
#include "tests/formats/onnx/onnx_fixture.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::onnx {

class ReadTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }

  static void write(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  [[nodiscard]] Result<std::unique_ptr<OnnxModel>> openBytes(const std::string& bytes) const {
    write(folder_ / "model.onnx", bytes);
    return OnnxModel::open(folder_ / "model.onnx", {});
  }
  [[nodiscard]] Result<std::unique_ptr<OnnxModel>> open(const ModelProto& model) const {
    return openBytes(model.SerializeAsString());
  }

  // The words of the refusal, which names the file in one line; empty where the model opens.
  [[nodiscard]] std::string refusal(const ModelProto& model) const {
    const auto opened = open(model);
    if (opened) return {};
    const std::string& message = opened.error().message;
    EXPECT_TRUE(message.starts_with((folder_ / "model.onnx").string())) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_TRUE(opened.error().code == ErrorCode::Unreadable || opened.error().code == ErrorCode::Unsupported);
    return message;
  }

  const TemporaryFolder outside_;
  const std::filesystem::path folder_ = outside_ /
                                        "m\xC3\xB6"
                                        "dels";
};

// x W + b, LayerNorm. W is small enough to stay in the protobuf unless wide is large.
inline ModelProto linearNorm(int wide = 8) {
  const std::string n = std::to_string(wide);
  ModelProto model =
      modelFromText("<ir_version: 8, opset_import: [\"\": 17]> m (float[N, " + n + "] x) => (float[N, " + n + R"(] y) {
    h = MatMul(x, W)
    c = Add(h, b)
    y = LayerNormalization<axis = -1>(c, g)
  })");
  addTensor(model, "W", {wide, wide}, 1);
  addTensor(model, "b", {wide}, 2);
  addTensor(model, "g", {wide}, 3);
  return model;
}

inline TensorProto& initializer(ModelProto& model, int index) {
  return *model.mutable_graph()->mutable_initializer(index);
}

}  // namespace normlens::formats::onnx
