#include "core/formats/pt2/model/pt2_model.h"

#include <torch/script.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/base/formatted.h"
#include "core/base/parallel.h"
#include "core/base/printable.h"
#include "core/formats/archive/archive_reader.h"
#include "core/formats/archive/archive_writer.h"
#include "core/formats/edit/bytes_to_write.h"
#include "core/formats/file/file_hash.h"
#include "core/formats/fold_history.h"
#include "core/formats/pt2/file/container.h"
#include "core/formats/pt2/file/legacy.h"
#include "core/formats/pt2/file/payloads.h"
#include "core/formats/pt2/open.h"
#include "core/formats/torchscript/inputs/input_guess.h"
#include "core/formats/torchscript/program/arguments.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/forbidden_ops.h"
#include "core/formats/torchscript/program/loader.h"
#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::pt2 {
namespace {

using torchscript::ModuleSource;
using torchscript::TorchScriptModel;
using torchscript::ValueRecord;

// The tensors of an archive, in the mapped file: no copies where its records lie as torch writes them.
class HeldTensors {
 public:
  HeldTensors(std::shared_ptr<const Archive> archive, Payloads payloads)
      : archive_(std::move(archive)), payloads_(std::move(payloads)) {}

  // Tensors of one record share its memory. Throws BrokenDocument, UnsupportedProgram.
  [[nodiscard]] at::Tensor of(const HeldTensor& held);

 private:
  at::Tensor storage(const Payload& payload);

  std::shared_ptr<const Archive> archive_;
  Payloads payloads_;
  std::map<std::pair<std::string, graph::DType>, at::Tensor> storages_;
};

at::Tensor HeldTensors::storage(const Payload& payload) {
  at::Tensor& known = storages_[{payload.record, payload.dtype}];
  if (known.defined()) return known;
  const ZipRecord* record = archive_->find(std::string(archive_->prefix()) + payload.record);
  if (record == nullptr) throw BrokenDocument("the record '" + payload.record + "' is missing");
  const auto type = torchscript::scalarTypeOf(payload.dtype);
  const auto bytes = graph::dtypeBytes(payload.dtype);
  const auto count = static_cast<int64_t>(record->size / bytes);
  const auto writable = archive_->file().copyOnWrite();
  const bool stored = record->method == ZipMethod::Stored && record->dataOffset % bytes == 0;
  if (stored && !writable.empty()) {
    std::byte* data = writable.data() + record->dataOffset;
    return known = at::from_blob(
               data, {count}, [kept = archive_](void*) {}, type);
  }
  constexpr uint64_t kMostUnpacked = uint64_t{2} << 30;
  const auto content = archive_->read(*record, stored ? record->size : kMostUnpacked);
  if (!content) throw BrokenDocument("the record '" + payload.record + "' does not unpack, or to more than 2 GiB");
  known = at::empty({count}, type);
  std::memcpy(known.data_ptr(), content->data(), static_cast<size_t>(count) * bytes);
  return known;
}

at::Tensor HeldTensors::of(const HeldTensor& held) {
  const Payload& payload = payloads_.of(held);
  if (payload.isEmpty) return at::empty(payload.sizes, torchscript::scalarTypeOf(payload.dtype));
  return storage(payload).as_strided(payload.sizes, payload.strides, payload.offset);
}

// Checks that the graph describes every held tensor as its table does.
void checkDescribed(const ProgramFile& file, const Signature& signature, const Payloads& payloads) {
  const Json& values = file.graph().at("tensor_values");
  for (const HeldTensor& held : signature.held) {
    const Payload& payload = payloads.of(held);
    const TensorMeta meta = readTensorMeta(values.at(held.placeholder));
    if (meta.dtype != payload.dtype || meta.exampleShape() != payload.sizes)
      throw BrokenDocument("the graph says otherwise of '" + held.fqn.substr(0, 80) + "' than its table");
  }
}

std::vector<std::optional<torchscript::DeclaredInput>> declaredOf(const Signature& signature) {
  std::vector<std::optional<torchscript::DeclaredInput>> declared;
  for (const UserInput& input : signature.inputs) {
    auto& made = declared.emplace_back();
    if (input.kind != UserInput::Kind::Tensor) continue;
    made.emplace().dtype = input.meta.dtype;
    for (const SymSize& size : input.meta.sizes) made->sizes.push_back(size.isFixed() ? size.example : -1);
  }
  return declared;
}

std::shared_ptr<Program> readProgram(const std::shared_ptr<const Archive>& archive, ProgramFile file) {
  auto program = std::make_shared<Program>();
  program->archive = archive;
  program->file = std::move(file);
  program->signature = readSignature(program->file);
  program->rules = InputRules(program->signature.inputs, readRanges(program->file), readAssertions(program->file));
  program->samples = readSampleInputs(*archive, program->file.name, program->signature.inputs);
  Payloads payloads = readPayloads(program->file, *archive);
  checkDescribed(program->file, program->signature, payloads);
  HeldTensors tensors(archive, std::move(payloads));
  program->translation =
      translate(program->file, program->signature, [&](const HeldTensor& held) { return tensors.of(held); });
  return program;
}

// The chosen model's documents; `archive` becomes what the file would be in the container of torch 2.9.
Result<ProgramFile> readDocument(std::shared_ptr<const Archive>& archive, const std::string& model, std::string& note,
                                 bool& isRepacked) {
  isRepacked = containerOf(*archive) != Container::Archive;
  if (!isRepacked) {
    note = besideOthers(*archive, model);
    return readProgramFile(*archive, model);
  }
  ASSIGN_OR_RETURN(auto legacy, readLegacyProgram(archive));
  archive = std::move(legacy.archive);
  note = "It was written by torch 2.8 or older; what is folded is written as torch 2.9 and later read it.";
  return std::move(legacy.file);
}

std::string opaqueInWords(const Translation& translation) {
  if (translation.opaque.empty()) return {};
  std::string names;
  for (const std::string& name : translation.opaque) names += (names.empty() ? "" : ", ") + printable(name);
  return "This engine does not run " + names + ": the model can be neither run nor folded.";
}

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

std::span<const std::byte> bytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

std::span<const std::byte> bytesOf(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

// Extra files are of all models of the archive: what is written of another stays.
std::string conditionsIn(const Archive& archive, const std::string& name, const std::string& model,
                         const std::string& conditions) {
  if (modelsIn(archive).size() < 2) return conditions;
  const std::string before = extraFile(archive, name), added = model + ": " + conditions;
  if (before.empty() || before.find(added) != std::string::npos) return before.empty() ? added : before;
  return before + "; " + added;
}

class Records {
 public:
  explicit Records(const Program& program) : archive_(*program.archive) {}

  // In the place of one of that name, else at the end.
  void put(const std::string& name, std::span<const std::byte> bytes) {
    put_[std::string(archive_.prefix()) + name] = bytes;
  }
  void put(const std::string& name, std::string text) { put(name, bytesOf(texts_.emplace_back(std::move(text)))); }

  [[nodiscard]] std::vector<RecordToWrite> all() {
    std::vector<RecordToWrite> records;
    for (const ZipRecord& record : archive_.records()) {
      const auto found = put_.find(record.name);
      if (found == put_.end()) {
        records.push_back({record.name, record.method, record.size, {archive_.stored(record)}, record.crc});
      } else {
        records.push_back(stored(record.name, found->second));
        put_.erase(found);
      }
    }
    // The first record's folder is the archive's: what is new is below it.
    for (const auto& [name, bytes] : put_) records.push_back(stored(name, bytes));
    return records;
  }

 private:
  static RecordToWrite stored(const std::string& name, std::span<const std::byte> bytes) {
    return {name, ZipMethod::Stored, bytes.size(), {bytes}, std::nullopt};
  }

  const Archive& archive_;
  std::map<std::string, std::span<const std::byte>> put_;
  std::deque<std::string> texts_;
};

}  // namespace

Error programError(const std::filesystem::path& path) {
  const std::string file = path.string();
  try {
    throw;
  } catch (const UnsupportedProgram& error) {
    return unsupportedProgram(path, error);
  } catch (const BrokenDocument& error) {
    return damagedProgram(path, error.what());
  } catch (const std::exception& error) {
    return {ErrorCode::Unsupported, file + ": its program cannot be followed: " + torchscript::shortText(error),
            "export it with run_decompositions({})"};
  }
}

Result<std::unique_ptr<TorchScriptModel>> innerModel(const Program& program, ModuleSource like,
                                                     const ModelFacts& facts) {
  like.module = program.translation.module;
  like.extraFiles.clear();
  like.declared = declaredOf(program.signature);
  like.outputNames.clear();
  for (const OutputSpec& output : program.signature.outputs) {
    if (output.isResult) like.outputNames.push_back(output.name);
  }
  return TorchScriptModel::fromModule(std::move(like), facts);
}

Pt2Model::Pt2Model(std::shared_ptr<const Program> program, std::unique_ptr<TorchScriptModel> inner, ModelFacts facts)
    : program_(std::move(program)), inner_(std::move(inner)), facts_(std::move(facts)) {
  facts_.format = "pt2";
  facts_.dtype = inner_->facts().dtype;
  facts_.parameters = inner_->facts().parameters;
  facts_.parameterBytes = inner_->facts().parameterBytes;
}

Result<std::unique_ptr<Pt2Model>> Pt2Model::open(const std::filesystem::path& path, const Task& task,
                                                 const OpenChoice& choice) {
  task.report("reading the file");
  ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  ASSIGN_OR_RETURN(auto archive, Archive::open(file));
  RETURN_IF_ERROR(checkContainer(*archive));
  ASSIGN_OR_RETURN(const auto chosen, modelToOpen(*archive, choice.model, choice.isBeside));
  RETURN_IF_ERROR(task.check());
  task.report("loading the model");
  torchscript::forbidOps(choice.strict);
  const int threads = std::clamp(hardwareThreads(), 2, 5) - 1;  // one reads
  auto sums = std::async(std::launch::async, [&, kept = archive] { return checkCrcs(*kept, threads); });
  ModelFacts facts;
  facts.model = chosen;
  if (auto models = modelsIn(*archive); models.size() > 1) facts.models = std::move(models);
  facts.path = path;
  facts.fileBytes = static_cast<int64_t>(file->bytes().size());
  facts.modified = file->modified();
  facts.note = foldHistory([&](const std::string& name) { return extraFile(*archive, name); });
  std::string container;
  bool isRepacked = false;
  auto document = readDocument(archive, chosen, container, isRepacked);
  std::shared_ptr<Program> program;
  std::optional<Error> broken = document ? std::nullopt : std::optional(document.error());
  try {
    if (document) program = readProgram(archive, std::move(*document));
  } catch (...) {
    broken = programError(path);
  }
  RETURN_IF_ERROR(sums.get());
  if (broken) return tl::unexpected(std::move(*broken));
  RETURN_IF_ERROR(task.check());
  task.report("reading the graph");
  facts.cannotRun = opaqueInWords(program->translation);
  if (isRepacked && !facts.cannotRun.empty()) container.clear();  // it describes how a fold is written
  const std::string analysed = facts.cannotRun.empty() ? "" : "It is analyzed by the file's own shapes.";
  for (const std::string& words : {container, facts.cannotRun, analysed, program->rules.inWords()}) {
    if (!words.empty()) facts.note += (facts.note.empty() ? "" : " ") + words;
  }
  ModuleSource source{.module = {}, .extraFiles = {}, .archive = archive, .keptAlive = {}};
  auto inner = innerModel(*program, std::move(source), facts);
  if (!inner) {
    Error error = inner.error();
    error.message = path.string() + ": " + error.message;
    return tl::unexpected(std::move(error));
  }
  program->dtype = (*inner)->facts().dtype;
  program->isRepacked = isRepacked;
  return std::unique_ptr<Pt2Model>(new Pt2Model(std::move(program), std::move(*inner), std::move(facts)));
}

std::string Pt2Model::fileHash(HashKind kind, const std::function<bool()>& goOn) const {
  return hashHex(kind, program_->archive->file(), goOn);
}

std::vector<InputArray> Pt2Model::inputArrays(const std::vector<std::string>& given) const {
  return inner_->inputArrays(given);
}

std::vector<std::string> Pt2Model::ownNames(std::vector<std::string> given) const {
  return inner_->ownNames(std::move(given));
}

// Wraps a conversion or another copy of the inner model, which is of that model's format.
Result<std::unique_ptr<Model>> Pt2Model::with(Result<std::unique_ptr<Model>> inner) const {
  if (!inner) return inner;
  std::unique_ptr<TorchScriptModel> own(static_cast<TorchScriptModel*>(inner->release()));
  std::unique_ptr<Pt2Model> made(new Pt2Model(program_, std::move(own), facts_));
  made->probedWith_ = probedWith_;
  made->isTwin_ = isTwin_;
  return made;
}

Result<std::unique_ptr<Model>> Pt2Model::converted(graph::DType dtype) const {
  auto made = with(inner_->converted(dtype));
  if (made) static_cast<Pt2Model&>(**made).isTwin_ = true;
  return made;
}

Result<std::unique_ptr<Model>> Pt2Model::perturbed(uint64_t seed) const { return with(inner_->perturbed(seed)); }

Result<std::unique_ptr<Model>> Pt2Model::singleNorm(int64_t rows, int64_t width, graph::DType dtype) const {
  return inner_->singleNorm(rows, width, dtype);
}

Result<std::unique_ptr<Model>> openPt2(const std::filesystem::path& path, const Task& task, const OpenChoice& choice) {
  ASSIGN_OR_RETURN(auto model, Pt2Model::open(path, task, choice));
  return std::unique_ptr<Model>(std::move(model));
}

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
              "the model uses the operator " + printable(name) + ", which this engine does not run, so " + so,
              name.starts_with("aten::") ? "export it with run_decompositions({}), or without that operator"
                                         : "export it without that operator");
}

Status Pt2Model::checkInputs(const Tensors& inputs) const {
  RETURN_IF_ERROR(checkOperators("it cannot be run"));
  ASSIGN_OR_RETURN(const auto sizes, given(inputs));
  return program_->rules.check(sizes);
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
  ASSIGN_OR_RETURN(const auto sizes, given(inputs));
  RETURN_IF_ERROR(program_->rules.check(sizes));
  probedWith_ = inputs;
  const bool isOwn = program_->translation.module._ivalue() == inner_->source().module._ivalue();
  if (isOwn && isExample(sizes)) {
    if (auto records = recordsOfFile()) {
      inner_->adoptRecords(std::move(*records));
      return {};
    }
  }
  RETURN_IF_ERROR(checkOperators("it cannot be run at other sizes than its example's"));
  return inner_->probe(inputs, task);
}

Result<std::vector<InputSpec>> Pt2Model::inferInputs(InputsFor /*use*/) const {
  const auto& inputs = program_->signature.inputs;
  auto shapes = program_->rules.shapesFor(program_->rules.distinctSymbols());
  const auto example = program_->rules.shapesFor(program_->rules.exampleSymbols());
  if (!shapes || !program_->translation.opaque.empty()) shapes = example;  // at its example's the file knows all sizes
  if (!shapes)
    return fail(ErrorCode::BadInput, "the file does not say of which sizes its inputs may be",
                {"give inputs", HintKey::Inputs});
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
    spec.assumed = "shape " + shapeText(spec.shape) +
                   (asExample ? " from the exported example" : ", the example's with other dynamic sizes");
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
  RETURN_IF_ERROR(checkInputs(inputs));
  return inner_->run(inputs, task);
}

Result<std::unique_ptr<Runner>> Pt2Model::runner(const Tensors& inputs, const RunSettings& settings) const {
  RETURN_IF_ERROR(checkInputs(inputs));
  return inner_->runner(inputs, settings);
}

Result<Model::SeenRun> Pt2Model::runSeeing(const Tensors& inputs, const std::vector<graph::ValueId>& values,
                                           const Task& task) const {
  RETURN_IF_ERROR(checkInputs(inputs));
  return inner_->runSeeing(inputs, values, task);
}

Status Pt2Model::saveAsTorchScript(const std::filesystem::path& path, const Task& task) const {
  RETURN_IF_ERROR(checkUnchanged(*program_->archive));
  torchscript::ModuleSource source = inner_->source();
  source.archive = nullptr;  // nothing of its records belongs into another container
  ASSIGN_OR_RETURN(auto model, torchscript::TorchScriptModel::fromModule(std::move(source), facts_));
  model->annotate(history_);
  return model->save(path, task);
}

Status Pt2Model::save(const std::filesystem::path& path, const Task& task) const {
  if (inner_->facts().dtype != program_->dtype)
    return fail(ErrorCode::Unsupported, "a copy in another element type cannot be written as a torch.export archive");
  if (path.extension() == kTorchScriptSuffix) return saveAsTorchScript(path, task);
  task.report("writing the file");
  Records records(*program_);
  const ProgramFile& file = program_->file;
  if (program_->isRepacked) {
    for (const auto& [name, content] : kContainerRecords) records.put(std::string(name), std::string(content));
  }
  if (!program_->isAsInFile || program_->isRepacked) {
    records.put(programRecord(file.name), file.program.dump());
    if (!file.weights.isNull()) records.put(weightsRecord(file.name), file.weights.dump());
    if (!file.constants.isNull()) records.put(constantsRecord(file.name), file.constants.dump());
  }
  for (const auto& [name, tensor] : program_->written) records.put(name, bytesOf(tensor));
  if (const auto conditions = history_.find("normlens.holds_if"); conditions != history_.end())
    records.put("extra/" + conditions->first,
                conditionsIn(*program_->archive, conditions->first, file.name, conditions->second));
  const auto& pending = inner_->source().pending;
  const BytesToWrite bytes(pending, {program_->archive->sharedFile()});
  const ArchiveSources sources{[&](auto part) { return bytes.makerOf(part); },
                               [&] { return checkUnchanged(*program_->archive); }};
  return writeArchive(path, records.all(), sources, task);
}

}  // namespace normlens::formats::pt2
