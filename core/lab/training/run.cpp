#include "core/lab/training/run.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <vector>

#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/base/plural.h"
#include "core/formats/file/crc32.h"
#include "core/formats/file/whole_file.h"
#include "core/formats/torchscript/run/cuda/cuda_library.h"
#include "core/lab/export/torchscript_export.h"
#include "core/lab/findings/findings.h"
#include "core/lab/run_files.h"
#include "core/lab/training/group.h"
#include "core/protocol/run_record.h"
#include "core/run/measure/statistics.h"

namespace normlens::lab {
namespace {

// Time of one step of each network, measured in turns.
using Rounds = std::vector<double>;  // One network's: milliseconds of a step, the median of each round.

// The statistics of a latency: rounds beside rounds that take 1 ms.
run::Speedup besides(const Rounds& a, const Rounds* b) {
  std::vector<run::RoundMedians> rounds;
  for (size_t i = 0; i < a.size(); ++i) rounds.push_back({a[i], b == nullptr ? 1 : (*b)[i]});
  return run::bootstrapSpeedup(rounds, /*seed=*/1);
}

StepCost costOf(const Member& member, int batch, const Rounds& own, const Rounds& reference) {
  const run::Speedup median = besides(own, nullptr), ratio = besides(reference, &own);
  StepCost cost;
  cost.member = member.which();
  cost.batch = batch;
  cost.median_ms = median.ratio;
  cost.low_ms = median.low;
  cost.high_ms = median.high;
  cost.bytes = member.bytes();
  const bool isReference = &own == &reference;
  cost.ratio = isReference ? 1 : ratio.ratio;
  cost.ratio_low = isReference ? 1 : ratio.low;
  cost.ratio_high = isReference ? 1 : ratio.high;
  cost.noise = isReference || ratio.noise;
  return cost;
}

double medianOfSteps(Member& member, const Batches::Epoch& epoch, int steps) {
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) {
    const Batch batch = epoch[i % epoch.steps()];
    double loss = 0;
    times.push_back(member.timedStep(batch, loss));
  }
  return run::median(std::move(times));
}

// Steps of settings.batch examples: settings.rounds rounds; in each every network does settings.steps_per_round steps,
// forwards and then backwards through the list (A B C C B A), so that a drift of the clock meets all alike. nullopt:
// stopped.
std::optional<std::vector<StepCost>> measureSteps(const RunSettings& settings, Group& group,
                                                  const Group::Sources& sources, const Member::GoOn& goOn,
                                                  const std::function<void()>& onRound) {
  const auto& members = group.members();
  std::vector<Rounds> rounds(members.size());
  for (int round = 0; round < settings.rounds; ++round) {
    std::vector<double> there(members.size());
    for (const bool back : {false, true}) {
      for (size_t i = 0; i < members.size(); ++i) {
        if (!goOn()) return std::nullopt;
        const size_t which = back ? members.size() - 1 - i : i;
        Member& member = *members[which];
        const Batches::Epoch epoch = sources.at(member.which().precision).epoch(member.which().seed, round);
        const double ms = medianOfSteps(member, epoch, settings.steps_per_round);
        if (back) rounds[which].push_back((there[which] + ms) / 2);
        there[which] = ms;
      }
    }
    onRound();
  }
  std::vector<StepCost> costs;
  for (size_t i = 0; i < members.size(); ++i) {
    size_t reference = i;
    for (size_t j = 0; j < members.size(); ++j) {
      const bool same = members[j]->which().precision == members[i]->which().precision;
      if (same && members[j]->which().network == NormUse::LayerNorm) reference = j;
    }
    costs.push_back(costOf(*members[i], settings.batch, rounds[i], rounds[reference]));
  }
  return costs;
}

Result<Group::Sources> sourcesOf(const Data& data, const RunSettings& settings) {
  Group::Sources sources;
  for (const Precision precision : settings.precisions) {
    ASSIGN_OR_RETURN(auto batches, Batches::make(data, settings, scalarTypeOf(precision)));
    sources.emplace(precision, std::move(batches));
  }
  return sources;
}

// Rounds in which one group is measured.
int64_t roundsOf(const RunSettings& settings) {
  if (settings.experiment != Experiment::Cost) return 0;
  return settings.rounds * std::max<int64_t>(1, std::ssize(settings.batches));
}

constexpr double kKeepEveryMs = 2000;

bool isFile(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

int gpuOf(const RunSettings& settings) { return gpuNamed(settings.device).value_or(kNoGpu); }

std::string machineOf(const RunSettings& settings) {
  std::string words = "LibTorch " TORCH_VERSION ", " + plural(at::get_num_threads(), "thread");
  if (const int gpu = gpuOf(settings); gpu != kNoGpu) words += ", " + machineFacts(gpu).gpu;
  return words;
}

// Equal data have the same one.
int64_t sumOf(const Data& data) {
  uint32_t sum = 0;
  const auto add = [&](const auto& values) {
    sum = formats::crcOf(sum, reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof values[0]);
  };
  if (const auto* text = std::get_if<TextData>(&data)) {
    add(text->symbols);
    add(text->train);
    add(text->test);
    return sum;
  }
  const auto& table = std::get<TableData>(data);
  for (const Examples* part : {&table.train, &table.test}) {
    add(part->inputs);
    add(part->classes);
  }
  return sum;
}

}  // namespace

Run::Run(const RunSettings& settings, const Data& data, const RunPlace& place, const RunControl& control)
    : settings_(settings), data_(data), place_(place), control_(control), groups_(groupsOf(settings)) {
  state_.settings = settings;
  state_.data_sum = sumOf(data);
}

Result<RunResult> Run::carryOut() {
  RETURN_IF_ERROR(prepare(data_));
  reportEvent(resumed_ ? RunEvent::Resumed : RunEvent::Started);
  while (state_.group < static_cast<int>(groups_.size())) {
    ASSIGN_OR_RETURN(const auto whole, trainGroup(groups_[static_cast<size_t>(state_.group)]));
    if (!whole) return finish(RunEnd::Stopped);
    group_.reset();
    state_.epoch = 0;
    state_.members.clear();
    ++state_.group;
    RETURN_IF_ERROR(keep());
  }
  return finish(RunEnd::Done);
}

Status Run::prepare(const Data& data) {
  if (settings_.threads > hardwareThreads()) {
    return fail(ErrorCode::BadInput,
                "the run asks for " + plural(settings_.threads, "thread") + ", and this machine runs " +
                    std::to_string(hardwareThreads()) + " at a time",
                "set threads to as many at most, or to 0 for all");
  }
  if (const int gpu = gpuOf(settings_); gpu != kNoGpu) {
    const Status there = formats::torchscript::loadCudaFor(gpu);
    if (!there) return fail(there.error().code, there.error().message, "set device to \"cpu\"");
  }
  if (settings_.threads > 0) at::set_num_threads(settings_.threads);
  ASSIGN_OR_RETURN(sources_, sourcesOf(data, settings_));
  const bool there = !place_.folder.empty() && isFile(checkpointFile(place_.folder));
  return there && !place_.startAnew ? resume() : Status();
}

Status Run::resume() {
  const auto path = checkpointFile(place_.folder);
  ASSIGN_OR_RETURN(auto kept, readCheckpoint(path));
  kept.settings.device = settings_.device;        // begun on a GPU, it may go on without one
  kept.settings.data.path = settings_.data.path;  // however it is written: data_sum detects other data
  if (kept.settings == settings_ && kept.data_sum != state_.data_sum) {
    return fail(ErrorCode::Unreadable, "the checkpoint " + path.string() + " is of a run on other data",
                "the data have changed since: give this run a folder of its own");
  }
  const bool sound = kept.group >= 0 && kept.group <= static_cast<int>(groups_.size());
  if (!(kept.settings == settings_) || !sound) {
    return fail(ErrorCode::Unreadable, "the checkpoint " + path.string() + " is of a run with other settings",
                {"give this run a folder of its own, or begin anew", HintKey::Anew});
  }
  state_ = std::move(kept);
  // Weights whose file was removed are not listed.
  std::erase_if(state_.weights, [&](const std::string& file) { return !isFile(place_.folder / file); });
  resumed_ = true;
  return {};
}

Result<bool> Run::trainGroup(const std::vector<RunMember>& members) {
  group_.emplace(settings_, members, sources_);
  measured_ = 0;
  const auto onRecord = [this](RunRecord record) { report(std::move(record)); };
  if (state_.members.empty()) {
    group_->start(onRecord);
  } else if (Status restored = group_->restore(state_.members, state_.epoch); !restored) {
    restored.error().message += ": " + checkpointFile(place_.folder).string();
    return tl::unexpected(restored.error());
  }
  while (group_->epoch() < settings_.epochs) {
    if (!group_->trainEpoch([this] { return goOn(); }, onRecord)) return false;
    RETURN_IF_ERROR(keepNowAndThen());
    const bool anyTrains = std::ranges::any_of(group_->members(), [](const auto& one) { return one->trains(); });
    if (!anyTrains) break;
  }
  if (settings_.experiment == Experiment::Cost) {
    const auto measured = measureGroup(*group_);
    if (!measured || !*measured) return measured;
  }
  RETURN_IF_ERROR(exportMembers(*group_));
  return true;
}

Result<bool> Run::measureGroup(Group& group) {
  const std::vector<StepCost> before = state_.costs;
  const auto onRound = [this] {
    ++measured_;
    reportEvent(RunEvent::Measured);
  };
  for (const int batch : settings_.batches.empty() ? std::vector{settings_.batch} : settings_.batches) {
    RunSettings settings = settings_;
    settings.batch = batch;
    std::optional<Group::Sources> resized;
    if (batch != settings_.batch) {
      ASSIGN_OR_RETURN(resized, sourcesOf(data_, settings));
    }
    auto costs = measureSteps(
        settings, group, resized ? *resized : sources_, [this] { return goOn(); }, onRound);
    if (!costs) {
      state_.costs = before;  // measured anew when the run goes on
      return false;
    }
    std::ranges::move(*costs, std::back_inserter(state_.costs));
  }
  return true;
}

Status Run::exportMembers(const Group& group) {
  if (place_.folder.empty()) return {};
  for (const auto& member : group.members()) {
    const std::string name = memberName(member->which(), settings_);
    if (std::ranges::find(state_.weights, name + kNetworkSuffix) != state_.weights.end()) continue;
    const std::string file = toTorchScript(member->network(), settings_, member->which().layers);
    RETURN_IF_ERROR(formats::writeWhole(place_.folder / (name + kNetworkSuffix), file));
    state_.weights.push_back(name + kNetworkSuffix);
  }
  return {};
}

bool Run::goOn() {
  if (control_.stop.stop_requested()) return false;
  if (control_.pause == nullptr || !control_.pause->paused()) return true;
  const Status kept = keep();
  reportEvent(RunEvent::Paused, kept ? "" : kept.error().message);
  control_.pause->wait(control_.stop);
  if (control_.stop.stop_requested()) return false;
  reportEvent(RunEvent::Continued);
  return true;
}

void Run::report(RunRecord record) {
  record.run = place_.name;
  record.seconds = sinceStart_.ms() / 1000;
  const auto groups = static_cast<int64_t>(groups_.size());
  const auto members = static_cast<int64_t>(memberCount(settings_)) / groups;
  const auto perGroup = settings_.epochs * members + roundsOf(settings_);
  record.of = perGroup * groups;
  record.done = state_.group * perGroup + (group_ ? group_->epoch() * members + measured_ : 0);
  const bool ofMember = record.event == RunEvent::Epoch || record.event == RunEvent::Diverged;
  if (control_.onRecord) control_.onRecord(record);
  if (ofMember) state_.records.push_back(std::move(record));
}

void Run::reportEvent(RunEvent event, const std::string& text) {
  RunRecord record;
  record.event = event;
  record.text = text;
  record.epoch = group_ ? group_->epoch() : state_.epoch;
  record.epochs = settings_.epochs;
  report(std::move(record));
}

Status Run::keepNowAndThen() {
  state_.epoch = group_->epoch();
  if (sinceKept_.ms() < kKeepEveryMs) return {};
  return keep();
}

// Keeps the state after the last epoch that all have done.
Status Run::keep() {
  if (place_.folder.empty()) return {};
  if (group_) state_.members = group_->kept();
  if (group_) state_.epoch = group_->epoch();
  const Status written = writeCheckpoint(checkpointFile(place_.folder), state_);
  state_.members.clear();
  sinceKept_ = {};
  return written;
}

Result<RunResult> Run::finish(RunEnd end) {
  if (end == RunEnd::Stopped) {
    RETURN_IF_ERROR(keep());
    // The checkpoint does not name these: a run that goes on from it writes them anew.
    if (group_) {
      RETURN_IF_ERROR(exportMembers(*group_));
    }
  }
  RunResult result{place_.name,
                   settings_,
                   end,
                   std::move(state_.records),
                   {},
                   std::move(state_.costs),
                   state_.weights,
                   machineOf(settings_),
                   sinceStart_.ms() / 1000};
  result.findings = findingsOf(result);
  result.findings = decidedFindings(result);
  if (!place_.folder.empty()) {
    RETURN_IF_ERROR(formats::writeWhole(resultFile(place_.folder), writeRunResult(result) + "\n"));
  }
  reportEvent(end == RunEnd::Done ? RunEvent::Done : RunEvent::Stopped);
  return result;
}

}  // namespace normlens::lab
