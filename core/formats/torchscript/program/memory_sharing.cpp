#include "core/formats/torchscript/program/memory_sharing.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace normlens::formats::torchscript {
namespace {

namespace prim = c10::prim;

// Ops that can return their input, or a view of it, although their schema does not declare it.
constexpr std::array<std::string_view, 20> kSilentViews = {"aten::dropout",
                                                           "aten::feature_dropout",
                                                           "aten::alpha_dropout",
                                                           "aten::feature_alpha_dropout",
                                                           "aten::type_as",
                                                           "aten::einsum",
                                                           "aten::meshgrid",
                                                           "aten::broadcast_tensors",
                                                           "aten::atleast_1d",
                                                           "aten::atleast_2d",
                                                           "aten::atleast_3d",
                                                           "aten::sum_to_size",
                                                           "aten::align_tensors",
                                                           "aten::rrelu",
                                                           "aten::pad",
                                                           "aten::_unwrap_optional",
                                                           "aten::unsafe_chunk",
                                                           "aten::unsafe_split",
                                                           "aten::unsafe_split_with_sizes",
                                                           "aten::_unsafe_view"};

bool sharesSet(const c10::AliasInfo& a, const c10::AliasInfo& b) {
  const auto meets = [](const auto& x, const auto& y) {
    return std::ranges::any_of(x, [&](const auto& symbol) { return y.count(symbol) != 0; });
  };
  return meets(a.beforeSets(), b.beforeSets()) || meets(a.afterSets(), b.beforeSets()) ||
         meets(a.beforeSets(), b.afterSets()) || a.isWildcardAfter() || b.isWildcardAfter() ||
         std::ranges::any_of(a.containedTypes(), [&](const auto& inner) { return sharesSet(inner, b); }) ||
         std::ranges::any_of(b.containedTypes(), [&](const auto& inner) { return sharesSet(a, inner); });
}

}  // namespace

bool writesInto(const torch::jit::Node& node, size_t input) {
  const auto* schema = node.maybeSchema();
  if (schema == nullptr || input >= std::min(schema->arguments().size(), node.inputs().size())) return false;
  const auto* alias = schema->arguments()[input].alias_info();
  return alias != nullptr && alias->isWrite();
}

MemorySharing::MemorySharing(const Program& program)
    : program_(program), onward_(program.values.size()), origins_(program.values.size()) {
  for (const ProgramNode& node : program_.nodes) addNode(node);
  addTiedConstants();
}

void MemorySharing::connect(int from, int to) {
  if (from == to) return;
  onward_[static_cast<size_t>(from)].push_back(to);
  origins_[static_cast<size_t>(to)].push_back(from);
}

// Numbers, strings and None share nothing.
bool MemorySharing::holdsMemory(int value, const c10::TypePtr& type) const {
  const auto& known = program_.value(value).known;
  if (known)
    return known->isTensor() || known->isList() || known->isTuple() || known->isGenericDict() || known->isObject();
  switch (type->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::DeviceObjType:
      return false;
    default:
      return true;
  }
}

void MemorySharing::addNode(const ProgramNode& node) {
  if (!node.blocks.empty()) return addBlocks(node);
  const auto* schema = node.node->maybeSchema();
  const std::string_view kind = node.node->kind().toQualString();
  const bool silent = std::ranges::find(kSilentViews, kind) != kSilentViews.end();
  const bool known = kind.starts_with("aten::") || kind.starts_with("normlens::");
  if (schema == nullptr || silent || !known) return addUnknown(node);
  addBySchema(node, *schema);
}

void MemorySharing::addBlocks(const ProgramNode& node) {
  if (node.node->kind() == prim::Loop) {
    const ProgramBlock& body = program_.block(node.blocks[0]);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      for (const int source : {node.inputs[i + 2], body.returns[i + 1]}) {
        connect(source, node.outputs[i]);
        connect(source, body.params[i + 1]);
      }
    }
    return;
  }
  for (const int block : node.blocks) {
    const auto& returns = program_.block(block).returns;
    for (size_t i = 0; i < std::min(node.outputs.size(), returns.size()); ++i) connect(returns[i], node.outputs[i]);
  }
}

void MemorySharing::addFlow(int input, const c10::TypePtr& inputType, int output, const c10::TypePtr& outputType) {
  if (holdsMemory(input, inputType) && holdsMemory(output, outputType)) connect(input, output);
}

// An op without annotations: everything that goes in may come out.
void MemorySharing::addUnknown(const ProgramNode& node) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    for (size_t o = 0; o < node.outputs.size(); ++o)
      addFlow(node.inputs[i], node.node->input(i)->type(), node.outputs[o], node.node->output(o)->type());
  }
  if (node.node->kind() == prim::SetAttr) connect(node.inputs[1], node.inputs[0]);
}

void MemorySharing::addBySchema(const ProgramNode& node, const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  const auto& returns = schema.returns();
  const size_t inputs = std::min(arguments.size(), node.inputs.size());
  for (size_t i = 0; i < inputs; ++i) {
    const auto* in = arguments[i].alias_info();
    for (size_t o = 0; o < std::min(returns.size(), node.outputs.size()); ++o) {
      const auto* out = returns[o].alias_info();
      // A value that is taken out of a dict may be anything by its schema, which does not mention the dict.
      const bool shares = out != nullptr && (in == nullptr ? out->isWildcardAfter() : sharesSet(*in, *out));
      if (shares) addFlow(node.inputs[i], node.node->input(i)->type(), node.outputs[o], node.node->output(o)->type());
    }
    if (in == nullptr) continue;
    // append and the like: an argument that ends up inside the first one.
    if (i > 0 && in->isWildcardAfter() && arguments[0].alias_info() != nullptr &&
        arguments[0].alias_info()->isWrite() && holdsMemory(node.inputs[i], node.node->input(i)->type()))
      connect(node.inputs[i], node.inputs[0]);
  }
}

// Two reads of one weight are one piece of memory, and so are two views of one storage.
void MemorySharing::addTiedConstants() {
  std::vector<std::pair<const void*, int>> seen;
  for (size_t v = 0; v < program_.values.size(); ++v) {
    const ProgramValue& value = program_.values[v];
    if (value.constant == kNone || !value.known->toTensor().has_storage()) continue;
    seen.emplace_back(value.known->toTensor().storage().unsafeGetStorageImpl(), static_cast<int>(v));
  }
  std::sort(seen.begin(), seen.end());
  for (size_t i = 1; i < seen.size(); ++i) {  // the first one of each storage stands for its origin
    if (seen[i].first == seen[i - 1].first) connect(seen[i - 1].second, seen[i].second);
  }
}

template <class MayPass>
std::vector<int> MemorySharing::sharingWith(int value, const MayPass& mayPass) const {
  const auto reachable = [&](const Links& links, const std::vector<int>& from) {
    std::vector<bool> seen(links.size(), false);
    std::vector<int> open = from, found;
    for (const int start : from) seen[static_cast<size_t>(start)] = true;
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      found.push_back(at);
      for (const int next : links[static_cast<size_t>(at)]) {
        if (seen[static_cast<size_t>(next)] || !mayPass(next)) continue;
        seen[static_cast<size_t>(next)] = true;
        open.push_back(next);
      }
    }
    std::ranges::sort(found);
    return found;
  };
  // From all of its origins: an attribute that is read, changed and set again has no first one.
  return reachable(onward_, reachable(origins_, {value}));
}

std::vector<int> MemorySharing::sharingWith(int value) const {
  return sharingWith(value, [](int) { return true; });
}

std::vector<int> MemorySharing::containersSharingWith(int value) const {
  return sharingWith(value, [&](int other) {
    const ProgramValue& at = program_.value(other);
    if (at.known) return !at.known->isTensor();
    const auto optional = at.value->type()->cast<c10::OptionalType>();
    return (optional ? optional->getElementType() : at.value->type())->kind() != c10::TypeKind::TensorType;
  });
}

}  // namespace normlens::formats::torchscript
