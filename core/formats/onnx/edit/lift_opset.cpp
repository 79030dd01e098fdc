#include "core/formats/onnx/edit/lift_opset.h"

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include "core/formats/onnx/edit/node_maker.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/tensors/tensor_data.h"
#include "core/formats/onnx/types/guarded_schemas.h"
#include "core/formats/onnx/types/retype.h"

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::OpSchema;
using ::ONNX_NAMESPACE::OpSchemaRegistry;
using Form = OpsetLift::Form;

constexpr int kOldestLiftable = 7;      // broadcasting as it is now
constexpr int kOldestControlFlow = 11;  // of If, Loop and Scan
constexpr int kSmallIrVersion = 4;      // before it, initializers are inputs
// Returns the IR version of a file of this opset, by onnx's table of versions.
constexpr int irVersionOf(int opset) { return opset >= 23 ? 11 : opset >= 21 ? 10 : opset >= 19 ? 9 : 8; }

// Defined anew in opset 22, for bfloat16 alone; ONNX Runtime 1.31 runs their older definitions only.
constexpr int kNotRunVersion = 22;
constexpr std::array<std::string_view, 9> kNotRun = {"Bernoulli",     "GlobalLpPool",      "MaxRoiPool",
                                                     "Multinomial",   "RandomNormal",      "RandomNormalLike",
                                                     "RandomUniform", "RandomUniformLike", "RoiAlign"};

// Domains whose operators do not depend on the version of the standard ones.
bool isKnown(const std::string& domain) {
  return isStandardDomain(domain) || domain == "ai.onnx.ml" || domain == "com.microsoft" ||
         domain == "com.microsoft.nchwc";
}

bool isControlFlow(const NodeProto& node) {
  return node.op_type() == "If" || node.op_type() == "Loop" || node.op_type() == "Scan";
}

std::string inputName(int i) { return "i" + std::to_string(i); }
std::string outputName(int i) { return "o" + std::to_string(i); }

constexpr int kNumbersAsInputs = 11;  // of Clip and Pad
constexpr int kCoordinateModes = 11;  // of Resize: before, there was one, which is no longer the usual one
constexpr int kBooleanMask = 10;      // of Dropout
constexpr int kScaleByChannel = 21;   // GroupNormalization has a scale for each channel, not for each group
constexpr int kOneAxis = 13;          // of Hardmax: before, it worked on all axes from `axis` on

bool worksOnLastAxis(const NodeProto& node, const graph::Value* x) {
  const auto* axis = findAttribute(node, "axis");
  const int64_t at = axis == nullptr ? 1 : axis->i();
  return at == -1 || (x != nullptr && x->shape && at + 1 == static_cast<int64_t>(x->shape->size()));
}

// Returns why a standard node cannot be lifted past opset 13: onnx's version converter would give it a form that
// computes something else, or none at all, without an error. Empty: nothing is known against it. since: the version
// that its operator was defined in. x: its first input; null: nothing is known of it.
std::string liftObstacle(const NodeProto& node, int since, const graph::Value* x) {
  const std::string& op = node.op_type();
  const std::string old = op + " of opset " + std::to_string(since);
  if (op == "Upsample" || (op == "Resize" && since < kCoordinateModes))
    return old + " takes its elements from other places there";
  if (op == "Hardmax" && since < kOneAxis && !worksOnLastAxis(node, x)) return old + " works on several axes at once";
  if (op == "Dropout" && since < kBooleanMask && node.output_size() > 1 && !node.output(1).empty())
    return old + " gives a mask of another type";
  if (op == "GroupNormalization" && since < kScaleByChannel) return old + " has one scale for each group";
  const bool typed = x != nullptr && x->dtype != graph::DType::Unknown;
  if ((op == "Clip" || op == "Pad") && since < kNumbersAsInputs && !typed)
    return "the type that " + old + " computes in is not known";
  return {};
}

struct LiftFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class LiftPlanner {
 public:
  LiftPlanner(EditableModel& model, const Lowered& lowered, int target)
      : model_(model), source_(model.opset(model.main())), target_(target) {
    const auto& values = lowered.graph.values;
    for (size_t v = 0; v < values.size(); ++v) types_.emplace(lowered.valuePath[v], &values[v]);
    lift_.target = target;
  }

  OpsetLift run() {
    if (model_.hasFunctions()) throw LiftFailed("it has local functions");
    if (source_ != 0 && source_ < kOldestLiftable)
      throw LiftFailed("its opset " + std::to_string(source_) + " is too old");
    if (model_.proto().ir_version() < kSmallIrVersion) throw LiftFailed("its file format is too old");
    visit(model_.proto().graph(), {nullptr, ""});
    return std::move(lift_);
  }

 private:
  // A graph and those around it, by what Lowered::valuePath puts before the names of their values.
  struct Around {
    const Around* outer = nullptr;
    std::string prefix;
  };

  void visit(const GraphProto& graph, const Around& here) {
    for (int i = 0; i < graph.node_size(); ++i) {
      const NodeProto& node = graph.node(i);
      if (!isKnown(node.domain())) throw LiftFailed("it uses operators of the domain " + node.domain());
      eachBody(node, [&](const GraphProto& body, const std::string& name) {
        visit(body, {&here, here.prefix + std::to_string(i) + "/" + name + "/"});
      });
      if (isStandardDomain(node.domain())) consider(node, here);
    }
  }

  void consider(const NodeProto& node, const Around& here) {
    const OpSchema* before = source_ == 0 ? nullptr : schemaAt(node.op_type(), source_);
    if (before == nullptr) return;  // not ONNX's own: a runtime's operator in the standard domain
    const OpSchema* after = schemaAt(node.op_type(), target_);
    if (after != nullptr && after->since_version() == before->since_version()) return;
    if (after != nullptr && after->since_version() >= kNotRunVersion &&
        std::ranges::find(kNotRun, node.op_type()) != kNotRun.end())
      throw LiftFailed("ONNX Runtime does not run " + node.op_type() + " of opset " +
                       std::to_string(after->since_version()));
    // A Constant, and those with bodies from then on, have only been given more types.
    if (node.op_type() == "Constant") return;
    if (isControlFlow(node) && before->since_version() >= kOldestControlFlow) return;
    const auto* x = node.input_size() == 0 ? nullptr : typeOf(node.input(0), here);
    if (const auto obstacle = liftObstacle(node, before->since_version(), x); !obstacle.empty())
      throw LiftFailed(obstacle);
    if (auto form = converted(node, here)) lift_.forms.emplace(&node, std::move(form));
  }

  const OpSchema* schemaAt(const std::string& op, int version) {
    auto [known, added] = schemas_.try_emplace({op, version}, nullptr);
    if (added) known->second = OpSchemaRegistry::Schema(op, version, "");
    return known->second;
  }

  // Null: the node stays as it is.
  std::shared_ptr<const Form> converted(const NodeProto& node, const Around& here) {
    const ModelProto mini = modelOf(node, here);
    auto [known, added] = cache_.try_emplace(mini.SerializeAsString());
    if (!added) return known->second;
    try {
      known->second = changedForm(mini);
    } catch (const std::exception& error) {
      throw LiftFailed(node.op_type() + " has no form there that the onnx library knows: " + error.what());
    }
    return known->second;
  }

  // A model of this node alone.
  ModelProto modelOf(const NodeProto& node, const Around& here) {
    ModelProto out;
    out.set_ir_version(8);
    auto* import = out.add_opset_import();
    import->set_domain("");
    import->set_version(source_);
    auto& graph = *out.mutable_graph();
    graph.set_name("node");
    NodeProto& copy = *graph.add_node();
    copy.set_op_type(node.op_type());
    copy.set_name("node");
    if (holdsBody(node)) throw LiftFailed(node.op_type() + " has a body");
    *copy.mutable_attribute() = node.attribute();
    for (auto& attribute : *copy.mutable_attribute()) attribute.clear_doc_string();
    for (int i = 0; i < node.input_size(); ++i) {
      copy.add_input(node.input(i).empty() ? "" : inputName(i));
      if (!node.input(i).empty()) describe(*graph.add_input(), inputName(i), typeOf(node.input(i), here));
    }
    for (int i = 0; i < node.output_size(); ++i) {
      copy.add_output(node.output(i).empty() ? "" : outputName(i));
      if (!node.output(i).empty()) describe(*graph.add_output(), outputName(i), typeOf(node.output(i), here));
    }
    return out;
  }

  // From the innermost body outwards.
  [[nodiscard]] const graph::Value* typeOf(const std::string& name, const Around& here) const {
    for (const Around* at = &here; at != nullptr; at = at->outer) {
      if (const auto found = types_.find(at->prefix + name); found != types_.end()) return found->second;
    }
    return nullptr;
  }

  // Sizes are left open: they may differ from call to call.
  static void describe(::ONNX_NAMESPACE::ValueInfoProto& info, const std::string& name, const graph::Value* value) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    const bool known = value != nullptr && value->dtype != graph::DType::Unknown;
    const auto type = known ? toOnnxType(value->dtype) : static_cast<int32_t>(TensorProto::FLOAT);
    tensor.set_elem_type(type == TensorProto::UNDEFINED ? static_cast<int32_t>(TensorProto::FLOAT) : type);
    if (value == nullptr || !value->shape) return;
    tensor.mutable_shape();
    for (size_t i = 0; i < value->shape->size(); ++i) {
      tensor.mutable_shape()->add_dim()->set_dim_param(name + "_" + std::to_string(i));
    }
  }

  std::shared_ptr<const Form> changedForm(const ModelProto& mini) {
    ModelProto result = converted(mini);
    retypeNumbers(result, mini);
    const auto& graph = result.graph();
    if (graph.node_size() == 1 && sameNode(graph.node(0), mini.graph().node(0))) return nullptr;
    auto form = std::make_shared<Form>();
    for (const auto& tensor : graph.initializer()) form->push_back(constantNode(tensor.name(), tensor));
    for (const auto& node : graph.node()) form->push_back(node);
    checkComplete(*form, mini.graph());
    return form;
  }

  // As the library's ConvertVersion, which makes a converter each time: that takes 10 ms, for it reads all schemas.
  ModelProto converted(ModelProto mini) {
    using ::ONNX_NAMESPACE::OpSetID;
    ::ONNX_NAMESPACE::shape_inference::InferShapes(mini, &guarded_);
    if (!converter_) converter_.emplace();
    return converter_->convert_version(mini, OpSetID(source_), OpSetID(target_));
  }

  // The library makes float32 tensors of what were attributes; these are of the type that the node computes in.
  static void retypeNumbers(ModelProto& lifted, const ModelProto& mini) {
    const auto& op = mini.graph().node(0).op_type();
    if ((op != "Clip" && op != "Pad") || mini.graph().input_size() == 0) return;
    const auto type = fromOnnxType(mini.graph().input(0).type().tensor_type().elem_type());
    if (graph::isFloat(type)) retypeModel(lifted, allFloatsTo(type));
  }

  static bool sameNode(const NodeProto& a, const NodeProto& b) {
    const auto same = [](const auto& x, const auto& y) { return std::equal(x.begin(), x.end(), y.begin(), y.end()); };
    const auto attributes = [](const NodeProto& node) {
      std::map<std::string, std::string> out;
      for (const auto& attribute : node.attribute()) {
        AttributeProto plain = attribute;
        if (plain.has_t()) plain.mutable_t()->clear_name();
        out.emplace(attribute.name(), plain.SerializeAsString());
      }
      return out;
    };
    return a.op_type() == b.op_type() && same(a.input(), b.input()) && same(a.output(), b.output()) &&
           attributes(a) == attributes(b);
  }

  // Every output is made, and nothing is read that neither the old node read nor the new ones make.
  static void checkComplete(const Form& form, const GraphProto& mini) {
    std::set<std::string> made;
    for (const auto& input : mini.input()) made.insert(input.name());
    for (const auto& node : form) {
      for (const auto& input : node.input()) {
        if (!input.empty() && !made.contains(input)) throw LiftFailed("the converter left an input open");
      }
      made.insert(node.output().begin(), node.output().end());
    }
    for (const auto& output : mini.output()) {
      if (!made.contains(output.name())) throw LiftFailed("the converter lost an output");
    }
  }

  EditableModel& model_;
  int source_;
  int target_;
  std::optional<::ONNX_NAMESPACE::version_conversion::DefaultVersionConverter> converter_;
  OpsetLift lift_;
  std::unordered_map<std::string, const graph::Value*> types_;
  std::map<std::pair<std::string, int>, const OpSchema*> schemas_;
  GuardedSchemas guarded_;
  std::unordered_map<std::string, std::shared_ptr<const Form>> cache_;
};

// The new nodes in the place of the old one, under its names.
Form placed(EditableModel& model, const NodeProto& old, const Form& form) {
  std::map<std::string, std::string> names;
  for (int i = 0; i < old.input_size(); ++i) names[inputName(i)] = old.input(i);
  for (int i = 0; i < old.output_size(); ++i) names[outputName(i)] = old.output(i);
  names[""] = "";
  const std::string base = old.name().empty() ? (old.output_size() > 0 ? old.output(0) : "lifted") : old.name();
  const auto named = [&](const std::string& local) {
    auto& name = names[local];
    if (name.empty() && !local.empty()) name = EditableModel::freshName(model.main(), base + "_" + local);
    return name;
  };
  Form out = form;
  bool principal = false;
  for (size_t i = out.size(); i-- > 0;) {
    NodeProto& node = out[i];
    for (auto& input : *node.mutable_input()) input = named(input);
    for (auto& output : *node.mutable_output()) output = named(output);
    node.set_domain(old.domain());
    *node.mutable_metadata_props() = old.metadata_props();
    if (!principal && node.op_type() != "Constant") {
      principal = true;
      node.set_name(old.name());
      if (old.has_doc_string()) node.set_doc_string(old.doc_string());
    } else {
      node.set_name(EditableModel::freshName(model.main(), base + "_" + node.op_type()));
    }
  }
  return out;
}

}  // namespace

Result<OpsetLift> OpsetLift::plan(EditableModel& model, const Lowered& lowered, int target) {
  try {
    return LiftPlanner(model, lowered, target).run();
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported,
                "the model cannot be lifted to opset " + std::to_string(target) + ": " + error.what());
  }
}

void OpsetLift::apply(EditableModel& model) const {
  const auto lift = [&](auto& self, GraphProto& graph) -> void {
    std::vector<NodeProto*> old(static_cast<size_t>(graph.node_size()));
    graph.mutable_node()->ExtractSubrange(0, graph.node_size(), old.data());
    for (NodeProto* node : old) {
      eachBody(*node, [&](GraphProto& body) { self(self, body); });
      const auto form = forms.find(node);
      if (form == forms.end() || model.isNew(*node)) {
        graph.mutable_node()->AddAllocated(node);
        continue;
      }
      const std::unique_ptr<NodeProto> replaced(node);
      for (auto& fresh : placed(model, *replaced, *form->second)) *graph.add_node() = std::move(fresh);
    }
  };
  ModelProto& proto = model.proto();
  lift(lift, *proto.mutable_graph());
  bool found = false;
  for (auto& import : *proto.mutable_opset_import()) {
    if (!isStandardDomain(import.domain())) continue;
    import.set_version(target);
    found = true;
  }
  if (!found) model.importDomain("", target);
  proto.set_ir_version(std::max<int64_t>(proto.ir_version(), irVersionOf(target)));
}

}  // namespace normlens::formats::onnx
