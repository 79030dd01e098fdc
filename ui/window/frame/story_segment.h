// One step of the story bar: a caption with a tick once it is done, and a line of pieces below. Clickable.
#pragma once

#include <QAbstractButton>
#include <QVector>

namespace normlens::ui {

struct StoryPiece {
  enum class Tone { Strong, Plain, Good, Blocked, Centering, Faint };
  QString text;
  Tone tone = Tone::Plain;
  QString icon = {};  // before the text; may be empty
};

struct StoryStep {
  QString caption;
  bool done = false;
  QVector<StoryPiece> pieces;
  bool early = false;  // done, to be confirmed
  QString why = {};    // it cannot be done; in place of the tip
  QString brief = {};  // the caption where room is short; empty: the same
};

class StorySegment final : public QAbstractButton {
  Q_OBJECT

 public:
  explicit StorySegment(QWidget* parent = nullptr);

  void setStep(const StoryStep& step);
  [[nodiscard]] const StoryStep& step() const { return step_; }
  [[nodiscard]] QString words() const;  // Joins all pieces.
  void setBrief(bool brief);            // the short caption
  void setLeastPieces(int pixels);      // the pieces may be cut down to that, at the usual size of text
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  [[nodiscard]] const QString& caption() const;
  [[nodiscard]] int captionWidth() const;
  [[nodiscard]] int piecesWidth() const;

  StoryStep step_;
  bool brief_ = false;
  int leastPieces_ = QWIDGETSIZE_MAX;
};

}  // namespace normlens::ui
