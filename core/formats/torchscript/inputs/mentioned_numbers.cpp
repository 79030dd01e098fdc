#include "core/formats/torchscript/inputs/mentioned_numbers.h"

#include <algorithm>
#include <functional>
#include <set>

namespace normlens::formats::torchscript {
namespace {

namespace aten = c10::aten;
using Numbers = std::set<int64_t, std::greater<>>;

bool compares(const torch::jit::Node* node) {
  switch (node->kind()) {
    case aten::eq:
    case aten::ne:
    case aten::lt:
    case aten::le:
    case aten::gt:
    case aten::ge:
    case aten::__contains__:
      return true;
    default:
      return false;
  }
}

void addInts(const std::optional<c10::IValue>& known, Numbers& into) {
  if (!known) return;
  if (known->isInt()) into.insert(known->toInt());
  if (!known->isList()) return;
  for (const auto& element : known->toListRef()) {
    if (element.isInt()) into.insert(element.toInt());
  }
}

const std::optional<c10::IValue>& knownOf(const Program& program, int value) {
  return program.values[static_cast<size_t>(value)].known;
}

// A list written out in the code, or one that the file holds.
void addOperand(const Program& program, int value, Numbers& into) {
  addInts(knownOf(program, value), into);
  const int producer = program.values[static_cast<size_t>(value)].producer;
  if (producer == kNone) return;
  const ProgramNode& node = program.nodes[static_cast<size_t>(producer)];
  if (node.node->kind() != c10::prim::ListConstruct) return;
  for (const int element : node.inputs) addInts(knownOf(program, element), into);
}

}  // namespace

std::vector<int64_t> comparedWith(const Program& program, int value) {
  Numbers found;
  for (const ProgramNode& node : program.nodes) {
    if (!compares(node.node) || std::ranges::find(node.inputs, value) == node.inputs.end()) continue;
    for (const int input : node.inputs) {
      if (input != value) addOperand(program, input, found);
    }
  }
  return {found.begin(), found.end()};
}

std::vector<int64_t> mentionedBetween(const Program& program, int64_t low, int64_t high) {
  Numbers found;
  for (const ProgramNode& node : program.nodes) {
    if (!compares(node.node)) continue;
    for (const int input : node.inputs) addOperand(program, input, found);
  }
  for (const ProgramBlock& block : program.blocks) {
    for (const int value : block.returns) addInts(knownOf(program, value), found);
  }
  std::erase_if(found, [&](int64_t number) { return number < low || number > high; });
  return {found.begin(), found.end()};
}

}  // namespace normlens::formats::torchscript
