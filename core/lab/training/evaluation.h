// Computes what a record holds of a network between two epochs. Thread: any.
#pragma once

#include <vector>

#include "core/lab/nets/network.h"
#include "core/lab/run_record.h"
#include "core/lab/training/batches.h"

namespace normlens::lab {

// Fills in test_loss, test_accuracy and inputs.
void evaluate(const Network& network, const std::vector<Batch>& test, RunRecord& record);

// Fills in weight_difference and different_weight. Parameters that one of them lacks are left out; infinite where one
// is not finite.
void compareWeights(const Network& network, const Network& reference, RunRecord& record);

[[nodiscard]] std::vector<double> gradientNorms(const Network& network);  // of each linear layer's weight
[[nodiscard]] bool allFinite(const Network& network);

}  // namespace normlens::lab
