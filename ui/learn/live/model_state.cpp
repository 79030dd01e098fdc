#include "ui/learn/live/model_state.h"

#include <QCoreApplication>
#include <algorithm>

#include "ui/graphview/graph_view.h"
#include "ui/learn/figure.h"

namespace normlens::ui {

QString missingModel(const OpenModel& model) {
  if (model.document != nullptr) return {};
  return model.trouble.isEmpty() ? QCoreApplication::translate("LessonModel", "Opening the model") : model.trouble;
}

bool someUnknown(const OpenModel& model) {
  return std::ranges::find(model.norms, Verdict::Unknown, &protocol::NormInfo::verdict) != model.norms.end();
}

void showModelState(graphview::GraphView& view, const OpenModel& model, const QString& trouble) {
  const bool opens = model.document == nullptr && model.trouble.isEmpty();
  view.setBusy(opens ? missingModel(model) : QString());
  view.setError(opens ? QString() : model.document == nullptr ? model.trouble : trouble);
}

}  // namespace normlens::ui
