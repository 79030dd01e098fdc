// A net in one of the formats, changed: folded, its norms joined or fused, its stream narrowed. Each change is made to
// the model and to its float64 copy, written and opened anew; the outputs stay what they are, at two sizes.
#pragma once

#include <gtest/gtest.h>
#include <optional>

#include <algorithm>
#include <functional>

#include "core/analysis/analysis.h"
#include "core/analysis/streams/streams.h"
#include "core/formats/formats.h"
#include "core/formats/norm_fuser.h"
#include "core/run/inputs/draw.h"
#include "tests/formats/edit/net.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/worst_of.h"

namespace normlens::formats::test {

using analysis::Policy;
using graph::OpKind;

struct Changed {
  std::unique_ptr<Model> before, after;  // `after` as it is opened anew; none where nothing was done
  std::unique_ptr<analysis::Analysis> analysis;
  analysis::Plan plan;
  std::vector<std::string> fused;
};

inline int count(const Model& model, OpKind kind) {
  return static_cast<int>(std::ranges::count_if(
      model.graph().nodes, [&](const graph::Node& node) { return node.kind == kind && !node.helper; }));
}

inline std::vector<double> numbersOf(const Model& model, const std::string& constant) {
  for (const auto& each : model.graph().constants) {
    if (each.name == constant) return graph::toDoubles(each.view).value();
  }
  throw std::runtime_error("no constant " + constant);
}

template <class Edit>
int count(const analysis::Plan& plan) {
  return static_cast<int>(std::ranges::count_if(
      plan.edits, [](const auto& planned) { return std::holds_alternative<Edit>(planned.edit); }));
}

class EditTest : public ::testing::TestWithParam<TestedFormat> {
 protected:
  static constexpr double kExact = 1e-10, kFloat32 = 2e-5;

  [[nodiscard]] static Tensors inputsOf(const Model& model, int64_t batch, int64_t tokens) {
    auto specs = must(model.inferInputs());
    for (auto& spec : specs) {
      spec.shape.at(0) = batch;
      spec.shape.at(1) = tokens;
    }
    return must(run::drawInputs(specs, 3));
  }

  // The outputs at the probe's sizes and at others.
  [[nodiscard]] static double difference(const Model& a, const Model& b) {
    double worst = 0;
    for (const auto& [batch, tokens] :
         {std::pair{2, kWrittenTokens}, {5, GetParam().freeTokens ? 7 : kWrittenTokens}}) {
      const auto inputs = inputsOf(a, batch, tokens);
      worst = std::max(
          worst, run::worstOf(must(run::compareOutputs(must(a.run(inputs, {})), must(b.run(inputs, {}))))).maxRel);
    }
    return worst;
  }

  [[nodiscard]] std::unique_ptr<Model> openFile(const std::filesystem::path& path) const {
    auto model = must(openModel(path, {}, {}));
    must(model->probe(inputsOf(*model, 2, kWrittenTokens), {}));
    return model;
  }

  [[nodiscard]] std::unique_ptr<Model> open(const Net& net) {
    const auto path = folder_ / ("net" + std::to_string(++files_) + GetParam().suffix);
    GetParam().write(net, path);
    return openFile(path);
  }

  using Change = std::function<Result<std::unique_ptr<Model>>(const Model&)>;

  std::unique_ptr<Model> changed(const Model& before, const Change& change) {
    const auto model = must(change(before));
    EXPECT_LT(difference(before, *model), kFloat32);
    const auto twin = must(before.toFloat64());
    EXPECT_LT(difference(*twin, *must(change(*twin))), kExact);
    const auto path = folder_ / ("changed" + std::to_string(++files_) + GetParam().suffix);
    must(model->save(path, {}));
    auto again = openFile(path);
    EXPECT_EQ(difference(*model, *again), 0);
    return again;
  }

  [[nodiscard]] Changed planned(const Net& net, Policy policy) {
    Changed out{open(net), {}, {}, {}, {}};
    out.analysis = must(analysis::analyze(out.before->graph(), {}));
    out.plan = analysis::makePlan(*out.analysis, {policy, 1000, {}, {}});
    return out;
  }

  // Everything that the policy folds, by default into a norm that is one operator.
  Changed fold(const Net& net, Policy policy = Policy::Free, std::optional<NormFlavour> wanted = {}) {
    const NormFlavour flavour = wanted.value_or(GetParam().flavours.front());
    SCOPED_TRACE(net.code + std::string(normFlavourName(flavour)));
    Changed out = planned(net, policy);
    const auto edits = analysis::narrowed(out.plan, {});
    out.after = changed(*out.before, [&](const Model& model) {
      return model.apply(edits, out.analysis->norms.layerNorms, flavour, {});
    });
    return out;
  }

  // Every norm of the net, under policy `free`.
  Changed foldWhole(const Net& net, std::optional<NormFlavour> flavour = {}) {
    Changed out = fold(net, Policy::Free, flavour);
    for (const auto& verdict : out.analysis->verdicts)
      EXPECT_EQ(verdict.verdict, analysis::Verdict::Free) << verdict.reason;
    EXPECT_FALSE(out.plan.folded.empty()) << net.code;
    EXPECT_EQ(out.plan.folded.size(), out.analysis->norms.layerNorms.size()) << net.code;
    EXPECT_TRUE(analysis::findNorms(out.after->graph()).layerNorms.empty()) << net.code;
    return out;
  }

  using Fuse = Result<FusedModel> (NormFuser::*)(const analysis::Norms&, const Task&) const;

  Changed fuse(const Net& net, Fuse how) {
    SCOPED_TRACE(net.code);
    Changed out{open(net), {}, {}, {}, {}};
    const auto norms = analysis::findNorms(out.before->graph());
    const auto change = [&](const Model& model) { return (dynamic_cast<const NormFuser&>(model).*how)(norms, {}); };
    out.fused = must(change(*out.before)).fused;
    if (out.fused.empty()) return out;
    out.after = changed(*out.before, [&](const Model& model) {
      return change(model).map([](FusedModel&& made) { return std::move(made.model); });
    });
    return out;
  }

 private:
  const TemporaryFolder folder_;
  int files_ = 0;
};

inline std::string formatName(const ::testing::TestParamInfo<TestedFormat>& format) { return format.param.name; }

}  // namespace normlens::formats::test
