
#include <onnx/common/constants.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/printable.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/tensors/tensor_data.h"

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::AttributeProto;
using ::ONNX_NAMESPACE::FunctionProto;

// Bodies in bodies; protobuf itself gives up at about 33.
constexpr int kMaxDepth = 32;
constexpr int kMaxCallDepth = 48;
constexpr uint64_t kMostInlinedNodes = 250'000;
constexpr const char* kExportAgain = "export the model again";

tl::unexpected<Error> wrong(std::string message, ErrorCode code = ErrorCode::Unreadable,
                            std::string hint = kExportAgain) {
  return fail(code, std::move(message), std::move(hint));
}

std::string describe(const NodeProto& node) {
  return "node " + (node.name().empty() ? printable(node.op_type())
                                        : quotedName(node.name()) + " (" + printable(node.op_type()) + ")");
}

std::string plainDomain(const std::string& domain) { return isStandardDomain(domain) ? std::string() : domain; }

const std::string* repeatedAttribute(const NodeProto& node) {
  std::set<std::string_view> seen;
  for (const AttributeProto& attribute : node.attribute()) {
    if (!seen.insert(attribute.name()).second) return &attribute.name();
  }
  return nullptr;
}

// Names that a graph may read: its own and those of the graphs around it.
class Names {
 public:
  explicit Names(const Names* outer) : outer_(outer) {}
  void reserve(size_t count) { own_.reserve(count); }
  bool add(const std::string& name) {
    if (name.find('\0') != std::string::npos) cut_ = &name;
    return own_.insert(name).second;
  }
  // Returns a name that has a NUL in it, at which runtimes end a name; null: there is none.
  [[nodiscard]] const std::string* cut() const { return cut_; }
  [[nodiscard]] bool has(const std::string& name) const {
    for (const Names* at = this; at != nullptr; at = at->outer_) {
      if (at->own_.contains(name)) return true;
    }
    return false;
  }

 private:
  const Names* outer_;
  std::unordered_set<std::string_view> own_;  // into the model
  const std::string* cut_ = nullptr;
};

class Checker {
 public:
  explicit Checker(const ModelProto& model) : model_(model) {}

  Status run() {
    RETURN_IF_ERROR(versions());
    if (!model_.has_graph() || (model_.graph().node_size() == 0 && model_.graph().output_size() == 0))
      return wrong("has no graph");
    if (model_.graph().output_size() == 0) return wrong("its graph has no outputs");
    RETURN_IF_ERROR(functions());
    return graph(model_.graph(), nullptr, 0);
  }

 private:
  Status versions() {
    if (model_.has_graph() && model_.opset_import_size() == 0)
      return wrong("has no opset_import: its operators have no version");
    if (model_.ir_version() > ::ONNX_NAMESPACE::Version::IR_VERSION)
      return wrong("has IR version " + std::to_string(model_.ir_version()) + ", which is newer than NormLens knows (" +
                       std::to_string(static_cast<int>(::ONNX_NAMESPACE::Version::IR_VERSION)) + ")",
                   ErrorCode::Unsupported, "export it for an older version of ONNX");
    const auto& known = ::ONNX_NAMESPACE::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
    for (const auto& import : model_.opset_import()) {
      if (!isStandardDomain(import.domain())) {
        domains_.insert(import.domain());
        continue;
      }
      const int newest = known.at("").second;
      domains_.insert("");
      if (import.version() < 1)
        return wrong("imports opset " + std::to_string(import.version()) + ", which does not exist");
      if (import.version() > newest)
        return wrong("uses opset " + std::to_string(import.version()) + ", which is newer than NormLens knows (" +
                         std::to_string(newest) + ")",
                     ErrorCode::Unsupported, "export it with an older opset");
    }
    return {};
  }

  Status functions() {
    for (const FunctionProto& function : model_.functions()) {
      if (!functions_.emplace(functionKey(function), functions_.size()).second)
        return wrong("defines function " + quotedName(function.name()) + " twice");
      domains_.insert(plainDomain(function.domain()));
    }
    for (const FunctionProto& function : model_.functions()) {
      const std::string what = "function " + quotedName(function.name()) + ": ";
      Names names(nullptr);
      for (const std::string& input : function.input()) {
        if (!names.add(input)) return wrong(what + "its input " + quotedName(input) + " is named twice");
      }
      Status ok = inside(function, names);
      if (ok) ok = whole(names);
      if (!ok) return wrong(what + ok.error().message, ok.error().code);
      for (const std::string& output : function.output()) {
        if (!names.has(output))
          return wrong(what + "its output " + quotedName(output) + " is not produced by any node");
      }
    }
    return functionCalls();
  }

  // Counts nodes and holds the functions that they call, by their number in the model.
  struct Calls {
    uint64_t nodes = 0;
    std::vector<size_t> functions;
  };

  template <class Nodes>
  [[nodiscard]] Calls callsOf(const Nodes& list) const {
    Calls calls;
    eachNode(list, [&](const NodeProto& node) {
      ++calls.nodes;
      if (const auto called = functions_.find(functionKey(node)); called != functions_.end())
        calls.functions.push_back(called->second);
    });
    return calls;
  }

  // Inference and runtimes write out every call, and each level can call the next one many times. Here the counts grow
  // by one level in each round; those of functions that call themselves without end.
  [[nodiscard]] Status functionCalls() const {
    if (functions_.empty()) return {};
    std::vector<Calls> callers;
    for (const FunctionProto& function : model_.functions()) callers.push_back(callsOf(function.node()));
    callers.push_back(callsOf(model_.graph().node()));
    callers.back().nodes = 0;  // its own are not written out anew
    std::vector<uint64_t> all, before(callers.size(), 0);
    for (int level = 0; all != before; ++level) {
      if (level > kMaxCallDepth)
        return wrong("has functions that call themselves, or one another more than " + std::to_string(kMaxCallDepth) +
                     " deep");
      if (level > 0) before = std::move(all);
      all.clear();
      for (const Calls& caller : callers) {
        all.push_back(caller.nodes);
        for (const size_t called : caller.functions)
          all.back() = std::min(all.back() + before[called], kMostInlinedNodes + 1);
      }
    }
    if (std::ranges::max(all) > kMostInlinedNodes)
      return wrong("calls functions that come to more than " + std::to_string(kMostInlinedNodes) +
                       " nodes once they are written out",
                   ErrorCode::Unsupported);
    return {};
  }

  Status inside(const FunctionProto& function, Names& names) {
    const std::set<std::string> ofModel = domains_;
    for (const auto& import : function.opset_import()) domains_.insert(plainDomain(import.domain()));
    Status ok = nodes(function.node(), names, 0);
    for (const AttributeProto& given : function.attribute_proto()) {
      const auto what = [&] { return "a tensor of attribute " + quotedName(given.name()); };
      if (ok) ok = attribute(given, what, names, 0);
    }
    domains_ = ofModel;
    return ok;
  }

  Status graph(const GraphProto& graph, const Names* outer, int depth) {
    if (depth > kMaxDepth)
      return wrong("nests graphs more than " + std::to_string(kMaxDepth) + " deep", ErrorCode::Unsupported);
    Names names(outer);
    size_t expected = 0;
    for (const int count : {graph.node_size(), graph.initializer_size(), graph.input_size()}) {
      expected += static_cast<size_t>(count);
    }
    names.reserve(expected);
    std::unordered_set<std::string_view> inputs;
    for (const auto& input : graph.input()) {
      if (!inputs.insert(input.name()).second) return wrong("input " + quotedName(input.name()) + " is defined twice");
      names.add(input.name());
    }
    RETURN_IF_ERROR(initializers(graph, inputs, outer, names));
    RETURN_IF_ERROR(nodes(graph.node(), names, depth));
    for (const auto& output : graph.output()) {
      if (!names.has(output.name()))
        return wrong("output " + quotedName(output.name()) + " is not produced by any node");
    }
    return whole(names);
  }

  static Status whole(const Names& names) {
    return names.cut() == nullptr ? Status() : wrong("has a NUL byte in the name " + quotedName(*names.cut()));
  }

  static Status initializers(const GraphProto& graph, const std::unordered_set<std::string_view>& inputs,
                             const Names* outer, Names& names) {
    std::unordered_set<std::string_view> seen;
    const auto add = [&](const std::string& name) -> Status {
      if (name.empty()) return wrong("has an initializer without a name");
      if (!seen.insert(name).second) return wrong("initializer " + quotedName(name) + " is defined twice");
      // ONNX wants names of one file apart (IR, "Names Within a Graph"); ONNX Runtime reads the outer one.
      if (outer != nullptr && outer->has(name))
        return wrong("initializer " + quotedName(name) + " of a body has the name of a value around it");
      if (!inputs.contains(name)) names.add(name);
      return {};
    };
    for (const TensorProto& tensor : graph.initializer()) {
      RETURN_IF_ERROR(add(tensor.name()));
      if (auto ok = checkTensor(tensor); !ok)
        return wrong("initializer " + quotedName(tensor.name()) + " " + ok.error().message);
    }
    for (const auto& sparse : graph.sparse_initializer()) {
      RETURN_IF_ERROR(add(sparse.values().name()));
      RETURN_IF_ERROR(checkSparse(sparse, "sparse initializer " + quotedName(sparse.values().name())));
    }
    return {};
  }

  static Status checkSparse(const ::ONNX_NAMESPACE::SparseTensorProto& sparse, const std::string& what) {
    for (const TensorProto* part : {&sparse.values(), &sparse.indices()}) {
      if (auto ok = checkTensor(*part); !ok) return wrong(what + " " + ok.error().message);
    }
    const graph::Shape dims(sparse.dims().begin(), sparse.dims().end());
    if (sparse.dims_size() > kMostAxes || !graph::elementCount(dims) || isAbsurd(dims))
      return wrong(what + " has absurd dimensions");
    return {};
  }

  template <class Nodes>
  Status nodes(const Nodes& list, Names& names, int depth) {
    for (const NodeProto& node : list) {
      if (node.op_type().empty()) return wrong("has a node without an operator");
      const std::string domain = plainDomain(node.domain());
      if (!domains_.contains(domain) && !isRuntimeDomain(domain))
        return wrong(describe(node) + " is of domain " + quotedName(domain.empty() ? "ai.onnx" : domain) +
                     ", which the model does not import");
      for (const std::string& input : node.input()) {
        if (!input.empty() && !names.has(input)) return missing(list, node, input);
      }
      RETURN_IF_ERROR(attributes(node, names, depth));
      for (const std::string& output : node.output()) {
        if (!output.empty() && !names.add(output))
          return wrong(quotedName(output) + " is produced twice; the second time by " + describe(node));
      }
    }
    return {};
  }

  // The nodes up to this one do not make the value: a later one does, or none.
  template <class Nodes>
  static Status missing(const Nodes& list, const NodeProto& reader, const std::string& input) {
    const bool later = std::ranges::any_of(
        list, [&](const NodeProto& node) { return std::ranges::find(node.output(), input) != node.output().end(); });
    if (later)
      return wrong(describe(reader) + " reads " + quotedName(input) + " before it is made: the graph has a cycle");
    return wrong(describe(reader) + " reads " + quotedName(input) +
                 ", which is not an input, initializer or node output");
  }

  Status attributes(const NodeProto& node, const Names& names, int depth) {
    const auto what = [&] { return "a tensor of " + describe(node); };
    if (const auto* twice = repeatedAttribute(node))
      return wrong(describe(node) + " has attribute " + quotedName(*twice) + " twice");
    for (const AttributeProto& given : node.attribute()) {
      RETURN_IF_ERROR(attribute(given, what, names, depth));
    }
    return {};
  }

  // what: a tensor of it, for the message.
  template <class What>
  Status attribute(const AttributeProto& attribute, const What& what, const Names& names, int depth) {
    if (attribute.has_t()) {
      if (auto ok = checkTensor(attribute.t()); !ok) return wrong(what() + " " + ok.error().message);
    }
    for (const TensorProto& tensor : attribute.tensors()) {
      if (auto ok = checkTensor(tensor); !ok) return wrong(what() + " " + ok.error().message);
    }
    if (attribute.has_sparse_tensor()) {
      RETURN_IF_ERROR(checkSparse(attribute.sparse_tensor(), what()));
    }
    if (attribute.graphs_size() > 0)
      return wrong("has a list of graphs as an attribute, which no operator takes", ErrorCode::Unsupported);
    return attribute.has_g() ? graph(attribute.g(), &names, depth + 1) : Status();
  }

  const ModelProto& model_;
  std::set<std::string> domains_;
  std::map<std::string, size_t> functions_;  // by key: their number
};

}  // namespace

Status checkModel(const ModelProto& model) { return Checker(model).run(); }

}  // namespace normlens::formats::onnx
