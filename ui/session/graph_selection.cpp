#include "ui/session/graph_selection.h"

#include "core/protocol/methods.h"
#include "ui/session/session.h"

namespace normlens::ui {

GraphSelection::GraphSelection(Session* session) : QObject(session), session_(session) {}

void GraphSelection::select(const Selection& selection) {
  if (selection == current_) return;
  current_ = selection;
  zeroMean_.reset();
  Q_EMIT changed();
  Q_EMIT zeroMeanChanged();
  askZeroMean();
}

void GraphSelection::selectNode(int node) {
  const protocol::GraphNode* at = session_->index().node(node);
  if (at == nullptr) return;
  if (at->norm >= 0 && session_->norm(at->norm) != nullptr) {
    selectNorm(at->norm);
  } else {
    select({.node = node});
  }
}

void GraphSelection::selectValue(int value) {
  if (session_->index().value(value) != nullptr) select({.value = value});
}

void GraphSelection::selectGroup(int scope) {
  if (session_->index().scope(scope) == nullptr || scope == current_.scope) return;
  current_ = {.norm = current_.norm, .scope = scope};
  Q_EMIT changed();
}

void GraphSelection::forget() {
  current_ = {};
  zeroMean_.reset();
}

void GraphSelection::askZeroMean() {
  if (current_.norm < 0 || !session_->analysis()) return;
  protocol::NormParams params;
  params.norm = current_.norm;
  session_->engine()->request(protocol::methods::kZeroMeanGraph, params, this,
                              [this](const Reply<protocol::ZeroMeanGraph>& reply) {
                                if (!reply || reply->norm != current_.norm) return;  // moved on
                                zeroMean_ = *reply;
                                Q_EMIT zeroMeanChanged();
                              });
}

}  // namespace normlens::ui
