// Export, a place beside the list of norms: where the folded model will run, and for each such target the file, what is
// written into it, what was proved for it, and the lines that use it. Nothing is shown as checked that was not run.
//
// The parent hides and shows it. Thread: GUI thread.
#pragma once

#include <QDateTime>
#include <QFrame>
#include <QHash>
#include <functional>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/client/question.h"

class QBoxLayout;
class QButtonGroup;
class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QScrollArea;
class QStackedWidget;
class QVBoxLayout;

namespace normlens::ui {

class Badge;
class CodeBox;
class PropertyList;
class PushButton;
class Session;

class ExportSheet final : public QFrame {
  Q_OBJECT

 public:
  ExportSheet(Session* session, QWidget* parent);  // session: not owned

  // One row of the list at the left.
  enum class Kind { Target, Streams, Module, Folder, Report };

  void open(Kind kind = Kind::Target);  // at the first of the kind; of targets at the one of the norm that was folded
  // Ctrl+Enter: writes the file of the target that is chosen; asks first where that would replace one that the session
  // did not write for it. Does nothing where it cannot be.
  void write();
  void overwrite(const QStringList& files);                          // the answer: these may be replaced
  void remember(const QString& path, const std::string& norm = {});  // the session wrote it; no norm: for no target

 Q_SIGNALS:
  void closed();
  void reportWanted(const QString& path);
  void overwriteAsked(const QStringList& files, const QString& why);
  void overwriteOver();     // the question is of another file or target than the one that is chosen now
  void differenceWanted();  // the first of an output

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  struct Place {
    Kind kind = Kind::Target;
    protocol::TargetInfo target;
  };

  void buildList(QWidget* parent);
  [[nodiscard]] QWidget* makePage();
  void addFacts(QVBoxLayout* column, QWidget* parent);
  void addTexts(QVBoxLayout* column, QWidget* parent);
  [[nodiscard]] QWidget* makeFoot();
  void requestTargets();
  void fillList();
  void addHead(const QString& words);
  void addPlace(Place place, const QString& title, const QString& words);
  void choose(int index);
  [[nodiscard]] const Place& place() const;
  [[nodiscard]] bool isTarget() const { return place().kind == Kind::Target; }
  void suggestFile();
  void useFile(const QString& path);
  void askWhatIsThere();
  [[nodiscard]] bool writesReport() const;        // beside the model, on this machine
  [[nodiscard]] QStringList toOverwrite() const;  // not written with this norm by the session
  [[nodiscard]] QString whyAsked(const QStringList& files) const;
  void exported();
  void askForPath();
  void showAll();
  [[nodiscard]] QString whatLoads() const;  // each norm, with the tools that ran it
  [[nodiscard]] QString sizeOf(const protocol::PlanInfo& plan) const;
  void showFacts(const protocol::FoldResult* fold);
  [[nodiscard]] QString sameFile() const;
  void showProof(const protocol::FoldResult* fold);
  void showWarning();
  void showExisting();
  void showFoot(const protocol::FoldResult* fold);
  void makePullRequestText();
  [[nodiscard]] QString obstacle(const protocol::FoldResult* fold) const;  // why nothing can be written; or empty

  Session* session_;
  Question targetsQuestion_, thereQuestion_;
  QString listedFor_;  // the path whose targets are listed
  std::vector<protocol::TargetInfo> targets_;
  std::vector<Place> places_;
  int chosen_ = 0;
  QString typed_;  // the file that the user chose; empty: the one that is suggested
  bool typedReport_ = false;
  struct Written {
    std::string norm;
    QDateTime at;  // another time: something else wrote it since
    bool operator==(const Written&) const = default;
  };
  QHash<QString, Written> own_;
  QStringList agreed_;   // may be replaced, once
  QString existsThere_;  // on the engine's machine
  struct {
    QString path;
    std::string norm;
    bool report = false;
  } writing_;
  Kind wantedKind_ = Kind::Target;  // until the targets are there
  QButtonGroup* rows_;
  QVBoxLayout* list_;
  QWidget* listBody_;
  QStackedWidget* pages_;
  QWidget* fileRow_;
  QScrollArea* listArea_;
  QBoxLayout* columns_;
  QLabel *title_, *source_, *about_, *proofNote_, *warningTitle_, *warning_, *foot_, *exists_, *loads_;
  Badge* badge_;
  QLineEdit* file_;
  QWidget *written_, *proved_, *loaded_, *pullRequestPart_;
  QFrame* warningCard_;
  PropertyList *facts_, *proof_;
  CodeBox *code_, *pullRequest_;
  QPushButton* makePullRequest_;
  QCheckBox* alsoReport_;
  PushButton* write_;
};

}  // namespace normlens::ui
