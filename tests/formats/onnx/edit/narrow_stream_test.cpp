// Residual streams that lose a channel, in ONNX: old and new operators, sizes written as tensors, padding.
#include <gtest/gtest.h>

#include "core/analysis/streams/streams.h"
#include "core/run/inputs/draw.h"
#include "tests/formats/onnx/edit/folded_model.h"
#include "tests/support/must.h"

namespace normlens::formats::onnx {
namespace {

constexpr int64_t kWidth = 8, kHidden = 12;

// A token row joined before the sequence, two blocks, a norm and a head. The value infos tell the width.
ModelProto net(int opset, int ir = 8) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (int64[2, 3] ids) => (float[2, 4, 5] y) <float[2, 4, 8] x1, float[2, 4, 8] n1, float[2, 4, 8] x2> {
      rows = Gather <axis = 0> (table, ids)
      first = Expand (cls, sizes)
      x0 = Concat <axis = 1> (first, rows)
      n1 = LayerNormalization <axis = -1, epsilon = 0.01> (x0, gamma1, beta1)
      h1 = MatMul (n1, up1)
      b1 = Add (h1, upbias1)
      a1 = Relu (b1)
      d1 = MatMul (a1, down1)
      e1 = Add (d1, downbias1)
      x1 = Add (x0, e1)
      n2 = LayerNormalization <axis = -1, epsilon = 0.01> (x1, gamma2, beta2)
      flat = Reshape (n2, flatsizes)
      h2 = Gemm (flat, up2, upbias2)
      a2 = Relu (h2)
      d2 = Gemm <transB = 1> (a2, down2, downbias2)
      e2 = Reshape (d2, fullsizes)
      x2 = Add (e2, x1)
      n3 = LayerNormalization <axis = -1, epsilon = 0.01> (x2, gamma3, beta3)
      y = MatMul (n3, head)
    })");
  model.set_ir_version(ir);
  model.mutable_opset_import(0)->set_version(opset);
  int seed = 1;
  const auto add = [&](const char* name, const graph::Shape& shape) { addTensor(model, name, shape, seed++); };
  add("table", {5, kWidth});
  add("cls", {1, 1, kWidth});
  for (const char* norm : {"1", "2", "3"}) {
    add((std::string("gamma") + norm).c_str(), {kWidth});
    add((std::string("beta") + norm).c_str(), {kWidth});
  }
  add("up1", {kWidth, kHidden});
  add("upbias1", {kHidden});
  add("down1", {kHidden, kWidth});
  add("downbias1", {kWidth});
  add("up2", {kWidth, kHidden});
  add("upbias2", {kHidden});
  add("down2", {kWidth, kHidden});
  add("downbias2", {kWidth});
  add("head", {kWidth, 5});
  const auto sizes = [&](const char* name, const std::vector<int64_t>& numbers) {
    TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(numbers.size()));
    tensor.mutable_int64_data()->Add(numbers.begin(), numbers.end());
  };
  sizes("sizes", {2, 1, kWidth});
  sizes("flatsizes", {-1, kWidth});
  sizes("fullsizes", {2, 4, kWidth});
  return model;
}

struct Narrow {
  analysis::StreamPlan streams;
  ModelProto model;
  double difference = 0;
};

Narrow narrow(const ModelProto& proto, analysis::StreamPadding padding, size_t largeBytes,
              NormFlavour flavour = NormFlavour::Portable) {
  const auto model = openedModel(proto, largeBytes);
  const auto inputs = must(run::drawInputs(must(model->inferInputs()), 1));
  must(model->probe(inputs, {}));
  const auto analysis = must(analysis::analyze(model->graph(), {}));
  analysis::PlanOptions options;
  options.policy = analysis::Policy::Free;
  const auto plan = analysis::makePlan(*analysis, options);
  Narrow out;
  out.streams = analysis::planStreams(*analysis, plan, padding);
  if (!out.streams.refused.empty()) return out;
  const auto made =
      must(model->apply(analysis::narrowed(plan, out.streams.edits), analysis->norms.layerNorms, flavour, {}));
  out.model = wholeModel(dynamic_cast<const OnnxModel&>(*made).source());
  out.difference = differenceOf(*model, *made, inputs);
  return out;
}

TEST(OnnxNarrowStream, OldAndNewOperatorsKeepTheOutputs) {
  for (const auto& [opset, ir] : {std::pair{17, 8}, {18, 8}, {23, 11}}) {
    for (const auto padding :
         {analysis::StreamPadding::None, analysis::StreamPadding::Even, analysis::StreamPadding::Blocks}) {
      for (const size_t large : {size_t{16}, size_t{1} << 20}) {
        const Narrow out = narrow(net(opset, ir), padding, large);
        ASSERT_EQ(out.streams.refused, "");
        // The head has no bias for its beta.
        EXPECT_EQ(out.streams.edits.norms.size(), 2U);
        EXPECT_EQ(out.streams.streams[0].restored, 1);
        EXPECT_LT(out.difference, 1e-5) << opset << ", " << ir;
        EXPECT_EQ(checkerSays(out.model), "") << opset << ", " << ir;
        EXPECT_EQ((opsOf(out.model.graph()) + ",").find(",LayerNormalization,"), std::string::npos);
      }
    }
  }
}

// Paper 003 without its (sum x)^2: the operator of every runtime, with the epsilon that the file has.
TEST(OnnxNarrowStream, ANormIsARuntimesOwn) {
  for (const auto& [flavour, op] : {std::pair{NormFlavour::Standard, "RMSNormalization"},
                                    {NormFlavour::Ort, "SimplifiedLayerNormalization"},
                                    {NormFlavour::Primitives, "ReduceMean"}}) {
    const Narrow out = narrow(net(17), analysis::StreamPadding::None, 1 << 20, flavour);
    ASSERT_EQ(out.streams.edits.norms.size(), 2U);
    EXPECT_LT(out.difference, 1e-5) << op;
    int norms = 0;
    for (const auto& node : out.model.graph().node()) {
      EXPECT_EQ(node.domain(), "");
      norms += node.op_type() == op ? 1 : 0;
      for (const auto& attribute : node.attribute()) {
        if (attribute.name() == "epsilon") {
          EXPECT_EQ(attribute.f(), 0.01F);
        }
      }
    }
    EXPECT_EQ(norms, 3) << op;
  }
}

}  // namespace
}  // namespace normlens::formats::onnx
