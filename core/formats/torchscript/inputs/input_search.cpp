#include "core/formats/torchscript/inputs/input_search.h"

#include <algorithm>
#include <iterator>

namespace normlens::formats::torchscript {
namespace {

using c10::TypeKind;
using graph::DType;
using graph::Shape;
using Numbers = std::vector<int64_t>;

bool isNumber(TypeKind kind) {
  return kind == TypeKind::IntType || kind == TypeKind::FloatType || kind == TypeKind::BoolType;
}

// Returns the guess by the first of its readers that show anything.
InputGuess guessOf(const LoweredModel& model, const InputLayout& leaf) {
  InputGuess guess;
  for (const int value : leaf.values) {
    const graph::ValueId id = model.lowered.graphValue[static_cast<size_t>(value)];
    if (id == graph::kNoValue) continue;
    guess = guessInput(model.graph(), id);
    if (!guess.shapes.empty()) break;
  }
  return guess;
}

// Guesses may be costly (large images): part of the time is for mending.
constexpr std::chrono::duration<double> kGuessing{1};
constexpr size_t kMostUntried = 1024;
constexpr size_t kMostNumbers = 24;
constexpr int64_t kMostSize = 1 << 16;

void add(int64_t number, Numbers& numbers) {
  const bool isSize = number > 0 && number <= kMostSize;
  if (isSize && numbers.size() < kMostNumbers && std::ranges::find(numbers, number) == numbers.end())
    numbers.push_back(number);
}

// Sizes of tensors, and numbers.
void add(const c10::IValue& value, Numbers& numbers) {
  if (value.isTensor() && value.toTensor().defined()) {
    for (const int64_t size : value.toTensor().sizes()) add(size, numbers);
  } else if (value.isInt()) {
    add(value.toInt(), numbers);
    if (value.toInt() < kMostSize) add(value.toInt() + 1, numbers);  // An index needs this size.
  } else if (value.isList()) {
    for (const auto& element : value.toListRef()) add(c10::IValue(element), numbers);
  }
}

// Collects what the code compares with something and what its branches return ("rate in [8000, 16000]"), sorted down.
Numbers mentionedNumbers(const Program& program) {
  namespace aten = c10::aten;
  std::set<int64_t, std::greater<>> found;
  const auto addKnown = [&](int value) {
    const auto& known = program.values[static_cast<size_t>(value)].known;
    if (known && known->isInt()) found.insert(known->toInt());
    if (known && known->isIntList()) std::ranges::copy(known->toIntVector(), std::inserter(found, found.end()));
  };
  const auto addOperand = [&](int value) {
    addKnown(value);
    const int producer = program.values[static_cast<size_t>(value)].producer;
    if (producer == kNone) return;
    const ProgramNode& made = program.nodes[static_cast<size_t>(producer)];
    if (made.node->kind() == c10::prim::ListConstruct) std::ranges::for_each(made.inputs, addKnown);
  };
  for (const ProgramNode& node : program.nodes) {
    for (const auto kind : {aten::eq, aten::ne, aten::lt, aten::le, aten::gt, aten::ge, aten::__contains__}) {
      if (node.node->kind() == kind) std::ranges::for_each(node.inputs, addOperand);
    }
  }
  for (const ProgramBlock& block : program.blocks) std::ranges::for_each(block.returns, addKnown);
  return {found.begin(), found.end()};
}

// Like the other inputs, whole or without the last axes, where nothing is known.
std::vector<Shape> shapesFor(const InputSlot& slot, const InputCandidate& others, const std::vector<Shape>& unknown) {
  std::vector<Shape> shapes = slot.guess.shapes;
  for (const InputSpec& other : others) {
    for (Shape shape = other.shape; !shape.empty() && other.name != slot.name; shape.pop_back()) {
      if (slot.guess.shapes.empty()) shapes.push_back(shape);
    }
  }
  shapes.insert(shapes.end(), unknown.begin(), unknown.end());
  return shapes;
}

// Other candidates in place of one that failed where these numbers met, the likeliest first.
class Mender {
 public:
  Mender(const InputCandidate& failed, const Numbers& numbers, const std::vector<InputSlot>& slots,
         const std::vector<Shape>& unknown, DType floats)
      : failed_(failed), numbers_(numbers), slots_(slots), unknown_(unknown), floats_(floats) {}

  std::vector<InputCandidate> run() {
    const auto groups = InputTrials::groupsOf(failed_);
    for (const SizeGroup& group : groups) resize(group, group.axes);
    changeValues();
    for (const SizeGroup& group : groups) {
      for (size_t i = 0; i < group.axes.size() && group.axes.size() > 1; ++i) resize(group, {group.axes[i]});
    }
    giveMore();
    changeTypesAndShapes();
    return std::move(out_);
  }

 private:
  template <class F>
  void change(size_t input, const F& f) {
    out_.push_back(failed_);
    f(out_.back()[input]);
  }

  // A size further on is this one, or a multiple or part of it.
  void resize(const SizeGroup& group, const std::vector<SizeGroup::InputAxis>& axes) {
    const auto use = [&](int64_t size) {
      out_.push_back(failed_);
      for (const auto& one : axes) out_.back()[one.input].shape[one.axis] = size;
    };
    const bool met = std::ranges::find(numbers_, group.size) != numbers_.end();
    for (const int64_t wants : numbers_) {
      if (wants != group.size) use(wants);
    }
    for (const int64_t has : met ? Numbers() : numbers_) {
      for (const int64_t wants : numbers_) {
        if (wants != has && group.size * wants % has == 0) use(group.size * wants / has);
      }
    }
  }

  // Whole numbers: what is mentioned; masks and indices also small ones, which are valid nearly everywhere.
  void changeValues() {
    for (size_t i = 0; i < failed_.size(); ++i) {
      if (graph::isFloat(failed_[i].dtype) || failed_[i].dtype == DType::Bool) continue;
      const auto set = [&](int64_t low, int64_t high) {
        change(i, [&](InputSpec& spec) {
          spec.low = static_cast<double>(low);
          spec.high = static_cast<double>(high);
        });
      };
      const auto& highest = slotOf(slots_, failed_[i]).guess.highest;
      for (const int64_t number : numbers_) {
        if (!highest || number <= *highest) set(number, number);
      }
      set(0, 1);
      set(1, 1);
      set(0, 0);
    }
  }

  // All arrays of an argument that is left out.
  void giveMore() {
    std::set<size_t> given;
    for (const InputSpec& spec : failed_) given.insert(slotOf(slots_, spec).argument);
    for (const InputSlot& first : slots_) {
      if (!given.insert(first.argument).second) continue;
      InputCandidate& more = out_.emplace_back();
      for (const InputSlot& slot : slots_) {
        const auto known = std::ranges::find(failed_, slot.name, &InputSpec::name);
        if (known != failed_.end()) more.push_back(*known);
        if (slot.argument == first.argument && slot.isTensor())
          more.push_back(specOf(slot, shapesFor(slot, failed_, unknown_).front(), floats_));
      }
    }
  }

  void changeTypesAndShapes() {
    for (size_t i = 0; i < failed_.size(); ++i) {
      const InputSlot& slot = slotOf(slots_, failed_[i]);
      if (!slot.isTensor()) continue;
      for (const DType dtype : {DType::Int64, DType::Bool, floats_}) {
        if (slot.guess.dtype == DType::Unknown)
          change(i, [&](InputSpec& spec) { spec = specOf(slot, spec.shape, dtype); });
      }
      for (const Shape& shape : shapesFor(slot, failed_, unknown_)) {
        change(i, [&](InputSpec& spec) { spec.shape = shape; });
      }
    }
  }

  const InputCandidate& failed_;
  const Numbers& numbers_;
  const std::vector<InputSlot>& slots_;
  const std::vector<Shape>& unknown_;
  DType floats_;
  std::vector<InputCandidate> out_;
};

bool isSmall(const InputCandidate& candidate) {
  constexpr int64_t kMostDrawn = int64_t{1} << 22;
  int64_t elements = 0;
  for (const InputSpec& spec : candidate)
    elements += std::min(graph::elementCount(spec.shape).value_or(kMostDrawn), kMostDrawn);
  return elements < kMostDrawn;
}

}  // namespace

Result<std::vector<InputSlot>> inputSlots(const LoweredModel& model) {
  std::vector<InputSlot> slots;
  const auto& inputs = model.program.inputs;
  for (size_t argument = 0; argument < inputs.size(); ++argument) {
    for (const InputLayout* leaf : leavesOf(inputs[argument])) {
      InputSlot slot{leaf->name, argument, leaf->type->kind(), leaf->optional, {}};
      if (slot.isTensor()) {
        slot.guess = guessOf(model, *leaf);
      } else if (slot.optional) {
        continue;
      } else if (!isNumber(slot.kind)) {
        return fail(ErrorCode::BadInput,
                    "the model's input '" + slot.name + "' is a " + leaf->type->str() +
                        ", for which NormLens cannot make up values",
                    {"give inputs", HintKey::Inputs});
      }
      slots.push_back(std::move(slot));
    }
  }
  return slots;
}

const InputSlot& slotOf(const std::vector<InputSlot>& slots, const InputSpec& spec) {
  return *std::ranges::find(slots, spec.name, &InputSlot::name);
}

InputSpec specOf(const InputSlot& slot, const graph::Shape& shape, graph::DType dtype) {
  InputSpec spec;
  spec.name = slot.name;
  spec.dtype = slot.guess.dtype == graph::DType::Unknown ? dtype : slot.guess.dtype;
  spec.shape = shape;
  if (!graph::isFloat(spec.dtype))
    spec.high = static_cast<double>(std::max<int64_t>(0, slot.guess.highest.value_or(1)));
  return spec;
}

std::string shapeText(const graph::Shape& shape, const char* separator) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : separator) + std::to_string(size);
  return "[" + text + "]";
}

std::string textOf(const InputCandidate& candidate) {
  std::string text;
  for (const InputSpec& spec : candidate) {
    text += (text.empty() ? "" : " ") + spec.name + "=" + std::string(graph::dtypeName(spec.dtype)) +
            shapeText(spec.shape, ",");
    if (!graph::isFloat(spec.dtype) && spec.dtype != graph::DType::Bool)
      text +=
          ":" + std::to_string(static_cast<int64_t>(spec.low)) + ".." + std::to_string(static_cast<int64_t>(spec.high));
  }
  return text.empty() ? "no inputs" : text;
}

InputSearch::InputSearch(InputTrials& trials, const Program& program, const std::vector<InputSlot>& slots,
                         const std::vector<Shape>& unknown, DType floats)
    : trials_(trials), slots_(slots), unknown_(unknown), floats_(floats), mentioned_(mentionedNumbers(program)) {}

// Candidates that may mend one that fails are kept if it came at least as far as this.
bool InputSearch::works(const InputCandidate& candidate, size_t guess, size_t atLeast) {
  if (!isSmall(candidate) || !seen_.insert(textOf(candidate)).second) return false;
  if (trials_.works(candidate)) return true;
  const Interpreter::Fault& fault = trials_.fault();
  if (whyFurthestFailed_.empty() || fault.reached > furthestReached_) {
    furthestReached_ = fault.reached;
    furthest_ = candidate;
    whyFurthestFailed_ = trials_.lastError();
  }
  if (fault.reached >= atLeast) mend(candidate, fault, untried_[guess]);
  return false;
}

void InputSearch::mend(const InputCandidate& failed, const Interpreter::Fault& fault, Untried& into) const {
  Numbers numbers;
  for (const c10::IValue& input : fault.inputs) add(input, numbers);
  if (numbers.empty()) {  // the model itself objects
    for (const int64_t number : mentioned_) add(number, numbers);
  }
  // A size of 1 hides what would go wrong with others.
  std::ranges::stable_partition(numbers, [](int64_t number) { return number > 1; });
  for (InputCandidate& candidate : Mender(failed, numbers, slots_, unknown_, floats_).run()) {
    into.emplace(fault.reached, std::move(candidate));
  }
  while (into.size() > kMostUntried) into.erase(std::prev(into.end()));
}

std::optional<InputCandidate> InputSearch::run(const std::vector<InputCandidate>& guesses) {
  const auto reach = [](const Untried& untried) { return untried.empty() ? 0 : untried.begin()->first + 1; };
  untried_.resize(guesses.size());
  size_t tried = 0;
  for (; tried < guesses.size() && trials_.elapsed() <= kGuessing; ++tried) {
    if (works(guesses[tried], tried, 0)) return guesses[tried];
  }
  for (size_t turn = 0; !trials_.searchedEnough(); ++turn) {
    // The candidate that comes furthest may lead nowhere: every guess has its turns.
    size_t guess = turn / 4 % guesses.size();
    if (turn % 4 != 3 || untried_[guess].empty())
      guess = static_cast<size_t>(std::ranges::max_element(untried_, {}, reach) - untried_.begin());
    if (untried_[guess].empty()) break;
    const auto next = untried_[guess].extract(untried_[guess].begin());
    if (works(next.mapped(), guess, next.key())) return next.mapped();
  }
  for (; tried < guesses.size() && !trials_.searchedEnough(); ++tried) {
    if (works(guesses[tried], tried, 0)) return guesses[tried];
  }
  return std::nullopt;
}

}  // namespace normlens::formats::torchscript
