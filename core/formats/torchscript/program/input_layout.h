// Describes which arrays make the arguments of forward(): a tensor or number of one, a tuple, list or dict of those of
// its parts, each with a name of its own ("past.0.1", "batch.image"). Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <optional>
#include <string>
#include <vector>

#include "core/graph/types.h"

namespace normlens::formats::torchscript {

struct Program;

// Holds what a file states of an input beyond its type.
struct DeclaredInput {
  graph::Shape sizes;  // that every run has; -1 where the file leaves one open
  graph::DType dtype = graph::DType::Unknown;
};

struct InputLayout {
  std::string name;   // The array's name; a container's is what the names of its arrays start with.
  c10::TypePtr type;  // never an Optional
  bool mayBeNone = false;
  bool optional = false;           // it, or what it is part of, may be None
  std::vector<int> values;         // program values that stand for it
  std::vector<InputLayout> parts;  // A container's: a list and a dict have as many as the code takes out of them.
  std::optional<DeclaredInput> declared{};

  [[nodiscard]] bool isContainer() const;
};

// One layout per parameter of block 0. names: of those, in order.
[[nodiscard]] std::vector<InputLayout> inputLayouts(const Program& program, const std::vector<std::string>& names,
                                                    const c10::FunctionSchema& schema);

// The same with lists that are as long, and dicts with the keys, as arrays of these names have where there are any.
[[nodiscard]] std::vector<InputLayout> fitted(std::vector<InputLayout> layouts, const std::vector<std::string>& names);

// The arrays, in order. They are parts of what is passed.
[[nodiscard]] std::vector<const InputLayout*> leavesOf(const InputLayout& layout);
[[nodiscard]] std::vector<const InputLayout*> leavesOf(const std::vector<InputLayout>& layouts);

}  // namespace normlens::formats::torchscript
