// A small exported program as text, right or bent by a test: x -> linear -> layer_norm, with sizes of the test's own.
// No torch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/formats/archive/zip_builder.h"

namespace normlens::formats::pt2::test {

// The records of an archive as torch 2.15 writes one.
struct ProgramText {
  std::string program;  // models/model.json
  std::string weights;  // data/weights/model_weights_config.json
  std::string constants = R"({"config": {}})";
  std::map<std::string, std::string> records;  // others, by name: "data/weights/weight_0"

  [[nodiscard]] std::vector<formats::test::ZipEntry> entries(const std::string& folder = "m/") const;
  // The same twice, as "model" and "other", which read the same records.
  [[nodiscard]] std::vector<formats::test::ZipEntry> entriesOfTwo() const;
  // The first place of this text in the program becomes another. Fails the test where there is none.
  ProgramText& bend(const std::string& from, const std::string& to);
};

// What a program consists of; metadata and nodes as tensorMeta() and node() write them.
struct ProgramParts {
  struct Held {
    std::string placeholder, name, meta, bytes;
  };
  std::vector<Held> held;
  std::vector<std::pair<std::string, std::string>> inputs, values;  // names with metadata; values: what nodes make
  std::vector<std::string> nodes, outputs;
  bool dynamic = false;  // the symbol s0 has 2 to 64 values
};
[[nodiscard]] ProgramText programOf(const ProgramParts& parts);

[[nodiscard]] std::string tensor(const std::string& name);
[[nodiscard]] std::string argument(const std::string& name, const std::string& arg);
// A call of "aten.linear.default", in a module of this name and type where there is a name.
[[nodiscard]] std::string node(const std::string& target, const std::string& inputs, const std::string& output,
                               const std::string& module, const std::string& type);

// float32[batch, width] -> the same. The first size is the symbol s0 of 2 to 64 where it is dynamic, else 3.
[[nodiscard]] ProgramText linearAndNorm(int width = 4, bool dynamic = false);

// TensorMeta of a dense tensor; a size of -1 is the symbol s0, 3 in the example.
[[nodiscard]] std::string tensorMeta(const std::vector<int>& sizes, int dtype = 7);
// The raw bytes of floats.
[[nodiscard]] std::string floats(const std::vector<float>& values);

}  // namespace normlens::formats::pt2::test
