#include "ui/session/norm_costs.h"

#include <utility>

#include "core/protocol/methods.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

NormCosts::NormCosts(Session* session) : QObject(session), session_(session) {
  connect(session_, &Session::modelChanged, this, &NormCosts::forget);
  connect(session_, &Session::jobChanged, this, &NormCosts::ask);
}

void NormCosts::want() {
  wanted_ = true;
  ask();
}

void NormCosts::giveWay() {
  wanted_ = false;
  stop();
}

void NormCosts::stop() {
  if (request_ != 0) session_->engine()->cancel(std::exchange(request_, 0));
}

void NormCosts::ask() {
  if (session_->busy()) return stop();
  const bool ready = session_->served() && session_->analysis();
  if (!wanted_ || !ready || prices_ || request_ != 0 || !problem_.isEmpty()) return;
  auto id = std::make_shared<EngineClient::RequestId>(0);
  *id = session_->engine()->request(protocol::methods::kNormPrices, {}, this,
                                    [this, id](const Reply<protocol::NormPrices>& reply) {
                                      if (*id != request_) return;
                                      request_ = 0;
                                      if (reply) {
                                        prices_ = *reply;
                                      } else if (!reply.error().cancelled() && !reply.error().engineDied) {
                                        problem_ = asSentence(reply.error().message);
                                      }
                                      Q_EMIT changed();
                                    });
  request_ = *id;
}

void NormCosts::forget() {
  giveWay();
  prices_.reset();
  problem_.clear();
  Q_EMIT changed();
}

// Prices are of one tensor; a norm over another number of elements takes as much more or less.
std::optional<NormCost> NormCosts::of(int norm) const {
  const protocol::GraphValue* input = session_->index().value(session_->inputOfNorm(norm));
  if (!prices_ || prices_->rows * prices_->width <= 0 || input == nullptr || !input->has_shape) return std::nullopt;
  double share = 1 / static_cast<double>(prices_->rows * prices_->width);
  for (const int64_t size : input->shape) share *= static_cast<double>(size);
  return NormCost{share * (prices_->layer_norm_us - prices_->rms_norm_us), share * prices_->centering_us};
}

}  // namespace normlens::ui
