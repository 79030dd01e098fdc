#include "core/formats/torchscript/edit/norms/fusable_norms.h"

#include <algorithm>

#include "core/graph/queries.h"

namespace normlens::formats::torchscript {
namespace {

using graph::kNoValue;
using graph::ValueId;

struct NormInputs {
  size_t gamma = 0;
  std::optional<size_t> beta;
};

// As decomposed programs have LayerNorm; its mean and deviation are not read.
bool isNativeNormAlone(const torch::jit::Node& node) {
  const auto outputs = node.outputs();
  return node.kind() == c10::aten::native_layer_norm &&
         std::none_of(outputs.begin() + 1, outputs.end(), [](const auto* output) { return output->hasUses(); });
}

// nullopt: it is no norm that can be fused.
std::optional<NormInputs> normInputs(const torch::jit::Node& node) {
  const std::string_view op = node.kind().toQualString();
  if (op == "aten::layer_norm" || isNativeNormAlone(node)) return NormInputs{.gamma = 2, .beta = 3};
  if (op == "aten::rms_norm") return NormInputs{.gamma = 2, .beta = std::nullopt};
  if (op == "normlens::layer_norm" || op == "normlens::rms_norm") return NormInputs{.gamma = 1, .beta = 2};
  return std::nullopt;
}

// Every norm that is written out takes a root.
bool isOfNorm(const torch::jit::Node& node) {
  return normInputs(node) || node.kind() == c10::aten::sqrt || node.kind() == c10::aten::rsqrt;
}

bool isGiven(const graph::Node& norm, size_t operand) {
  return operand < norm.operands.size() && norm.operands[operand] != kNoValue;
}

bool hasConstantsOfItsType(const graph::Graph& graph, const graph::Node& norm) {
  const auto type = graph.value(norm.operands[0]).dtype;
  return type != graph::DType::Unknown &&
         std::all_of(norm.operands.begin() + 1, norm.operands.end(),
                     [&](ValueId operand) { return operand == kNoValue || graph.value(operand).dtype == type; });
}

const TensorSite* siteOf(const Program& program, int value) {
  const ProgramValue& known = program.value(value);
  if (known.constant == kNone) return nullptr;
  return &program.constants[static_cast<size_t>(known.constant)].sites.at(static_cast<size_t>(known.site));
}

// Names of the attributes on the way from a module to one inside it, as far as paths show; checked on the way.
std::optional<std::vector<std::string>> namesTo(const Frame& from, const TensorSite& site) {
  const std::string prefix = from.path.empty() ? "" : from.path + ".";
  if (!from.self || !site.path.starts_with(prefix)) return std::nullopt;
  std::vector<std::string> names;
  c10::IValue at = from.self;
  for (size_t start = prefix.size(); at.isObject() && at.toObject() != site.owner;) {
    const size_t dot = std::min(site.path.find('.', start), site.path.size());
    names.push_back(site.path.substr(start, dot - start));
    if (!at.toObjectRef().type()->hasAttribute(names.back())) return std::nullopt;
    at = at.toObject()->getAttr(names.back());
    start = dot + 1;
  }
  if (!at.isObject()) return std::nullopt;
  names.push_back(site.attribute);
  return names;
}

}  // namespace

// A call whose body is only the norm, or only such a call, stands for the norm.
OperandSite FusableNorms::outermostReader(const OperandSite& norm) const {
  OperandSite reader = norm;
  for (;;) {
    const Frame& frame = model_.program.frame(reader.frame);
    const auto input = static_cast<size_t>(reader.input);
    if (!isPlainCall(frame) || !untouched(reader.frame)) return reader;
    if (!isReaderAlone(*frame.graph, *reader.node, input)) return reader;
    reader = argumentFor(frame, *reader.node->input(input));
  }
}

bool FusableNorms::sumsLike(const SumWay& way, ValueId input) const {
  const auto& graph = model_.graph();
  const BodyOnWay& first = way.bodies.front();
  const int at = tracer_.programNode(first.frame, *first.from);
  const ProgramNode& add = model_.program.node(at);
  const auto valueOf = [&](int value) { return model_.lowered.graphValue[static_cast<size_t>(value)]; };
  const ValueId sum = valueOf(add.outputs[0]), a = valueOf(add.inputs[0]), b = valueOf(add.inputs[1]);
  return sum != kNoValue && a != kNoValue && b != kNoValue && graph::sameTypeAndShape(graph, a, sum) &&
         graph::sameTypeAndShape(graph, b, sum) && graph.value(sum).dtype == graph.value(input).dtype;
}

bool FusableNorms::canMoveUp(const SumWay& way, int norm) const {
  const auto& program = model_.program;
  const BodyOnWay& first = way.bodies.front();
  const int add = tracer_.programNode(first.frame, *first.from);
  if (add >= norm || program.node(add).block != program.node(norm).block) return false;
  for (int id = add + 1; id < norm; ++id) {
    const torch::jit::Node& between = *program.node(id).node;
    if (!onlyComputes(between) || isOfNorm(between)) return false;
  }
  // Code that runs in a fork of its own is not edited.
  for (int f = way.bodies[way.common].frame; program.frame(f).call != nullptr; f = program.frame(f).parent) {
    if (!isPlainCall(program.frame(f))) return false;
  }
  return true;
}

// Reads of constants in this body are those of the original: a function gets them from its caller.
bool FusableNorms::readsUntouched(int frame) const {
  for (;; frame = model_.program.frame(frame).parent) {
    if (!untouched(frame)) return false;
    if (model_.program.frame(frame).self) return true;
  }
}

// Finds where gamma and beta come from when the op is where the add is.
bool FusableNorms::findNumbers(const SumWay& way, const ProgramNode& norm, FusedNorm& fused) const {
  const auto& program = model_.program;
  std::vector<FusedNumber*> numbers;
  for (auto* number : {&fused.gamma, &fused.beta}) {
    if (*number) numbers.push_back(&**number);
  }
  const BodyOnWay& first = way.bodies.front();
  if (first.to == norm.node) {
    return std::all_of(numbers.begin(), numbers.end(), [&](const FusedNumber* number) {
      return canReadBefore(*norm.node->input(number->input), *first.from);
    });
  }
  if (!numbers.empty() && !readsUntouched(norm.frame)) return false;
  for (size_t body = 0; body <= way.common; ++body) {
    const Frame& frame = program.frame(way.bodies[body].frame);
    const bool holdsAll = std::all_of(numbers.begin(), numbers.end(), [&](FusedNumber* number) {
      const TensorSite* site = siteOf(program, norm.inputs[number->input]);
      if (site == nullptr || !site->owner || !site->elements.empty()) return false;
      auto names = namesTo(frame, *site);
      if (names) number->names = std::move(*names);
      return names.has_value();
    });
    if (!holdsAll) continue;
    fused.holder = body;
    return true;
  }
  return false;
}

// The reader of the file calls a fused op after the module that holds its gamma, else after the body that it is in.
bool FusableNorms::keepsName(const SumWay& way, const ProgramNode& norm, bool gamma) const {
  const Program& program = model_.program;
  const TensorSite* site = gamma ? siteOf(program, norm.inputs[normInputs(*norm.node)->gamma]) : nullptr;
  const size_t dot = site != nullptr && site->owner ? site->path.rfind('.') : std::string::npos;
  const BodyOnWay& first = way.bodies.front();
  return program.moduleOf(*norm.node, norm.frame) ==
         (dot != std::string::npos ? site->path.substr(0, dot) : program.moduleOf(*first.from, first.frame));
}

std::optional<FusedNorm> FusableNorms::take(graph::NodeId norm) {
  const auto& node = model_.graph().node(norm);
  const int index = model_.lowered.programNode[static_cast<size_t>(norm)];
  const ProgramNode& place = model_.programNode(norm);
  const auto axes = graph::intsAttribute(node, "axes");
  const auto eps = graph::floatAttribute(node, "eps");
  const auto inputs = normInputs(*place.node);
  if (!inputs || !axes || axes->size() != 1 || !eps) return std::nullopt;
  if (!hasConstantsOfItsType(model_.graph(), node) || reads_.contains(index)) return std::nullopt;

  auto way = tracer_.wayTo(outermostReader({place.frame, place.node, 0}));
  if (!way || !sumsLike(*way, node.operands[0]) || !canMoveUp(*way, index)) return std::nullopt;
  if (std::any_of(way->passed.begin(), way->passed.end(), [&](int at) { return reads_.contains(at); })) {
    return std::nullopt;
  }
  FusedNorm fused;
  fused.norm = place.node;
  fused.eps = *eps;
  if (isGiven(node, 1)) fused.gamma = FusedNumber{inputs->gamma, {}};
  if (isGiven(node, 2) && inputs->beta) fused.beta = FusedNumber{*inputs->beta, {}};
  // With gamma, an op whose rows had another width would fail.
  const bool viewed =
      std::any_of(way->bodies.begin(), way->bodies.end(), [](const auto& b) { return !b.views.empty(); });
  if (viewed && !fused.gamma) return std::nullopt;
  if (!findNumbers(*way, place, fused) || !keepsName(*way, place, fused.gamma.has_value())) return std::nullopt;
  const BodyOnWay& first = way->bodies.front();
  if (!taken_.insert(tracer_.programNode(first.frame, *first.from)).second) return std::nullopt;
  fused.way = std::move(*way);
  return fused;
}

}  // namespace normlens::formats::torchscript
