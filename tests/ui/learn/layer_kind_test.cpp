// Which kind of layer a centered weight belongs to, by the ops that read it.
#include "ui/learn/live/layer_kind.h"

#include <QtTest>

namespace normlens::ui {
namespace {

using protocol::GraphDocument;
using protocol::GraphNode;

// Constant 0 read by op after op, each reading what the one before it made.
GraphDocument chain(const std::vector<std::pair<std::string, std::string>>& labelsAndGroups) {
  GraphDocument document;
  const auto addValue = [&](int id, bool constant) {
    protocol::GraphValue value;
    value.id = id;
    value.name = "w" + std::to_string(id);
    value.shape = {8, 4};
    value.constant = constant;
    document.values.push_back(value);
  };
  addValue(0, true);
  for (size_t i = 0; i < labelsAndGroups.size(); ++i) {
    GraphNode node;
    node.id = static_cast<int>(i);
    node.label = labelsAndGroups[i].first;
    if (!labelsAndGroups[i].second.empty()) node.attributes.emplace_back("groups", labelsAndGroups[i].second);
    node.inputs = {static_cast<int>(i)};
    node.outputs = {static_cast<int>(i) + 1};
    document.nodes.push_back(node);
    addValue(static_cast<int>(i) + 1, false);
  }
  return document;
}

protocol::EditInfo centering(std::vector<int> values, int norm) {
  protocol::EditInfo edit;
  edit.kind = EditKind::CenterConstant;
  edit.values = std::move(values);
  edit.frees.add(norm);
  return edit;
}

std::vector<protocol::NormInfo> norms(Verdict verdict) {
  protocol::NormInfo norm;
  norm.verdict = verdict;
  return {norm};
}

}  // namespace

class LayerKindTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void byTheOpsThatReadIt_data() {
    using Labels = std::vector<std::pair<std::string, std::string>>;
    QTest::addColumn<Labels>("labels");
    QTest::addColumn<int>("kind");
    const auto row = [](const char* name, const Labels& labels, LayerKind kind) {
      QTest::newRow(name) << labels << static_cast<int>(kind);
    };
    row("linear", {{"linear", ""}, {"add", ""}, {"layer_norm", ""}}, LayerKind::Linear);
    row("transposed first", {{"t", ""}, {"addmm", ""}, {"layer_norm", ""}}, LayerKind::Linear);
    row("Gemm of ONNX", {{"Transpose", ""}, {"Gemm", ""}, {"Add", ""}}, LayerKind::Linear);
    row("table", {{"embedding", ""}, {"layer_norm", ""}}, LayerKind::Table);
    row("table of ONNX", {{"Gather", ""}, {"Add", ""}}, LayerKind::Table);
    row("convolution", {{"_convolution", "1"}, {"flatten", ""}}, LayerKind::Convolution);
    row("convolution of ONNX", {{"Conv", "1"}, {"Add", ""}}, LayerKind::Convolution);
    row("grouped", {{"conv1d", "4"}, {"transpose", ""}}, LayerKind::Grouped);
    row("ten groups", {{"conv1d", "10"}, {"transpose", ""}}, LayerKind::Grouped);
    row("attention", {{"linear", ""}, {"view", ""}, {"matmul", ""}}, LayerKind::AttentionValue);
    row("fused attention", {{"linear", ""}, {"transpose", ""}, {"scaled_dot_product_attention", ""}},
        LayerKind::AttentionValue);
    row("gates", {{"linear", ""}, {"add", ""}, {"chunk", ""}}, LayerKind::Gate);
    row("LSTM", {{"lstm", ""}, {"layer_norm", ""}}, LayerKind::Gate);
    row("read by nothing", {}, LayerKind::Linear);
  }
  void byTheOpsThatReadIt() {
    using Labels = std::vector<std::pair<std::string, std::string>>;
    QFETCH(Labels, labels);
    QFETCH(int, kind);
    const auto layers = centeredLayers(chain(labels), norms(Verdict::Free), {centering({0}, 0)});
    QCOMPARE(static_cast<int>(layers.size()), 1);
    QCOMPARE(static_cast<int>(layers.front().kind), kind);
    QCOMPARE(layers.front().name, QStringLiteral("w0"));
  }

  void biasesAndNormsThatWeightsDoNotFreeAreLeftOut() {
    auto document = chain({{"linear", ""}});
    QVERIFY(centeredLayers(document, norms(Verdict::WithCentering), {centering({0}, 0)}).empty());
    QVERIFY(centeredLayers(document, {}, {centering({0}, 0)}).empty());
    document.values.front().shape = {8};
    QVERIFY(centeredLayers(document, norms(Verdict::Free), {centering({0}, 0)}).empty());
    QVERIFY(centeredLayers(document, norms(Verdict::Free), {centering({77}, 0)}).empty());
  }
};

}  // namespace normlens::ui

QTEST_MAIN(normlens::ui::LayerKindTest)
#include "layer_kind_test.moc"
