// A fold, and norms that are joined or fused: the inner model is edited as any TorchScript model, what differs is
// written into the documents, and those are read again. So what is proved is what is saved.
#include <functional>

#include "core/formats/pt2/model/pt2_model.h"
#include "core/formats/pt2/write/run_sizes.h"
#include "core/formats/pt2/write/write_back.h"
#include "core/formats/torchscript/program/error_text.h"

namespace normlens::formats::pt2 {
namespace {

using torchscript::TorchScriptModel;

struct Written {
  std::shared_ptr<Program> program;
  std::map<std::string, at::Tensor> tensors;  // by FQN

  // Anew, after the document has changed.
  void read() const {
    program->signature = readSignature(program->file);
    program->translation =
        translate(program->file, program->signature, [&](const HeldTensor& held) { return tensors.at(held.fqn); });
  }
};

Result<Written> asResult(const std::function<Written()>& make) {
  try {
    return make();
  } catch (const UnsupportedProgram& error) {
    return fail(ErrorCode::Internal, std::string("the folded program cannot be read again: it ") + error.what());
  } catch (const BrokenDocument& error) {
    return fail(ErrorCode::Internal, std::string("the folded program cannot be read again: ") + error.what());
  } catch (...) {
    return tl::unexpected(torchscript::torchEditError("the program cannot be rewritten"));
  }
}

Written writtenProgram(const Program& program, const TorchScriptModel& before, const TorchScriptModel& after,
                       const std::vector<fold::NarrowValue>& narrow) {
  WrittenProgram written = writeBack(program, before, after, narrow);
  auto made = std::make_shared<Program>();
  made->archive = program.archive;
  made->file = std::move(written.file);
  made->rules = program.rules;
  made->samples = program.samples;
  made->dtype = program.dtype;
  made->isAsInFile = false;
  made->isRepacked = program.isRepacked;
  made->written = program.written;
  for (auto& [record, tensor] : written.written) made->written.insert_or_assign(record, tensor);
  Written out{std::move(made), std::move(written.tensors)};
  out.read();
  return out;
}

}  // namespace

Status Pt2Model::checkWritable(const std::string& what) const {
  if (program_->file.isOutdated())
    return fail(ErrorCode::Unsupported, "a program of torch 2.5 is shown and analysed; no newer torch would load it",
                "export the model anew, with torch 2.6 or newer");
  return checkOperators(what + " could not be proved");
}

Result<std::unique_ptr<Model>> Pt2Model::apply(const fold::FoldPlan& plan,
                                               const std::vector<analysis::LayerNorm>& norms, NormFlavour flavour,
                                               const Task& task) const {
  if (const Status good = checkWritable("a fold of it"); !good) return tl::unexpected(good.error());
  const auto edited = inner_->apply(plan, norms, flavour, task);
  return edited ? withEdits(**edited, plan.streams, task) : tl::unexpected(edited.error());
}

Result<FusedModel> Pt2Model::joinNorms(const analysis::Norms& norms, const Task& task) const {
  return withFused([&] { return inner_->joinNorms(norms, task); }, task);
}

Result<FusedModel> Pt2Model::fuseNorms(const analysis::Norms& norms, const Task& task) const {
  return withFused([&] { return inner_->fuseNorms(norms, task); }, task);
}

Result<FusedModel> Pt2Model::withFused(const std::function<Result<FusedModel>()>& fuse, const Task& task) const {
  if (const Status good = checkWritable("what is fused of it"); !good) return tl::unexpected(good.error());
  auto inner = fuse();
  if (!inner || inner->fused.empty()) return inner;
  auto model = withEdits(*inner->model, {}, task);
  if (!model) return tl::unexpected(model.error());
  return FusedModel{std::move(*model), std::move(inner->fused)};
}

Result<std::unique_ptr<Model>> Pt2Model::withEdits(const Model& edited, const fold::StreamEdits& streams,
                                                   const Task& task) const {
  const auto& after = static_cast<const TorchScriptModel&>(edited);
  task.report("rewriting the program");
  auto written = asResult([&] { return writtenProgram(*program_, *inner_, after, streams.values); });
  if (!written) return tl::unexpected(written.error());
  const std::shared_ptr<Program> program = written->program;
  auto inner = innerModel(*program, after.source(), facts_);
  if (!inner) return tl::unexpected(inner.error());
  if (!streams.empty() && !isTwin_) {
    // Values between its edits have other sizes too: a run shows them all.
    task.report("running the narrow program for its sizes");
    if (const Status seen = (*inner)->probe(probedWith_, task); !seen) return tl::unexpected(seen.error());
    written = asResult([&] {
      describeSizes(*program, **inner);
      written->read();
      return *written;
    });
    if (!written) return tl::unexpected(written.error());
    inner = innerModel(*program, after.source(), facts_);
    if (!inner) return tl::unexpected(inner.error());
  }
  if (!isTwin_) return std::unique_ptr<Model>(new Pt2Model(program, std::move(*inner), facts_));
  // A twin's numbers are of its own type; element types that the program names are the file's.
  auto twin = (*inner)->converted(inner_->facts().dtype);
  if (!twin) return twin;
  Pt2Model folded(program, std::move(*inner), facts_);
  folded.isTwin_ = true;
  return folded.with(std::move(twin));
}

}  // namespace normlens::formats::pt2
