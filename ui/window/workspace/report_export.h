// Export report: lays the graph out with every LayerNorm in sight, draws it before and after the plan in the
// background, has the engine make the page, and writes it. One at a time. Thread: GUI thread.
#pragma once

#include <QObject>
#include <memory>

#include "core/protocol/report_messages.h"
#include "ui/layout/layout_worker.h"

namespace normlens::ui {

class GraphPane;
class Session;

class ReportExport final : public QObject {
  Q_OBJECT

 public:
  // A larger graph is drawn with its groups closed, as the window shows it at first: the page stays below a megabyte.
  static constexpr size_t kMostBoxes = 400;

  ReportExport(Session* session, GraphPane* graph, QObject* parent);  // not owned
  ~ReportExport() override;

  void start(const QString& path);  // its ending chooses the format: .html, .md

 Q_SIGNALS:
  void written(const QString& path);
  void failed(const QString& why);  // a sentence

 private:
  void layOut();
  void draw(const layout::LayoutResult& result);
  void request(protocol::ReportFormat format, std::optional<protocol::ReportGraph> graph);
  void write(const QByteArray& text);

  Session* session_;
  GraphPane* graph_;
  QString path_;    // empty: nothing is under way
  int number_ = 0;  // Counts the starts: a drawing of an earlier one is dropped.
  std::unique_ptr<layout::LayoutWorker> worker_;
};

}  // namespace normlens::ui
