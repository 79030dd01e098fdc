// A private copy of an ONNX model for editing: every node keeps its address while nodes are put before and behind it.
//
// Bodies: the main graph, the bodies of If, Loop and Scan, and for each *call* of a local function a copy of its own,
// made when an edit first looks inside. finish() puts the new nodes in their places, drops what became dead, and gives
// calls whose copies came out alike one function again: under its old name where all calls agree.
// Private to formats/onnx. Thread: one. Errors: throws EditRefused.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/onnx/lower/lower.h"
#include "core/formats/onnx/source/onnx_source.h"
#include "core/formats/onnx/source/operators.h"

namespace normlens::formats::onnx {

using ::ONNX_NAMESPACE::AttributeProto;
using ::ONNX_NAMESPACE::FunctionProto;

using NewNodes = std::vector<std::unique_ptr<NodeProto>>;

struct Body {
  Body* outer = nullptr;            // where the node that holds or calls it occurs; null for the main graph
  NodeProto* owner = nullptr;       // that node
  GraphProto* graph = nullptr;      // of a call: what the function has of one
  std::unique_ptr<GraphProto> own;  // of a call: that graph
  int function = -1;                // of a call: index in functions()
  std::vector<NodeProto*> nodes;    // as the file has them: NodeStep::node counts here
  std::unordered_map<const NodeProto*, int> place;  // of each of `nodes`
  std::unordered_map<std::string, NodeProto*> madeBy;
  std::unordered_map<std::string, int> initializer, input;        // indices by name
  std::unordered_map<const NodeProto*, NewNodes> before, behind;  // in order; of null: before the end, behind the start
  std::unordered_set<const NodeProto*> removed;
  bool edited = false;
  std::unordered_set<std::string> names;            // all names in it and in its inner bodies; of roots only
  std::unordered_map<std::string, int> lastNumber;  // that made a wanted name unique

  std::unordered_map<std::string, std::vector<std::pair<NodeProto*, int>>> reads;  // also as they are redirected
  std::vector<NodeProto*> holders;                                                 // nodes with bodies

  [[nodiscard]] bool makes(const std::string& name) const {
    return madeBy.contains(name) || initializer.contains(name) || input.contains(name);
  }
};

// Up to the main graph or to what a call holds.
template <class AnyBody>
[[nodiscard]] AnyBody& rootOf(AnyBody& body) {
  AnyBody* at = &body;
  while (at->function < 0 && at->outer != nullptr) at = at->outer;
  return *at;
}

// One read of a name: input `input` of `node`; node null: output `input` of the body itself.
struct ReadSite {
  Body* body = nullptr;
  NodeProto* node = nullptr;
  int input = 0;
  auto operator<=>(const ReadSite&) const = default;
};

// Records where a name that some node reads is made.
struct Origin {
  enum class Kind : uint8_t { Node, Initializer, Input };
  Kind kind = Kind::Input;
  Body* body = nullptr;
  std::string name;             // as it is called there
  NodeProto* node = nullptr;    // of Kind::Node
  std::vector<ReadSite> calls;  // the inputs of calls through which it was handed on, innermost first
};

class EditableModel {
 public:
  explicit EditableModel(const OnnxSource& source);
  [[nodiscard]] Body& main() { return *main_; }
  [[nodiscard]] ModelProto& proto() { return *proto_; }
  [[nodiscard]] Weights& weights() { return *weights_; }
  // The version of the standard operators that nodes of a body are written in: that of the model also in a function of
  // another version whose operators are the same in both, which then imports it. 0: none is imported.
  [[nodiscard]] int opset(const Body& body) const;
  [[nodiscard]] static bool insideFunction(const Body& body) { return rootOf(body).function >= 0; }
  [[nodiscard]] bool hasFunctions() const { return proto_->functions_size() > 0; }

  [[nodiscard]] ReadSite at(const NodePath& path, int input);
  [[nodiscard]] Body& bodyOf(Body& body, NodeProto& node, const std::string& attribute);  // of If, Loop, Scan
  [[nodiscard]] Body* calledBy(Body& body, NodeProto& node);                              // null: not a call
  [[nodiscard]] static std::string nameAt(const ReadSite& site);
  [[nodiscard]] static Origin originOf(Body& from, std::string name);
  // All reads of a name that `body` makes or is given, in inner bodies and called functions as well, as the file has
  // them. intoCalls: a call is not a read itself, what the function does with its input is; else it is one, and nothing
  // inside called functions.
  [[nodiscard]] std::vector<ReadSite> readsOf(Body& body, const std::string& name, bool intoCalls = true);
  // By a node that was added, in whichever body.
  [[nodiscard]] bool isReadByNewNodes(const std::string& name) const;
  // The body around `from` that makes the name or is given it as an input; `from` itself where the name is new.
  [[nodiscard]] static Body& bodyThatMakes(Body& from, const std::string& name);

  // A name that nothing in the model, or in the function's body, has yet.
  [[nodiscard]] static std::string freshName(Body& body, const std::string& wanted);
  void setInput(const ReadSite& site, const std::string& name);
  // The node's output gets a fresh name, under which all but these read it; its old one is free for a new node.
  std::string renameOutput(Body& body, NodeProto& node, const std::string& name, const std::vector<ReadSite>& but);
  // node null: at the end of the body.
  void addBefore(Body& body, const NodeProto* node, std::vector<NodeProto> added);
  // node null: at its start.
  void addBehind(Body& body, const NodeProto* node, std::vector<NodeProto> added);
  // The node is made into another one in its place: its former inputs may become dead.
  void replace(Body& body, NodeProto& node, NodeProto with);
  void remove(Body& body, NodeProto& node);
  // Made by us, in the operator version that the caller named.
  [[nodiscard]] bool isNew(const NodeProto& node) const { return new_.contains(&node); }
  // Clears the shapes that the bodies record for their values, which are hints; types stay.
  void forgetShapes();
  void importDomain(const std::string& domain, int version);
  // All bodies that exist by now, outer ones first.
  [[nodiscard]] const std::vector<std::unique_ptr<Body>>& bodies() const { return bodies_; }

  // The edited model, in two steps: with finishNodes() every node is in its place and dead ones are gone, with finish()
  // functions are merged as well. The object is spent.
  void finishNodes();
  [[nodiscard]] std::shared_ptr<const ModelProto> finish();
  [[nodiscard]] std::shared_ptr<const Weights> takeWeights() { return std::move(weights_); }

 private:
  using CallsByFunction = std::map<int, std::vector<Body*>>;  // by index in functions(): calls with a body of their own
  [[nodiscard]] Opsets opsetsAt(const Body& body) const;
  Body& addBody(Body* outer, NodeProto* owner, GraphProto* graph);
  void lost(Body& body, const NodeProto& node);
  void add(Body& body, NewNodes& list, std::vector<NodeProto> added);
  void placeNewNodes(Body& body);
  void removeDead();
  void mergeFunctions();
  bool findChangedCalls(::google::protobuf::RepeatedPtrField<NodeProto>& nodes, CallsByFunction& changed,
                        std::set<int>& originals);
  void keepOriginal(int function, std::set<int>& originals) const;
  [[nodiscard]] std::vector<int> callees(int function) const;
  void calleesFirst(int function, std::vector<int>& order) const;
  void nameVariants(int function, const std::vector<Body*>& calls, bool originalStays);
  [[nodiscard]] FunctionProto functionIn(const Body& call) const;  // as it is by now
  [[nodiscard]] int functionOf(const NodeProto& node) const;       // -1: not a call

  std::shared_ptr<ModelProto> proto_;
  std::shared_ptr<Weights> weights_;
  std::vector<std::unique_ptr<Body>> bodies_;
  Body* main_ = nullptr;
  std::map<std::pair<const NodeProto*, std::string>, Body*> inner_;  // by owner and attribute; "" for a call
  mutable std::map<int, bool> asModel_;             // by function: its operators are the same in the model's version
  std::unordered_map<std::string, int> functions_;  // by key
  std::unordered_set<const NodeProto*> new_;
  std::vector<std::pair<Body*, std::string>> lost_;  // names that lost a reader
  NewNodes buried_;                                  // removed nodes: their addresses stay taken
};

}  // namespace normlens::formats::onnx
