// A run reports one record at a time while it goes; its result is what is left of it at its end.
//
//   std::string line = writeRunRecord(record);                // one line of JSON
//   Result<RunRecord> again = readRunRecord(line);
//
// All but ms_per_step, bytes and seconds is a function of the settings: a run that was resumed reports the same
// numbers. No torch, no Qt: the window includes this. Thread: value types, pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/run_settings.h"

namespace normlens::lab {

// One network of a run. The five together name it.
struct RunMember {
  NormUse network = NormUse::Unset;
  int layers = 0;
  int optimizer = 0;  // index into the settings' optimizers
  int64_t seed = 0;
  Precision precision = Precision::Unset;

  bool operator==(const RunMember&) const = default;
};

// InputStatistics are of the numbers that one layer reads, over examples that are set aside. The mean, deviation and
// length (root of the sum of squares) of each example and its angle to the uniform vector in degrees, averaged over the
// examples; the spreads are standard deviations over them. Papers 001 §5.1 and F; 002 §3 (the angle).
struct InputStatistics {
  double mean = 0, mean_spread = 0;
  double deviation = 0, deviation_spread = 0;
  double length = 0, length_spread = 0;
  double angle = 0, angle_spread = 0;

  bool operator==(const InputStatistics&) const = default;
};

struct RunRecord {
  RunEvent event = RunEvent::Started;  // member is set for epoch and for diverged, whose cause is in `text`
  std::string run;                     // name of the run, as it was started with
  RunMember member;
  int epoch = 0, epochs = 0;         // done, of how many of this member
  int64_t done = 0, of = 0;          // epochs of all members and rounds of measuring, for a bar and the time left
  std::optional<double> train_loss;  // cross entropy in nats, mean over the epoch's steps; nullopt before the first
  double test_loss = 0;              // after the epoch
  double test_accuracy = 0;          // in [0, 1]
  std::vector<std::string>
      layer_names;  // Name the linear layers, in this order below; in a member's first record only.
  std::vector<double>
      gradient_norms;  // Each linear layer's weight has one, at the epoch's last step; empty before the first.
  std::vector<InputStatistics> inputs;              // One for each linear layer.
  std::vector<InputStatistics> norms, activations;  // The same for each norm and each activation, in their order.
  // Largest |difference| from the network layer_norm of the same depth, optimizer, seed and precision, over all
  // parameters; those before a norm centered, in both. nullopt: it is that network, or there is none.
  std::optional<double> weight_difference;
  std::string different_weight;  // the parameter with that difference: "linear_1.weight"
  double ms_per_step = 0;        // median of the epoch: forward, backward, optimizer
  int64_t bytes = 0;             // weights, gradients, optimizer, and the most that one step's tensors take at a time
  double seconds = 0;            // since the run was started or resumed
  std::string text;              // Says why a run stopped or diverged, in one sentence.

  bool operator==(const RunRecord&) const = default;
};

// Names the figure in which a claim can be seen.
enum class FindingFigure : uint8_t { Weights, Lengths, Accuracy, Angle, StepTime };
NORMLENS_NAMES(FindingFigure, "weights", "lengths", "accuracy", "angle", "step_time")

// A Finding is one claim of the papers, checked in this run's numbers.
struct Finding {
  std::string claim;            // one sentence
  std::optional<bool> holds;    // nullopt: this run does not decide it
  std::optional<double> value;  // that decides
  std::optional<double> limit;  // The value is compared with it.
  std::string text;             // with numbers: what came out
  FindingFigure figure = FindingFigure::Weights;

  bool operator==(const Finding&) const = default;
};

// Time and memory of one step of the cost experiment, with 95% intervals of the median.
struct StepCost {
  RunMember member;
  double median_ms = 0, low_ms = 0, high_ms = 0;
  double ratio = 1, ratio_low = 1, ratio_high = 1;  // time of layer_norm by this one's: above 1, this one is faster
  bool noise = true;                                // the interval of the ratio holds 1
  int64_t bytes = 0;
  int batch = 0;  // examples of the step

  bool operator==(const StepCost&) const = default;
};

struct RunResult {
  std::string run;
  RunSettings settings;
  RunEnd end = RunEnd::Open;
  std::vector<RunRecord> records;  // in order, those of events left out but for diverged
  std::vector<Finding> findings;
  std::vector<StepCost> costs;       // cost only
  std::vector<std::string> weights;  // files of trained networks, in the folder of the run: each in both formats
  std::string machine;               // Names the machine that ran it: "LibTorch 2.15.0, 2 threads".
  double seconds = 0;                // that the whole took since it was started or resumed

  bool operator==(const RunResult&) const = default;
};

[[nodiscard]] std::string writeRunRecord(const RunRecord& record);
[[nodiscard]] std::string writeRunResult(const RunResult& result);
// Errors: BadInput, one sentence.
[[nodiscard]] Result<RunRecord> readRunRecord(std::string_view line);
[[nodiscard]] Result<RunResult> readRunResult(std::string_view json);

// The result's findings; a run that was stopped decides none of them.
[[nodiscard]] std::vector<Finding> decidedFindings(const RunResult& result);
// The last epoch that each member has done, in the order in which they began.
[[nodiscard]] std::vector<RunRecord> lastOfEach(const std::vector<RunRecord>& records);
// All that a run trains, in their order: for each seed, depth and optimizer (which are trained together) those of each
// precision.
[[nodiscard]] std::vector<RunMember> membersOf(const RunSettings& settings);
// "cbwc_rms_norm_6x256_seed1_float32", of the characters a to z, 0 to 9 and '_': part of a file's name.
[[nodiscard]] std::string memberName(const RunMember& member, const RunSettings& settings);

}  // namespace normlens::lab

namespace normlens::protocol {
NORMLENS_FIELDS(lab::RunMember, network, layers, optimizer, seed, precision)
NORMLENS_FIELDS(lab::InputStatistics, mean, mean_spread, deviation, deviation_spread, length, length_spread, angle,
                angle_spread)
NORMLENS_FIELDS(lab::RunRecord, event, run, member, epoch, epochs, done, of, train_loss, test_loss, test_accuracy,
                layer_names, gradient_norms, inputs, norms, activations, weight_difference, different_weight,
                ms_per_step, bytes, seconds, text)
NORMLENS_FIELDS(lab::Finding, claim, holds, value, limit, text, figure)
NORMLENS_FIELDS(lab::StepCost, member, median_ms, low_ms, high_ms, ratio, ratio_low, ratio_high, noise, bytes, batch)
NORMLENS_FIELDS(lab::RunResult, run, settings, end, records, findings, costs, weights, machine, seconds)
}  // namespace normlens::protocol
