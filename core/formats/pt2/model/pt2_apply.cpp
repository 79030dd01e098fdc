// A fold, and norms that are joined or fused: the edits of the inner model are recorded as any TorchScript model's and
// made on the documents, and those are read again. So what is proved is what is saved.
#include <functional>

#include "core/formats/pt2/model/pt2_model.h"
#include "core/formats/pt2/write/write_back.h"
#include "core/formats/torchscript/program/error_text.h"

namespace normlens::formats::pt2 {
namespace {

using torchscript::RecordedEdits;
using torchscript::TorchScriptModel;

Result<WrittenProgram> asResult(const std::function<WrittenProgram()>& make) {
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

}  // namespace

Status Pt2Model::checkWritable(const std::string& what) const {
  if (program_->file.isOutdated())
    return fail(ErrorCode::Unsupported, "a program of torch 2.5 is shown and analyzed; no newer torch would load it",
                "export the model again, with torch 2.6 or newer");
  return checkOperators(what + " could not be proved");
}

Result<std::unique_ptr<Model>> Pt2Model::apply(const fold::FoldPlan& plan,
                                               const std::vector<analysis::LayerNorm>& norms, NormFlavour flavour,
                                               const Task& task) const {
  RETURN_IF_ERROR(checkWritable("a fold of it"));
  const auto edits = recordPlan(inner_->opened(), plan, norms, flavour, task);
  return edits ? withEdits(*edits, plan.streams, task) : tl::unexpected(edits.error());
}

Result<FusedModel> Pt2Model::joinNorms(const analysis::Norms& norms, const Task& task) const {
  return withFused([&] { return recordJoins(inner_->opened(), norms, task); }, task);
}

Result<FusedModel> Pt2Model::fuseNorms(const analysis::Norms& norms, const Task& task) const {
  return withFused([&] { return recordFusions(inner_->opened(), norms, task); }, task);
}

Result<FusedModel> Pt2Model::withFused(const std::function<Result<RecordedEdits>()>& fuse, const Task& task) const {
  RETURN_IF_ERROR(checkWritable("what is fused of it"));
  ASSIGN_OR_RETURN(auto edits, fuse());
  if (edits.fused.empty()) return FusedModel{};
  ASSIGN_OR_RETURN(auto model, withEdits(edits, {}, task));
  return FusedModel{std::move(model), std::move(edits.fused)};
}

Result<std::unique_ptr<Model>> Pt2Model::withEdits(const RecordedEdits& edits, const fold::StreamEdits& streams,
                                                   const Task& task) const {
  task.report("rewriting the program");
  auto written = asResult([&] { return writeBack(*program_, *inner_, edits, streams.values); });
  if (!written) return tl::unexpected(written.error());
  const std::shared_ptr<Program> program = written->program;
  torchscript::ModuleSource source = inner_->source();
  source.pending = edits.pending;
  auto inner = innerModel(*program, source, facts_);
  if (!inner) return tl::unexpected(inner.error());
  if (!streams.empty() && !isTwin_) {
    // Values between its edits have other sizes too: a run shows them all.
    task.report("running the narrow program for its sizes");
    RETURN_IF_ERROR((*inner)->probe(probedWith_, task));
    written = asResult([&] {
      describeSizes(*program, **inner);
      written->read();
      return *written;
    });
    if (!written) return tl::unexpected(written.error());
    inner = innerModel(*program, source, facts_);
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
