// Inputs, probes and runs: what the file states is read from it, the rest comes from the translated program.
#include <algorithm>

#include "core/base/formatted.h"
#include "core/base/printable.h"
#include "core/formats/pt2/model/pt2_model.h"
#include "core/formats/torchscript/inputs/input_guess.h"
#include "core/formats/torchscript/program/arguments.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::pt2 {
namespace {

using torchscript::ValueRecord;

std::string shapeText(const graph::Shape& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

bool isComplete(const ValueRecord& record) {
  if (record.kind == ValueRecord::Kind::Tensor) return record.shape.has_value();
  return std::ranges::all_of(record.elements, isComplete);
}

GivenInput givenOf(const c10::IValue& value) {
  GivenInput given;
  if (value.isTensor()) {
    given.dtype = torchscript::dtypeOf(value.toTensor().scalar_type());
    given.shape = value.toTensor().sizes().vec();
  } else if (value.isInt()) {
    given.number = value.toInt();
  }
  return given;
}

}  // namespace

Result<std::vector<GivenInput>> Pt2Model::given(const Tensors& inputs) const {
  // Looked at and not run: what forbids that is no reason here.
  const auto& forward = inner_->source().module.get_method("forward").function().getSchema();
  const auto arguments = [&]() -> Result<std::vector<c10::IValue>> {
    try {
      return torchscript::toArguments(inner_->program().inputs, forward, inputs, facts_.dtype);
    } catch (const std::exception& error) {
      return fail(ErrorCode::BadInput, "the inputs cannot be taken: " + torchscript::shortText(error));
    }
  }();
  if (!arguments) return tl::unexpected(arguments.error());
  std::vector<GivenInput> given;
  for (const c10::IValue& argument : *arguments) given.push_back(givenOf(argument));
  return given;
}

Status Pt2Model::checkOperators(const std::string& so) const {
  const auto& opaque = program_->translation.opaque;
  if (opaque.empty()) return {};
  const std::string& name = opaque.front();
  return fail(ErrorCode::Unsupported,
              "the model uses the operator " + printable(name) + ", which this engine does not have, so " + so,
              name.starts_with("aten::") ? "export it with run_decompositions({}), or without that operator"
                                         : "export it without that operator");
}

Status Pt2Model::checkInputs(const Tensors& inputs) const {
  if (const Status runs = checkOperators("it cannot be run"); !runs) return runs;
  const auto sizes = given(inputs);
  if (!sizes) return tl::unexpected(sizes.error());
  return program_->rules.check(*sizes);
}

bool Pt2Model::isExample(const std::vector<GivenInput>& given) const {
  const auto& inputs = program_->signature.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind == UserInput::Kind::Tensor && inputs[i].meta.exampleShape() != given[i].shape) return false;
    if (inputs[i].kind == UserInput::Kind::Int && given[i].number != inputs[i].number.example) return false;
    if (inputs[i].kind == UserInput::Kind::Float || inputs[i].kind == UserInput::Kind::Bool) return false;
  }
  return true;
}

// The inner program's values are those of the translation, or of an edited copy's that has its own.
std::optional<torchscript::ProbeRecords> Pt2Model::recordsOfFile() const {
  const auto& known = program_->translation.records;
  const auto& values = inner_->program().values;
  torchscript::ProbeRecords records;
  records.values.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto found = known.find(values[i].value);
    if (found == known.end()) continue;
    if (!isComplete(found->second)) return std::nullopt;
    records.values[i] = found->second;
  }
  return records;
}

Status Pt2Model::probe(const Tensors& inputs, const Task& task) {
  const auto sizes = given(inputs);
  if (!sizes) return tl::unexpected(sizes.error());
  if (const Status fits = program_->rules.check(*sizes); !fits) return fits;
  probedWith_ = inputs;
  const bool isOwn = program_->translation.module._ivalue() == inner_->source().module._ivalue();
  if (isOwn && isExample(*sizes)) {
    if (auto records = recordsOfFile()) {
      inner_->adoptRecords(std::move(*records));
      return {};
    }
  }
  if (const Status runs = checkOperators("it cannot be run at other sizes than its example's"); !runs) return runs;
  return inner_->probe(inputs, task);
}

Result<std::vector<InputSpec>> Pt2Model::inferInputs(InputsFor /*use*/) const {
  const auto& inputs = program_->signature.inputs;
  auto shapes = program_->rules.shapesFor(program_->rules.distinctSymbols());
  const auto example = program_->rules.shapesFor(program_->rules.exampleSymbols());
  if (!shapes || !program_->translation.opaque.empty()) shapes = example;  // at its example's the file knows all sizes
  if (!shapes)
    return fail(ErrorCode::BadInput, "the file does not say of which sizes its inputs may be",
                "give inputs with --inputs FILE.npz");
  const auto twins = program_->rules.twins();
  const auto nameOf = [&](const SymSize& size) {
    const auto twin = twins.find(textOf(size.expr));
    return twin == twins.end() ? textOf(size.expr) : twin->second;
  };
  const auto& ids = inner_->graph().inputs();
  std::vector<InputSpec> specs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const UserInput& input = inputs[i];
    InputSpec& spec = specs.emplace_back();
    spec.name = input.name;
    spec.dtype = input.kind == UserInput::Kind::Tensor  ? input.meta.dtype
                 : input.kind == UserInput::Kind::Int   ? graph::DType::Int64
                 : input.kind == UserInput::Kind::Float ? graph::DType::Float64
                                                        : graph::DType::Bool;
    const auto& declared = inner_->source().declared[i];
    if (declared) spec.dtype = declared->dtype;  // a twin's is another than the file's
    spec.shape = (*shapes)[i];
    if (input.kind == UserInput::Kind::Int) spec.low = spec.high = static_cast<double>(input.number.example);
    for (size_t axis = 0; axis < input.meta.sizes.size(); ++axis) {
      const SymSize& size = input.meta.sizes[axis];
      spec.axisNames.push_back(size.isFixed() ? "" : nameOf(size));
      if (!size.isFixed()) spec.freeAxes.push_back(static_cast<int>(axis));
    }
    const bool asExample = example && (*example)[i] == spec.shape;
    spec.assumed = "the shape " + shapeText(spec.shape) +
                   (asExample ? " of the example that the file was exported with"
                              : ", which the file allows, like its example's with free sizes that differ");
    if (graph::isFloat(spec.dtype)) continue;
    if (const auto& range = program_->samples[i]) {
      spec.low = range->low;
      spec.high = range->high;
    }
    const auto guess = i < ids.size() ? torchscript::guessInput(inner_->graph(), ids[i]) : torchscript::InputGuess{};
    if (guess.highest && static_cast<double>(*guess.highest) >= spec.high) {
      spec.low = 0;
      spec.high = static_cast<double>(*guess.highest);
    }
    if (input.kind == UserInput::Kind::Tensor) spec.assumed += formatted("; values %.0f to %.0f", spec.low, spec.high);
  }
  return specs;
}

Result<Tensors> Pt2Model::run(const Tensors& inputs, const Task& task) const {
  if (const Status fits = checkInputs(inputs); !fits) return tl::unexpected(fits.error());
  return inner_->run(inputs, task);
}

Result<std::unique_ptr<Runner>> Pt2Model::runner(const Tensors& inputs, const RunSettings& settings) const {
  if (const Status fits = checkInputs(inputs); !fits) return tl::unexpected(fits.error());
  return inner_->runner(inputs, settings);
}

Result<Model::SeenRun> Pt2Model::runSeeing(const Tensors& inputs, const std::vector<graph::ValueId>& values,
                                           const Task& task) const {
  if (const Status fits = checkInputs(inputs); !fits) return tl::unexpected(fits.error());
  return inner_->runSeeing(inputs, values, task);
}

Result<std::string> Pt2Model::narrowOp(const Tensors& inputs, const Task& task) const {
  if (const Status fits = checkInputs(inputs); !fits) return tl::unexpected(fits.error());
  return inner_->narrowOp(inputs, task);
}

}  // namespace normlens::formats::pt2
