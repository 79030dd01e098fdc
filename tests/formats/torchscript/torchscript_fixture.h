// Small TorchScript models made in C++, and what the tests of the writing side ask of them.
#pragma once

#include <gtest/gtest.h>
#include <torch/script.h>

#include <string>
#include <vector>

#include "core/analysis/analysis.h"
#include "core/fold/plan.h"
#include "core/formats/torchscript/model/torchscript_model.h"
#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::torchscript::test {

using ModelPtr = std::unique_ptr<TorchScriptModel>;

// float64 unless said otherwise: then a fold shows up as 1e-15, or as wrong.
[[nodiscard]] at::Tensor draw(at::IntArrayRef shape, uint64_t seed, at::ScalarType type = at::kDouble);

// The module as a Model, probed with these inputs.
[[nodiscard]] ModelPtr makeModel(torch::jit::Module module, const std::vector<at::Tensor>& inputs,
                                 torch::jit::ExtraFilesMap extraFiles = {});

inline constexpr double kExact = 1e-12;

// A module that has a mode, as torch's have; one linear layer, as torch.nn.Linear is.
[[nodiscard]] torch::jit::Module newModule(const std::string& name);
[[nodiscard]] torch::jit::Module linearModule(const std::string& name, int64_t width, uint64_t seed);

// The model's file as torch loads it.
[[nodiscard]] torch::jit::Module saved(const Model& model);

// Of a TorchScript model made from another: converted, perturbed, folded.
[[nodiscard]] ModelPtr asTorchScript(Result<std::unique_ptr<Model>> model);

[[nodiscard]] graph::ConstantId constantNamed(const graph::Graph& graph, const std::string& name);
// The k-th node, in execution order, with this op.
[[nodiscard]] graph::NodeId nodeOf(const graph::Graph& graph, const std::string& op, int k = 0);
[[nodiscard]] graph::Uses usesOf(const graph::Graph& graph, graph::ConstantId constant);

// Centers a constant over one of its axes, for all its reads or for `only` these.
[[nodiscard]] fold::CenterConstant centerOver(const graph::Graph& graph, const std::string& name, int64_t axis);
[[nodiscard]] fold::CenterConstant centerOver(const graph::Graph& graph, const std::string& name, int64_t axis,
                                              graph::Uses only);

// apply() that must succeed.
[[nodiscard]] ModelPtr applied(const TorchScriptModel& model, std::vector<fold::Edit> edits,
                               NormFlavour flavour = NormFlavour::Portable);
// Everything that the policy folds.
[[nodiscard]] ModelPtr foldedUnder(const TorchScriptModel& model, analysis::Policy policy,
                                   NormFlavour flavour = NormFlavour::Portable);
[[nodiscard]] Error refusal(const TorchScriptModel& model, std::vector<fold::Edit> edits,
                            NormFlavour flavour = NormFlavour::Portable);

[[nodiscard]] at::Tensor runOn(const TorchScriptModel& model, const std::vector<at::Tensor>& inputs);
// Largest difference relative to the largest element of a.
[[nodiscard]] double relativeDifference(const at::Tensor& a, const at::Tensor& b);
// How often an op stands in the code that forward runs.
[[nodiscard]] int countOps(const TorchScriptModel& model, const std::string& op);

}  // namespace normlens::formats::torchscript::test
