#include "ui/window/learn/lesson_models.h"

#include <algorithm>

#include "ui/client/engine_client.h"
#include "ui/session/model_index.h"
#include "ui/session/project/demo_models.h"
#include "ui/session/session.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

OpenModel openModel(const Session& session) {
  OpenModel model;
  model.document = session.document();
  if (session.analysis()) {
    model.norms = session.analysis()->norms;
    model.edits = session.analysis()->edits;
  }
  model.engine = session.engine();
  model.chosen = session.selection()->current().norm;
  return model;
}

QString toyPath() {
  const auto demos = demoModels();
  const auto toy = std::ranges::find_if(demos, [](const DemoModel& demo) { return demo.path.endsWith(u"gpt2.pt"); });
  return toy == demos.end() ? QString() : toy->path;
}

}  // namespace

LessonModels::LessonModels(Session* session, QObject* parent) : QObject(parent), session_(session) {
  connect(session_, &Session::modelChanged, this, &LessonModels::sessionChanged);
  connect(session_, &Session::analysisChanged, this, &LessonModels::sessionChanged);
  connect(session_, &Session::jobChanged, this, [this] {
    if (usesToy() != toy_) sessionChanged();
  });
}

LessonModels::~LessonModels() { rest(); }

// Figures first: their questions are to an engine that is there.
void LessonModels::rest() {
  path_.clear();
  own_ = {};
  for (const Served& each : std::vector(served_)) {
    if (each.figure && each.own) each.figure->showModel({});
  }
  engine_.reset();
}

// Returns false while a model is on its way.
bool LessonModels::usesToy() const { return session_->document() == nullptr && !session_->busy(); }

void LessonModels::serve(Figure* figure, const QString& model) {
  std::erase_if(served_, [&](const Served& each) { return each.figure.isNull() || each.figure == figure; });
  if (!figure->wantsModel()) return;
  served_.push_back({figure, model, false});
  notify(served_.back());
}

void LessonModels::sessionChanged() {
  toy_ = usesToy();
  for (Served& each : served_) {
    if (each.figure && each.model.isEmpty()) notify(each);
  }
}

void LessonModels::notify(Served& served) {
  served.own = !served.model.isEmpty() || usesToy();
  if (!served.own) return served.figure->showModel(openModel(*session_));
  open(served.model.isEmpty() ? toyPath() : lessonModel(served.model));
  served.figure->showModel(own_);
}

void LessonModels::open(const QString& path) {
  if (path == path_) return;
  path_ = path;
  own_ = {};
  if (path.isEmpty()) {
    own_.trouble = tr("The model of this lesson is not installed.");
    return;
  }
  if (!engine_) {
    engine_ = std::make_unique<EngineClient>();
    engine_->setCommand(session_->engine()->command());
    connect(engine_.get(), &EngineClient::engineDied, this, &LessonModels::fail);
  }
  if (engine_->state() == EngineClient::State::Stopped || engine_->state() == EngineClient::State::Dead)
    engine_->start();
  protocol::OpenParams params;
  params.path = path.toStdString();
  const auto failed = [this, path](const EngineError& error) {
    if (path == path_ && !error.engineDied) fail(error.message);
  };
  engine_->request(protocol::methods::kOpen, params, this, [this, path, failed](Reply<protocol::ModelInfo>& reply) {
    if (!reply) return failed(reply.error());
    ModelIndex index(std::make_shared<const protocol::GraphDocument>(std::move(reply->graph)));
    engine_->request(protocol::methods::kAnalyze, {}, this,
                     [this, path, failed, index](Reply<protocol::Analysis>& analysis) mutable {
                       if (!analysis) return failed(analysis.error());
                       if (path != path_) return;
                       index.merge(analysis->values);
                       own_.document = index.document();
                       own_.norms = std::move(analysis->norms);
                       own_.edits = std::move(analysis->edits);
                       own_.engine = engine_.get();
                       tellOwn();
                     });
  });
}

// The next serve() opens it anew.
void LessonModels::fail(const QString& reason) {
  path_.clear();
  own_ = {};
  own_.trouble = tr("%1 Press R to open it again.").arg(asSentence(reason));
  tellOwn();
}

void LessonModels::tellOwn() {
  for (const Served& each : std::vector(served_)) {
    if (each.figure && each.own) each.figure->showModel(own_);
  }
}

}  // namespace normlens::ui
