// Keeps what the user does with a model: the project file, what is put aside against a crash, and an eye on the model's
// file.
//
// It depends on no widgets: the view is taken and handed over by functions. A project is dirty when what would be
// written differs from what was last written or loaded. Thread: GUI thread; hashing is the engine's.
#pragma once

#include <QFileSystemWatcher>
#include <QObject>
#include <QString>
#include <QTimer>
#include <functional>

#include "ui/client/question.h"
#include "ui/session/project/project.h"
#include "ui/session/project/recovery.h"

namespace normlens::ui {

class Session;

// The session as it is; the view is the caller's to fill in, and so is the hash.
[[nodiscard]] Project projectOf(const Session& session);

class ProjectKeeper final : public QObject {
  Q_OBJECT

 public:
  struct View {
    std::function<ProjectView()> take;
    std::function<void(const ProjectView&)> show;
    // These take and show the laboratory's runs. showRuns() gets all that the open project has.
    std::function<std::vector<lab::RunResult>()> takeRuns;
    std::function<void(const std::vector<lab::RunResult>&)> showRuns;
  };
  ProjectKeeper(Session* session, View view, const QString& recoveryFolder, QObject* parent);  // session: not owned

  // The project's file; empty: none yet.
  [[nodiscard]] const QString& path() const { return path_; }
  [[nodiscard]] bool dirty() const;
  [[nodiscard]] Status save(const QString& path);
  [[nodiscard]] Status open(const QString& path);  // the session then opens the model
  void reload(const QString& modelPath);           // Opens it again, with the model that lies there now.
  void locate(const QString& modelPath);           // the project of modelMissing(), whose model is there

  // ---- against crashes
  void setInterval(int seconds);              // 0: never
  void putAside();                            // now, if there is something new
  void end();                                 // the window closes: see leaveAside()
  [[nodiscard]] QStringList orphans() const;  // to be offered: not what was left in good order, or is on its way back
  [[nodiscard]] Status recover(const QString& orphan);
  // Returns the newest file put aside of the work on this model; empty: none, or the model's file is another by now.
  // model: its name, where one of several is wanted.
  [[nodiscard]] QString leftOf(const QString& modelPath, const QString& model = {}) const;

 Q_SIGNALS:
  void pathChanged();
  void restored(const QStringList& lost);
  void modelMissing(const QString& modelPath);  // the project's model is not where it was
  void modelIsAnother();                        // it is there, but it is not the one the project was made with
  void modelChangedOnDisk(const QString& modelPath, bool gone);

 private:
  // Holds a project on its way to the session.
  struct Opening {
    Project project;
    QString path;         // its file; empty: none
    std::string written;  // The file's content, where it is not the project; empty: it is.
    bool stays = false;   // it is what is open already, with another file of the model
  };

  [[nodiscard]] Project project() const;
  void start(Opening opening);
  void startWith(const QString& modelPath, Opening opening);
  void modelOpened();
  void shown(const Project& project);
  [[nodiscard]] bool touched() const;
  void leaveAside();  // Puts aside what was done and not saved.
  void identify();
  void compare();
  void lookAtModel();
  void setPath(const QString& path);

  Session* session_;  // Not owned.
  View view_;
  QString path_;
  std::string written_;  // as last saved or loaded; empty: nothing was
  Recovery recovery_;
  std::string putAside_;
  QTimer timer_;
  Question hash_;
  ModelFile model_;                    // as it was opened; its hash once it is computed
  std::optional<ModelFile> expected_;  // the project's model, until it is compared
  bool hashing_ = false;               // the hash was requested
  ModelFile onDisk_;                   // when it was last looked at
  QFileSystemWatcher watcher_;         // of the file and its folder: one that is mapped is not seen to be removed
  QTimer settle_;                      // a file that is being written changes many times
  std::optional<Opening> opening_;     // until its model is open
  std::optional<Opening> missing_;     // its model is not where it was
  std::string reloaded_;               // written_ of what is reloaded, until its plan is there
  bool recovered_ = false;             // The open project came from an orphan.
  QString recovering_;                 // the orphan that it comes from
};

}  // namespace normlens::ui
