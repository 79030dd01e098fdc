// A fold: the inner model is edited as any TorchScript model, what differs is written into the documents, and those are
// read again. So what is proved is what is saved.
#include "core/formats/edit/edit_refused.h"
#include "core/formats/pt2/model/pt2_model.h"
#include "core/formats/pt2/write/write_back.h"
#include "core/formats/torchscript/program/error_text.h"

namespace normlens::formats::pt2 {
namespace {

using torchscript::TorchScriptModel;

Result<std::shared_ptr<Program>> writtenProgram(const Program& program, const TorchScriptModel& before,
                                                const TorchScriptModel& after) {
  try {
    WrittenProgram written = writeBack(program, before, after);
    auto made = std::make_shared<Program>();
    made->archive = program.archive;
    made->file = std::move(written.file);
    made->signature = readSignature(made->file);
    made->rules = program.rules;
    made->samples = program.samples;
    made->dtype = program.dtype;
    made->isAsInFile = false;
    made->isRepacked = program.isRepacked;
    made->written = program.written;
    for (auto& [record, tensor] : written.written) made->written.insert_or_assign(record, tensor);
    made->translation =
        translate(made->file, made->signature, [&](const HeldTensor& held) { return written.tensors.at(held.fqn); });
    return made;
  } catch (const UnsupportedProgram& error) {
    return fail(ErrorCode::Internal, std::string("the folded program cannot be read again: it ") + error.what());
  } catch (const BrokenDocument& error) {
    return fail(ErrorCode::Internal, std::string("the folded program cannot be read again: ") + error.what());
  } catch (...) {
    return tl::unexpected(torchscript::torchEditError("the plan cannot be applied"));
  }
}

}  // namespace

Result<std::unique_ptr<Model>> Pt2Model::apply(const fold::FoldPlan& plan,
                                               const std::vector<analysis::LayerNorm>& norms, NormFlavour flavour,
                                               const Task& task) const {
  if (flavour == NormFlavour::Fast)
    return fail(ErrorCode::Usage, "the fast norm is not written into torch.export archives",
                "fold with --norm portable or --norm primitives");
  if (!plan.streams.empty())
    return fail(ErrorCode::Unsupported, "narrow streams are not written into torch.export archives",
                "narrow the model as TorchScript or ONNX");
  if (program_->file.isOutdated())
    return fail(ErrorCode::Unsupported, "a program of torch 2.5 is shown and analysed; no newer torch would load it",
                "export the model anew, with torch 2.6 or newer");
  const auto edited = inner_->apply(plan, norms, flavour, task);
  if (!edited) return tl::unexpected(edited.error());
  const auto& after = static_cast<const TorchScriptModel&>(**edited);
  task.report("rewriting the program");
  const auto program = writtenProgram(*program_, *inner_, after);
  if (!program) return tl::unexpected(program.error());
  auto inner = innerModel(**program, after.source(), facts_);
  if (!inner) return tl::unexpected(inner.error());
  if (inner_->facts().dtype == program_->dtype)
    return std::unique_ptr<Model>(new Pt2Model(*program, std::move(*inner), facts_));
  // A twin's numbers are of its own type; element types that the program names are the file's.
  auto twin = (*inner)->converted(inner_->facts().dtype);
  if (!twin) return twin;
  return Pt2Model(*program, std::move(*inner), facts_).with(std::move(twin));
}

}  // namespace normlens::formats::pt2
