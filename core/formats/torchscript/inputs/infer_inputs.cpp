// Workable inputs without being given any: the traced example's shapes where the file kept them, otherwise guesses from
// the first ops that read each input, mended by what their trials tell. Every answer has been run.
#include <algorithm>

#include "core/base/formatted.h"
#include "core/base/plural.h"
#include "core/formats/torchscript/file/traced_inputs.h"
#include "core/formats/torchscript/inputs/input_search.h"
#include "core/formats/torchscript/inputs/mentioned_numbers.h"
#include "core/formats/torchscript/program/arguments.h"
#include "core/formats/torchscript/program/torchscript_model.h"

namespace normlens::formats::torchscript {
namespace {

// Shapes for inputs of which the graph says nothing; sizes that the code itself insists on come first.
std::vector<graph::Shape> shapesForUnknown(const Program& program) {
  std::vector<graph::Shape> shapes;
  for (const int64_t size : mentionedBetween(program, 8, 1 << 16)) {
    if (shapes.size() < 12) shapes.insert(shapes.end(), {{2, size}, {1, size}, {2, 1, size}});
  }
  for (const graph::Shape& shape : {graph::Shape{2, 7, 8},
                                    {2, 8},
                                    {2, 3, 32, 32},
                                    {2, 7},
                                    {2, 8, 9},
                                    {4},
                                    {2, 7, 16},
                                    {2, 7, 32},
                                    {2, 7, 64},
                                    {2, 3, 16},
                                    {}})
    shapes.push_back(shape);
  return shapes;
}

class InputInference {
 public:
  InputInference(const TorchScriptModel& model, const c10::FunctionSchema& schema, std::vector<InputSlot> slots)
      : model_(model),
        floats_(model.facts().dtype),
        slots_(std::move(slots)),
        unknown_(shapesForUnknown(model.program())),
        trials_(model.program(), schema, floats_),
        search_(trials_, slots_, unknown_, floats_) {}

  Result<std::vector<InputSpec>> run() {
    if (auto traced = fromTrace()) return finish(std::move(*traced));
    if (auto found = search_.run(guesses())) return finish(settled(std::move(*found)));
    return fail(ErrorCode::BadInput,
                "no workable inputs could be guessed from the graph; of " + plural(trials_.made(), "set") +
                    " tried in " + formatted("%.1f s", trials_.elapsed().count()) + ", " + search_.furthest(),
                "give inputs with --inputs FILE.npz or --input '" + (slots_.empty() ? "in_0" : slots_[0].name) +
                    "=float32[2,3,32,32]'");
  }

 private:
  std::optional<InputCandidate> fromTrace() {
    if (model_.source().archive == nullptr) return std::nullopt;
    const auto traced = readTracedInputs(*model_.source().archive);
    size_t needed = 0;
    InputCandidate candidate(slots_.size());
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].optional) continue;
      if (!slots_[i].isTensor() || needed == traced.size()) return std::nullopt;
      const TracedInput& example = traced[needed++];
      InputSpec spec;
      spec.name = slots_[i].name;
      spec.dtype = graph::isFloat(example.dtype) ? floats_ : example.dtype;
      spec.shape = example.shape;
      spec.assumed = "the shape " + shapeText(example.shape) + " of the example that the file was traced with";
      if (!graph::isFloat(spec.dtype) && spec.dtype != graph::DType::Bool) {
        setRange(spec, slots_[i].guess);
        const std::string& reason = slots_[i].guess.reason;
        spec.assumed += "; " + (reason.empty() ? "values 0 and 1" : reason);
      }
      candidate[i] = std::move(spec);
    }
    if (needed == 0) return std::nullopt;
    auto relaxed = settled(candidate);
    return trials_.works(givenOnes(relaxed)) ? std::optional(std::move(relaxed)) : std::nullopt;
  }

  // Relaxes the values until the results are finite; as they are where nothing helps.
  InputCandidate settled(InputCandidate candidate) {
    if (trials_.worksFinite(givenOnes(candidate))) return candidate;
    // A mask of random zeros can switch off a whole row; an index may be shifted before it is used.
    auto ones = candidate, small = candidate;
    for (auto& spec : ones) {
      if (spec && !graph::isFloat(spec->dtype) && spec->high == 1) spec->low = 1;
    }
    for (auto& spec : small) {
      if (spec && !graph::isFloat(spec->dtype) && spec->low == 0) spec->high = std::min(spec->high, 1.0);
    }
    for (auto* relaxed : {&ones, &small}) {
      if (textOf(*relaxed) == textOf(candidate)) continue;
      if (trials_.worksFinite(givenOnes(*relaxed))) return std::move(*relaxed);
    }
    return candidate;
  }

  // The k-th shape of every input together; inputs of which nothing is known follow the first one's.
  [[nodiscard]] std::vector<InputCandidate> guesses() const {
    size_t tries = unknown_.size();
    for (const InputSlot& slot : slots_) tries = std::max(tries, slot.guess.shapes.size());
    std::vector<InputCandidate> candidates;
    for (const auto& given : givenSlots()) {
      for (const bool unknownAreInts : {false, true}) {
        for (const int64_t number : numbersToTry()) {
          for (size_t k = 0; k < tries; ++k) candidates.push_back(guess(given, k, number, unknownAreInts));
        }
      }
    }
    return candidates;
  }

  // Which inputs to give: all that are required; where no tensor is, an argument that may be left out beside them.
  [[nodiscard]] std::vector<std::vector<bool>> givenSlots() const {
    std::vector<bool> required;
    for (const InputSlot& slot : slots_) required.push_back(!slot.optional);
    std::vector<std::vector<bool>> choices;
    const bool hasTensor = std::ranges::any_of(slots_, [](const InputSlot& s) { return !s.optional && s.isTensor(); });
    for (size_t i = 0; i < slots_.size() && !hasTensor; ++i) {
      if (!slots_[i].optional || (i > 0 && slots_[i - 1].argument == slots_[i].argument)) continue;
      choices.push_back(required);
      for (size_t k = i; k < slots_.size() && slots_[k].argument == slots_[i].argument; ++k) choices.back()[k] = true;
    }
    choices.push_back(required);
    return choices;
  }

  // Values for whole-number arguments: what the code compares them with, then 2.
  [[nodiscard]] std::vector<int64_t> numbersToTry() const {
    std::vector<int64_t> numbers;
    for (const InputSlot& slot : slots_) {
      if (slot.isTensor()) continue;
      for (const int64_t number : comparedWith(model_.program(), model_.program().blocks[0].params[slot.argument])) {
        if (numbers.size() < 4) numbers.push_back(number);
      }
    }
    numbers.push_back(2);
    return numbers;
  }

  [[nodiscard]] InputCandidate guess(const std::vector<bool>& given, size_t k, int64_t number,
                                     bool unknownAreInts) const {
    graph::Shape leading;
    for (size_t i = 0; i < slots_.size() && leading.empty(); ++i) {
      const auto& shapes = slots_[i].guess.shapes;
      if (given[i] && !shapes.empty()) leading = shapes[std::min(k, shapes.size() - 1)];
    }
    InputCandidate candidate(slots_.size());
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (!given[i]) continue;
      const InputSlot& slot = slots_[i];
      InputSpec& spec = candidate[i].emplace();
      spec.name = slot.name;
      if (slot.isTensor()) {
        const auto& shapes = slot.guess.shapes.empty() ? unknown_ : slot.guess.shapes;
        const bool follows = slot.guess.shapes.empty() && !leading.empty();
        spec.shape = follows ? leading : shapes[std::min(k, shapes.size() - 1)];
        const bool maybeInts = slot.guess.shapes.empty() && unknownAreInts;
        spec.dtype = slot.guess.dtype != graph::DType::Unknown ? slot.guess.dtype
                     : maybeInts                               ? graph::DType::Int64
                                                               : floats_;
        if (!graph::isFloat(spec.dtype)) setRange(spec, slot.guess);
      } else if (slot.kind == c10::TypeKind::IntType) {
        spec.dtype = graph::DType::Int64;
        spec.low = spec.high = static_cast<double>(number);
      } else {
        spec.dtype = slot.kind == c10::TypeKind::BoolType ? graph::DType::Bool : graph::DType::Float64;
      }
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
    spec.assumed = std::string(graph::dtypeName(spec.dtype)) + shapeText(spec.shape) +
                   (slot.guess.reason.empty() ? std::string(", which runs") : ", from " + slot.guess.reason);
  }

  Result<std::vector<InputSpec>> finish(InputCandidate candidate) {
    std::vector<std::vector<int>> fixedAxes;
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (!candidate[i]) continue;
      sayWhatWasAssumed(*candidate[i], slots_[i]);
      fixedAxes.push_back(fixedAxesOf(slots_[i].guess, candidate[i]->shape));
    }
    auto specs = givenOnes(candidate);
    trials_.findFreeAxes(specs, fixedAxes);
    return specs;
  }

  const TorchScriptModel& model_;
  graph::DType floats_;
  std::vector<InputSlot> slots_;
  std::vector<graph::Shape> unknown_;
  InputTrials trials_;
  InputSearch search_;
};

}  // namespace

std::vector<InputArray> TorchScriptModel::inputArrays(const std::vector<std::string>& given) const {
  const auto layouts = fitted(program_.inputs, given);
  std::vector<InputArray> arrays;
  for (const InputLayout* leaf : leavesOf(layouts)) arrays.push_back({leaf->name, leaf->optional});
  return arrays;
}

std::vector<std::string> TorchScriptModel::ownNames(std::vector<std::string> given) const {
  for (const InputLayout& input : program_.inputs) {
    if (input.isContainer()) continue;  // "xs.1" is the second of xs
    const auto& numbered = program_.values[static_cast<size_t>(input.values[0])].value->debugName();
    std::ranges::replace(given, numbered, input.name);
  }
  return withContainerNames(program_.inputs, std::move(given));
}

Result<std::vector<InputSpec>> TorchScriptModel::inferInputs() const {
  if (neverRun_) return tl::unexpected(*neverRun_);
  const auto& schema = source_.module.get_method("forward").function().getSchema();
  return inputSlots(*this).and_then([&](auto slots) { return InputInference(*this, schema, std::move(slots)).run(); });
}

}  // namespace normlens::formats::torchscript
