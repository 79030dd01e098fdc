// What is told of a network between two epochs. Thread: any.
#pragma once

#include <vector>

#include "core/lab/nets/network.h"
#include "core/lab/run_record.h"
#include "core/lab/training/batches.h"

namespace normlens::lab {

// Fills in test_loss, test_accuracy and inputs.
void evaluate(const Network& network, const std::vector<Batch>& test, RunRecord& record);

// See RunRecord::weight_difference. Parameters that one of them lacks are left out; infinite where one is not finite.
[[nodiscard]] double weightDifference(const Network& network, const Network& reference);

[[nodiscard]] std::vector<double> gradientNorms(const Network& network);  // of each linear layer's weight
[[nodiscard]] bool allFinite(const Network& network);

}  // namespace normlens::lab
