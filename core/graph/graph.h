// The computation graph that every format is read into and that analysis, planner and views work on.
//
// SSA over blocks: a value is made by one node output, one block parameter, one graph input, one constant or one
// literal. Nodes are stored in execution order; If and Loop hold blocks that may read values of the blocks around
// them. The graph is built once by a reader and then only read: edits live in a fold::FoldPlan.
//
// Thread: immutable after construction; concurrent reads are safe. Ids index the vectors below.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/base/small_vector.h"
#include "core/graph/types.h"

namespace normlens::graph {

using NodeId = int32_t;
using ValueId = int32_t;
using BlockId = int32_t;
using ScopeId = int32_t;
using ConstantId = int32_t;

// The op kinds that the analysis knows. A format's reader maps its own op names to these ("lowering"). Operands are
// tensors (or scalars) only: lists and tuples are flattened by the reader, an absent optional operand is kNoValue. Axes
// in attributes are normalized to [0, rank). An attribute that the file computes at run time is left out: the rules
// then assume nothing about it. Shapes come from the values (one probe run), never from attributes. "ones" of a norm,
// Softmax or Reduce lists axes of x that the file fixes to size 1 for every input. "inside" (true) marks a node whose
// results exist only within an operator of the file.
enum class OpKind : uint8_t {
  Opaque,        // anything not listed: nothing is known, nothing is tolerated
  Identity,      // [x] -> y, same elements in the same order (dropout in eval, contiguous, detach, clone, alias)
  Cast,          // [x] -> y of another element type; whether it rounds is read off the two dtypes
  Neg,           // [x]
  Add,           // [a, b]: a + alpha*b with broadcasting (alpha is a literal and does not matter)
  Sub,           // [a, b]: a - alpha*b
  Mul,           // [a, b] with broadcasting
  Div,           // [a, b]: a / b true division
  Elementwise,   // [x...] any other pointwise function with broadcasting: relu, gelu, exp, pow, compare, clamp ...
  Where,         // [condition, a, b]
  MaskedFill,    // [x, mask, value]
  Reshape,       // [x, sizes?] same elements in row-major order: view, reshape, flatten, squeeze, unsqueeze.
                 //     ones: ints, axes of y that have size 1 for every input, where the file writes its sizes.
                 //     computed: ints, axes of y whose size is neither written nor that of an axis of x: a run decides
  Permute,       // [x] perm: ints, y axis i is x axis perm[i]
  Rearrange,     // [x] inner: the sizes that x's row-major index is cut into; perm: which of them y's index is made of,
                 //     in order (pixel shuffle, depth to space, channel shuffle)
  Expand,        // [x] broadcast to a larger shape (expand, expand_as, broadcast_to)
  Slice,         // [x] axis, start, end, step; `start` and `end` absent when computed at run time. from_end (true): one
                 //     of them is counted from the end of an axis whose size the file does not state
  Select,        // [x] axis, index (absent when computed at run time), from_end; the axis disappears
  Split,         // [x] -> y0, y1 ... in order along `axis` (split, chunk, tensor_split). sizes: ints, of the outputs,
                 //     where the file writes them. divides (true): into parts that follow from the axis' size alone
  Unbind,        // [x] -> y0, y1 ... one per index of `axis`, which disappears
  Concat,        // [x...] axis
  Stack,         // [x...] axis: a new axis at that place in y
  Roll,          // [x] axes: a permutation of positions along each axis (roll, flip)
  Pad,           // [x] axes: those that grow or shrink, start: elements before per listed axis, absent where a run
                 //     computes the amounts or one is negative; value: the fill (double), absent: the border repeats x
  Gather,        // [x, index...] axis: whole slices of x by run-time index (index_select, embedding = axis 0 of a
                 //     table). count (1): so many axes from `axis` on are indexed together and make way for the index's
  Scatter,       // [x, updates, index...] axis, count (1): x, with the updates written to the positions along so many
                 //     axes from `axis` on that an index names. made: how many axes the updates have in their place;
                 //     they broadcast otherwise. reduction: "none" | "add" | "mean", of what was there and all updates,
                 //     or "sum" of the updates alone where there are any.
                 //     elements (true): of one axis and element by element, y[i, index[i, j], k] = updates[i, j, k]
  MaskedCopy,    // [x, mask, source] the source's elements in order where the mask is true, x's elsewhere
  Linear,        // [x, W, b?]: x[..., in] W[out, in] (+ b[out])
  MatMul,        // [a, b] numpy matmul rules (mm, bmm, matmul, mv)
  AddMatMul,     // [c, a, b]: beta*c + alpha*(a @ b), c broadcasts (addmm, baddbmm)
  Einsum,        // [operands...] equation: string in letters (no ellipsis; the reader expands it)
  Conv,          // [x, W, b?] x[N, C, ...], W[O, C/groups, k...]; groups; transposed: W[C, O/groups, k...]
  Attention,     // [q, k, v, mask?] scaled dot product attention, y[..., t, d_v]; heads of v may be shared. With
                 //     `projection` (operand index of W[out, in], its bias? behind it): y is that linear of the heads
  Recurrent,     // [x, ...] lstm, gru, rnn over whole sequences
  LayerNorm,     // [x, gamma?, beta?] axes: ints (trailing), eps -> y, mean?, inverse deviation?
                 //     normalized_shape: ints, the sizes of those axes, where the file writes them (RmsNorm, too)
  GroupNorm,     // [x, gamma?, beta?] groups, eps over (C/groups, spatial...)
  InstanceNorm,  // [x, gamma?, beta?] per channel over the spatial axes. updates (true): statistics that it holds, too
  BatchNorm,     // [x, gamma?, beta?, mean, variance] eps, in eval mode: an affine per channel (axis 1). With
                 //     `shift_operand` (2 or 3), set by the analysis: y = x + or - that operand, no scale
  RmsNorm,       // [x, gamma?]
  Softmax,       // [x] axis (softmax and log_softmax): a shift that is constant along the axis changes nothing
  Reduce,        // [x] op: "mean" | "sum" | other, axes: ints, keepdim: bool
  Mix,           // [x] axes: ints. A linear map of positions along `axes`, the same for all other indices: average
                 //     pooling, linear or nearest interpolation, cumulative sum. ones: as of Reshape
  ShapeQuery,    // [x...] reads shapes or types only: size, dim, numel, zeros_like, type_as's second operand.
                 //     counts (true): of all axes together (numel), not one by one.
                 //     fill: the number (double) that every element is, rounded to y's type; absent: no such tensor
  If,            // [condition], two blocks; outputs = the blocks' returns
  Loop,          // [trip count, condition, carried...], one block: params [iteration, carried...], returns
                 //     [condition, carried...]; outputs = carried
  Count_,
};

[[nodiscard]] std::string_view opKindName(OpKind kind);
// So many operands, from the first one on, have to be there.
[[nodiscard]] size_t requiredOperands(OpKind kind);

// Names the function that a node computes, where its kind leaves that open and a rule needs it. A format's reader fills
// it from its own table of ops.
enum class Function : uint8_t {
  Other,  // no rule needs it, or it is not known
  // An Elementwise computes one of these:
  Square,             // [x] x * x
  Power,              // [x, exponent]
  SquareRoot,         // [x]
  InverseSquareRoot,  // [x] 1 / sqrt(x)
  Reciprocal,         // [x] 1 / x
  Relu,               // [x]
  Maximum,            // [x...] the largest of them, element by element
  Step,               // [x...] jumps, or counts from anew, where x moves on: ceil, sign, remainder
  // Nodes of other kinds compute one of these:
  Cast,       // An Identity that is a Cast to the type that x has.
  Unsqueeze,  // A Reshape to new axes of size 1. dim: the place of a single one, where the file writes it.
  Product,    // A Reduce.
  Sizes,      // A ShapeQuery: the sizes of x as a list.
  Count_,
};

[[nodiscard]] std::string_view functionName(Function function);

inline constexpr int32_t kNone = -1;
inline constexpr ValueId kNoValue = -1;

using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

// A read of a value. node == kNone: it is returned by `block` (operand: which return); else the block stays kNone.
struct Use {
  NodeId node = kNone;
  int operand = 0;
  BlockId block = kNone;
  auto operator<=>(const Use&) const = default;
};
using Uses = SmallVector<Use, 2>;
using Operands = SmallVector<ValueId, 4>;
using Outputs = SmallVector<ValueId, 2>;

// A tensor that the file holds. One Constant per distinct piece of memory: tied weights are one Constant with several
// names and several uses.
struct Constant {
  // States why its value may change after loading (state the model writes, an initializer that is also an input, an
  // in-place op on an alias); empty for a true constant. A constant with a reason is neither read nor edited.
  std::string volatileReason;
  TensorView view;
  std::string name;                  // attribute path or initializer name; unique in the graph
  std::vector<std::string> aliases;  // further names of the same memory
};

// The fields that an analysis of the whole graph reads come first, here and in Node: they are what fits a cache.
struct Value {
  DType dtype = DType::Unknown;
  NodeId producer = kNone;  // kNone: graph input, block parameter, constant or literal
  int output = 0;           // which output of the producer
  BlockId paramOf = kNone;  // block parameter (the graph's inputs are parameters of block 0)
  int param = 0;
  ConstantId constant = kNone;
  std::optional<double> literal;  // a scalar written in the graph
  std::optional<Shape> shape;     // The probe run's; nullopt: not a tensor, not reached, or not known yet.
  Uses uses;
  // An input, or overridable initializer, has the sizes that every run has, because the file fixes them; -1 where it
  // leaves one open. nullopt: it does not even fix the number of axes.
  std::optional<Shape> declared;
  // Set where an in-place op on an alias makes the value unsafe to reason about: nothing is proved of it, and a shift
  // of it is never tolerated. Plain sentence.
  std::string opaqueReason;
  std::string name;  // unique; as the file's tools print it
};

struct Node {
  OpKind kind = OpKind::Opaque;
  Function function = Function::Other;
  bool helper = false;  // bookkeeping that views hide: sizes, constants, casts of ints
  ScopeId scope = 0;
  BlockId block = 0;
  Operands operands;  // see OpKind; kNoValue for an absent optional
  Outputs outputs;
  Attributes attributes;        // canonical ones first (see OpKind), then whatever else the file states
  std::vector<BlockId> blocks;  // If and Loop have them.
  std::string op;               // the file's own name, for who reads it: "aten::layer_norm", "LayerNormalization"
  std::string name;             // module path or node name; not necessarily unique
  std::string source;           // where it was written, if the file records it
};

struct Block {
  NodeId owner = kNone;  // kNone for block 0
  std::vector<ValueId> params;
  std::vector<NodeId> nodes;  // in execution order
  std::vector<ValueId> returns;
};

// "This input has size 1 there in every run": an axis counted from the last, which is 1, as broadcasting does; or it
// has no such axis. The file does not state it: whoever relies on it tests and reports it.
struct SizeOfOne {
  ValueId input = kNoValue;
  int fromLast = 1;
  bool operator==(const SizeOfOne&) const = default;
};

// A module, function or name scope; 0 is the model itself.
struct Scope {
  std::string name;  // last part: "ln_1"
  std::string path;  // "transformer.h.0.ln_1"; "" for the model
  std::string type;  // class name, where the file has it
  ScopeId parent = kNone;
};

class Graph {
 public:
  std::vector<Value> values;
  std::vector<Node> nodes;    // index order = execution order within each block
  std::vector<Block> blocks;  // 0: the model's forward
  std::vector<Scope> scopes;
  std::vector<Constant> constants;
  std::vector<SizeOfOne>
      assumed;  // The rules may rely on them though the file does not state them. No part of the text.
  // Names of outputs, 1:1 with outputs(), where the file names any; empty for those without one. No part of the text.
  std::vector<std::string> outputNames;

  Graph();

  // Construction. Each keeps uses and producers consistent.
  ValueId addValue(Value value);
  ValueId addConstant(Constant constant);  // makes the value that stands for it
  ValueId addLiteral(double number);
  ValueId addParam(BlockId block, Value value);
  BlockId addBlock(NodeId owner);
  ScopeId addScope(ScopeId parent, std::string name, std::string type);
  // Registers the operand uses, makes the outputs. A node without an operand that its kind requires becomes Opaque.
  NodeId addNode(Node node, std::vector<Value> outputs);
  void addReturn(BlockId block, ValueId value);

  [[nodiscard]] const Value& value(ValueId id) const { return values[static_cast<size_t>(id)]; }
  [[nodiscard]] const Node& node(NodeId id) const { return nodes[static_cast<size_t>(id)]; }
  [[nodiscard]] const Block& block(BlockId id) const { return blocks[static_cast<size_t>(id)]; }
  [[nodiscard]] const Scope& scope(ScopeId id) const { return scopes[static_cast<size_t>(id)]; }
  [[nodiscard]] const Constant& constant(ConstantId id) const { return constants[static_cast<size_t>(id)]; }
  [[nodiscard]] const std::vector<ValueId>& inputs() const { return blocks[0].params; }
  [[nodiscard]] const std::vector<ValueId>& outputs() const { return blocks[0].returns; }
  // Nodes of a kind in execution order, nested blocks where they run.
  [[nodiscard]] std::vector<NodeId> executionOrder() const;
};

// kNoValue where the operand is absent.
[[nodiscard]] ValueId operandAt(const Node& node, size_t index);

// Attribute look-up; nullopt when absent or of another type.
[[nodiscard]] std::optional<int64_t> intAttribute(const Node& node, std::string_view name);
[[nodiscard]] std::optional<double> floatAttribute(const Node& node, std::string_view name);
[[nodiscard]] std::optional<std::vector<int64_t>> intsAttribute(const Node& node, std::string_view name);
[[nodiscard]] std::optional<std::string> stringAttribute(const Node& node, std::string_view name);
[[nodiscard]] bool boolAttribute(const Node& node, std::string_view name, bool otherwise = false);

// Structural invariants: ids in range, uses mirror operands, each value made once and before it is read, names unique.
// A reader's output is checked in debug builds and in every test.
[[nodiscard]] Status checkGraph(const Graph& graph);

}  // namespace normlens::graph
