#include "ui/learn/live/layer_kind.h"

#include <QCoreApplication>
#include <algorithm>
#include <array>
#include <string_view>

#include "ui/words/format.h"

namespace normlens::ui {
namespace {

using protocol::GraphDocument;
using protocol::GraphNode;

struct Words {
  const char *name, *meaning;
};

// Ordered as LayerKind.
constexpr std::array<Words, kLayerKinds> kWords = {{
    {QT_TRANSLATE_NOOP("LayerKind", "Linear"),
     QT_TRANSLATE_NOOP(
         "LayerKind",
         "A column (or row) of the weight is what one input adds to all outputs. Centering subtracts its mean.")},
    {QT_TRANSLATE_NOOP("LayerKind", "Embedding"),
     QT_TRANSLATE_NOOP("LayerKind", "Each row is the vector of one token. Centering subtracts its mean.")},
    {QT_TRANSLATE_NOOP("LayerKind", "Convolution"),
     QT_TRANSLATE_NOOP(
         "LayerKind",
         "Centering subtracts the mean over the output channels, at each kernel position and input channel.")},
    {QT_TRANSLATE_NOOP("LayerKind", "Grouped"),
     QT_TRANSLATE_NOOP("LayerKind",
                       "Output channels of one group read the same inputs. Centering subtracts the mean per group.")},
    {QT_TRANSLATE_NOOP("LayerKind", "Attention V"),
     QT_TRANSLATE_NOOP("LayerKind",
                       "Attention mixes the rows of V with weights that sum to one, so centered rows stay centered.")},
    {QT_TRANSLATE_NOOP("LayerKind", "Gate"),
     QT_TRANSLATE_NOOP(
         "LayerKind",
         "One weight makes several gates, which are split after it. Centering subtracts the mean per gate.")},
}};

bool has(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool moreThanOne(const std::string& printed) {
  return std::ranges::any_of(printed, [](char c) { return c >= '2' && c <= '9'; }) || printed.size() > 1;
}

// Follows what is computed from a value, past what only rearranges it or adds to it.
class Readers {
 public:
  explicit Readers(const GraphDocument& document) : document_(document) {}

  [[nodiscard]] std::vector<const GraphNode*> of(int value) const {
    std::vector<const GraphNode*> found;
    for (const GraphNode& node : document_.nodes) {
      if (std::ranges::find(node.inputs, value) != node.inputs.end()) found.push_back(&node);
    }
    return found;
  }
  // The first op of these readers, or behind them, that does more than rearrange.
  [[nodiscard]] const GraphNode* firstOp(int value, bool pastSums) const {
    for (int steps = 0; steps < kMostSteps; ++steps) {
      const auto readers = of(value);
      if (readers.empty()) return nullptr;
      const GraphNode& next = *readers.front();
      const bool passes = isRearranging(next) || (pastSums && has(lower(next.label), {"add"}));
      if (!passes || next.outputs.empty()) return &next;
      value = next.outputs.front();
    }
    return nullptr;
  }

 private:
  static constexpr int kMostSteps = 8;
  static bool isRearranging(const GraphNode& node) {
    return has(lower(node.label), {"transpose", "permute", "reshape", "view", "flatten", "contiguous", "identity"}) ||
           node.label == "t" || node.label == "to";
  }

  const GraphDocument& document_;
};

LayerKind kindOf(const GraphDocument& document, int value) {
  const Readers readers(document);
  const GraphNode* layer = readers.firstOp(value, false);
  if (layer == nullptr) return LayerKind::Linear;
  const std::string label = lower(layer->label);
  if (has(label, {"embedding", "gather", "index"})) return LayerKind::Table;
  if (has(label, {"lstm", "gru", "rnn"})) return LayerKind::Gate;
  if (has(label, {"conv"})) {
    const auto groups = std::ranges::find_if(
        layer->attributes, [](const auto& each) { return each.first == "groups" || each.first == "group"; });
    return groups != layer->attributes.end() && moreThanOne(groups->second) ? LayerKind::Grouped
                                                                            : LayerKind::Convolution;
  }
  if (layer->outputs.empty()) return LayerKind::Linear;
  const GraphNode* next = readers.firstOp(layer->outputs.front(), true);
  if (next == nullptr) return LayerKind::Linear;
  const std::string behind = lower(next->label);
  if (has(behind, {"matmul", "bmm", "attention"})) return LayerKind::AttentionValue;
  if (has(behind, {"chunk", "split", "unbind", "slice"})) return LayerKind::Gate;
  return LayerKind::Linear;
}

}  // namespace

QString layerKindName(LayerKind kind) {
  return QCoreApplication::translate("LayerKind", kWords.at(static_cast<size_t>(kind)).name);
}

QString layerKindMeaning(LayerKind kind) {
  return QCoreApplication::translate("LayerKind", kWords.at(static_cast<size_t>(kind)).meaning);
}

std::vector<CenteredLayer> centeredLayers(const GraphDocument& document, const std::vector<protocol::NormInfo>& norms,
                                          const std::vector<protocol::EditInfo>& edits) {
  std::vector<CenteredLayer> layers;
  for (const protocol::EditInfo& edit : edits) {
    if (edit.kind != EditKind::CenterConstant) continue;
    const std::vector<int> freed = edit.frees.indices();
    const auto norm = std::ranges::find_if(freed, [&](int index) {
      return index < static_cast<int>(norms.size()) && norms[static_cast<size_t>(index)].verdict == Verdict::Free;
    });
    if (norm == freed.end()) continue;
    for (const int id : edit.values) {
      const auto value = std::ranges::find(document.values, id, &protocol::GraphValue::id);
      if (value == document.values.end() || value->shape.size() < 2) continue;
      layers.push_back({id, *norm, kindOf(document, id), text(value->name)});
    }
  }
  return layers;
}

}  // namespace normlens::ui
