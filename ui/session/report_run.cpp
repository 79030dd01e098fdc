#include "ui/session/report_run.h"

#include "core/protocol/methods.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

ReportRun::ReportRun(Session* session) : QObject(session), session_(session), question_(session->engine(), this) {
  connect(session_->engine(), &EngineClient::progressed, this, [this](qint64 id, const QString& stage, double share) {
    if (!question_.is(id)) return;
    stage_ = stage;
    fraction_ = share;
    Q_EMIT changed();
  });
}

void ReportRun::start(const QString& format, std::vector<protocol::ReportPicture> pictures) {
  protocol::ReportParams params;
  params.model = session_->title().toStdString();
  params.format = format.toStdString();
  params.pictures = std::move(pictures);
  params.bench = session_->measurements()->last();
  stage_.clear();
  fraction_ = -1;
  question_.ask(protocol::methods::kReport, params, [this](const Reply<protocol::Report>& reply) {
    Q_EMIT changed();
    if (reply) return Q_EMIT made(QByteArray::fromStdString(reply->text));
    const bool told = reply.error().cancelled() || reply.error().engineDied;
    Q_EMIT notMade(told ? QString() : asSentence(reply.error().message));
  });
  Q_EMIT changed();
}

}  // namespace normlens::ui
