// Renders the test documents to PNG files, for looking at: render_graphs FOLDER
#include <QApplication>
#include <QDir>

#include "tests/support/graph_documents.h"
#include "tests/support/wait_for_layout.h"
#include "ui/graphview/graph_view.h"

namespace {

using normlens::graphview::GraphView;

int scopeOf(const normlens::protocol::GraphDocument& document, const std::string& path) {
  for (const auto& scope : document.scopes) {
    if (scope.path == path) return scope.id;
  }
  return -1;
}

void save(GraphView& view, const QString& folder, const QString& name) {
  normlens::test::waitForLayout(view, 5000);
  QApplication::processEvents();
  view.grab().save(QDir(folder).filePath(name + ".png"));
}

void renderBert(GraphView& view, const QString& folder, const QString& suffix) {
  const auto bert = normlens::test::bertDocument();
  view.setDocument(bert);
  save(view, folder, "bert_closed_" + suffix);
  auto blocked = normlens::test::gpt2ZeroMean(*bert, 9);
  for (auto& vertex : blocked.vertices) {
    if (vertex.vertex_class == "N" && vertex.node != blocked.vertices.front().node) {
      vertex.vertex_class = "O";
      vertex.note = "γ lies between 0.61 and 1.38, so its output has a mean of up to 0.09";
    }
  }
  std::vector<int> path{blocked.vertices.front().node};
  const int sum = bert->nodes[static_cast<size_t>(path[0])].inputs[0];
  for (const auto& node : bert->nodes) {
    if (!node.outputs.empty() && node.outputs[0] == sum) path.push_back(node.id);
  }
  const int residual = bert->nodes[static_cast<size_t>(path[1])].inputs[1];
  for (const auto& node : bert->nodes) {
    if (!node.outputs.empty() && node.outputs[0] == residual) path.push_back(node.id);
  }
  view.setHighlight(blocked, path);
  save(view, folder, "bert_blocked_" + suffix);
  view.clearHighlight();
}

void renderAll(const QString& folder, const normlens::ui::Theme& theme, const QString& suffix) {
  GraphView view;
  view.setAnimated(false);
  view.resize(1100, 820);
  QPalette palette;
  palette.setColor(QPalette::WindowText, theme.text);  // by which a view tells light from dark
  view.setPalette(palette);
  const auto document = normlens::test::gpt2Document();
  view.setDocument(document);
  view.show();
  save(view, folder, "gpt2_closed_" + suffix);
  view.setScopesOpen({{scopeOf(*document, "transformer.h.3"), true}});
  normlens::test::waitForLayout(view, 5000);
  view.revealScope(scopeOf(*document, "transformer.h.3"));
  save(view, folder, "gpt2_block_" + suffix);
  view.setHighlight(normlens::test::gpt2ZeroMean(*document, 7));
  save(view, folder, "gpt2_light_" + suffix);
  view.fit();
  save(view, folder, "gpt2_light_fit_" + suffix);
  view.clearHighlight();
  view.expandAll();
  normlens::test::waitForLayout(view, 5000);
  view.revealScope(scopeOf(*document, "transformer.h.5"));
  save(view, folder, "gpt2_open_" + suffix);
  view.fit();
  save(view, folder, "gpt2_all_" + suffix);
  view.collapseAll();
  view.setOptions({.showHelpers = false, .foldRepeats = true});
  normlens::test::waitForLayout(view, 5000);
  view.expandToDepth(1);
  save(view, folder, "gpt2_repeats_" + suffix);
  view.setOptions({});
  view.setDirection(normlens::layout::Direction::Right);
  normlens::test::waitForLayout(view, 5000);
  view.setScopesOpen({{scopeOf(*document, "transformer.h.3"), true}});
  normlens::test::waitForLayout(view, 5000);
  view.revealScope(scopeOf(*document, "transformer.h.3"));
  save(view, folder, "gpt2_right_" + suffix);
  view.setHighlight(normlens::test::gpt2ZeroMean(*document, 7));
  save(view, folder, "gpt2_right_light_" + suffix);
  view.clearHighlight();
  view.setDirection(normlens::layout::Direction::Down);
  renderBert(view, folder, suffix);
  view.setDocument(normlens::test::flatDocument(10000));
  save(view, folder, "flat_" + suffix);
  view.setDocument(normlens::test::sharedLayerDocument(4));
  view.expandAll();
  save(view, folder, "shared_" + suffix);
}

}  // namespace

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  const QString folder = argc > 1 ? QString::fromLocal8Bit(argv[1]) : QStringLiteral(".");
  QDir().mkpath(folder);
  renderAll(folder, normlens::ui::lightTheme(), "light");
  renderAll(folder, normlens::ui::darkTheme(), "dark");
  return 0;
}
