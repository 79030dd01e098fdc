// An exported program as a torch::jit module, and the way back from its nodes and values to the document's. Private to
// formats/pt2: includes torch.
//
//   placeholders of parameters and buffers   GetAttr chains from self, modules by the parts of the FQN
//   nodes                                    one flat forward(); torch.cond and while_loop are prim::If and prim::Loop
//   operators that LibTorch does not have    nodes of their names, which nothing can run; but quantized_decomposed,
//                                            written out
//   assertions                               left out (they fail in float64): the signature is checked before each run
//
// An edited copy of the module keeps the numbers of nodes, which are in an attribute of each.
#pragma once

#include <torch/script.h>

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/formats/pt2/file/signature.h"
#include "core/formats/torchscript/program/probe_records.h"

namespace normlens::formats::pt2 {

// Records where a node of the module comes from.
struct Origin {
  int graph = 0;             // index in graphsIn()
  int node = 0;              // Indexes that graph's nodes.
  bool part = false;         // it only helps to express what the node means; its operands are not the node's arguments
  bool transparent = false;  // a part that stands for its operand: a condition made a bool, a cast of autocast
  bool writtenOut = false;   // with parts behind it; its first operand is the node's first argument
};

// The number of a node's origin; -1: it has none, so an edit has made it.
[[nodiscard]] int originNumber(const torch::jit::Node& node);

using ValueNames = std::unordered_map<const torch::jit::Value*, std::string>;

struct Translation {
  torch::jit::Module module;
  std::vector<Origin> origins;
  std::vector<const torch::jit::Node*> nodes;  // by number; of those that nothing reads only the address is left
  std::vector<ValueNames> names;               // by graph: what a value is called in it
  std::vector<bool> inAutocast;     // by graph: operators in it compute in another type than their operands have
  std::vector<bool> runsTwice;      // by graph: a loop's condition, which is twice in the module
  std::vector<std::string> opaque;  // operators that nothing can run, as a person knows them: "mylib::attend"
  std::map<int, size_t> mutations;  // by number: copy_ nodes that stand for outputs of the program, and for which
  std::unordered_map<const torch::jit::Value*, torchscript::ValueRecord>
      records;  // The file's statements about each value.
};

// `tensorOf` returns the tensor of each that the file holds. Throws BrokenDocument, UnsupportedProgram, c10::Error.
[[nodiscard]] Translation translate(const ProgramFile& file, const Signature& signature,
                                    const std::function<at::Tensor(const HeldTensor&)>& tensorOf);

// The schema of an operator node's target ("torch.ops.aten.add.Tensor"). Throws UnsupportedProgram.
[[nodiscard]] const c10::FunctionSchema& schemaOfTarget(const std::string& target);

}  // namespace normlens::formats::pt2
