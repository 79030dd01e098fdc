// Checkpoints that tests write themselves: safetensors byte by byte, so that they can be wrong as well.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/formats/safetensors/checkpoint.h"
#include "core/graph/graph.h"

namespace normlens::formats::safetensors {

// 8 bytes of length, the header, the data.
inline std::string fileOf(const std::string& header, const std::string& data) {
  std::string bytes;
  for (size_t i = 0; i < 8; ++i) bytes += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  return bytes + header + data;
}

template <class T>
std::string bytesOf(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

inline std::string bfloat16(const std::vector<float>& numbers) {
  std::vector<uint16_t> bits;
  for (const float number : numbers) bits.push_back(graph::floatToBfloat16(number));
  return bytesOf(bits);
}

struct Held {
  std::string name, type, shape, data;  // shape: "[2,3]"
};

inline std::string fileOf(const std::vector<Held>& tensors) {
  std::string header = R"({"__metadata__":{"format":"pt"})", data;
  for (const Held& held : tensors) {
    header += ",\"" + held.name + R"(":{"dtype":")" + held.type + R"(","shape":)" + held.shape +
              R"(,"data_offsets":[)" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + held.data.size()) + "]}";
    data += held.data;
  }
  return fileOf(header + "}", data);
}

class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "normlens-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    std::filesystem::create_directory(folder());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::filesystem::path folder() const { return root_ / "hf"; }
  [[nodiscard]] std::filesystem::path out() const { return root_ / "out"; }
  void write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((folder() / name).parent_path());
    std::ofstream(folder() / name, std::ios::binary) << bytes;
  }
  static std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::vector<std::string> namesIn(const std::filesystem::path& path) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) names.push_back(entry.path().lexically_relative(path).string());
    }
    std::ranges::sort(names);
    return names;
  }
  [[nodiscard]] Result<Checkpoint> open() const { return openCheckpoint(folder(), namesIn(folder())); }

  std::filesystem::path root_;
};

// A constant of a model, in memory of its own.
inline graph::ConstantId addConstant(graph::Graph& graph, const std::string& name, graph::Shape shape,
                                     const std::vector<float>& numbers) {
  auto memory = std::make_shared<std::vector<float>>(numbers);
  graph::Constant constant;
  constant.name = name;
  constant.view.dtype = graph::DType::Float32;
  constant.view.strides.assign(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) constant.view.strides[i - 1] = constant.view.strides[i] * shape[i];
  constant.view.shape = std::move(shape);
  constant.view.data = reinterpret_cast<const std::byte*>(memory->data());
  constant.view.owner = memory;
  const auto id = static_cast<graph::ConstantId>(graph.constants.size());
  graph.addConstant(std::move(constant));
  return id;
}

// The value that it is.
inline graph::ValueId valueOf(const graph::Graph& graph, graph::ConstantId constant) {
  for (size_t value = 0; value < graph.values.size(); ++value) {
    if (graph.values[value].constant == constant) return static_cast<graph::ValueId>(value);
  }
  return graph::kNoValue;
}

// A node in a module that reads these; its output.
inline graph::ValueId addNode(graph::Graph& graph, graph::OpKind kind, const std::string& module,
                              const graph::Operands& operands) {
  graph::Node node;
  node.kind = kind;
  node.name = module;
  graph::ScopeId scope = 0;
  for (size_t begin = 0; begin < module.size();) {
    const size_t end = std::min(module.find('.', begin), module.size());
    scope = graph.addScope(scope, module.substr(begin, end - begin), "");
    begin = end + 1;
  }
  node.scope = scope;
  node.operands = operands;
  graph::Value output;
  output.name = module + "_" + std::to_string(graph.values.size());
  const auto id = graph.addNode(std::move(node), {output});
  return graph.node(id).outputs.at(0);
}

}  // namespace normlens::formats::safetensors
