// Session: the jobs that write a file.
#include <algorithm>

#include "core/protocol/methods.h"
#include "ui/session/jobs/run_job.h"
#include "ui/session/jobs/streams.h"

namespace normlens::ui {

namespace methods = protocol::methods;

void Session::exportTo(const QString& path, bool force) {
  if (!fold_) return;
  protocol::ExportParams params;
  params.path = path.toStdString();
  params.norm = flavour_;
  params.force = force;
  runJob(JobKind::Exporting, methods::kExport, params, [this](const protocol::ExportResult& result) {
    exported_ = result;
    const auto proved = std::ranges::find_if(proofs_, [this](const Proof& proof) { return isOfPlan(proof); });
    if (proved != proofs_.end()) proved->exported = result;
    Q_EMIT exportDone();
  });
}

void Session::narrowTo(const QString& path, bool force) {
  if (const QString obstacle = streams_->obstacle(); !obstacle.isEmpty())
    return Q_EMIT problem(tr("The narrowed model was not written."), obstacle);
  protocol::NarrowParams params;
  params.streams = streams_->params();
  params.norm = flavour_;
  params.path = path.toStdString();
  params.force = force;
  runJob(JobKind::Narrowing, methods::kNarrow, params,
         [this](protocol::NarrowResult& result) { streams_->made(std::move(result)); });
}

void Session::saveTensor(int value, const QString& path) {
  if (!served_ || job_.kind == JobKind::Analyzing) {
    Q_EMIT problem(tr("The tensor was not saved: the model is not ready."), tr("Save it once it is analysed."));
    return;
  }
  protocol::SaveTensorParams params;
  params.value = value;
  params.path = path.toStdString();
  runJob(JobKind::SavingTensor, methods::kSaveTensor, params,
         [this](const protocol::SavedTensor& saved) { Q_EMIT tensorSaved(text(saved.path), saved.bytes); });
}

}  // namespace normlens::ui
