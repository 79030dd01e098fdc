// Gives a lesson's figure its model: the one that is open; without one a bundled model; or a model of the lesson's own.
// Bundled ones are opened in engines of their own, so that what the reader has open stays as it is: one for the model
// that is shown, one for the model that the next step needs, which is opened ahead.
//
// Thread: GUI thread.
#pragma once

#include <QObject>
#include <QPointer>
#include <memory>
#include <vector>

#include "ui/learn/figure.h"

namespace normlens::ui {

class EngineClient;
class Session;

class LessonModels final : public QObject {
  Q_OBJECT
  Q_DISABLE_COPY_MOVE(LessonModels)

 public:
  LessonModels(Session* session, QObject* parent);  // session: not owned
  ~LessonModels() override;

  // From now on the figure is shown that model: its name under models/lessons; empty: the open one, or the toy.
  void serve(Figure* figure, const QString& model);
  [[nodiscard]] bool usesToy() const;  // where a step names none: no model is open
  void ahead(const QString& model);    // opens the model that a later step will be served; empty: none
  void rest();                         // the own engines end; the next serve() starts one again

 private:
  struct Served {
    QPointer<Figure> figure;
    QString model;
    QString path;  // of the own model that it was shown; empty: the open one
  };
  struct Own {
    QString path;
    std::unique_ptr<EngineClient> engine;
    OpenModel model;
  };
  void sessionChanged();
  void notify(Served& served);
  // The own model of the path: there, on its way, or opened now in place of the one that was shown longest ago.
  Own& opened(const QString& path);
  void open(Own& own, const QString& path);
  void tell(const Own& own);
  void fail(Own& own, const QString& reason);

  Session* session_;
  std::vector<std::unique_ptr<Own>> own_;  // the one shown last first
  bool toy_ = true;                        // usesToy(), as it was last shown
  std::vector<Served> served_;
};

}  // namespace normlens::ui
