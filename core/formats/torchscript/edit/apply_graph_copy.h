// A copy of one TorchScript body (method or function) with the way from the original's nodes to the copy's, and the
// small edits made on such copies. Private to formats/torchscript: includes torch.
//
// An edit names nodes of the original; running it changes the copy. Edits run in order, and later ones see the operands
// as earlier ones left them. Thread: one thread per copy. Errors: edits throw EditRefused.
#pragma once

#include <torch/script.h>

#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/torchscript/lower/lower.h"

namespace normlens::formats::torchscript {

class GraphCopy {
 public:
  explicit GraphCopy(const std::shared_ptr<torch::jit::Graph>& original);
  // A body with one node of the original alone, for an edit of that node: `copy` stands for it, and `read` returns what
  // is read elsewhere.
  using ReadElsewhere = std::function<torch::jit::Value*(const OperandSite&)>;
  GraphCopy(std::shared_ptr<torch::jit::Graph> graph, const torch::jit::Node* original, torch::jit::Node* copy,
            ReadElsewhere read)
      : graph_(std::move(graph)), nodes_{{original, copy}}, read_(std::move(read)) {}

  [[nodiscard]] const std::shared_ptr<torch::jit::Graph>& graph() const { return graph_; }
  // The copy of a node; return nodes of blocks included. Throws where the node is of another graph.
  [[nodiscard]] torch::jit::Node* at(const torch::jit::Node* original) const;
  [[nodiscard]] torch::jit::Value* read(const OperandSite& site) const {
    return read_ ? read_(site) : at(site.node)->input(static_cast<size_t>(site.input));
  }
  // From now on at(original) is another node of the copy, which does its work.
  void substitute(const torch::jit::Node* original, torch::jit::Node* with) { nodes_[original] = with; }

  // One more tensor that callers hand in, after the others.
  torch::jit::Value* addArgument(const std::string& name);
  // One more tensor that callers get: the result becomes a pair of what it was and this.
  void addResult(torch::jit::Value* value);
  // Returns what the callee has added to its result. Several are taken in the order in which the callee adds them.
  torch::jit::Value* takeResult(const torch::jit::Node* call);
  [[nodiscard]] bool hasNewSignature() const { return newSignature_; }
  // A value that an edit has made, for later ones.
  void note(int number, torch::jit::Value* value) { noted_[number] = value; }
  [[nodiscard]] torch::jit::Value* noted(int number) const { return noted_.at(number); }

 private:
  void pair(torch::jit::Block* original, torch::jit::Block* copy);

  std::shared_ptr<torch::jit::Graph> graph_;
  bool newSignature_ = false;
  std::unordered_map<int, torch::jit::Value*> noted_;
  std::unordered_map<const torch::jit::Node*, torch::jit::Node*> nodes_;
  ReadElsewhere read_;
};

// A body may be called by bodies that are edited together with it, and by others: from outside, or by the original
// forward() of a module around it.
enum class BodyUse : uint8_t { Any, Together, Alone };

struct FusedNorm;

// The journal: records what an edit does, for a format whose file has the body in another form and is edited there.
namespace journal {

// These reads of one value see what `emit` makes of it, once, before the first of them.
struct InsertCode {
  std::vector<OperandSite> reads;
  std::function<torch::jit::Value*(torch::jit::Graph&, torch::jit::Value*)> emit;
};
// The readers of the node's first output read its input. The node goes, or `stays` for edits of what only it reads.
struct PassOn {
  torch::jit::Node* node = nullptr;
  int input = 0;
  bool stays = false;
};
// run() puts other nodes in the place of this one, or gives it other operands; it works on a body that has this node
// alone. readsOperands: those of the node itself, not only what GraphCopy::read() returns.
struct ReplaceNode {
  torch::jit::Node* node = nullptr;
  bool readsOperands = true;
};
// The read gets a tensor that its body's module holds under this new name; no name: the code holds it.
struct ReadTensor {
  OperandSite read;
  at::Tensor tensor;
  std::string attribute = {};
  std::string like = {};  // path of the attribute that was read
};
// A prim::Constant holds another tensor.
struct SetTensor {
  torch::jit::Node* node = nullptr;
  at::Tensor tensor;
};
// The sum of a stream's means, added to the stream for some reads: fold::RestoreMean.
struct CarryMean {
  // A tensor that the body's module holds under a new name, beside the one at the path `like`; no name: the code does.
  struct Held {
    at::Tensor tensor;
    std::string attribute, like;
  };
  struct Term {
    OperandSite read;
    Held row;
    torch::jit::Node* view = nullptr;  // of what the linear makes, which has other leading sizes
  };
  int number = 0;               // by which later edits name the sum
  std::vector<Term> linears;    // the row, times what is read
  std::vector<Term> constants;  // the row itself
  // The mean of a value over the last axis: of `made` where the body makes it, which is what it reads there.
  struct Centered {
    OperandSite read;
    torch::jit::Value* made = nullptr;
  };
  std::vector<Centered> values;
  std::vector<int> earlier;        // sums of edits before
  std::vector<OperandSite> reads;  // of the stream; by all under one name
};
// An add and a norm become one op.
struct FuseNorm {
  std::shared_ptr<const FusedNorm> norm;
  std::string op;
};
// Nodes without readers are removed.
struct Sweep {};

// monostate: the edit serves calls of other bodies.
using Record =
    std::variant<std::monostate, InsertCode, PassOn, ReplaceNode, ReadTensor, SetTensor, CarryMean, FuseNorm, Sweep>;

}  // namespace journal

struct BodyEdit {
  std::string signature;  // equal signatures do the same to copies of the same graph
  std::function<void(GraphCopy&)> run;
  journal::Record record{};
  BodyUse use = BodyUse::Any;  // for calls of which kind
  bool newSignature = false;   // takes or returns more: Together
};

// The edits' signatures in order; empty without edits.
[[nodiscard]] std::string signatureOf(const std::vector<BodyEdit>& edits);
// A signature: all that decides what an edit does, one after the other; objects by their address.
template <class... Parts>
[[nodiscard]] std::string signature(const Parts&... parts) {
  std::ostringstream text;
  ((text << parts << ' '), ...);
  return text.str();
}

// The node's first output is replaced everywhere by its input. `stays`: the node does so for edits of what only it
// reads by now; removeNodes() comes last.
[[nodiscard]] BodyEdit bypassNode(torch::jit::Node* node, int input, bool stays = false);
// Nodes without readers go, with all that only they read.
[[nodiscard]] BodyEdit removeNodes(std::vector<torch::jit::Node*> nodes);
// The read is redirected to an attribute of the body's own module, or to a constant of its own.
[[nodiscard]] BodyEdit readAttribute(const journal::ReadTensor& read);
[[nodiscard]] BodyEdit readConstant(OperandSite site, const at::Tensor& tensor);
// A prim::Constant holds another tensor.
[[nodiscard]] BodyEdit setConstant(torch::jit::Node* node, const at::Tensor& tensor);
// A method call goes to another method of the same object; a function call to another function.
[[nodiscard]] BodyEdit callMethod(torch::jit::Node* call, const std::string& method);
[[nodiscard]] BodyEdit callFunction(torch::jit::Node* call, torch::jit::Function* function);

// An operator that returns two tensors, a sum and its norm, at the insertion point.
torch::jit::Node* insertPair(torch::jit::Graph& graph, const std::string& op, at::ArrayRef<torch::jit::Value*> inputs);
// Removes nodes that nobody reads any more, and then whatever only they read. Nodes with effects stay.
void removeUnused(std::vector<torch::jit::Node*> candidates);
// Removes a node that nobody reads any more, whatever it does, and then what only it read.
void removeWithSources(torch::jit::Node* node);
// Writes to an operand (aten::add_, out= ...), or cannot be looked up.
[[nodiscard]] bool mayMutate(const torch::jit::Node& node);

}  // namespace normlens::formats::torchscript
