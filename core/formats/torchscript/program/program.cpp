#include "core/formats/torchscript/program/program.h"

#include <torch/csrc/jit/api/function_impl.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string_view>

#include "core/formats/torchscript/program/builder/program_builder.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/hidden_calls.h"
#include "core/formats/torchscript/program/memory_sharing.h"
#include "core/formats/torchscript/program/module_index.h"

namespace normlens::formats::torchscript {

namespace prim = c10::prim;

namespace {

// Which values share memory, and what in-place ops therefore mean.

// Lists the parts of the module's own state that a program writes into, other than by SetAttr.
struct StateWrites {
  std::set<const c10::StorageImpl*> memory;  // Tensors lie in it.
  Attributes attributes;                     // containers that gain, lose or replace elements
};

constexpr const char* kAliasReason = "an in-place operation changes this tensor through an alias";
constexpr const char* kCallerReason = "it is written into an input of the model, which whoever calls it sees";
constexpr const char* kHiddenReason = "code that is only known when the model runs may change this tensor";
constexpr const char* kWrittenReason = "the model writes this tensor while it runs";

bool holdsWritten(const at::Tensor& tensor, const StateWrites& writes) {
  return tensor.has_storage() && writes.memory.contains(tensor.storage().unsafeGetStorageImpl());
}

class InPlaceAnalysis {
 public:
  InPlaceAnalysis(Program& program, const ModuleIndex& index) : program_(program), index_(index) {}

  StateWrites run() {
    program_.inPlace.renamed.assign(program_.nodes.size(), {});
    program_.inPlace.opaqueReason.assign(program_.values.size(), {});
    findWrites();
    if (writes_.empty() && hidden_.empty()) return std::move(found_);
    findDefiningBlocks();
    findUses();
    tensorOf_.resize(program_.values.size());
    std::iota(tensorOf_.begin(), tensorOf_.end(), 0);
    const MemorySharing sharing(program_);
    for (const Write& write : writes_) {
      const std::vector<int> group = sharing.sharingWith(write.value);
      if (writesContainer(write)) noteContainers(write, group);
      const bool isKnown = program_.value(write.value).known.has_value();
      if (isKnown || !writesContainer(write)) judge(write, group);
    }
    for (const Write& write : hidden_) {
      const std::vector<int> group = sharing.sharingWith(write.value);
      noteState(group);
      makeOpaque(group, kHiddenReason);
    }
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

  [[nodiscard]] const ProgramBlock& block(int id) const { return program_.block(id); }
  [[nodiscard]] const ProgramNode& node(int id) const { return program_.node(id); }

  void findWrites() {
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      const ProgramNode& n = program_.nodes[i];
      if (runsHiddenCode(*n.node) && hiddenCodeMayWrite(*n.node, index_)) {
        for (const int input : n.inputs) hidden_.push_back({static_cast<int>(i), input});
      }
      const auto* schema = n.node->maybeSchema();
      // An operator that LibTorch does not have: where it returns nothing, it was called for what it writes.
      if (schema == nullptr && n.outputs.empty() && !n.node->kind().is_prim()) {
        for (const int input : n.inputs) hidden_.push_back({static_cast<int>(i), input});
      }
      if (schema == nullptr) continue;
      const bool updates = updatesStatistics(n);
      if (!schema->is_mutable() && !updates) continue;
      for (size_t a = 0; a < n.inputs.size(); ++a) {
        const bool isStatistic = updates && schema->arguments().at(a).name().starts_with("running_");
        if (!writesInto(*n.node, a) && !isStatistic) continue;
        const auto& known = program_.value(n.inputs[a]).known;
        if (known && known->isNone()) continue;
        writes_.push_back({static_cast<int>(i), n.inputs[a]});
      }
    }
  }

  // Norms that train write their running statistics, although their schemas do not declare it; an instance norm writes
  // them, rounded, even where it does not train.
  [[nodiscard]] bool updatesStatistics(const ProgramNode& n) const {
    const std::string_view op = n.node->kind().toQualString();
    if (op == "aten::instance_norm") return true;
    if (op.find("batch_norm") == std::string_view::npos) return false;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.node->schema().arguments().at(i).name() != "training") continue;
      const auto& known = program_.value(n.inputs[i]).known;
      return !known || !known->isBool() || known->toBool();
    }
    return op.find("no_training") == std::string_view::npos && op.find("functional") == std::string_view::npos;
  }

  // Lists that grow are followed by the lowering itself; here it is tensors, and containers that the file holds.
  [[nodiscard]] bool writesContainer(const Write& write) const {
    const ProgramValue& value = program_.value(write.value);
    const auto kind = value.known ? value.known->type()->kind() : value.value->type()->kind();
    return kind != c10::TypeKind::TensorType;
  }

  static bool mayHold(const c10::Type& type, const c10::Type& wanted) {
    return type.isSubtypeOf(wanted) || wanted.isSubtypeOf(type) ||
           std::ranges::any_of(type.containedTypes(), [&](const auto& inner) { return mayHold(*inner, wanted); });
  }

  // Notes what of the file may be the container that is written, or hold it.
  void noteContainers(const Write& write, const std::vector<int>& group) {
    const ProgramValue& written = program_.value(write.value);
    const auto wanted = written.known ? written.known->type() : written.value->type();
    for (const int member : group) {
      const ProgramValue& value = program_.value(member);
      if (value.known && (value.known->isObject() || !mayHold(*value.known->type(), *wanted))) continue;
      if (!value.known && !mayHold(*value.value->type(), *wanted)) continue;
      if (value.known) {
        found_.attributes.merge(index_.attributesHolding(*value.known));
        program_.writesState = true;
      } else if (isInput(member)) {
        program_.writesInputs = true;
      }
      for (const auto& attribute : attributesRead(value)) {
        found_.attributes.insert(attribute);
        program_.writesState = true;
      }
    }
  }

  // A parameter of the model.
  [[nodiscard]] bool isInput(int value) const {
    return definingBlock_[static_cast<size_t>(value)] == 0 && program_.value(value).producer == kNone;
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

  struct Use {
    int at = kNone;  // a node; for a return the one after everything in its block
    int block = kNone;
    bool ofShape = false;  // The memory's content is not read.
  };

  static bool readsShape(const torch::jit::Node& op) {
    constexpr std::array<std::string_view, 4> kOps = {"aten::size", "aten::dim", "aten::numel", "aten::len"};
    return std::ranges::find(kOps, std::string_view(op.kind().toQualString())) != kOps.end();
  }

  void findUses() {
    uses_.resize(program_.values.size());
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      const ProgramNode& n = program_.nodes[i];
      for (const int v : n.inputs)
        uses_[static_cast<size_t>(v)].push_back({static_cast<int>(i), n.block, readsShape(*n.node)});
    }
    for (size_t b = 0; b < program_.blocks.size(); ++b) {
      const int end = lastNodeInside(program_.blocks[b]) + 1;
      for (const int v : program_.blocks[b].returns)
        uses_[static_cast<size_t>(v)].push_back({end, static_cast<int>(b), false});
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

  // Returns whether `a` and `b` are in different blocks of one If.
  [[nodiscard]] bool areBranches(int a, int b) const {
    for (; block(a).owner != kNone; a = node(block(a).owner).block) {
      if (node(block(a).owner).node->kind() != prim::If) continue;
      for (int up = b; block(up).owner != kNone; up = node(block(up).owner).block) {
        if (block(up).owner == block(a).owner) return up != a;
      }
    }
    return false;
  }

  // Read at a later place, or at an earlier one of a loop's body that comes round again.
  [[nodiscard]] bool readAfter(int value, int id, bool countsShape) const {
    bool comesRound = false;
    const auto& uses = uses_[static_cast<size_t>(value)];
    for (int loop = block(node(id).block).owner; loop != kNone; loop = block(node(loop).block).owner) {
      if (node(loop).node->kind() != prim::Loop || definedInside(value, loop)) continue;
      comesRound = true;
      if (std::ranges::any_of(uses, [&](const Use& use) { return use.at > loop && use.at < id; })) return true;
    }
    return std::ranges::any_of(uses, [&](const Use& use) {
      return use.at > id && (countsShape || !use.ofShape) && (comesRound || !areBranches(use.block, node(id).block));
    });
  }

  // The value is made in the block, or in one around it that it is a branch of, however deep.
  [[nodiscard]] bool isMadeForBranch(int value, int at) const {
    const int home = definingBlock_[static_cast<size_t>(value)];
    while (at != home && block(at).owner != kNone && node(block(at).owner).node->kind() == prim::If)
      at = node(block(at).owner).block;
    return at == home;
  }

  void judge(const Write& write, const std::vector<int>& group) {
    const ProgramNode& writer = node(write.node);
    const auto inGroup = [&](int value) { return std::ranges::binary_search(group, value); };
    // In the block that makes it the tensor gets a new name, and so have all that it has by then.
    const bool renames = !writer.outputs.empty() && inGroup(writer.outputs[0]) &&
                         definingBlock_[static_cast<size_t>(write.value)] == writer.block;
    const int tensor = tensorOf_[static_cast<size_t>(write.value)];
    bool safe = isMadeForBranch(write.value, writer.block);
    std::vector<int> names;
    if (noteState(group)) safe = false;
    for (const int member : group) {
      const ProgramValue& value = program_.value(member);
      const bool isWritten = tensorOf_[static_cast<size_t>(member)] == tensor;
      if (isWritten) names.push_back(member);
      // An If or Loop around the write makes its results after it.
      const bool before = value.producer < write.node && !isInside(write.node, value.producer);
      if (!(isWritten && renames) && before && readAfter(member, write.node, isWritten)) safe = false;
    }
    const bool ofCaller = std::ranges::any_of(group, [&](int member) { return isInput(member); });
    if (!safe || (!renames && ofCaller)) {
      makeOpaque(group, safe ? kCallerReason : kAliasReason);
    } else if (renames) {
      const auto written = static_cast<size_t>(writer.outputs[0]);
      tensorOf_[written] = tensor;
      program_.inPlace.renamed[static_cast<size_t>(write.node)] = std::move(names);
      if (ofCaller) program_.inPlace.opaqueReason[written] = kCallerReason;
    }
  }

  void makeOpaque(const std::vector<int>& group, const char* reason) {
    for (const int member : group) program_.inPlace.opaqueReason[static_cast<size_t>(member)] = reason;
  }

  // Notes what is written together with these: the model's inputs, and its own state. Returns whether the file holds
  // one of them.
  bool noteState(const std::vector<int>& group) {
    bool holdsKnown = false;
    for (const int member : group) {
      const ProgramValue& value = program_.value(member);
      if (isInput(member)) program_.writesInputs = true;
      if (value.known) {
        noteWrittenState(value);
        holdsKnown = true;
      }
      for (const auto& [owner, name] : attributesRead(value)) {
        noteMemory(owner->getAttr(name));  // Records its content when the run starts.
        program_.writesState = true;
      }
    }
    return holdsKnown;
  }

  // The attributes of the file that this may be, where that is not known before the run.
  [[nodiscard]] Attributes attributesRead(const ProgramValue& value) const {
    if (value.producer == kNone || node(value.producer).node->kind() != prim::GetAttr) return {};
    const torch::jit::Node& reader = *node(value.producer).node;
    const auto& owner = program_.value(node(value.producer).inputs[0]).known;
    Attributes read;
    if (owner && owner->isObject()) {
      read.insert({&owner->toObjectRef(), reader.s(c10::attr::name)});
    } else {
      for (const ObjectPtr& object : index_.instancesOf(*reader.input()->type()))
        read.insert({object.get(), reader.s(c10::attr::name)});
    }
    return read;
  }

  void noteWrittenState(const ProgramValue& value) {
    program_.writesState = true;
    noteMemory(*value.known);
    // Layouts without a storage are known by themselves.
    if (value.constant != kNone)
      program_.constants[static_cast<size_t>(value.constant)].volatileReason = kWrittenReason;
  }

  // Objects are not looked into: only what is read of them is written, which attributesRead() finds.
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
  std::vector<std::vector<Use>> uses_;
  std::vector<int> tensorOf_;  // by value: the first name of the same tensor
  std::vector<Write> writes_;
  std::vector<Write> hidden_;  // by code that the program does not show
};

// Fills program.inPlace, the volatileReason of constants that the program writes, and sets writesState where it does.
// If it finds attributes, elements of theirs may have been taken for known that are not.
// See memory_sharing.h for what shares memory.
StateWrites analyseInPlace(Program& program, const ModuleIndex& index) { return InPlaceAnalysis(program, index).run(); }

constexpr const char* kWrittenElsewhere = "another method of the model writes this tensor";

bool holdsTensor(const c10::IValue& value) {
  if (value.isTensor() || value.isTensorList()) return true;
  if (value.isTuple()) return std::ranges::any_of(value.toTupleRef().elements(), holdsTensor);
  return value.isList() && std::ranges::any_of(value.toListRef(), holdsTensor);
}

// One walk of all that can run: forward(), and what else writes the state that it reads.
class ModelWalk {
 public:
  // `written`: attributes that an earlier walk has seen written.
  ModelWalk(const torch::jit::Module& module, const ModuleIndex& index, const Attributes& written)
      : module_(module), index_(index), written_(written) {}

  Program run() {
    ProgramBuilder builder(module_, index_, written_);
    Program program = builder.build(module_._ivalue(), "forward");
    note(builder, program);
    noteWholeReads(program);
    for (const auto& entry : builder.chosen()) program.writesState |= enter(entry);
    for (const auto* method : module_.type()->methods()) {
      if (method->name() != "forward") enter({module_._ivalue(), method->name()});
    }
    for (ConstantTensor& constant : program.constants) {
      const bool isWritten = constant.volatileReason.empty() && holdsWritten(constant.tensor, writes_);
      if (isWritten) constant.volatileReason = kWrittenElsewhere;
      // Objects that are no modules are not edited.
      for (const TensorSite& site : constant.sites) {
        if (site.owner && !site.owner->type()->is_module())
          others_.attributes.insert({site.owner.get(), site.attribute});
      }
    }
    program.writtenMemory = writes_.memory;
    program.writtenLiterals = std::move(literals_);
    others_.attributes.insert(written_.begin(), written_.end());
    program.others = std::move(others_);
    return program;
  }

  [[nodiscard]] const Attributes& written() const { return writes_.attributes; }

 private:
  // Says whether the method writes state.
  bool enter(const InstanceMethod& entry) {
    const auto& [self, method] = entry;
    auto* function = self->type()->findMethod(method);
    if (function == nullptr || torch::jit::tryToGraphFunction(*function) == nullptr) return false;
    if (!entered_.insert(entry).second) return false;
    ProgramBuilder builder(module_, index_, written_);
    Program program = builder.build(self, method);
    note(builder, program);
    for (const Frame& frame : program.frames) {
      if (frame.self) others_.methods.insert({frame.self.get(), frame.method});
    }
    for (const auto& chosen : builder.chosen()) program.writesState |= enter(chosen);
    return program.writesState;
  }

  void note(const ProgramBuilder& builder, Program& program) {
    const StateWrites writes = analyseInPlace(program, index_);
    others_.attributes.insert(builder.hiddenReads().begin(), builder.hiddenReads().end());
    writes_.attributes.insert(builder.written().begin(), builder.written().end());
    writes_.attributes.insert(writes.attributes.begin(), writes.attributes.end());
    writes_.memory.insert(writes.memory.begin(), writes.memory.end());
    for (const ConstantTensor& constant : program.constants) {
      const bool inCode = std::ranges::any_of(constant.sites, [](const TensorSite& site) { return site.node; });
      if (inCode && !constant.volatileReason.empty()) literals_.push_back(constant.tensor);
    }
  }

  // A list of the file of which not one element is taken: its tensors are read, but are no operands.
  void noteWholeReads(const Program& program) {
    std::set<int> read;
    for (const ProgramNode& node : program.nodes) read.insert(node.inputs.begin(), node.inputs.end());
    for (const ProgramBlock& block : program.blocks) read.insert(block.returns.begin(), block.returns.end());
    for (const int value : read) {
      const auto& known = program.value(value).known;
      if (!known || known->isTensor() || !holdsTensor(*known)) continue;
      others_.attributes.merge(index_.attributesHolding(*known));
    }
  }

  const torch::jit::Module& module_;
  const ModuleIndex& index_;
  const Attributes& written_;
  StateWrites writes_;
  OtherEntries others_;
  std::vector<at::Tensor> literals_;
  std::set<InstanceMethod> entered_;
};

}  // namespace

Result<Program> buildProgram(const torch::jit::Module& module) {
  try {
    const ModuleIndex index(module);
    Attributes written;
    // A walk may meet a write after it has taken the attribute for known: then it is done again knowing better.
    for (int attempt = 0; attempt < 8; ++attempt) {
      ModelWalk walk(module, index, written);
      Program program = walk.run();
      if (std::ranges::includes(written, walk.written())) return program;
      written.insert(walk.written().begin(), walk.written().end());
    }
    return fail(ErrorCode::Unsupported, "the model's attributes are written in too many ways to follow");
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported, "the model's code cannot be followed: " + shortText(error));
  }
}

}  // namespace normlens::formats::torchscript
