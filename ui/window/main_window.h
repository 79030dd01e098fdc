// The window: bars, pages, and the wiring between the session, the engine and the views.
//
//   MainWindow window({engineCommandFromSettings(), ColorScheme::FollowDesktop, desktopDark});
//   window.show();
//   window.openFile(path);
// The engine starts with the first event loop turn after the window was shown, so that the window is there at once.
// Thread: GUI thread.
#pragma once

#include <QMainWindow>
#include <QTimer>
#include <optional>

#include "core/protocol/plan_messages.h"
#include "ui/client/engine_command.h"
#include "ui/theme/theme.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/export/export_sheet.h"
#include "ui/window/frame/preferences.h"
#include "ui/window/frame/story.h"

class QPlainTextEdit;
class QStackedWidget;

namespace normlens::protocol {
struct ExportResult;
}

namespace normlens::ui {

class Actions;
class CommandPalette;
class CompareView;
class EngineClient;
class LabPage;
class LabRuns;
class LessonsPage;
class PreferencesPage;
class AboutPage;
class AtlasPage;
class DropFrame;
class ProbePage;
class ReportExport;
class ProjectKeeper;
class Session;
class StatusStrip;
class StoryBar;
class ToolBar;
struct PaletteEntry;
enum class ActionPanel;
enum class LearnPageKind;
class WelcomePage;
class Workspace;

struct WindowOptions {
  EngineCommand engine;
  ColorScheme scheme = ColorScheme::FollowDesktop;
  bool desktopDark = false;     // The meaning of FollowDesktop now.
  bool rememberLayout = true;   // sizes and preferences from and to QSettings; off for screenshots and tests
  QString recoveryFolder = {};  // where work is put aside against a crash; empty: nowhere
};

class MainWindow final : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(WindowOptions options, QWidget* parent = nullptr);
  ~MainWindow() override;
  MainWindow(const MainWindow&) = delete;
  MainWindow& operator=(const MainWindow&) = delete;

  // model: its name, where the file holds several; a file that holds one is opened whatever the name.
  void openFile(const QString& path, const QString& model = {});
  [[nodiscard]] Session* session() const { return session_; }
  [[nodiscard]] EngineClient* engine() const { return engine_; }
  [[nodiscard]] Actions* actions() const { return actions_; }
  [[nodiscard]] Workspace* workspace() const { return workspace_; }
  [[nodiscard]] InfoBar* infoBar() const { return info_; }
  [[nodiscard]] ProjectKeeper* project() const { return project_; }

 protected:
  void showEvent(QShowEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragLeaveEvent(QDragLeaveEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void build();
  void connectActions();
  void connectEngine();   // main_window_engine.cpp
  void connectSession();  // the same
  void connectViews();
  void connectCommands();
  void connectProject();  // main_window_engine.cpp
  void connectTheme();
  void refresh();  // actions, story, status: after any change of the session
  void showPage(QWidget* page);
  void showWork();  // the open model, or the welcome page
  void openProjectFile(const QString& path);
  void askForModel();
  void saveProject();
  void askForProject();  // where to save it
  void writeProject(const QString& path);
  using UseModel = void (ProjectKeeper::*)(const QString& model);
  void useModel(UseModel use, const QString& path);
  void askForModelOf(UseModel use);  // where it is now
  void offerRecovery();
  void recover(const QString& orphan);
  void tellRestored(const QStringList& lost);
  void showTitle();
  void showExport(ExportSheet::Kind kind);
  void exportAnyway();
  void askToOverwrite(const QStringList& files, const QString& why);
  void closeModel();
  void nextAction(NextAction action);
  void showStep(int step);
  void stepBack();
  void log(const QString& line);  // The engine or the window reported it; the time is added.
  void fillSearch();
  void showComparison(const QString& path);  // empty: with the folded model
  CompareView* comparison();                 // Shows it.
  void askForComparison();
  void goTo(int target, int id);  // target: SearchModel::Target
  void showEngineLost(const QString& reason);
  void reconnectLater(const QString& reason);
  void showSilence(int seconds);
  void dismissWhenWorkBegins();
  void logConfirmation(const QStringList& norms);
  void showFoldResult();
  void showLeftOut();  // Shows the norms that were lost with an edit that the user left out.
  void showExported(const protocol::ExportResult& done);
  void showWritten(const QString& path, const QString& words, std::vector<InfoBar::Way> ways = {});
  [[nodiscard]] std::vector<PaletteEntry> paletteEntries();
  void addButtonsTo(std::vector<PaletteEntry>& entries);
  void chooseDevice(const QString& device);  // "cpu", "cuda"
  void showPanel(ActionPanel panel);
  void showLesson();
  void showLessons(const QString& link);  // empty: where the reader was
  void showLaboratory();
  template <class Page>
  void showFigures(Page*& page);
  void showProbe();
  void showAtlas();
  [[nodiscard]] bool fillsWindow(const QWidget* page) const;  // it has a bar of its own
  void showLearnPage(LearnPageKind page);
  void showPreferences();
  void showAbout();
  void openFiles(const QStringList& files);
  void showDropped();
  void applyPreferences(const Preferences& preferences);
  void usePreferences();
  void applyLook();

  WindowOptions options_;
  Preferences preferences_;
  EngineClient* engine_;
  Session* session_;
  ProjectKeeper* project_ = nullptr;
  Actions* actions_;
  ToolBar* tools_ = nullptr;
  StoryBar* story_ = nullptr;
  InfoBar* info_ = nullptr;
  QStackedWidget* pages_ = nullptr;
  WelcomePage* welcome_ = nullptr;
  Workspace* workspace_ = nullptr;
  ReportExport* report_ = nullptr;
  PreferencesPage* preferencesPage_ = nullptr;
  CommandPalette* palette_ = nullptr;
  DropFrame* drop_ = nullptr;
  QString compareNext_;             // dropped with the model that is being opened
  CompareView* compare_ = nullptr;  // made when it is first wanted
  AboutPage* about_ = nullptr;      // the same
  LessonsPage* lessons_ = nullptr;  // the same
  LabRuns* labRuns_ = nullptr;
  LabPage* lab_ = nullptr;      // the same
  ProbePage* probe_ = nullptr;  // the same
  AtlasPage* atlas_ = nullptr;  // the same
  QPlainTextEdit* log_ = nullptr;
  StatusStrip* status_ = nullptr;
  // An edit that the user left out, until the plan without it is there.
  bool shown_ = false;
  bool toldUnconfined_ = false;  // once is enough
  QTimer reconnection_;          // to the engine of a connection that ended
};

}  // namespace normlens::ui
