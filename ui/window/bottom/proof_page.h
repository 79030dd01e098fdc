// Shows what folding did and what the proof found: folded k of n, tensors centered, times, errors in both precisions.
#pragma once

#include <QWidget>

class QLabel;
class QPushButton;

namespace normlens::protocol {
struct FoldResult;
}

namespace normlens::ui {

class Badge;
class PropertyList;
class Session;

class ProofPage final : public QWidget {
  Q_OBJECT

 public:
  ProofPage(Session* session, QWidget* parent);  // session: not owned

 Q_SIGNALS:
  void exportAnywayClicked();

 private:
  void showResult();
  [[nodiscard]] QString emptyText() const;
  void showVerdict(const protocol::FoldResult& result);

  Session* session_;  // Not owned.
  QWidget* filled_;
  QLabel* empty_;
  Badge* badge_;
  QLabel* headline_;
  QLabel* sentence_;
  PropertyList* work_;
  PropertyList* algebra_;
  PropertyList* file_;
  QLabel* algebraNote_;
  QPushButton* anyway_;
};

}  // namespace normlens::ui
