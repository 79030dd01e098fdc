// Finds workable inputs without being given any: the traced example's shapes where the file kept them, otherwise
// guesses from the first ops that read each input, mended by what their trials show. Every answer has been run.
#include "core/formats/torchscript/inputs/infer_inputs.h"

#include <algorithm>

#include "core/base/formatted.h"
#include "core/base/plural.h"
#include "core/formats/archive/pickle_scan.h"
#include "core/formats/torchscript/inputs/input_search.h"
#include "core/formats/torchscript/program/arguments.h"

namespace normlens::formats::torchscript {
namespace {

// Shapes for inputs of which the graph shows nothing.
const std::vector<graph::Shape> kUnknown = {{2, 7, 8},  {2, 8},     {2, 3, 32, 32}, {2, 7},     {2, 8, 9}, {4},
                                            {2, 7, 16}, {2, 7, 32}, {2, 7, 64},     {2, 3, 16}, {}};

// An example input that torch.jit.save keeps with a traced module.
struct TracedInput {
  graph::DType dtype = graph::DType::Unknown;
  graph::Shape shape;
};

// In forward order; empty when the file has none (scripted modules, older files, inputs that are not tensors).
std::vector<TracedInput> readTracedInputs(const Archive& archive) {
  const ZipRecord* record = archive.find(std::string(archive.prefix()) + "traced_inputs.pkl");
  if (record == nullptr) return {};
  constexpr uint64_t kMost = 1 << 20;
  const auto pickle = archive.read(*record, kMost);
  if (!pickle) return {};
  const auto scan = scanPickle(*pickle);
  if (!scan) return {};
  std::vector<TracedInput> inputs;
  for (const DeclaredTensor& tensor : scan->tensors) {
    const graph::DType dtype = storageType(tensor.type).dtype;
    if (dtype == graph::DType::Unknown) return {};
    inputs.push_back({dtype, tensor.sizes});
  }
  return inputs;
}

class InputInference {
 public:
  InputInference(const LoweredModel& model, const c10::FunctionSchema& schema, std::vector<InputSlot> slots,
                 InputsFor use)
      : model_(model),
        use_(use),
        floats_(model.facts.dtype),
        slots_(std::move(slots)),
        trials_(model.program, schema, floats_),
        search_(trials_, model.program, slots_, kUnknown, floats_) {}

  Result<std::vector<InputSpec>> run() {
    if (auto traced = fromTrace()) return finish(std::move(*traced));
    if (auto found = search_.run(guesses())) return finish(settled(std::move(*found)));
    return fail(ErrorCode::BadInput,
                "no workable inputs could be guessed from the graph; of " + plural(trials_.made(), "set") +
                    " tried in " + formatted("%.1f s", trials_.elapsed().count()) + ", " + textOf(search_.furthest()) +
                    " came furthest: " + search_.whyFurthestFailed(),
                trials_.endless() ? Hint("search longer", HintKey::TimeOrInputs)
                                  : Hint("give inputs in the way of these", HintKey::Inputs));
  }

 private:
  std::optional<InputCandidate> fromTrace() {
    if (model_.source.archive == nullptr) return std::nullopt;
    const auto traced = readTracedInputs(*model_.source.archive);
    InputCandidate candidate;
    for (const InputSlot& slot : slots_) {
      if (slot.optional) continue;
      if (!slot.isTensor() || candidate.size() == traced.size()) return std::nullopt;
      const TracedInput& example = traced[candidate.size()];
      InputSpec& spec = candidate.emplace_back(specOf(slot, example.shape, example.dtype));
      spec.dtype = graph::isFloat(example.dtype) ? floats_ : example.dtype;
      spec.assumed = "shape " + shapeText(example.shape) + " from the traced example";
      if (!graph::isFloat(spec.dtype) && spec.dtype != graph::DType::Bool)
        spec.assumed += "; " + (slot.guess.reason.empty() ? "values 0 and 1" : slot.guess.reason);
    }
    if (candidate.empty()) return std::nullopt;
    auto relaxed = settled(candidate);
    return trials_.works(relaxed) ? std::optional(std::move(relaxed)) : std::nullopt;
  }

  // Relaxes the values until the results are finite; as they are where nothing helps.
  InputCandidate settled(InputCandidate candidate) {
    if (use_ == InputsFor::Shapes || trials_.worksFinite(candidate)) return candidate;
    // A mask of random zeros can switch off a whole row; an index may be shifted before it is used.
    auto ones = candidate, small = candidate;
    for (InputSpec& spec : ones) {
      if (!graph::isFloat(spec.dtype) && spec.high == 1) spec.low = 1;
    }
    for (InputSpec& spec : small) {
      if (!graph::isFloat(spec.dtype) && spec.low == 0) spec.high = std::min(spec.high, 1.0);
    }
    for (auto* relaxed : {&ones, &small}) {
      if (textOf(*relaxed) == textOf(candidate)) continue;
      if (trials_.worksFinite(*relaxed)) return std::move(*relaxed);
    }
    return candidate;
  }

  // The k-th shape of every required input together; inputs of which nothing is known follow the first one's.
  [[nodiscard]] std::vector<InputCandidate> guesses() const {
    size_t tries = kUnknown.size();
    for (const InputSlot& slot : slots_) tries = std::max(tries, slot.guess.shapes.size());
    std::vector<InputCandidate> candidates;
    for (const graph::DType unknown : {floats_, graph::DType::Int64}) {
      for (size_t k = 0; k < tries; ++k) candidates.push_back(guess(k, unknown));
    }
    return candidates;
  }

  [[nodiscard]] InputCandidate guess(size_t k, graph::DType unknown) const {
    const auto shapeOf = [&](const InputSlot& slot) {
      const auto& shapes = slot.guess.shapes.empty() ? kUnknown : slot.guess.shapes;
      return shapes[std::min(k, shapes.size() - 1)];
    };
    const auto leading = std::ranges::find_if(
        slots_, [](const InputSlot& slot) { return !slot.optional && !slot.guess.shapes.empty(); });
    InputCandidate candidate;
    for (const InputSlot& slot : slots_) {
      if (slot.optional) continue;
      if (slot.isTensor()) {
        const bool follows = slot.guess.shapes.empty() && leading != slots_.end();
        candidate.push_back(specOf(slot, shapeOf(follows ? *leading : slot), unknown));
        continue;
      }
      const bool whole = slot.kind == c10::TypeKind::IntType, yesOrNo = slot.kind == c10::TypeKind::BoolType;
      candidate.push_back(specOf(slot, {},
                                 whole     ? graph::DType::Int64
                                 : yesOrNo ? graph::DType::Bool
                                           : graph::DType::Float64));
      if (whole) candidate.back().low = candidate.back().high = 2;
    }
    return candidate;
  }

  static void sayWhatWasAssumed(InputSpec& spec, const InputSlot& slot) {
    if (!spec.assumed.empty()) return;
    if (!slot.isTensor()) {
      const bool whole = slot.kind == c10::TypeKind::IntType;
      spec.assumed = whole ? "the number " + std::to_string(static_cast<int64_t>(spec.high)) : "any number";
      return;
    }
    spec.assumed =
        std::string(graph::dtypeName(spec.dtype)) + shapeText(spec.shape) +
        (slot.guess.reason.empty() ? std::string(", found by trying shapes") : ", from " + slot.guess.reason);
  }

  InputCandidate finish(InputCandidate specs) {
    const InputCandidate found = specs;
    trials_.findFreeAxes(specs);
    for (size_t i = 0; i < specs.size(); ++i) {
      for (size_t axis = 0; axis < specs[i].shape.size() && !specs[i].assumed.empty(); ++axis) {
        const int64_t traced = found[i].shape[axis], size = specs[i].shape[axis];
        if (size == traced) continue;
        specs[i].assumed += (axis == 0 ? "; the batch" : "; axis " + std::to_string(axis)) + " is " +
                            std::to_string(size) + " instead of the traced " + std::to_string(traced);
      }
      sayWhatWasAssumed(specs[i], slotOf(slots_, specs[i]));
    }
    return specs;
  }

  const LoweredModel& model_;
  InputsFor use_;
  graph::DType floats_;
  std::vector<InputSlot> slots_;
  InputTrials trials_;
  InputSearch search_;
};

}  // namespace

std::vector<InputArray> inputArraysOf(const Program& program, const std::vector<std::string>& given) {
  const auto layouts = fitted(program.inputs, given);
  std::vector<InputArray> arrays;
  for (const InputLayout* leaf : leavesOf(layouts)) arrays.push_back({leaf->name, leaf->optional});
  return arrays;
}

std::vector<std::string> ownNamesOf(const Program& program, std::vector<std::string> given) {
  for (const InputLayout& input : program.inputs) {
    if (input.isContainer()) continue;  // "xs.1" is the second of xs
    const auto& numbered = program.values[static_cast<size_t>(input.values[0])].value->debugName();
    std::ranges::replace(given, numbered, input.name);
  }
  return withContainerNames(program.inputs, std::move(given));
}

Result<std::vector<InputSpec>> inferInputs(const LoweredModel& model, InputsFor use) {
  if (model.neverRun) return tl::unexpected(*model.neverRun);
  const auto& schema = model.source.module.get_method("forward").function().getSchema();
  return inputSlots(model).and_then(
      [&](auto slots) { return InputInference(model, schema, std::move(slots), use).run(); });
}

}  // namespace normlens::formats::torchscript
