#include "core/formats/archive/pickle_calls.h"

#include <algorithm>
#include <array>

namespace normlens::formats {
namespace {

using Kind = Thing::Kind;

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

}  // namespace

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
  constexpr size_t kArguments = 6;  // what comes behind them is how a view differs from its storage
  tensor.asStored = items.size() <= kArguments;
  return tensor;
}

// LibTorch reads others, too, that no TorchScript file names. After _rebuild_from_type_v2 it takes the next names for
// other functions than their names mean, and it believes the indices of sparse tensors.
bool isTorchScripts(std::string_view global) {
  return global.starts_with("__torch__") || global.starts_with("torch ") ||
         std::ranges::find(kFunctions, global) != kFunctions.end();
}

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

}  // namespace normlens::formats
