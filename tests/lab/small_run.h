// Runs of the laboratory in a test's own process.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/lab/data/load_data.h"
#include "core/lab/library_door.h"
#include "core/protocol/run_settings.h"
#include "tests/support/must.h"

namespace normlens::lab {

// Small and on one thread; γ and β are random.
inline RunSettings smallRun(Experiment experiment = Experiment::Equivalence,
                            Architecture architecture = Architecture::Mlp) {
  RunSettings settings;
  settings.experiment = experiment;
  settings.architecture = architecture;
  settings.layers = {4};
  settings.width = 16;
  settings.epochs = 4;
  settings.batch = 32;
  settings.data.samples = 200;
  settings.random_affine = true;
  settings.threads = 1;
  if (isTransformer(settings)) {
    settings.layers = {2};
    settings.data.kind = DataKind::Characters;
    settings.data.samples = 4000;
    settings.batch = 4;
    settings.context = 16;
    settings.steps_per_epoch = 5;
    settings.heads = 2;
  }
  if (experiment == Experiment::Continued) settings.handover_epoch = 2;
  return settings;
}

inline RunSettings smallTransformer(Architecture architecture = Architecture::PreNormTransformer) {
  return smallRun(Experiment::Equivalence, architecture);
}

inline Result<RunResult> tryRun(const RunSettings& settings, const RunPlace& place = {},
                                const RunControl& control = {}) {
  const Status good = checkRunSettings(settings);
  if (!good) return tl::unexpected(good.error());
  const auto data = loadData(settings.data);
  if (!data) return tl::unexpected(data.error());
  return trainHere(settings, *data, place, control);
}

inline RunResult trained(const RunSettings& settings, const RunPlace& place = {}, const RunControl& control = {}) {
  return must(tryRun(settings, place, control));
}

// Covers all epochs; Unset: in each precision. -1: there is none.
inline double mostDifference(const RunResult& result, NormUse network, int optimizer = 0,
                             Precision precision = Precision::Unset) {
  double most = -1;
  for (const RunRecord& record : result.records) {
    if (record.member.network != network || record.member.optimizer != optimizer) continue;
    if (precision == Precision::Unset || record.member.precision == precision)
      most = std::max(most, record.weight_difference.value_or(-1));
  }
  return most;
}

// All that the settings decide: without times and memory.
inline std::vector<RunRecord> reproducible(std::vector<RunRecord> records) {
  for (RunRecord& record : records) {
    record.ms_per_step = record.seconds = 0;
    record.bytes = 0;
  }
  return records;
}

}  // namespace normlens::lab
