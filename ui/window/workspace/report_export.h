// Export report: draws the graph before and after the plan as SVG in the background, has the engine make the page, and
// writes it. One at a time. Thread: GUI thread.
#pragma once

#include <QObject>
#include <QTemporaryDir>
#include <memory>
#include <vector>

#include "core/protocol/report_messages.h"

namespace normlens::graphview {
class PictureJob;
struct PictureOrder;
}  // namespace normlens::graphview

namespace normlens::ui {

class GraphPane;
class Session;

class ReportExport final : public QObject {
  Q_OBJECT

 public:
  ReportExport(Session* session, GraphPane* graph, QObject* parent);  // not owned
  ~ReportExport() override;

  void start(const QString& path);  // its ending chooses the format: .html, .md

 Q_SIGNALS:
  void written(const QString& path);
  void failed(const QString& why);  // a sentence

 private:
  void drawNext();
  void drawn();
  void write(const QByteArray& text);

  Session* session_;
  GraphPane* graph_;
  QString path_;  // empty: nothing is under way
  QTemporaryDir folder_;
  std::vector<graphview::PictureOrder> orders_;  // that are to be drawn
  std::vector<protocol::ReportPicture> pictures_;
  std::unique_ptr<graphview::PictureJob> job_;
};

}  // namespace normlens::ui
