#include "tests/support/fake_engine/canned_lab.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

namespace normlens::fake {
namespace {

lab::RunRecord recordOf(const lab::RunSettings& settings, const lab::RunMember& member, int epoch) {
  const bool alone = member.network == lab::NormUse::RmsNorm, plain = member.network == lab::NormUse::Plain;
  const double t = static_cast<double>(epoch) / settings.epochs;
  lab::RunRecord record;
  record.event = lab::RunEvent::Epoch;
  record.member = member;
  record.epoch = epoch;
  record.epochs = settings.epochs;
  if (epoch > 0) record.train_loss = 0.7 * std::exp(-(alone ? 2.2 : plain ? 1.2 : 2.9) * t);
  record.test_loss = 0.75 * std::exp(-2 * t);
  record.test_accuracy = 1 - 0.48 * std::exp(-(alone || plain ? 3.5 : 5) * t);
  for (int layer = 0; layer < member.layers; ++layer) {
    record.layer_names.push_back("linear_" + std::to_string(layer));
    if (epoch > 0) record.gradient_norms.push_back((1 + 0.4 * layer) * 0.3 * std::exp(-1.5 * t));
    const double spread = 0.12 + (alone ? 0.05 * layer : 0);
    record.inputs.push_back({0, 0.1, alone ? 1 + 0.15 * layer : 1, spread, 16, 1});
    const double angle = alone ? 86 - 0.5 * layer : 90;
    if (layer > 0) record.norms.push_back({0, 0.1, 1, spread, 16, 1, angle, alone ? 3.0 : 0.0});
  }
  if (member.network != lab::NormUse::LayerNorm && epoch > 0) {
    const double rounding = member.precision == lab::Precision::Float64 ? 2.6e-15 : 1.9e-7;
    record.weight_difference = (alone || plain ? 0.31 : rounding) * std::sqrt(t);
    record.different_weight = "linear_1.weight";
  }
  record.ms_per_step = alone ? 3.87 : 4.31;
  record.bytes = 61'000'000;
  record.seconds = 42 * t;
  return record;
}

std::vector<lab::Finding> findingsOf(const lab::RunSettings& settings) {
  if (settings.experiment == lab::Experiment::DepthSweep)
    return {{"LayerNorm trains better", false, 77.1, 85.4, "77.1%", lab::FindingFigure::Accuracy},
            {"the length varies less", true, 0.02, 0.4, "2.0% against 40.0%", lab::FindingFigure::Lengths}};
  if (settings.experiment == lab::Experiment::Dropout)
    return {{"at 0.3", true, 0.006, 0.025, "0.006; five seeds"},
            {"at 0.5", std::nullopt, 0.03, 0.03, "equally far; x"}};
  if (settings.experiment != lab::Experiment::Equivalence) return {};
  return {{"CBWC with RMSNorm trains the network that LayerNorm trains: all weights stay within 1e-5 in float32", true,
           1.9e-7, 1e-5, "the largest difference is 1.9e-7"},
          {"RMSNorm alone trains another network", true, 0.31, 1e-5, "its weights differ by 0.31"}};
}

}  // namespace

Result<lab::RunResult> CannedLab::run(const protocol::LabParams& params, const Task& task, int64_t id,
                                      const protocol::Dispatcher::Notify& notify, std::chrono::milliseconds pause) {
  const lab::RunSettings& settings = params.settings;
  std::stop_token stop;
  {
    const std::scoped_lock lock(mutex_);
    stop_ = {};
    stop = stop_.get_token();
  }
  pause_.goOn();
  lab::RunResult result{.run = params.name,
                        .settings = settings,
                        .end = lab::RunEnd::Done,
                        .records = {},
                        .findings = {},
                        .costs = {},
                        .weights = {},
                        .machine = "none"};
  const auto members = lab::membersOf(settings);
  const auto of = static_cast<int64_t>(members.size()) * settings.epochs;
  int64_t done = 0;
  const auto tell = [&](lab::RunRecord record) {
    record.run = params.name;
    record.done = done;
    record.of = of;
    notify(protocol::methods::kLabUpdate, protocol::toJson(protocol::LabUpdate{id, record}));
    if (record.event == lab::RunEvent::Epoch) result.records.push_back(std::move(record));
  };
  const auto event = [&](lab::RunEvent name) {
    lab::RunRecord record;
    record.event = name;
    tell(record);
  };
  event(lab::RunEvent::Started);
  for (int epoch = 0; epoch <= settings.epochs && result.end == lab::RunEnd::Done; ++epoch) {
    for (const lab::RunMember& member : members) {
      done += epoch > 0 ? 1 : 0;
      tell(recordOf(settings, member, epoch));
    }
    std::this_thread::sleep_for(pause);
    if (pause_.paused()) {
      event(lab::RunEvent::Paused);
      pause_.wait(stop);
      if (!stop.stop_requested()) event(lab::RunEvent::Continued);
    }
    if (stop.stop_requested() || task.cancelled()) result.end = lab::RunEnd::Stopped;
  }
  result.findings = findingsOf(settings);
  result.seconds = 61;
  if (!params.folder.empty()) {
    const std::filesystem::path folder = params.folder;
    for (const lab::RunMember& member : members) std::ofstream(folder / (lab::memberName(member, settings) + ".pt"));
    std::ofstream(folder / "result.json") << lab::writeRunResult(result);
  }
  return result;
}

void CannedLab::hear(const protocol::LabControl& control) {
  const std::scoped_lock lock(mutex_);
  if (control.what == lab::RunWish::Pause) pause_.pause();
  if (control.what == lab::RunWish::Continue) pause_.goOn();
  if (control.what == lab::RunWish::Stop) stop_.request_stop();
}

}  // namespace normlens::fake
