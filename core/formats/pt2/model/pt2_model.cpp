#include "core/formats/pt2/model/pt2_model.h"

#include <algorithm>
#include <future>

#include "core/base/parallel.h"
#include "core/base/printable.h"
#include "core/formats/file/sha256.h"
#include "core/formats/fold_history.h"
#include "core/formats/pt2/file/container.h"
#include "core/formats/pt2/file/legacy.h"
#include "core/formats/pt2/model/held_tensors.h"
#include "core/formats/pt2/open.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/forbidden_ops.h"
#include "core/formats/torchscript/program/loader.h"

namespace normlens::formats::pt2 {
namespace {

using torchscript::ModuleSource;
using torchscript::TorchScriptModel;

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
  auto legacy = readLegacyProgram(archive);
  if (!legacy) return tl::unexpected(legacy.error());
  archive = std::move(legacy->archive);
  note = "It was written by torch 2.8 or older; what is folded is written as torch 2.9 and later read it.";
  return std::move(legacy->file);
}

std::string opaqueInWords(const Translation& translation) {
  if (translation.opaque.empty()) return {};
  std::string names;
  for (const std::string& name : translation.opaque) names += (names.empty() ? "" : ", ") + printable(name);
  return "This engine does not have " + names + ": the model can be neither run nor folded.";
}

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
  auto file = MappedFile::open(path);
  if (!file) return tl::unexpected(file.error());
  auto archive = Archive::open(*file);
  if (!archive) return tl::unexpected(archive.error());
  if (const Status known = checkContainer(**archive); !known) return tl::unexpected(known.error());
  const auto chosen = modelToOpen(**archive, choice.model, choice.isBeside);
  if (!chosen) return tl::unexpected(chosen.error());
  if (auto go = task.check(); !go) return tl::unexpected(go.error());
  task.report("loading the model");
  torchscript::forbidOps(choice.strict);
  const int threads = std::clamp(hardwareThreads(), 2, 5) - 1;  // one reads
  auto sums = std::async(std::launch::async, [&, kept = *archive] { return checkCrcs(*kept, threads); });
  ModelFacts facts;
  facts.model = *chosen;
  if (auto models = modelsIn(**archive); models.size() > 1) facts.models = std::move(models);
  facts.path = path;
  facts.fileBytes = static_cast<int64_t>((*file)->bytes().size());
  facts.modified = (*file)->modified();
  facts.note = foldHistory([&](const std::string& name) { return extraFile(**archive, name); });
  std::string container;
  bool isRepacked = false;
  auto document = readDocument(*archive, *chosen, container, isRepacked);
  std::shared_ptr<Program> program;
  std::optional<Error> broken = document ? std::nullopt : std::optional(document.error());
  try {
    if (document) program = readProgram(*archive, std::move(*document));
  } catch (...) {
    broken = programError(path);
  }
  if (const Status sound = sums.get(); !sound) return tl::unexpected(sound.error());
  if (broken) return tl::unexpected(std::move(*broken));
  if (auto go = task.check(); !go) return tl::unexpected(go.error());
  task.report("reading the graph");
  facts.cannotRun = opaqueInWords(program->translation);
  if (isRepacked && !facts.cannotRun.empty()) container.clear();  // it describes how a fold is written
  const std::string analysed = facts.cannotRun.empty() ? "" : "It is analysed by the file's own shapes.";
  for (const std::string& words : {container, facts.cannotRun, analysed, program->rules.inWords()}) {
    if (!words.empty()) facts.note += (facts.note.empty() ? "" : " ") + words;
  }
  ModuleSource source{.module = {}, .extraFiles = {}, .archive = *archive, .keptAlive = {}};
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

std::string Pt2Model::fileSha256(const std::function<bool()>& goOn) const {
  return sha256Hex(program_->archive->file(), goOn);
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
  auto model = Pt2Model::open(path, task, choice);
  if (!model) return tl::unexpected(model.error());
  return std::unique_ptr<Model>(std::move(*model));
}

}  // namespace normlens::formats::pt2
