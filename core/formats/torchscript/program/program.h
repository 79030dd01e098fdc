// A TorchScript module's forward(), walked symbolically into one flat program.
//
// Method and function calls are entered, attribute chains on `self` are resolved to concrete module instances, and an
// If whose condition is known after loading (self.training, None checks) is replaced by the branch that runs. This
// leaves nodes in execution order, one per torch node that does something, each with the frame (module instance,
// method, graph) it was found in: enough to edit exactly that instance. A module called twice appears twice. A call
// that cannot be resolved (on an object chosen at run time) stays as a node of its own.
//
//  forward(self, x):  %fc = GetAttr[fc](self); %h = CallMethod[forward](%fc, x)      frame 0: path "",  forward
//  fc.forward(self, x):  %w = GetAttr[weight](self); %y = aten::linear(x, %w, None)  frame 1: path "fc", forward
//  -> values: x | weight (constant 0) | None | y;  nodes: aten::linear in frame 1;  block 0 returns y
//
// Thread: immutable after construction; concurrent reads are safe. Holds references into the module's graphs: keep the
// module alive (frames hold their graphs). Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/formats/torchscript/program/input_layout.h"

namespace normlens::formats::torchscript {

inline constexpr int kNone = -1;

using ObjectPtr = c10::intrusive_ptr<c10::ivalue::Object>;

// Names of attributes (or methods) of instances.
using Attributes = std::set<std::pair<const c10::ivalue::Object*, std::string>>;

// One entered body: forward() itself, a method of a submodule, or a free function.
struct Frame {
  int parent = kNone;                // frame of the caller
  torch::jit::Node* call = nullptr;  // call node in the parent's graph; null for frame 0
  ObjectPtr self;                    // the module instance; null for a function
  std::string path;                  // module path "transformer.h.0"; of a function: its caller's
  std::string className;             // "GPT2Block"; of a function: its caller's
  std::string method;                // "forward"; of a function: its name
  std::shared_ptr<torch::jit::Graph> graph;
};

// A place in the loaded module that holds a tensor: an attribute of a module, or a prim::Constant of a graph.
struct TensorSite {
  ObjectPtr owner;                           // attribute: the module instance; null for a graph constant
  std::string attribute;                     // attribute: its name in `owner`
  std::string path;                          // "transformer.wte.weight"; "constant_3" for a graph constant
  torch::jit::Node* node = nullptr;          // graph constant: the prim::Constant
  std::shared_ptr<torch::jit::Graph> graph;  // graph constant: the graph that holds it
  std::vector<int64_t> elements;  // position inside a list or tuple attribute, outermost first; empty: itself
};

// One piece of memory that the program reads (or only writes), with every place of the module that holds it (tied
// weights have several, also those that forward() does not read).
struct ConstantTensor {
  at::Tensor tensor;
  std::vector<TensorSite> sites;  // never empty; the first one names it
  std::string volatileReason;     // not empty: the model writes it, in whatever method, so it is no constant
};

struct ProgramValue {
  torch::jit::Value* value = nullptr;  // where it was made (in `frame`); null for elements of known containers
  int frame = 0;
  int producer = kNone;  // node; kNone: parameter of a block, or known
  int output = 0;
  std::optional<c10::IValue> known;  // a constant or an attribute that the model never writes
  int constant = kNone;              // known tensors: index in Program::constants
  int site = 0;                      // ... and through which of its sites this value was read
};

struct ProgramNode {
  torch::jit::Node* node = nullptr;
  int frame = 0;
  int block = 0;
  std::vector<int> inputs;   // values, 1:1 with node->inputs()
  std::vector<int> outputs;  // values, 1:1 with node->outputs(), except `guard`
  std::vector<int> blocks;   // If and Loop have them.
  // An If of which one branch always raises: kept without outputs as a check; the other branch follows inline.
  bool guard = false;
};

struct ProgramBlock {
  int owner = kNone;  // node; kNone for block 0
  torch::jit::Block* block = nullptr;
  int frame = 0;             // frame whose graph holds `block`
  std::vector<int> params;   // values; block 0: the model's inputs without self
  std::vector<int> nodes;    // in execution order
  std::vector<int> returns;  // values; Loop: condition, carried ...
};

// Records how in-place ops change the SSA reading of the program. y = add_(x, z) is read as a new value y that later
// reads of x mean, if x shares memory with nothing else that is read later; else all values of that memory are unsafe.
struct InPlaceFacts {
  std::vector<std::vector<int>> renamed;  // by node: the values that its first output replaces from there on
  std::vector<std::string> opaqueReason;  // by value: why nothing may be proved of it; empty: nothing wrong
};

// Lists what runs and is read besides forward()'s nodes: by the model's other methods, by methods of modules that are
// chosen at run time, and in containers that are read whole. It must go on meaning the same.
struct OtherEntries {
  Attributes methods;
  Attributes attributes;  // with those that the model writes, and those of objects that are no modules
};

struct Program {
  std::vector<Frame> frames;  // 0: forward() of the model
  std::vector<ProgramValue> values;
  std::vector<ProgramNode> nodes;
  std::vector<ProgramBlock> blocks;  // 0: forward()
  std::vector<ConstantTensor> constants;
  std::vector<InputLayout>
      inputs;  // Describe the parameters of block 0, named as the user wrote them where that is known.
  std::vector<std::string> outputNames;  // Name the results, where the module came from a file that names them.
  InPlaceFacts inPlace;
  OtherEntries others;
  bool writesInputs = false;  // an in-place op may change tensors that the caller passed
  bool writesState = false;   // an in-place op or SetAttr changes the module's own tensors or attributes
  std::set<const c10::StorageImpl*> writtenMemory;  // The module's own tensors that any of its methods writes.
  std::vector<at::Tensor> writtenLiterals;          // tensors that are in the code and are written

  [[nodiscard]] const Frame& frame(int id) const { return frames[static_cast<size_t>(id)]; }
  [[nodiscard]] const ProgramValue& value(int id) const { return values[static_cast<size_t>(id)]; }
  [[nodiscard]] const ProgramNode& node(int id) const { return nodes[static_cast<size_t>(id)]; }
  [[nodiscard]] const ProgramBlock& block(int id) const { return blocks[static_cast<size_t>(id)]; }
  // The path of the module that a node of this frame was written in. One body may hold what was written in many: a flat
  // export says so on each node.
  [[nodiscard]] std::string moduleOf(const torch::jit::Node& node, int frameId) const {
    std::string name = node.scopeName();
    return name.empty() ? frame(frameId).path : name;
  }
  // By something else than forward()'s nodes.
  [[nodiscard]] bool isReadElsewhere(const TensorSite& site) const {
    return site.owner && others.attributes.contains({site.owner.get(), site.attribute});
  }
};

// Errors: Unsupported when the module has no forward(), or calls itself.
[[nodiscard]] Result<Program> buildProgram(const torch::jit::Module& module);

// The same memory seen the same way: tied weights.
[[nodiscard]] bool sameTensor(const at::Tensor& a, const at::Tensor& b);

}  // namespace normlens::formats::torchscript
