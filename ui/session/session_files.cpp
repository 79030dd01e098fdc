// Session: the jobs that write a file, here or on the engine's machine.
#include <QFileInfo>
#include <utility>

#include "core/protocol/methods.h"
#include "ui/client/placed_file.h"
#include "ui/session/files/file_courier.h"
#include "ui/session/session.h"
#include "ui/session/streams.h"

namespace normlens::ui {

namespace methods = protocol::methods;

void Session::exportTo(const QString& path, bool force) {
  if (fold_) write(path, {}, force);
}

void Session::exportFor(const QString& path, const protocol::TargetInfo& target) {
  if (!plan() || busy()) return;
  toWrite_ = {path, target.name, flavour_};
  setFlavour(text(target.norm));
  if (fold_ && foldServed_) return writeNext();
  if (!busy()) fold();  // else the fold is being made anew
}

void Session::writeNext() {
  if (!toWrite_ || busy()) return;
  const ToWrite next = *std::exchange(toWrite_, std::nullopt);
  if (fold_ && fold_->ok) write(next.path, next.target, false);
}

void Session::writeTo(JobKind kind, const QString& path,
                      const std::function<void(const QString& there, const Written& written)>& request) {
  // Beside a model that both see under one path, the engine writes what is wanted here.
  const bool shared = model_ && text(model_->path) == path_ && QFileInfo(path).path() == QFileInfo(path_).path();
  if (engine_->host().isEmpty() || !machineOf(path).isEmpty() || shared)
    return request(pathThere(path), [](const std::function<void()>& take) { take(); });
  startJob(kind);
  courier_->place(QFileInfo(path).fileName(), [this, kind, path, request](const Reply<QString>& there) {
    const Job ended = job_;
    endJob();
    if (!there) return jobFailed(ended, there.error(), {});
    shownAs_ = {*there, path};
    request(*there, [this, kind, path, from = *there](const std::function<void()>& take) {
      toFetch_ = {kind, from, path, take};
      fetchWritten();
    });
  });
}

void Session::fetchWritten() {
  if (!toFetch_ || busy()) return;
  startJob(toFetch_->kind);
  courier_->fetch(toFetch_->from, toFetch_->to, [this](const Reply<QString>& here) {
    const Job ended = job_;
    endJob();
    if (!here && here.error().engineDied) return;
    const ToFetch fetched = *std::exchange(toFetch_, std::nullopt);
    here ? fetched.take() : jobFailed(ended, here.error(), {});
  });
}

void Session::write(const QString& path, const std::string& target, bool force) {
  writeTo(JobKind::Exporting, path, [this, path, target, force](const QString& there, const Written& written) {
    protocol::ExportParams params;
    params.path = there.toStdString();
    params.norm = flavour_;
    params.force = force;
    params.target = target;
    runJob(JobKind::Exporting, methods::kExport, params, [this, path, written](const protocol::ExportResult& result) {
      written([this, path, result] {
        exported_ = result;
        exported_->path = path.toStdString();
        if (Proof* proved = proofs_.of(choices_->params(), flavour_)) proved->exported = exported_;
        Q_EMIT exportDone();
      });
    });
  });
}

void Session::narrowTo(const QString& path, bool force) {
  if (const QString obstacle = streams_->obstacle(); !obstacle.isEmpty())
    return Q_EMIT problem(tr("The narrow model was not written."), obstacle);
  writeTo(JobKind::Narrowing, path, [this, path, force](const QString& there, const Written& written) {
    protocol::NarrowParams params;
    params.streams = streams_->params();
    params.norm = flavour_;
    params.path = there.toStdString();
    params.force = force;
    runJob(JobKind::Narrowing, methods::kNarrow, params, [this, path, written](const protocol::NarrowResult& result) {
      if (!result.written) return streams_->made(protocol::NarrowResult(result));
      written([this, path, result = protocol::NarrowResult(result)]() mutable {
        result.written->path = path.toStdString();
        streams_->made(std::move(result));
      });
    });
  });
}

void Session::saveTensor(int value, const QString& path) {
  if (!opening_.served || job_.kind == JobKind::Analyzing) {
    Q_EMIT problem(tr("The tensor was not saved because the model is not ready."),
                   tr("Save it when the analysis is done."));
    return;
  }
  writeTo(JobKind::SavingTensor, path, [this, value, path](const QString& there, const Written& written) {
    protocol::SaveTensorParams params;
    params.value = value;
    params.path = there.toStdString();
    runJob(JobKind::SavingTensor, methods::kSaveTensor, params,
           [this, path, written](const protocol::SavedTensor& saved) {
             written([this, path, bytes = saved.bytes] { Q_EMIT tensorSaved(path, bytes); });
           });
  });
}

}  // namespace normlens::ui
