// One step of the story bar: a caption with a tick once it is done, and pieces below that wrap to a second line, in a
// narrow window to a third; no word is cut but one that is very long. Clickable.
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
  bool early = false;                         // done, to be confirmed
  QString why = {};                           // it cannot be done; in place of the tip
  QString brief = {};                         // the caption where room is short; empty: the same
  QVector<QVector<StoryPiece>> shorter = {};  // in place of the pieces where room is short, each shorter than the last
};

class StorySegment final : public QAbstractButton {
  Q_OBJECT

 public:
  explicit StorySegment(QWidget* parent = nullptr);

  void setStep(const StoryStep& step);
  [[nodiscard]] const StoryStep& step() const { return step_; }
  [[nodiscard]] QString words() const;  // Joins all pieces.
  void setBrief(bool brief);            // the short caption
  void setWraps(bool wraps);            // it may be narrower than its pieces in one line
  void setShort(int times);             // shows what is that much shorter, as far as there is something
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;
  [[nodiscard]] int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  // Words of one piece that stand together in a line.
  struct Run {
    const StoryPiece* piece;
    QString text;
    int left = 0, line = 0;
    bool first = false;  // begins the piece: with its icon
  };
  [[nodiscard]] const QString& caption() const;
  [[nodiscard]] const QVector<StoryPiece>& pieces() const;
  [[nodiscard]] QSize wholeSize() const;  // all words in one line
  [[nodiscard]] int captionWidth() const;
  [[nodiscard]] QVector<Run> flow(int width) const;  // width: of the line
  [[nodiscard]] int linesIn(int width) const;        // width: of the segment

  StoryStep step_;
  bool brief_ = false, wraps_ = false;
  int short_ = 0;
};

}  // namespace normlens::ui
