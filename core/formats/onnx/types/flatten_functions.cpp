#include "core/formats/onnx/types/flatten_functions.h"

#include <onnx/defs/attr_proto_util.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/source/operators.h"

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::AttributeProto;
using ::ONNX_NAMESPACE::FunctionProto;
using ::ONNX_NAMESPACE::OpSchema;
using ::ONNX_NAMESPACE::OpSchemaRegistry;
using Nodes = ::google::protobuf::RepeatedPtrField<NodeProto>;

constexpr int kDeepestNesting = 200;
constexpr int64_t kMostNodes = 2'000'000;  // functions that call functions can unfold to anything

struct Named {
  std::string name;  // in the flat model
  std::string path;
  std::vector<std::string> aliases;  // paths under the names that functions give it as their output
};

// Names of one graph or function body and, through `outer`, of those around it.
struct Scope {
  const Scope* outer = nullptr;
  std::string prefix;    // Begins each path.
  bool renames = false;  // inside a function: values are called by their path
  bool sealed = false;   // a function's body: nothing outside is seen
  const std::unordered_map<std::string, const AttributeProto*>* given = nullptr;  // attributes of the call
  const Opsets* opsets = nullptr;
  std::unordered_map<std::string, Named> names;

  [[nodiscard]] const Named* find(const std::string& name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->sealed ? nullptr : scope->outer) {
      if (const auto found = scope->names.find(name); found != scope->names.end()) return &found->second;
    }
    return nullptr;
  }
  [[nodiscard]] std::string nameOf(const std::string& name) const {
    if (name.empty()) return name;
    const Named* found = find(name);
    return found ? found->name : name;
  }
  const Named& define(const std::string& name) {
    const auto [place, fresh] = names.try_emplace(name);
    if (fresh) {
      place->second.path = prefix + name;
      place->second.name = renames ? place->second.path : name;
    }
    return place->second;
  }
};

// Before this version some operators broadcast otherwise, and look the same.
constexpr int64_t kBroadcastsAsNow = 7;

// A newer definition of an operator takes more types, or numbers that an older one did not, and computes the same.
bool computesTheSame(const OpSchema* older, const OpSchema* newer) {
  if (older == nullptr || newer == nullptr || newer->Deprecated()) return older == newer;
  // Their new attributes have defaults by which they compute the same as before.
  static constexpr std::array kExtended = {"Constant", "Cast", "CastLike", "QuantizeLinear"};
  if (std::ranges::find(kExtended, older->Name()) != kExtended.end()) return true;
  const auto sameFormals = [](const auto& a, const auto& b) {
    return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
      return x.GetName() == y.GetName() && x.GetOption() == y.GetOption();
    });
  };
  const auto sameAttribute = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.type == b.second.type && a.second.required == b.second.required &&
           a.second.default_value.SerializeAsString() == b.second.default_value.SerializeAsString();
  };
  return sameFormals(older->inputs(), newer->inputs()) && sameFormals(older->outputs(), newer->outputs()) &&
         std::ranges::is_permutation(older->attributes(), newer->attributes(), sameAttribute);
}

class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Flattener {
 public:
  Flattener(ModelProto& model, const TapFilter& filter, std::vector<TapSite>& sites)
      : model_(model), filter_(filter), sites_(sites), versions_(opsetsOf(model.opset_import())) {
    for (const FunctionProto& function : model.functions()) {
      functions_[functionKey(function)] = &function;
    }
  }

  void flatten(const std::string& prefix) {
    const Opsets opsets = versions_;
    Scope scope;
    scope.prefix = prefix;
    scope.opsets = &opsets;
    flattenGraph(*model_.mutable_graph(), scope, 0);
    if (!functions_.empty()) model_.mutable_graph()->clear_value_info();  // may speak of what a rename took away
    model_.clear_functions();
  }

 private:
  void flattenGraph(GraphProto& graph, Scope& scope, int depth) {
    if (depth > kDeepestNesting) throw Refused("its bodies are nested too deeply");
    defineOwnNames(graph, scope);
    Nodes nodes;
    nodes.Swap(graph.mutable_node());
    tapInputs(graph, scope);
    for (int i = 0; i < nodes.size(); ++i) emit(*nodes.Mutable(i), i, scope, *graph.mutable_node(), depth);
    if (!scope.renames) return;
    for (auto& output : *graph.mutable_output()) output.set_name(scope.nameOf(output.name()));
    graph.clear_value_info();
  }

  static void defineOwnNames(GraphProto& graph, Scope& scope) {
    for (auto& input : *graph.mutable_input()) input.set_name(scope.define(input.name()).name);
    for (auto& tensor : *graph.mutable_initializer()) tensor.set_name(scope.define(tensor.name()).name);
    for (auto& tensor : *graph.mutable_sparse_initializer()) {
      tensor.mutable_values()->set_name(scope.define(tensor.values().name()).name);
    }
    // A body is in order, so a name is defined before it is read; an outer value of the same name does not exist.
    for (const auto& node : graph.node()) {
      for (const auto& output : node.output()) {
        if (!output.empty()) scope.define(output);
      }
    }
  }

  void emit(NodeProto& node, int index, Scope& scope, Nodes& out, int depth) {
    if (++nodes_ > kMostNodes) throw Refused("its functions unfold to more than two million nodes");
    if (scope.given) giveAttributes(node, *scope.given);
    const auto function = functions_.find(functionKey(node));
    if (function != functions_.end() && !isRuntimeOp(node, *scope.opsets))
      return writeOut(node, *function->second, index, scope, out, depth);
    for (auto& input : *node.mutable_input()) input = scope.nameOf(input);
    const std::string op = node.op_type() + (node.name().empty() ? "" : " '" + node.name() + "'");
    std::vector<std::pair<Named, std::string>> made;
    for (auto& output : *node.mutable_output()) {
      if (output.empty()) continue;
      const Named named = scope.define(output);
      output = named.name;
      made.emplace_back(named, op);
    }
    if (scope.renames && !node.name().empty()) node.set_name(scope.prefix + node.name());
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) flattenBody(*attribute.mutable_g(), attribute.name(), index, scope, depth);
    }
    out.Add(std::move(node));
    for (const auto& [named, maker] : made) addTap(named, maker, out);
  }

  void flattenBody(GraphProto& body, const std::string& attribute, int index, const Scope& outer, int depth) {
    Scope scope;
    scope.outer = &outer;
    scope.prefix = outer.prefix + std::to_string(index) + "/" + attribute + "/";
    scope.renames = outer.renames;
    scope.given = outer.given;
    scope.opsets = outer.opsets;
    flattenGraph(body, scope, depth + 1);
  }

  // References to the attributes of the call; one that the call does not have is left out.
  static void giveAttributes(NodeProto& node, const std::unordered_map<std::string, const AttributeProto*>& given) {
    ::google::protobuf::RepeatedPtrField<AttributeProto> kept;
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.ref_attr_name().empty()) {
        kept.Add(std::move(attribute));
        continue;
      }
      const auto found = given.find(attribute.ref_attr_name());
      if (found == given.end()) continue;
      AttributeProto copy = *found->second;
      copy.set_name(attribute.name());
      kept.Add(std::move(copy));
    }
    kept.Swap(node.mutable_attribute());
  }

  void writeOut(const NodeProto& call, const FunctionProto& function, int index, Scope& outer, Nodes& out, int depth) {
    if (depth > kDeepestNesting) throw Refused("its functions call each other without end");
    const Opsets opsets = opsetsOf(function.opset_import());
    checkVersions(function, opsets);
    std::unordered_map<std::string, const AttributeProto*> given;
    for (const auto& attribute : function.attribute_proto()) given[attribute.name()] = &attribute;
    for (const auto& attribute : call.attribute()) given[attribute.name()] = &attribute;

    Scope scope;
    scope.sealed = scope.renames = true;
    scope.prefix = outer.prefix + std::to_string(index) + "//";
    scope.given = &given;
    scope.opsets = &opsets;
    for (int i = 0; i < function.input_size(); ++i) {
      const std::string actual = i < call.input_size() ? call.input(i) : std::string();
      const Named* named = outer.find(actual);
      scope.names[function.input(i)] = actual.empty() ? Named{} : named ? *named : Named{actual, actual, {}};
    }
    std::vector<std::pair<std::string, Named>> passedThrough;
    for (int i = 0; i < function.output_size() && i < call.output_size(); ++i) {
      if (call.output(i).empty()) continue;
      Named actual = outer.define(call.output(i));
      actual.aliases.push_back(scope.prefix + function.output(i));
      const auto [place, fresh] = scope.names.try_emplace(function.output(i), actual);
      if (!fresh) passedThrough.emplace_back(place->second.name, actual);
    }
    for (int i = 0; i < function.node_size(); ++i) {
      NodeProto node = function.node(i);
      emit(node, i, scope, out, depth + 1);
    }
    // An input, or an output twice, handed on as it is.
    for (const auto& [from, to] : passedThrough) {
      NodeProto identity;
      identity.set_op_type("Identity");
      identity.add_input(from);
      identity.add_output(to.name);
      out.Add(std::move(identity));
      addTap(to, "Identity", out);
    }
  }

  // A function body keeps its meaning where each operator is the same in the model's versions.
  void checkVersions(const FunctionProto& function, const Opsets& own) {
    for (const auto& [domain, version] : own) {
      const auto found = versions_.find(domain);
      if (found == versions_.end()) {
        versions_[domain] = version;
        auto* import = model_.add_opset_import();
        import->set_domain(domain);
        import->set_version(version);
      } else if (found->second != version) {
        checkSame(function, domain, static_cast<int>(version), static_cast<int>(found->second));
      }
    }
  }

  static void checkSame(const FunctionProto& function, const std::string& domain, int a, int b) {
    eachNode(function.node(), [&](const NodeProto& node) {
      if ((isStandardDomain(node.domain()) ? std::string() : node.domain()) != domain) return;
      const auto* inA = OpSchemaRegistry::Schema(node.op_type(), a, domain);
      const auto* inB = OpSchemaRegistry::Schema(node.op_type(), b, domain);
      if (inA == inB || (kBroadcastsAsNow <= a && a < b && computesTheSame(inA, inB))) return;
      throw Refused("its function '" + function.name() + "' is written for opset " + std::to_string(a) +
                    ", the model for " + std::to_string(b) + ", and " + node.op_type() + " differs between them");
    });
  }

  void tapInputs(GraphProto& graph, const Scope& scope) {
    for (const auto& input : graph.input()) {
      const bool other = input.has_type() && !input.type().has_tensor_type() &&
                         input.type().value_case() != ::ONNX_NAMESPACE::TypeProto::VALUE_NOT_SET;
      const std::string path = scope.renames ? input.name() : scope.prefix + input.name();
      if (!other) addTap({input.name(), path, {}}, "", *graph.mutable_node());
    }
  }

  void addTap(const Named& named, const std::string& op, Nodes& out) {
    if (!filter_ || !(filter_(named.path) || std::ranges::any_of(named.aliases, filter_))) return;
    NodeProto& tap = *out.Add();
    tap.set_op_type(kTapOp);
    tap.set_domain(kTapDomain);
    tap.add_input(named.name);
    tap.add_output("normlens.tap/" + std::to_string(sites_.size()));
    *tap.add_attribute() = ::ONNX_NAMESPACE::MakeAttribute(kTapIndex, static_cast<int64_t>(sites_.size()));
    sites_.push_back({named.path, named.aliases, op, false});
  }

  ModelProto& model_;
  const TapFilter& filter_;
  std::vector<TapSite>& sites_;
  Opsets versions_;
  std::unordered_map<std::string, const FunctionProto*> functions_;
  int64_t nodes_ = 0;
};

}  // namespace

Status flattenFunctions(ModelProto& model, const TapFilter& filter, std::vector<TapSite>& sites,
                        const std::string& prefix) {
  try {
    Flattener(model, filter, sites).flatten(prefix);
    return {};
  } catch (const Refused& refused) {
    return fail(ErrorCode::Unsupported, refused.what());
  }
}

}  // namespace normlens::formats::onnx
