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

// Figures first: their questions are to engines that are there.
void LessonModels::rest() {
  for (const Served& each : std::vector(served_)) {
    if (each.figure && !each.path.isEmpty()) each.figure->showModel({});
  }
  own_.clear();
}

// Returns false while a model is on its way.
bool LessonModels::usesToy() const { return session_->document() == nullptr && !session_->busy(); }

void LessonModels::serve(Figure* figure, const QString& model) {
  std::erase_if(served_, [&](const Served& each) { return each.figure.isNull() || each.figure == figure; });
  if (!figure->wantsModel()) return;
  served_.push_back({figure, model, {}});
  notify(served_.back());
}

void LessonModels::sessionChanged() {
  toy_ = usesToy();
  for (Served& each : served_) {
    if (each.figure && each.model.isEmpty()) notify(each);
  }
}

void LessonModels::notify(Served& served) {
  served.path.clear();
  if (served.model.isEmpty() && !usesToy()) return served.figure->showModel(openModel(*session_));
  served.path = served.model.isEmpty() ? toyPath() : lessonModel(served.model);
  if (served.path.isEmpty()) {
    OpenModel none;
    none.trouble = tr("The model of this lesson is not installed.");
    return served.figure->showModel(none);
  }
  Own& own = opened(served.path);
  std::ranges::rotate(own_, std::ranges::find(own_, &own, &std::unique_ptr<Own>::get));
  served.figure->showModel(own.model);
}

void LessonModels::ahead(const QString& model) {
  if (const QString path = model.isEmpty() ? QString() : lessonModel(model); !path.isEmpty()) opened(path);
}

LessonModels::Own& LessonModels::opened(const QString& path) {
  constexpr size_t kMostOwn = 2;
  const auto found = std::ranges::find_if(own_, [&](const auto& own) { return own->path == path; });
  if (found != own_.end()) return **found;
  if (own_.size() < kMostOwn) {
    own_.push_back(std::make_unique<Own>());
    Own* own = own_.back().get();
    own->engine = std::make_unique<EngineClient>();
    own->engine->setCommand(session_->engine()->command());
    connect(own->engine.get(), &EngineClient::engineDied, this, [this, own](const QString& why) { fail(*own, why); });
  }
  open(*own_.back(), path);
  return *own_.back();
}

void LessonModels::open(Own& own, const QString& path) {
  own.path = path;
  own.model = {};
  EngineClient& engine = *own.engine;
  if (engine.state() == EngineClient::State::Stopped || engine.state() == EngineClient::State::Dead) engine.start();
  protocol::OpenParams params;
  params.path = path.toStdString();
  // The engine ends before its Own does, and drops what it was asked.
  const auto failed = [this, &own, path](const EngineError& error) {
    if (path == own.path && !error.engineDied) fail(own, error.message);
  };
  engine.request(protocol::methods::kOpen, params, this, [this, &own, path, failed](Reply<protocol::ModelInfo>& reply) {
    if (!reply) return failed(reply.error());
    ModelIndex index(std::make_shared<const protocol::GraphDocument>(std::move(reply->graph)));
    own.engine->request(protocol::methods::kAnalyze, {}, this,
                        [this, &own, path, failed, index](Reply<protocol::Analysis>& analysis) mutable {
                          if (!analysis) return failed(analysis.error());
                          if (path != own.path) return;
                          index.merge(analysis->values);
                          own.model.document = index.document();
                          own.model.norms = std::move(analysis->norms);
                          own.model.edits = std::move(analysis->edits);
                          own.model.engine = own.engine.get();
                          tell(own);
                        });
  });
}

// The next serve() opens it anew.
void LessonModels::fail(Own& own, const QString& reason) {
  own.model = {};
  own.model.trouble = tr("%1 Press R to open it again.").arg(asSentence(reason));
  tell(own);
  own.path.clear();
}

void LessonModels::tell(const Own& own) {
  for (const Served& each : std::vector(served_)) {
    if (each.figure && each.path == own.path) each.figure->showModel(own.model);
  }
}

}  // namespace normlens::ui
