// Draws what a lesson's step shows: live, set by the step's state, read by its exercise through numbers with names.
//
// The accessible name of a figure is its current finding ("LayerNorm moved by 0"). Thread: GUI thread.
#pragma once

#include <QJsonObject>
#include <QVBoxLayout>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::ui {

class EngineClient;

// Holds what lessons show of a model: the one that is open, or one of their own.
struct OpenModel {
  std::shared_ptr<const protocol::GraphDocument> document;  // null: none is open
  std::vector<protocol::NormInfo> norms;
  std::vector<protocol::EditInfo> edits;  // that make the norms' inputs zero-mean
  EngineClient* engine = nullptr;         // that has it open; not owned
  QString trouble;                        // why there is none, where one was wanted
  int chosen = -1;                        // the norm that the reader comes from; -1: none
};

enum class Motion { Animated, Cut };
[[nodiscard]] Motion wantedMotion(const QWidget& widget);  // by the desktop's wish for less of it

// A film runs from 0 to `length`, with another picture every `frame`; in ms. Length 0: there is nothing to play.
struct Film {
  int length = 0, frame = 33;
  [[nodiscard]] int frames() const { return length > 0 ? length / frame + 1 : 0; }
};

class Figure : public QWidget {
  Q_OBJECT

 public:
  explicit Figure(QWidget* parent);

  // Shows the step's state. Animated: what moves gets there in 200 ms.
  virtual void showState(const QJsonObject& state, Motion motion) = 0;
  [[nodiscard]] virtual std::optional<double> number(const QString& name) const = 0;  // nullopt: none of that name
  virtual bool togglePlay() { return false; }  // Space; false: it has nothing to play
  // These return the film of the state that is shown, and show its picture at a time; what plays by itself stops.
  [[nodiscard]] virtual Film film() const { return {}; }
  virtual void showTime(int /*ms*/) {}
  [[nodiscard]] virtual bool isSettled() const { return true; }    // nothing that is shown is still on its way
  [[nodiscard]] virtual bool wantsModel() const { return false; }  // in the state that is shown
  virtual void showModel(const OpenModel& /*model*/) {}            // again when more of it is read

  // These give a file the figure as it is shown, without its controls. In the units of the screen.
  [[nodiscard]] QSize pictureSize() const;
  void paintPicture(QPainter& painter);

  // Prepares for a room: text and lines `factor` times as large; the controls float over the picture, only on demand.
  void setPresented(double factor);
  void showControls(bool shown) { controls_->setVisible(shown); }

 Q_SIGNALS:
  void changed();  // a number, the finding

 protected:
  virtual void enlarge(double factor) = 0;
  [[nodiscard]] QVBoxLayout* column() const { return column_; }
  void setControls(QWidget* controls);  // at the foot; once the rest of the column is there
  void resizeEvent(QResizeEvent* event) override;

 private:
  [[nodiscard]] std::vector<QRect> pictureParts() const;

  QVBoxLayout* column_;
  QWidget* controls_ = nullptr;
  bool presented_ = false;
};

// The kinds of figures that a lesson's file can name. A new one: a source with a Figure, and a row in figures.cpp.
[[nodiscard]] QStringList figureKinds();
// nullptr: there is no such kind. The parent owns it.
[[nodiscard]] Figure* makeFigure(const QString& kind, QWidget* parent);

// One function for each kind; the source of its name describes the figure.
[[nodiscard]] Figure* makeCenteringFigure(QWidget* parent);
[[nodiscard]] Figure* makeCompressionFigure(QWidget* parent);
[[nodiscard]] Figure* makeCutFigure(QWidget* parent);
[[nodiscard]] Figure* makeForcedFigure(QWidget* parent);
[[nodiscard]] Figure* makeGraphWalkFigure(QWidget* parent);
[[nodiscard]] Figure* makeProjectionFigure(QWidget* parent);
[[nodiscard]] Figure* makeSpeedFigure(QWidget* parent);

}  // namespace normlens::ui
