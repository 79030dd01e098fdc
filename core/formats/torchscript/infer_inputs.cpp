// Workable inputs without being given any: the traced example's shapes where the file kept them, otherwise guesses from
// the first ops that read each input. Every answer has been run.
#include <algorithm>

#include "core/formats/torchscript/input_guess.h"
#include "core/formats/torchscript/input_trials.h"
#include "core/formats/torchscript/mentioned_numbers.h"
#include "core/formats/torchscript/torchscript_model.h"
#include "core/formats/torchscript/traced_inputs.h"

namespace normlens::formats::torchscript {
namespace {

constexpr int kMostTrials = 80;

bool mayBeMissing(const c10::Argument& argument) {
  return argument.default_value() || argument.type()->kind() == c10::TypeKind::OptionalType;
}

// The arguments that must be given, as specs without shapes.
Result<std::vector<InputSpec>> requiredInputs(const c10::FunctionSchema& schema) {
  std::vector<InputSpec> specs;
  const auto& arguments = schema.arguments();
  for (size_t i = 1; i < arguments.size(); ++i) {
    const c10::Argument& argument = arguments[i];
    const auto kind = argument.type()->kind();
    if (mayBeMissing(argument)) continue;
    InputSpec spec;
    spec.name = "in_" + std::to_string(i - 1);
    if (kind == c10::TypeKind::IntType) {
      spec.dtype = graph::DType::Int64;
      spec.low = spec.high = 2;
    } else if (kind == c10::TypeKind::FloatType) {
      spec.dtype = graph::DType::Float64;
    } else if (kind == c10::TypeKind::BoolType) {
      spec.dtype = graph::DType::Bool;
    } else if (kind != c10::TypeKind::TensorType) {
      return fail(ErrorCode::BadInput,
                  "the model's input '" + argument.name() + "' is a " + argument.type()->str() +
                      ", for which NormLens cannot make up values",
                  "give inputs with --inputs FILE.npz");
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::string shapeText(const graph::Shape& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

// Draws and guesses of one model.
class InputInference {
 public:
  InputInference(const TorchScriptModel& model, const c10::FunctionSchema& schema, graph::DType floats)
      : model_(model), schema_(schema), floats_(floats), trials_(model.program(), schema, floats) {}

  Result<std::vector<InputSpec>> run() {
    auto specs = requiredInputs(schema_);
    if (!specs) return specs;
    for (size_t i = 0; i < specs->size(); ++i) {
      if (isTensor(i))
        guesses_.push_back(guessInput(model_.graph(), model_.graph().inputs()[argumentOf((*specs)[i])]));
      else
        guesses_.emplace_back();
    }
    if (auto traced = fromTrace(*specs)) return finish(std::move(*traced));
    if (auto guessed = fromGuesses(*specs)) return finish(std::move(*guessed));
    return fail(ErrorCode::BadInput, "no workable inputs could be guessed from the graph (" + trials_.lastError() + ")",
                "give inputs with --inputs FILE.npz or --input 'in_0=float32[2,3,32,32]'");
  }

 private:
  // Position of a spec's argument among forward()'s, from its name "in_3".
  static size_t argumentOf(const InputSpec& spec) { return std::stoul(spec.name.substr(3)); }
  [[nodiscard]] bool isTensor(size_t spec) const {
    size_t seen = 0;
    const auto& arguments = schema_.arguments();
    for (size_t i = 1; i < arguments.size(); ++i) {
      if (mayBeMissing(arguments[i])) continue;
      if (seen++ == spec) return arguments[i].type()->kind() == c10::TypeKind::TensorType;
    }
    return false;
  }

  // Range of an integer input: indices of the smallest table it reaches, else a mask of zeros and ones.
  void setRange(InputSpec& spec, const InputGuess& guess) const {
    spec.low = 0;
    spec.high = guess.highest ? static_cast<double>(std::max<int64_t>(0, *guess.highest)) : 1;
  }

  std::optional<std::vector<InputSpec>> fromTrace(std::vector<InputSpec> specs) {
    if (model_.source().archive == nullptr) return std::nullopt;
    const auto traced = readTracedInputs(*model_.source().archive);
    if (traced.empty() || traced.size() < specs.size()) return std::nullopt;
    for (size_t i = 0; i < specs.size(); ++i) {
      if (!isTensor(i)) return std::nullopt;
      specs[i].dtype = graph::isFloat(traced[i].dtype) ? floats_ : traced[i].dtype;
      specs[i].shape = traced[i].shape;
      specs[i].assumed = "the shape " + shapeText(traced[i].shape) + " of the example that the file was traced with";
      if (graph::isFloat(specs[i].dtype) || specs[i].dtype == graph::DType::Bool) continue;
      setRange(specs[i], guesses_[i]);
      specs[i].assumed += guesses_[i].reason.empty() ? "; values 0 and 1" : "; " + guesses_[i].reason;
    }
    return settled(std::move(specs));
  }

  // Relaxes the values until the specs work with finite results, or at least work.
  std::optional<std::vector<InputSpec>> settled(std::vector<InputSpec> specs) {
    if (trials_.worksFinite(specs)) return specs;
    // A mask of random zeros can switch off a whole row; an index may be shifted before it is used.
    auto ones = specs, small = specs;
    for (InputSpec& spec : ones) {
      if (!graph::isFloat(spec.dtype) && spec.high == 1) spec.low = 1;
    }
    for (InputSpec& spec : small) {
      if (!graph::isFloat(spec.dtype) && spec.low == 0) spec.high = std::min(spec.high, 1.0);
    }
    if (trials_.worksFinite(ones)) return ones;
    if (trials_.worksFinite(small)) return small;
    if (trials_.works(specs)) return specs;
    return std::nullopt;
  }

  // The k-th candidate of every input together; inputs of which nothing is known follow the first one's shape.
  std::optional<std::vector<InputSpec>> fromGuesses(const std::vector<InputSpec>& required) {
    unknownShapes_ = shapesForUnknown();
    size_t tries = unknownShapes_.size();
    for (const InputGuess& guess : guesses_) tries = std::max(tries, guess.shapes.size());
    int made = 0;
    for (const bool unknownAreInts : {false, true}) {
      for (const int64_t number : numbersToTry(required)) {
        for (size_t k = 0; k < tries; ++k) {
          if (made++ > kMostTrials || trials_.outOfTime()) return std::nullopt;
          if (auto good = settled(candidate(required, k, number, unknownAreInts))) return good;
        }
      }
    }
    return std::nullopt;
  }

  // Shapes for inputs of which the graph says nothing; sizes that the code itself insists on come first.
  std::vector<graph::Shape> shapesForUnknown() const {
    std::vector<graph::Shape> shapes;
    for (const int64_t size : mentionedBetween(model_.program(), 8, 1 << 16)) {
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

  // Values for whole-number arguments: what the code compares them with, then 2.
  std::vector<int64_t> numbersToTry(const std::vector<InputSpec>& required) const {
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < required.size(); ++i) {
      if (isTensor(i)) continue;
      const int value = model_.program().blocks[0].params[argumentOf(required[i])];
      for (const int64_t number : comparedWith(model_.program(), value)) {
        if (numbers.size() < 4) numbers.push_back(number);
      }
    }
    numbers.push_back(2);
    return numbers;
  }

  std::vector<InputSpec> candidate(std::vector<InputSpec> specs, size_t k, int64_t number, bool unknownAreInts) const {
    graph::Shape leading;
    for (size_t i = 0; i < specs.size(); ++i) {
      if (isTensor(i) && !guesses_[i].shapes.empty() && leading.empty())
        leading = guesses_[i].shapes[std::min(k, guesses_[i].shapes.size() - 1)];
    }
    for (size_t i = 0; i < specs.size(); ++i) {
      if (!isTensor(i)) {
        if (specs[i].dtype == graph::DType::Int64) specs[i].low = specs[i].high = static_cast<double>(number);
        specs[i].assumed =
            specs[i].dtype == graph::DType::Int64 ? "the number " + std::to_string(number) : "any number";
        continue;
      }
      const InputGuess& guess = guesses_[i];
      const bool known = !guess.shapes.empty();
      specs[i].dtype = guess.dtype != graph::DType::Unknown ? guess.dtype
                       : !known && unknownAreInts           ? graph::DType::Int64
                                                            : floats_;
      specs[i].shape = known             ? guess.shapes[std::min(k, guess.shapes.size() - 1)]
                       : leading.empty() ? unknownShapes_[std::min(k, unknownShapes_.size() - 1)]
                                         : leading;
      if (!graph::isFloat(specs[i].dtype)) setRange(specs[i], guess);
      specs[i].assumed = std::string(graph::dtypeName(specs[i].dtype)) + shapeText(specs[i].shape) +
                         (guess.reason.empty() ? std::string(", which runs") : ", from " + guess.reason);
    }
    return specs;
  }

  Result<std::vector<InputSpec>> finish(std::vector<InputSpec> specs) {
    std::vector<std::vector<int>> fixedAxes;
    for (const InputGuess& guess : guesses_) fixedAxes.push_back(guess.fixedAxes);
    trials_.findFreeAxes(specs, fixedAxes);
    return specs;
  }

  const TorchScriptModel& model_;
  const c10::FunctionSchema& schema_;
  graph::DType floats_;
  InputTrials trials_;
  std::vector<InputGuess> guesses_;
  std::vector<graph::Shape> unknownShapes_;
};

}  // namespace

bool TorchScriptModel::hasDefault(size_t input) const {
  const auto& arguments = source_.module.get_method("forward").function().getSchema().arguments();
  return input + 1 < arguments.size() && mayBeMissing(arguments[input + 1]);
}

Result<std::vector<InputSpec>> TorchScriptModel::inferInputs() const {
  return InputInference(*this, source_.module.get_method("forward").function().getSchema(), facts_.dtype).run();
}

}  // namespace normlens::formats::torchscript
