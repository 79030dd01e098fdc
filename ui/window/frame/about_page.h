// The page "About NormLens": versions of the window, the engine and what it runs models with, the license, and what a
// bug report needs.
#pragma once

#include <QWidget>

namespace normlens::ui {

class EngineClient;
class PropertyList;

class AboutPage final : public QWidget {
  Q_OBJECT

 public:
  AboutPage(const EngineClient* engine, QWidget* parent);  // engine: not owned

  void showVersions();
  [[nodiscard]] QString text() const;  // the same lines for the clipboard

 Q_SIGNALS:
  void closed();

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  const EngineClient* engine_;  // Not owned.
  PropertyList* versions_;
};

}  // namespace normlens::ui
