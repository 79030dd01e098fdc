// Gives a lesson's figure its model: the one that is open; without one a bundled model; or a model of the lesson's own.
// Bundled ones are opened in an engine of their own, so that what the reader has open stays as it is.
//
// Thread: GUI thread.
#pragma once

#include <QObject>
#include <QPointer>
#include <memory>
#include <vector>

#include "ui/learn/figure.h"

namespace normlens::ui {

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
  void rest();                         // the own engine ends; the next serve() starts it again

 private:
  struct Served {
    QPointer<Figure> figure;
    QString model;
    bool own = false;  // it was shown the own model
  };
  void sessionChanged();
  void notify(Served& served);
  void open(const QString& path);  // in the own engine; nothing where it is there or on its way
  void tellOwn();
  void fail(const QString& reason);

  Session* session_;
  std::unique_ptr<EngineClient> engine_;  // nullptr until it is wanted
  QString path_;                          // The own model's.
  OpenModel own_;
  bool toy_ = true;  // usesToy(), as it was last shown
  std::vector<Served> served_;
};

}  // namespace normlens::ui
