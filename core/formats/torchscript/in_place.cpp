#include "core/formats/torchscript/in_place.h"

#include <algorithm>

#include "core/formats/torchscript/memory_sharing.h"

namespace normlens::formats::torchscript {
namespace {

namespace prim = c10::prim;

constexpr const char* kAliasReason = "an in-place operation changes this tensor through an alias";
constexpr const char* kWrittenReason = "the model writes this tensor while it runs";

class InPlaceAnalysis {
 public:
  InPlaceAnalysis(Program& program, const ModuleIndex& index) : program_(program), index_(index) {}

  StateWrites run() {
    program_.inPlace.renamed.assign(program_.nodes.size(), kNone);
    program_.inPlace.opaqueReason.assign(program_.values.size(), {});
    findWrites();
    if (writes_.empty()) return std::move(found_);
    findDefiningBlocks();
    findUses();
    const MemorySharing sharing(program_);
    for (const Write& write : writes_) judge(write, sharing.sharingWith(write.value));
    for (ConstantTensor& constant : program_.constants) {
      if (holdsWritten(constant.tensor, found_)) constant.volatileReason = kWrittenReason;
    }
    return std::move(found_);
  }

 private:
  struct Write {
    int node;
    int value;
  };

  [[nodiscard]] const ProgramBlock& block(int id) const { return program_.blocks[static_cast<size_t>(id)]; }
  [[nodiscard]] const ProgramNode& node(int id) const { return program_.nodes[static_cast<size_t>(id)]; }

  void findWrites() {
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      const ProgramNode& n = program_.nodes[i];
      const auto* schema = n.node->maybeSchema();
      if (schema == nullptr || !schema->is_mutable()) continue;
      for (size_t a = 0; a < n.inputs.size(); ++a) {
        if (!writesInto(*n.node, a)) continue;
        if (isJudged(n, a)) writes_.push_back({static_cast<int>(i), n.inputs[a]});
        noteContainer(n.inputs[a]);
      }
    }
  }

  // Lists that grow are followed by the lowering itself; here it is tensors, and containers that the file holds.
  [[nodiscard]] bool isJudged(const ProgramNode& n, size_t input) const {
    const auto& known = program_.values[static_cast<size_t>(n.inputs[input])].known;
    return known ? !known->isNone() : n.node->input(input)->type()->kind() == c10::TypeKind::TensorType;
  }

  // A container of the file is written: the value itself, or what it is taken from.
  void noteContainer(int value) {
    for (;;) {
      const ProgramValue& at = program_.values[static_cast<size_t>(value)];
      if (at.known) {
        if (!at.known->isList() && !at.known->isTuple() && !at.known->isGenericDict()) return;
        found_.attributes.merge(index_.attributesHolding(*at.known));
        program_.writesState = true;
        return;
      }
      if (const auto attribute = attributeRead(at)) {
        found_.attributes.insert(*attribute);
        program_.writesState = true;
        return;
      }
      const bool isElement = at.producer != kNone && node(at.producer).node->kind() == c10::aten::__getitem__;
      if (!isElement || at.value->type()->kind() == c10::TypeKind::TensorType) return;
      value = node(at.producer).inputs[0];
    }
  }

  // The block that makes each value; kNone for known values, which exist before the run.
  void findDefiningBlocks() {
    definingBlock_.assign(program_.values.size(), kNone);
    for (size_t b = 0; b < program_.blocks.size(); ++b) {
      for (const int v : program_.blocks[b].params) definingBlock_[static_cast<size_t>(v)] = static_cast<int>(b);
    }
    for (const ProgramNode& n : program_.nodes) {
      for (const int v : n.outputs) definingBlock_[static_cast<size_t>(v)] = n.block;
    }
  }

  void findUses() {
    uses_.resize(program_.values.size());
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      for (const int v : program_.nodes[i].inputs) uses_[static_cast<size_t>(v)].push_back(static_cast<int>(i));
    }
    // A return is read after everything in its block.
    for (const ProgramBlock& b : program_.blocks) {
      for (const int v : b.returns) uses_[static_cast<size_t>(v)].push_back(lastNodeInside(b) + 1);
    }
  }

  // Node numbers follow the walk, so the last node of a block, nested ones included, has its highest number.
  [[nodiscard]] int lastNodeInside(const ProgramBlock& b) const {
    if (b.nodes.empty()) return b.owner;
    int last = b.nodes.back();
    for (const int nested : node(last).blocks) last = std::max(last, lastNodeInside(block(nested)));
    return last;
  }

  [[nodiscard]] bool isInside(int id, int owner) const {
    if (owner == kNone) return false;
    for (int up = id; up != kNone; up = block(node(up).block).owner) {
      if (up == owner) return true;
    }
    return false;
  }

  [[nodiscard]] bool definedInside(int value, int owner) const {
    const int home = definingBlock_[static_cast<size_t>(value)];
    return home != kNone && block(home).owner != kNone && isInside(block(home).owner, owner);
  }

  // Read at a later place, or at an earlier one of a loop's body that comes round again.
  [[nodiscard]] bool readAfter(int value, int id) const {
    const auto& uses = uses_[static_cast<size_t>(value)];
    if (std::ranges::any_of(uses, [&](int use) { return use > id; })) return true;
    for (int loop = block(node(id).block).owner; loop != kNone; loop = block(node(loop).block).owner) {
      if (node(loop).node->kind() != prim::Loop || definedInside(value, loop)) continue;
      if (std::ranges::any_of(uses, [&](int use) { return use > loop && use < id; })) return true;
    }
    return false;
  }

  void judge(const Write& write, const std::vector<int>& group) {
    const ProgramNode& writer = node(write.node);
    const auto inGroup = [&](int value) { return std::ranges::binary_search(group, value); };
    const bool renames = !writer.outputs.empty() && inGroup(writer.outputs[0]);
    bool safe = definingBlock_[static_cast<size_t>(write.value)] == writer.block;
    for (const int member : group) {
      const ProgramValue& value = program_.values[static_cast<size_t>(member)];
      if (definingBlock_[static_cast<size_t>(member)] == 0 && value.producer == kNone) program_.writesInputs = true;
      if (value.known) {
        noteWrittenState(value);
        safe = false;
      } else if (const auto attribute = attributeRead(value)) {
        noteMemory(attribute->first->getAttr(attribute->second));  // what it holds when the run starts
      }
      const bool isWritten = member == write.value && renames;
      // What an If or Loop around the write returns is made after it.
      const bool before = value.producer < write.node && !isInside(write.node, value.producer);
      if (!isWritten && before && readAfter(member, write.node)) safe = false;
    }
    if (safe) {
      if (renames) program_.inPlace.renamed[static_cast<size_t>(write.node)] = write.value;
      return;
    }
    for (const int member : group) program_.inPlace.opaqueReason[static_cast<size_t>(member)] = kAliasReason;
  }

  // The attribute whose value is not known before the run that this is.
  [[nodiscard]] std::optional<Attributes::value_type> attributeRead(const ProgramValue& value) const {
    if (value.producer == kNone || node(value.producer).node->kind() != prim::GetAttr) return std::nullopt;
    const auto& owner = program_.values[static_cast<size_t>(node(value.producer).inputs[0])].known;
    if (!owner || !owner->isObject()) return std::nullopt;
    return std::pair(&owner->toObjectRef(), node(value.producer).node->s(c10::attr::name));
  }

  void noteWrittenState(const ProgramValue& value) {
    program_.writesState = true;
    noteMemory(*value.known);
    // Layouts without a storage are known by themselves.
    if (value.constant != kNone)
      program_.constants[static_cast<size_t>(value.constant)].volatileReason = kWrittenReason;
  }

  // Objects are not looked into: only what is read of them is written.
  void noteMemory(const c10::IValue& state) {
    state.visit([this](const c10::IValue& value) {
      if (value.isTensor() && value.toTensor().defined() && value.toTensor().has_storage())
        found_.memory.insert(value.toTensor().storage().unsafeGetStorageImpl());
      return value.isObject();
    });
  }

  Program& program_;
  const ModuleIndex& index_;
  StateWrites found_;
  std::vector<int> definingBlock_;
  std::vector<std::vector<int>> uses_;
  std::vector<Write> writes_;
};

}  // namespace

bool holdsWritten(const at::Tensor& tensor, const StateWrites& writes) {
  return tensor.has_storage() && writes.memory.contains(tensor.storage().unsafeGetStorageImpl());
}

StateWrites analyseInPlace(Program& program, const ModuleIndex& index) { return InPlaceAnalysis(program, index).run(); }

}  // namespace normlens::formats::torchscript
