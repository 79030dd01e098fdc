// The window: bars, pages, and the wiring between the session, the engine and the views.
//
//   MainWindow window({engineCommandFromSettings(), ColorScheme::FollowDesktop, desktopDark});
//   window.show();
//   window.openFile(path);
// The engine starts with the first event loop turn after the window was shown, so that the window is there at once.
// Thread: GUI thread.
#pragma once

#include <QMainWindow>

#include "ui/client/engine_command.h"
#include "ui/theme/theme.h"
#include "ui/window/story.h"

class QFileDialog;
class QStackedWidget;

namespace normlens::ui {

class Actions;
class CompareView;
class EngineClient;
class InfoBar;
class Session;
class StatusStrip;
class StoryBar;
class ToolBar;
class WelcomePage;
class Workspace;

struct WindowOptions {
  EngineCommand engine;
  ColorScheme scheme = ColorScheme::FollowDesktop;
  bool desktopDark = false;    // what FollowDesktop means now
  bool rememberLayout = true;  // sizes from and to QSettings; off for screenshots and tests
};

class MainWindow final : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(const WindowOptions& options, QWidget* parent = nullptr);
  ~MainWindow() override;

  void openFile(const QString& path);
  [[nodiscard]] Session* session() const { return session_; }
  [[nodiscard]] EngineClient* engine() const { return engine_; }
  [[nodiscard]] Actions* actions() const { return actions_; }
  [[nodiscard]] Workspace* workspace() const { return workspace_; }
  [[nodiscard]] InfoBar* infoBar() const { return info_; }
  [[nodiscard]] StoryBar* storyBar() const { return story_; }

 protected:
  void showEvent(QShowEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragLeaveEvent(QDragLeaveEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void build();
  void connectActions();
  void connectSession();  // main_window_engine.cpp
  void connectViews();
  void connectTheme();
  void refresh();  // actions, story, status: after any change of the session
  QFileDialog* makeModelDialog(const QString& title);
  void askForModel();
  void askForExport(bool force);
  void closeModel();
  void nextAction(NextAction action);
  void showStep(int step);
  void fillSearch();
  void showComparison(const QString& path);  // empty: with the folded model
  void askForComparison();
  void goTo(int target, int id);  // target: SearchModel::Target
  void showEngineLost(const QString& reason);
  void showFoldResult();
  void showExport();
  void applyScheme(ColorScheme scheme);

  WindowOptions options_;
  EngineClient* engine_;
  Session* session_;
  Actions* actions_;
  ToolBar* tools_ = nullptr;
  StoryBar* story_ = nullptr;
  InfoBar* info_ = nullptr;
  QStackedWidget* pages_ = nullptr;
  WelcomePage* welcome_ = nullptr;
  Workspace* workspace_ = nullptr;
  CompareView* compare_ = nullptr;  // made when it is first asked for
  StatusStrip* status_ = nullptr;
  bool shown_ = false;
};

}  // namespace normlens::ui
