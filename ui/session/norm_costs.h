// Holds what folding a norm saves and what a centering costs on the device that is measured: requested once for each
// analysis and device, when first wanted. The engine measures then, so that it waits for jobs and gives way to other
// work. Thread: GUI thread.
#pragma once

#include <optional>

#include "core/protocol/messages.h"
#include "ui/session/engine_run.h"

namespace normlens::ui {

// A time in microseconds with its 95% interval.
struct Price {
  double us = 0, low = 0, high = 0;
  [[nodiscard]] bool isClear() const { return low > 0 || high < 0; }
};
// The size of one that is clear: "52 µs (49–55)".
[[nodiscard]] QString formatPrice(const Price& price);
// "saves 52 µs (49–55)"; "costs 52 µs (49–55)" where it is negative; "no clear gain" where the interval contains zero.
[[nodiscard]] QString formatGain(const Price& gain);

// The prices of one norm each run, as they are shown: sums of them add up on the screen.
struct NormCost {
  Price saves;    // folding it
  Price centers;  // a centering of its input
  // Slower by so much; negative: faster. 0 where the interval holds 0: no difference was measured.
  [[nodiscard]] Price together() const {
    const Price net{centers.us - saves.us, centers.low - saves.high, centers.high - saves.low};
    return net.isClear() ? net : Price();
  }
};

class NormCosts final : public EngineRun {
  Q_OBJECT

 public:
  explicit NormCosts(Session* session);  // its owner

  void want();     // changed() follows, once nothing else runs
  void giveWay();  // to what is requested next; to be wanted again
  [[nodiscard]] std::optional<NormCost> of(int norm) const;
  [[nodiscard]] QString device() const;           // that the prices are of: "CPU", "CUDA"
  [[nodiscard]] QString problem(int norm) const;  // why there is none, and will be none; a sentence, or empty

 private:
  void askIfReady();
  void clear() override { prices_.reset(); }
  // On the CPU the plan's where none were requested; without rows: none.
  [[nodiscard]] protocol::NormPrices prices() const;
  [[nodiscard]] double elementsOf(int norm) const;  // Counts its input; 0: its shape is open.
  [[nodiscard]] double measured() const;            // elements of the tensor that was measured; 0: none was

  // Where the model was last measured, or will be: "cpu".
  [[nodiscard]] std::string wantedDevice() const;
  void followDevice();

  std::optional<protocol::NormPrices> prices_;
  std::string device_ = protocol::BenchParams().device;
  bool wanted_ = false;
};

}  // namespace normlens::ui
