#include "ui/session/norm_costs.h"

#include "core/protocol/methods.h"
#include "ui/session/session.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

// Near enough that time goes by elements: of a small tensor most of it is the call's own.
bool isNear(double elements, double measured) {
  constexpr double kFarthest = 4;
  return elements <= kFarthest * measured && measured <= kFarthest * elements;
}

}  // namespace

QString formatPrice(const Price& price) {
  return price.us < 0 ? formatMicroseconds(-price.us, -price.high, -price.low)
                      : formatMicroseconds(price.us, price.low, price.high);
}

QString formatGain(const Price& gain) {
  if (!gain.isClear()) return NormCosts::tr("no clear gain");
  return (gain.us < 0 ? NormCosts::tr("costs %1") : NormCosts::tr("saves %1")).arg(formatPrice(gain));
}

NormCosts::NormCosts(Session* session) : EngineRun(session) {
  connect(session_, &Session::modelChanged, this, [this] {
    giveWay();
    forget();
  });
  // Other inputs, other tensors: still wanted, requested again once the plan is there.
  connect(session_, &Session::analysisChanged, this, &NormCosts::forget);
  connect(session_, &Session::jobChanged, this, &NormCosts::askIfReady);
  for (const auto signal : {&Measurements::changed, &Measurements::paramsChanged})
    connect(session_->measurements(), signal, this, &NormCosts::followDevice);
}

std::string NormCosts::wantedDevice() const {
  const Measurements& measured = *session_->measurements();
  const protocol::BenchPoint* point = measured.last() ? protocol::firstMeasured(*measured.last()) : nullptr;
  return point != nullptr && !point->device.empty() ? point->device : measured.params().device;
}

// Prices of another device are none.
void NormCosts::followDevice() {
  if (device_ == wantedDevice()) return;
  device_ = wantedDevice();
  forget();
  askIfReady();
}

QString NormCosts::device() const { return text(device_).toUpper(); }

void NormCosts::want() {
  wanted_ = true;
  askIfReady();
}

void NormCosts::giveWay() {
  wanted_ = false;
  problem_.clear();  // the cores may be free when it is wanted again
  question_.drop();
}

void NormCosts::askIfReady() {
  if (session_->busy()) return question_.drop();
  const bool ready = session_->served() && session_->analysis();
  if (!wanted_ || !ready || prices_ || running() || !problem_.isEmpty()) return;
  protocol::BenchParams params;
  params.device = device_;
  ask(protocol::methods::kNormPrices, params, [this](const protocol::NormPrices& prices) {
    if (!prices.crowded) {
      prices_ = prices;
    } else {
      problem_ = tr("Other programs used the cores during the measurement, so there is no reliable price.");
    }
  });
}

double NormCosts::elementsOf(int norm) const {
  const protocol::GraphValue* input = session_->index().value(session_->inputOfNorm(norm));
  if (input == nullptr || !input->has_shape) return 0;
  double elements = 1;
  for (const int64_t size : input->shape) elements *= static_cast<double>(size);
  return elements;
}

protocol::NormPrices NormCosts::prices() const {
  if (prices_) return *prices_;
  const bool planned = session_->plan() && device_ == protocol::BenchParams().device;
  return planned ? session_->plan()->prices : protocol::NormPrices();
}

double NormCosts::measured() const { return static_cast<double>(prices().rows) * static_cast<double>(prices().width); }

// Prices are of one tensor; a norm over another number of elements takes as much more or less.
std::optional<NormCost> NormCosts::of(int norm) const {
  const double elements = elementsOf(norm);
  if (elements <= 0 || measured() <= 0 || !isNear(elements, measured())) return std::nullopt;
  const double share = elements / measured();
  const protocol::NormPrices prices = this->prices();
  if (prices.crowded || prices.saves_high_us <= prices.saves_low_us) return std::nullopt;
  const auto shown = [share](double us, double low, double high) {
    return Price{shownMicroseconds(share * us), shownMicroseconds(share * low), shownMicroseconds(share * high)};
  };
  return NormCost{shown(prices.layer_norm_us - prices.rms_norm_us, prices.saves_low_us, prices.saves_high_us),
                  shown(prices.centering_us, prices.centering_low_us, prices.centering_high_us)};
}

QString NormCosts::problem(int norm) const {
  const double elements = elementsOf(norm);
  if (!problem_.isEmpty() || elements <= 0 || measured() <= 0 || isNear(elements, measured())) return problem_;
  return tr("The measurement has %1 elements, this norm reads %2: too different for an estimate.")
      .arg(formatCount(static_cast<int64_t>(measured())), formatCount(static_cast<int64_t>(elements)));
}

}  // namespace normlens::ui
