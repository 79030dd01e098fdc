#include "core/formats/archive/pickle_scan.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace normlens::formats {
namespace {

// This is what the scan knows of an object. Containers other than tuples are not kept: they may be filled later.
struct Thing {
  // Absent: LibTorch may have left nothing at all (an enum class called with a value that is none of its own).
  enum class Kind : uint8_t {
    Other,
    Absent,
    Mark,
    String,
    Int,
    Global,
    Tuple,
    Dict,
    Storage,
    Tensor
  } kind = Kind::Other;
  std::string text;
  int64_t number = 0;                               // Int; of a Storage: its number of elements; of a Tensor that is
                                                    // only looked at: its index in PickleScan::tensors
  int depth = 0;                                    // nesting of containers below
  int32_t container = -1;                           // its number in PickleNesting; -1: it holds nothing
  int64_t push = -1;                                // A short String's index in PickleScan::strings.
  std::vector<std::shared_ptr<const Thing>> items;  // Hold a Tuple's items, or a Tensor's sizes.
};
using ThingPtr = std::shared_ptr<const Thing>;

ThingPtr makeThing(Thing::Kind kind, std::string text = {}, int64_t number = 0) {
  auto thing = std::make_shared<Thing>();
  thing->kind = kind;
  thing->text = std::move(text);
  thing->number = number;
  return thing;
}

// Thrown inside the scan only.
struct BrokenPickle {
  std::string why;
};

using Kind = Thing::Kind;

// Computes what a pickle's calls make, and checks that their arguments can do no harm: LibTorch believes sizes, strides
// and element types as they are.
constexpr std::array<std::string_view, 10> kFunctions = {"torch._utils _rebuild_tensor_v2",
                                                         "torch._utils _rebuild_qtensor",
                                                         "torch._utils _rebuild_parameter",
                                                         "torch.jit._pickle build_intlist",
                                                         "torch.jit._pickle build_tensorlist",
                                                         "torch.jit._pickle build_doublelist",
                                                         "torch.jit._pickle build_boollist",
                                                         "torch.jit._pickle restore_type_tag",
                                                         "collections OrderedDict",
                                                         "builtins complex"};

bool multiply(int64_t a, int64_t b, int64_t& out) { return !__builtin_mul_overflow(a, b, &out); }
bool add(int64_t a, int64_t b, int64_t& out) { return !__builtin_add_overflow(a, b, &out); }

// Whole numbers and nothing else: LibTorch takes the number of a function on its stack for one, too.
bool areNumbers(const Thing& tuple) {
  return tuple.kind == Kind::Tuple &&
         std::ranges::all_of(tuple.items, [](const ThingPtr& item) { return item->kind == Kind::Int; });
}

// One past the last element that a strided tensor touches; nullopt: negative or overflowing.
std::optional<int64_t> extent(int64_t offset, const Thing& sizes, const Thing& strides) {
  if (offset < 0 || sizes.items.size() != strides.items.size()) return std::nullopt;
  int64_t last = offset;
  bool empty = false;
  for (size_t i = 0; i < sizes.items.size(); ++i) {
    const int64_t size = sizes.items[i]->number, stride = strides.items[i]->number;
    int64_t step = 0;
    if (size < 0 || stride < 0) return std::nullopt;
    if (size == 0) empty = true;
    if (size > 0 && (!multiply(size - 1, stride, step) || !add(last, step, last))) return std::nullopt;
  }
  if (empty) return 0;
  return add(last, 1, last) ? std::optional(last) : std::nullopt;
}

// Strides of 0 let one number stand for any count of them, and a copy has them all.
bool repeatsBeyondMeasure(const Thing& sizes, int64_t stored) {
  constexpr int64_t kMost = int64_t{1} << 32;
  int64_t count = 1;
  for (const ThingPtr& size : sizes.items) {
    if (!multiply(count, size->number, count)) return true;
  }
  return count > std::max(stored, kMost);
}

bool holdsChannels(const Thing& tensor, const Thing& sizes, int64_t axis) {
  return tensor.kind == Kind::Tensor && tensor.items.size() == 1 &&
         tensor.items[0]->number == sizes.items[static_cast<size_t>(axis)]->number;
}

// (scheme, scale, zero point), or (scheme, scales, zero points, axis): of the latter there is one for each channel.
void checkQuantised(const Thing& parameters, const Thing& sizes) {
  const auto& items = parameters.items;
  const bool known = parameters.kind == Kind::Tuple && items.size() >= 3 && items[0]->kind == Kind::Global;
  if (known && items[0]->text == "torch per_tensor_affine") return;
  const auto rank = static_cast<int64_t>(sizes.items.size());
  const bool channels = known && items[0]->text.starts_with("torch per_channel_affine") && items.size() == 4 &&
                        items[3]->kind == Kind::Int && items[3]->number >= 0 && items[3]->number < rank &&
                        holdsChannels(*items[1], sizes, items[3]->number) &&
                        holdsChannels(*items[2], sizes, items[3]->number);
  if (!channels) throw BrokenPickle{"a quantised tensor's scales do not fit its channels"};
}

// The tensor of _rebuild_tensor_v2(storage, offset, sizes, strides, ...) and its kin; nullopt: these are no arguments
// of one. Throws BrokenPickle where it does not lie inside its storage.
std::optional<DeclaredTensor> rebuiltTensor(const Thing& arguments) {
  const auto& items = arguments.items;
  if (arguments.kind != Kind::Tuple || items.size() < 4 || items[0]->kind != Kind::Storage ||
      items[1]->kind != Kind::Int || !areNumbers(*items[2]) || !areNumbers(*items[3]))
    return std::nullopt;
  const auto needed = extent(items[1]->number, *items[2], *items[3]);
  const std::string& storage = items[0]->text;  // "0 FloatStorage"
  const size_t space = storage.rfind(' ');
  if (!needed || *needed > items[0]->number)
    throw BrokenPickle{"a tensor reaches past the end of its storage '" + storage.substr(0, space) + "'"};
  if (repeatsBeyondMeasure(*items[2], items[0]->number))
    throw BrokenPickle{"a tensor repeats its storage '" + storage.substr(0, space) + "' beyond all measure"};
  DeclaredTensor tensor;
  tensor.type = storage.substr(space + 1);
  tensor.key = storage.substr(0, space);
  for (const ThingPtr& size : items[2]->items) tensor.sizes.push_back(size->number);
  for (const ThingPtr& stride : items[3]->items) tensor.strides.push_back(stride->number);
  tensor.offset = items[1]->number;
  constexpr size_t kArguments = 6;  // Those behind them are how a view differs from its storage.
  tensor.asStored = items.size() <= kArguments;
  return tensor;
}

ThingPtr tensorOf(const Thing& arguments, bool quantised) {
  if (!rebuiltTensor(arguments)) throw BrokenPickle{"a tensor is not described by a storage and whole numbers"};
  const Thing& sizes = *arguments.items[2];
  if (quantised) {
    if (arguments.items.size() < 5) throw BrokenPickle{"a quantised tensor has no scale"};
    checkQuantised(*arguments.items[4], sizes);
  }
  auto tensor = std::make_shared<Thing>();
  tensor->kind = Kind::Tensor;
  tensor->items = sizes.items;
  return tensor;
}

// (list or dict, "Dict[str, List[int]]"): LibTorch parses the type recursively.
void checkTypeTag(const Thing& arguments) {
  constexpr int kMaxNesting = 100;
  const auto& items = arguments.items;
  if (items.size() != 2 || items[1]->kind != Kind::String) throw BrokenPickle{"a container has no type"};
  int depth = 0;
  for (const char c : items[1]->text) {
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (depth > kMaxNesting) throw BrokenPickle{"a container's type is nested too deep"};
  }
}

// LibTorch reads others, too, that no TorchScript file names. After _rebuild_from_type_v2 it takes the next names for
// other functions than their names mean, and it believes the indices of sparse tensors.
// Returns whether TorchScript files name this class or function ("torch._utils _rebuild_tensor_v2").
bool isTorchScripts(std::string_view global) {
  return global.starts_with("__torch__") || global.starts_with("torch ") ||
         std::ranges::find(kFunctions, global) != kFunctions.end();
}

// Returns what LibTorch's unpickler leaves of function(arguments), one of the above; null: an object of a class of the
// file. Throws BrokenPickle for arguments that it would believe wrongly.
ThingPtr calledByLibTorch(const std::string& function, const Thing& arguments) {
  const std::string name = function.substr(function.find(' ') + 1);
  if (function.starts_with("__torch__")) return nullptr;
  if (name == "_rebuild_tensor_v2" || name == "_rebuild_qtensor")
    return tensorOf(arguments, name == "_rebuild_qtensor");
  if (name == "OrderedDict" || name == "complex" || name == "device") return makeThing(Kind::Other);
  // The rest hand on what they are given first.
  if (function.starts_with("torch ") || arguments.kind != Kind::Tuple || arguments.items.empty())
    throw BrokenPickle{"'" + name + "' is not called as LibTorch does"};
  if (name == "restore_type_tag") checkTypeTag(arguments);
  return arguments.items[0];
}

// Measures how deep the objects of a pickle lie in one another, memo references included: a container may be filled
// before or after it is put into another.
class PickleNesting {
 public:
  [[nodiscard]] int32_t addContainer() { return containers_++; }
  void addInside(int32_t container, int32_t inner) { inside_.emplace_back(container, inner); }

  // Containers on the longest way from the outermost to the innermost one; -1 where one contains itself.
  [[nodiscard]] int64_t depth() const;

 private:
  int32_t containers_ = 0;
  std::vector<std::pair<int32_t, int32_t>> inside_;  // container, what it holds
};

int64_t PickleNesting::depth() const {
  const auto count = static_cast<size_t>(containers_);
  std::vector<int32_t> holders(count);  // that have not been gone through
  std::vector<size_t> firstInside(count + 1);
  for (const auto& [container, inner] : inside_) {
    ++holders[static_cast<size_t>(inner)];
    ++firstInside[static_cast<size_t>(container) + 1];
  }
  for (size_t i = 0; i < count; ++i) firstInside[i + 1] += firstInside[i];
  std::vector<int32_t> inside(inside_.size());
  std::vector<size_t> next(firstInside.begin(), firstInside.end() - 1);
  for (const auto& [container, inner] : inside_) inside[next[static_cast<size_t>(container)]++] = inner;

  std::vector<int32_t> ready;
  for (size_t i = 0; i < count; ++i) {
    if (holders[i] == 0) ready.push_back(static_cast<int32_t>(i));
  }
  std::vector<int64_t> depths(count, 1);
  int64_t deepest = 0;
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    const auto container = static_cast<size_t>(ready.back());
    ready.pop_back();
    deepest = std::max(deepest, depths[container]);
    for (size_t i = firstInside[container]; i < firstInside[container + 1]; ++i) {
      const auto inner = static_cast<size_t>(inside[i]);
      depths[inner] = std::max(depths[inner], depths[container] + 1);
      if (--holders[inner] == 0) ready.push_back(inside[i]);
    }
  }
  return done == count ? deepest : -1;
}

constexpr int kMaxDepth = 1000;  // torch's own unpickler frees nested values recursively
constexpr const char* kTooDeep = "its objects are nested more than 1000 deep";
constexpr size_t kKeptItems = 64;
// Each takes a hundred bytes or two here and in LibTorch, and a thousand of them are one byte of a DEFLATEd record.
constexpr size_t kMostPushed = size_t{4} << 20;

class Scanner {
 public:
  Scanner(std::string_view pickle, PickleUse use) : in_(pickle), use_(use) {}

  PickleScan run() {
    if (in_.empty()) throw BrokenPickle{"the pickle is empty"};
    while (step()) {
    }
    const int64_t depth = nesting_.depth();
    if (depth < 0) throw BrokenPickle{"one of its objects contains itself"};
    if (depth > kMaxDepth) throw BrokenPickle{kTooDeep};
    result_.rootIsDict = !stack_.empty() && stack_.back()->kind == Thing::Kind::Dict;
    return std::move(result_);
  }

 private:
  std::string_view take(size_t count) {
    if (count > in_.size() - at_) throw BrokenPickle{"the pickle is cut off"};
    const auto bytes = in_.substr(at_, count);
    at_ += count;
    return bytes;
  }
  uint64_t takeInt(size_t count) {
    const auto bytes = take(count);
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;) value = (value << 8) | static_cast<unsigned char>(bytes[i]);
    return value;
  }
  std::string takeLine() {
    const size_t end = in_.find('\n', at_);
    if (end == std::string_view::npos) throw BrokenPickle{"the pickle is cut off"};
    std::string line(in_.substr(at_, end - at_));
    at_ = end + 1;
    return line;
  }

  void push(ThingPtr thing) {
    if (++pushed_ > kMostPushed) throw BrokenPickle{"it holds more than 4 million objects"};
    stack_.push_back(std::move(thing));
  }
  void pushMark() {
    if (++marks_ > kMaxDepth) throw BrokenPickle{kTooDeep};
    push(makeThing(Thing::Kind::Mark));
  }
  ThingPtr pop() {
    if (stack_.empty() || stack_.back()->kind == Thing::Kind::Mark)
      throw BrokenPickle{"the pickle reads an empty stack"};
    ThingPtr top = std::move(stack_.back());
    stack_.pop_back();
    if (top->kind == Thing::Kind::Absent) throw BrokenPickle{"it uses an enum member where LibTorch may have none"};
    return top;
  }
  const Thing& top() const {
    if (stack_.empty() || stack_.back()->kind == Thing::Kind::Mark)
      throw BrokenPickle{"the pickle reads an empty stack"};
    return *stack_.back();
  }
  std::vector<ThingPtr> popToMark() {
    const auto mark = std::find_if(stack_.rbegin(), stack_.rend(),
                                   [](const ThingPtr& thing) { return thing->kind == Thing::Kind::Mark; });
    if (mark == stack_.rend()) throw BrokenPickle{"the pickle has no mark where one is needed"};
    std::vector<ThingPtr> items(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    --marks_;
    return items;
  }

  static int depthOf(const std::vector<ThingPtr>& items) {
    int depth = 0;
    for (const ThingPtr& item : items) depth = std::max(depth, item->depth);
    if (depth + 1 > kMaxDepth) throw BrokenPickle{kTooDeep};
    return depth + 1;
  }
  // A container that holds these.
  std::shared_ptr<Thing> holding(const std::vector<ThingPtr>& items) {
    auto thing = std::make_shared<Thing>();
    thing->depth = depthOf(items);
    thing->container = nesting_.addContainer();
    addInside(*thing, items);
    return thing;
  }
  void addInside(const Thing& container, const std::vector<ThingPtr>& items) {
    if (container.container < 0) return;
    for (const ThingPtr& item : items) {
      if (item->container >= 0) nesting_.addInside(container.container, item->container);
    }
  }
  ThingPtr tuple(std::vector<ThingPtr> items) {
    auto thing = holding(items);
    thing->kind = Thing::Kind::Tuple;
    if (items.size() <= kKeptItems) {
      thing->items = std::move(items);
    } else {
      thing->kind = Thing::Kind::Other;
    }
    return thing;
  }
  // Puts items into the container below them: only the nesting is kept.
  void putInto(const std::vector<ThingPtr>& items) {
    const ThingPtr container = pop();
    auto grown = std::make_shared<Thing>(*container);
    grown->depth = std::max(grown->depth, depthOf(items));
    addInside(*grown, items);
    push(std::move(grown));
  }

  void memoise(uint64_t slot) {
    // LibTorch's memo is a list; numbers that follow one another stay below the bytes read.
    if (loads() && slot > at_) throw BrokenPickle{"the pickle has a memo slot far beyond the others"};
    const int64_t push = top().push;
    memo_[slot] = stack_.back();
    if (push < 0) return;
    PickledString& string = result_.strings[static_cast<size_t>(push)];
    if (string.end == opcodeAt_) string.end = at_;
  }
  void recall(uint64_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end()) throw BrokenPickle{"the pickle reads an empty memo slot"};
    const Thing::Kind kind = found->second->kind;
    if (kind == Thing::Kind::Absent) return push(makeThing(Thing::Kind::Other));  // whatever lay below it
    push(kind == Thing::Kind::String ? stringThing(found->second->text) : found->second);
  }
  ThingPtr stringThing(const std::string& text) {
    constexpr size_t kShort = 16;  // names of devices are
    auto thing = std::make_shared<Thing>();
    thing->kind = Thing::Kind::String;
    thing->text = text;
    if (text.size() <= kShort) {
      thing->push = static_cast<int64_t>(result_.strings.size());
      result_.strings.push_back({opcodeAt_, at_, text, false});
    }
    return thing;
  }

  void pushGlobal(const std::string& module, const std::string& name) {
    std::string global = module + " " + name;
    if (loads() && !isTorchScripts(global)) throw BrokenPickle{"it names '" + name + "', which NormLens does not load"};
    if (seenGlobals_.insert(global).second) result_.globals.push_back(global);
    push(makeThing(Thing::Kind::Global, std::move(global)));
  }

  // ("storage", type, key, device, elements)
  void persistentId() {
    const ThingPtr id = pop();
    const auto& items = id->items;
    const bool isStorage = id->kind == Thing::Kind::Tuple && items.size() >= 5 && items[0]->text == "storage" &&
                           items[1]->kind == Thing::Kind::Global && items[2]->kind == Thing::Kind::String;
    if (!isStorage || (loads() && !items[1]->text.starts_with("torch "))) {
      if (loads()) throw BrokenPickle{"a storage is not described as LibTorch does"};
      return push(makeThing(Thing::Kind::Other));
    }
    if (loads() && items[3]->text.starts_with("meta")) throw BrokenPickle{"its tensors have no values (device meta)"};
    if (items[4]->kind != Thing::Kind::Int || items[4]->number < 0) throw BrokenPickle{"a storage has no valid size"};
    DeclaredStorage storage;
    storage.type = items[1]->text.substr(items[1]->text.find(' ') + 1);
    storage.key = items[2]->text;
    storage.device = items[3]->text;
    storage.elements = items[4]->number;
    if (items[3]->push >= 0) result_.strings[static_cast<size_t>(items[3]->push)].isDevice = true;
    auto thing = makeThing(Thing::Kind::Storage, storage.key + " " + storage.type, storage.elements);
    const auto [known, isNew] = seenStorages_.try_emplace(
        storage.key + " " + storage.type + " " + std::to_string(storage.elements), result_.storages.size());
    if (isNew) result_.storages.push_back(std::move(storage));
    ++result_.storages[known->second].reads;
    push(std::move(thing));
  }

  // function(arguments): a rebuilt tensor must lie inside its storage.
  void reduce() {
    const ThingPtr arguments = pop();
    const ThingPtr function = pop();
    const bool rebuilds = function->kind == Thing::Kind::Global &&
                          function->text.starts_with("torch._utils _rebuild") &&
                          function->text.find("tensor") != std::string::npos;
    const size_t before = result_.tensors.size();
    if (rebuilds) {
      if (auto tensor = rebuiltTensor(*arguments)) result_.tensors.push_back(std::move(*tensor));
    }
    if (!loads()) return push(lookedAt(*function, arguments, before));
    if (function->kind != Thing::Kind::Global) throw BrokenPickle{"it calls what is no function"};
    ThingPtr made = calledByLibTorch(function->text, *arguments);
    if (made == nullptr) {
      auto object = holding({arguments});
      if (use_ == PickleUse::LoadWithEnums) object->kind = Thing::Kind::Absent;
      made = std::move(object);
    }
    push(std::move(made));
  }
  // Returns what a call makes where nobody is going to make it: of tensors and parameters it is known which they are.
  ThingPtr lookedAt(const Thing& function, const ThingPtr& arguments, size_t tensorsBefore) {
    auto made = holding({arguments});
    if (result_.tensors.size() > tensorsBefore) {
      made->kind = Thing::Kind::Tensor;
      made->number = static_cast<int64_t>(tensorsBefore);
    } else if (function.text == "torch._utils _rebuild_parameter" && !arguments->items.empty() &&
               arguments->items[0]->kind == Thing::Kind::Tensor) {
      made->kind = Thing::Kind::Tensor;
      made->number = arguments->items[0]->number;
    }
    return made;
  }
  void nameTensors(const std::vector<ThingPtr>& items) {
    for (size_t i = 1; i < items.size(); i += 2) {
      if (items[i]->kind == Thing::Kind::Tensor && items[i - 1]->kind == Thing::Kind::String)
        result_.named.push_back({items[i - 1]->text, static_cast<size_t>(items[i]->number)});
    }
  }
  void setItems(const std::vector<ThingPtr>& items) {
    if (!loads()) nameTensors(items);
    putInto(items);
  }
  // LibTorch drops the arguments and builds the object when its state comes.
  void newObject() {
    if (!loads()) return reduce();
    const ThingPtr arguments = pop();
    if (arguments->kind != Thing::Kind::Tuple || !arguments->items.empty() || top().kind != Thing::Kind::Global)
      throw BrokenPickle{"an object is not made as LibTorch does"};
  }
  void build() {
    if (loads()) return reduce();
    const ThingPtr state = pop();
    putInto({state});
  }

  void pushDict() {
    auto dict = holding({});
    dict->kind = Thing::Kind::Dict;
    push(std::move(dict));
  }

  void longInt() {
    const uint64_t count = takeInt(1);
    if (count > 8) {
      take(count);
      return push(makeThing(Thing::Kind::Other));
    }
    uint64_t value = takeInt(count);
    if (count > 0 && count < 8 && (value >> (8 * count - 1)) != 0) value |= ~uint64_t{0} << (8 * count);
    push(makeThing(Thing::Kind::Int, {}, static_cast<int64_t>(value)));
  }

  // One opcode; false at STOP.
  bool step() {
    opcodeAt_ = at_;
    const char opcode = take(1)[0];
    // clang-format off
    // NOLINTBEGIN(bugprone-branch-clone): one row for each opcode
    switch (opcode) {
      case '\x80': take(1); break;                                                             // PROTO
      case '.': return false;                                                                  // STOP
      case '(': pushMark(); break;                                                                  // MARK
      case 'N': case '\x88': case '\x89': push(makeThing(Thing::Kind::Other)); break;               // NONE, TRUE, FALSE
      case 'K': push(makeThing(Thing::Kind::Int, {}, static_cast<int64_t>(takeInt(1)))); break;     // BININT1
      case 'M': push(makeThing(Thing::Kind::Int, {}, static_cast<int64_t>(takeInt(2)))); break;     // BININT2
      case 'J': push(makeThing(Thing::Kind::Int, {}, static_cast<int32_t>(takeInt(4)))); break;     // BININT
      case '\x8a': longInt(); break;                                                          // LONG1
      case 'G': take(8); push(makeThing(Thing::Kind::Other)); break;                                // BINFLOAT
      case 'X': pushString(takeInt(4)); break;                                                 // BINUNICODE
      case '\x8d': pushString(takeInt(8)); break;                                             // BINUNICODE8
      case 'c': { std::string module = takeLine(); pushGlobal(module, takeLine()); break; }    // GLOBAL
      case 'q': memoise(takeInt(1)); break;                                                    // BINPUT
      case 'r': memoise(takeInt(4)); break;                                                    // LONG_BINPUT
      case 'h': recall(takeInt(1)); break;                                                     // BINGET
      case 'j': recall(takeInt(4)); break;                                                     // LONG_BINGET
      case ')': push(tuple({})); break;                                                        // EMPTY_TUPLE
      case 't': push(tuple(popToMark())); break;                                               // TUPLE
      case '\x85': case '\x86': case '\x87': smallTuple(static_cast<size_t>(opcode - '\x84')); break;  // TUPLE1..3
      case ']': push(holding({})); break;                                                      // EMPTY_LIST
      case '}': pushDict(); break;                                                             // EMPTY_DICT
      case 'l': collect(Thing::Kind::Other); break;                                            // LIST
      case 'd': collect(Thing::Kind::Dict); break;                                             // DICT
      case 'a': { const ThingPtr item = pop(); putInto({item}); break; }                       // APPEND
      case 's': { const ThingPtr value = pop(); const ThingPtr key = pop(); setItems({key, value}); break; }  // SETITEM
      case 'e': putInto(popToMark()); break;                                                        // APPENDS
      case 'u': setItems(popToMark()); break;                                                  // SETITEMS
      case 'b': build(); break;                                                                // BUILD
      case 'R': reduce(); break;                                                               // REDUCE
      case '\x81': newObject(); break;                                                        // NEWOBJ
      case 'Q': persistentId(); break;                                                         // BINPERSID
      default:
        throw BrokenPickle{"the pickle has an opcode that LibTorch does not read"};
    }
    // NOLINTEND(bugprone-branch-clone)
    // clang-format on
    return true;
  }

  void pushString(uint64_t length) {
    const auto text = take(length);
    constexpr size_t kKeptText = 4096;  // longer ones are neither storage keys nor types
    push(text.size() <= kKeptText ? stringThing(std::string(text)) : makeThing(Thing::Kind::Other));
  }
  void smallTuple(size_t count) {
    std::vector<ThingPtr> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    push(tuple(std::move(items)));
  }
  void collect(Thing::Kind kind) {
    auto made = holding(popToMark());
    made->kind = kind;
    push(std::move(made));
  }

  [[nodiscard]] bool loads() const { return use_ != PickleUse::Look; }

  std::string_view in_;
  PickleUse use_;
  size_t at_ = 0;
  size_t opcodeAt_ = 0;
  size_t pushed_ = 0;
  int marks_ = 0;  // that are open
  std::vector<ThingPtr> stack_;
  std::unordered_map<uint64_t, ThingPtr> memo_;
  std::unordered_set<std::string> seenGlobals_;
  std::unordered_map<std::string, size_t> seenStorages_;
  PickleNesting nesting_;
  PickleScan result_;
};

}  // namespace

Result<PickleScan> scanPickle(std::string_view pickle, PickleUse use) {
  try {
    return Scanner(pickle, use).run();
  } catch (const BrokenPickle& broken) {
    return fail(ErrorCode::Unreadable, broken.why);
  }
}

std::string withDevice(std::string_view pickle, const PickleScan& scan, std::string_view device) {
  std::set<std::string_view> before;
  for (const PickledString& string : scan.strings) {
    if (string.isDevice) before.insert(string.text);
  }
  // Written out wherever they are: a memo slot may serve a device and an attribute alike.
  const auto written = [](std::string_view text) {
    std::string bytes = "X";
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(text.size() >> shift & 0xff);
    return bytes.append(text);
  };
  std::string made;
  size_t done = 0;
  for (const PickledString& string : scan.strings) {
    if (!before.contains(string.text)) continue;
    made.append(pickle.substr(done, string.begin - done)).append(written(string.isDevice ? device : string.text));
    done = string.end;
  }
  return made.append(pickle.substr(done));
}

StorageType storageType(std::string_view name) {
  using graph::DType;
  static constexpr std::array<std::pair<std::string_view, StorageType>, 16> kTypes = {{
      {"FloatStorage", {4, DType::Float32}},
      {"DoubleStorage", {8, DType::Float64}},
      {"HalfStorage", {2, DType::Float16}},
      {"BFloat16Storage", {2, DType::BFloat16}},
      {"LongStorage", {8, DType::Int64}},
      {"IntStorage", {4, DType::Int32}},
      {"ShortStorage", {2, DType::Int16}},
      {"CharStorage", {1, DType::Int8}},
      {"ByteStorage", {1, DType::UInt8}},
      {"BoolStorage", {1, DType::Bool}},
      {"UntypedStorage", {1}},
      {"ComplexFloatStorage", {8}},
      {"ComplexDoubleStorage", {16}},
      {"QInt8Storage", {1}},
      {"QUInt8Storage", {1}},
      {"QInt32Storage", {4}},
  }};
  const auto* found = std::ranges::find(kTypes, name, &std::pair<std::string_view, StorageType>::first);
  return found == kTypes.end() ? StorageType() : found->second;
}

}  // namespace normlens::formats
