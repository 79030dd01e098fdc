// A plan's edits found in a checkpoint: by numbers, by names where numbers do not tell, or refused.
#include "core/formats/safetensors/checkpoint_edits.h"

#include "tests/formats/safetensors/checkpoint_files.h"

namespace normlens::formats::safetensors {
namespace {

using graph::OpKind;

const std::vector<float> kWeight = {1, 2, 3, 5, 8, 13};           // [2, 3]
const std::vector<float> kExchanged = {1, 5, 2, 8, 3, 13};        // [3, 2]
const std::vector<float> kCentered = {-2, -3, -5, 2, 3, 5};       // over the first axis of [2, 3]
const std::vector<float> kTable = {1, 3, 2, 6, 4, 10};            // [3, 2]
const std::vector<float> kTableCentered = {-1, 1, -2, 2, -3, 3};  // over its last axis

class CheckpointEditing : public CheckpointTest {
 protected:
  void SetUp() override {
    CheckpointTest::SetUp();
    graph::Value input;
    input.name = "x";
    x_ = graph_.addParam(0, input);
  }
  void center(graph::ConstantId constant, const std::string& pattern) {
    fold::CenterConstant edit;
    edit.parts.push_back({constant, *ops::Pattern::parse(pattern)});
    plan_.edits.emplace_back(edit);
  }
  // A linear's weight in a module, read as that or by a MatMul.
  graph::ConstantId linear(const std::string& name, const std::string& module, graph::Shape shape,
                           const std::vector<float>& numbers) {
    const auto weight = addConstant(graph_, name, std::move(shape), numbers);
    addNode(graph_, OpKind::Linear, module, {x_, valueOf(graph_, weight), graph::kNoValue});
    return weight;
  }
  Result<CheckpointEdits> edit(bool tellsAliases = true) {
    auto opened = open();
    if (!opened) return tl::unexpected(opened.error());
    checkpoint_ = std::move(*opened);
    return editCheckpoint(plan_, {graph_, norms_, tellsAliases}, checkpoint_);
  }
  void expectRefused(const std::string& why, bool tellsAliases = true) {
    const auto edits = edit(tellsAliases);
    ASSERT_FALSE(edits) << why;
    EXPECT_NE(edits.error().message.find(why), std::string::npos) << edits.error().message;
    EXPECT_EQ(edits.error().code, ErrorCode::Refused);
  }
  // In the order of the file's memory.
  static std::vector<float> numbers(const NewTensor& tensor) {
    graph::TensorView flat = tensor.view;
    flat.shape = {graph::elementCount(tensor.view.shape).value_or(0)};
    flat.strides = {1};
    const auto doubles = graph::toDoubles(flat);
    return doubles ? std::vector<float>(doubles->begin(), doubles->end()) : std::vector<float>();
  }

  graph::Graph graph_;
  graph::ValueId x_ = graph::kNoValue;
  std::vector<analysis::LayerNorm> norms_;
  fold::FoldPlan plan_;
  Checkpoint checkpoint_;
};

TEST_F(CheckpointEditing, FindsATensorByItsNumbersWhateverItIsCalled) {
  center(linear("onnx::MatMul_7", "proj", {2, 3}, kWeight), "(2 sum)(3)");
  write("model.safetensors", fileOf({{"h.9.c.weight", "F32", "[2,3]", bytesOf(kWeight)}}));
  const auto edits = edit();
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_EQ(edits->tensors.size(), 1U);
  EXPECT_EQ(numbers(edits->tensors[0]), kCentered);
  ASSERT_EQ(edits->tensors[0].changes.size(), 1U);
  EXPECT_EQ(edits->tensors[0].changes[0].axes, (std::vector<int64_t>{0}));
}

TEST_F(CheckpointEditing, FindsATensorWhoseAxesAreExchanged) {
  center(linear("w", "proj", {2, 3}, kWeight), "(2 sum)(3)");
  write("model.safetensors", fileOf({{"w", "F32", "[3,2]", bytesOf(kExchanged)}}));
  const auto edits = edit();
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_EQ(numbers(edits->tensors.at(0)), (std::vector<float>{-2, 2, -3, 3, -5, 5}));
  EXPECT_EQ(edits->tensors[0].changes.at(0).axes, (std::vector<int64_t>{1}));
}

TEST_F(CheckpointEditing, FindsATensorOfAnotherTypeAndComputesInThat) {
  center(linear("w", "proj", {2, 3}, kWeight), "(2 sum)(3)");
  for (const char* type : {"BF16", "F64"}) {
    const std::vector<double> wide(kWeight.begin(), kWeight.end());
    write("model.safetensors",
          fileOf({{"w", type, "[2,3]", std::string(type) == "F64" ? bytesOf(wide) : bfloat16(kWeight)}}));
    const auto edits = edit();
    ASSERT_TRUE(edits) << edits.error().message;
    EXPECT_EQ(edits->tensors.at(0).view.dtype,
              std::string(type) == "F64" ? graph::DType::Float64 : graph::DType::BFloat16);
    EXPECT_EQ(numbers(edits->tensors[0]), kCentered);
  }
}

TEST_F(CheckpointEditing, SaysWhichTensorIsNearestWhereNoneIsEqual) {
  center(linear("w", "proj", {2, 3}, kWeight), "(2 sum)(3)");
  auto other = kWeight;
  other[4] += 1e-6F;
  write("model.safetensors",
        fileOf({{"far", "F32", "[2,3]", bytesOf(kTable)}, {"near", "F32", "[2,3]", bytesOf(other)}}));
  expectRefused("'near' is nearest, which differs in 1 of 6 numbers");
  write("model.safetensors", fileOf({{"w", "F32", "[6]", bytesOf(kWeight)}}));
  expectRefused("nor its shape");
  write("model.safetensors", fileOf({{"w", "I32", "[2,3]", bytesOf(kWeight)}}));
  expectRefused("'w' is to be centered, and no tensor of the checkpoint has the numbers");
}

TEST_F(CheckpointEditing, TellsEqualTensorsApartByTheirNames) {
  const std::vector<float> same = {1, 3};
  const auto first = addConstant(graph_, "m.h.0.proj.bias", {2}, same);
  const auto second = addConstant(graph_, "m.h.1.proj.bias", {2}, same);
  addNode(graph_, OpKind::Add, "m.h.0.proj", {x_, valueOf(graph_, first)});
  addNode(graph_, OpKind::Add, "m.h.1.proj", {x_, valueOf(graph_, second)});
  center(second, "(2 sum)");
  write("model.safetensors",
        fileOf({{"h.0.proj.bias", "F32", "[2]", bytesOf(same)}, {"h.1.proj.bias", "F32", "[2]", bytesOf(same)}}));
  const auto edits = edit();
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_EQ(edits->tensors.size(), 1U);
  EXPECT_EQ(edits->tensors[0].name, "h.1.proj.bias");
}

TEST_F(CheckpointEditing, TellsEqualTensorsApartByTheModulesThatReadThem) {
  const std::vector<float> same = {1, 3};
  const auto first = addConstant(graph_, "onnx::Add_1", {2}, same);
  const auto second = addConstant(graph_, "onnx::Add_2", {2}, same);
  addNode(graph_, OpKind::Add, "m.h.0.proj", {x_, valueOf(graph_, first)});
  addNode(graph_, OpKind::Add, "m.h.1.proj", {x_, valueOf(graph_, second)});
  center(first, "(2 sum)");
  write("model.safetensors",
        fileOf({{"h.0.proj.bias", "F32", "[2]", bytesOf(same)}, {"h.1.proj.bias", "F32", "[2]", bytesOf(same)}}));
  const auto edits = edit();
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_EQ(edits->tensors.size(), 1U);
  EXPECT_EQ(edits->tensors[0].name, "h.0.proj.bias");
}

TEST_F(CheckpointEditing, RefusesEqualTensorsThatNoNameTellsApart) {
  const std::vector<float> same = {1, 3};
  const auto first = addConstant(graph_, "a", {2}, same);
  const auto second = addConstant(graph_, "b", {2}, same);
  addNode(graph_, OpKind::Add, "", {x_, valueOf(graph_, first)});
  addNode(graph_, OpKind::Add, "", {x_, valueOf(graph_, second)});
  center(first, "(2 sum)");
  write("model.safetensors", fileOf({{"u", "F32", "[2]", bytesOf(same)}, {"v", "F32", "[2]", bytesOf(same)}}));
  expectRefused("no name tells");
}

// Zeros that are centered are zeros, whoever they are.
TEST_F(CheckpointEditing, LeavesWhatAnEditDoesNotChange) {
  const std::vector<float> zeros = {0, 0};
  const auto bias = addConstant(graph_, "a", {2}, zeros);
  addNode(graph_, OpKind::Add, "", {x_, valueOf(graph_, bias)});
  center(bias, "(2 sum)");
  write("model.safetensors", fileOf({{"u", "F32", "[2]", bytesOf(zeros)}, {"v", "F32", "[2]", bytesOf(zeros)}}));
  const auto edits = edit();
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_TRUE(edits->tensors.empty());
}

TEST_F(CheckpointEditing, RefusesASymmetricWeight) {
  center(linear("w", "proj", {2, 2}, {1, 2, 2, 1.5}), "(2 sum)(2)");
  write("model.safetensors", fileOf({{"w", "F32", "[2,2]", bytesOf(std::vector<float>{1, 2, 2, 1.5})}}));
  expectRefused("axes exchanged");
}

class TiedPair : public CheckpointEditing {
 protected:
  // An embedding whose rows are centered, and a head that keeps the table.
  graph::ConstantId tie(const std::string& headModule) {
    const auto table = addConstant(graph_, "m.model.wte.weight", {3, 2}, kTable);
    const auto value = valueOf(graph_, table);
    addNode(graph_, OpKind::Gather, "m.model.wte", {value, x_});
    addNode(graph_, OpKind::Linear, headModule, {x_, value, graph::kNoValue});
    graph_.constants[0].aliases = {"m.lm_head.weight"};
    fold::CenterConstant edit;
    edit.parts.push_back({table, *ops::Pattern::parse("(3)(2 sum)")});
    edit.uses.push_back(graph_.value(value).uses[0]);
    edit.split = true;
    plan_.edits.emplace_back(edit);
    return table;
  }
};

TEST_F(TiedPair, BecomesTwoTensors) {
  tie("m.lm_head");
  write("model.safetensors", fileOf({{"model.wte.weight", "F32", "[3,2]", bytesOf(kTable)}}));
  const auto edits = edit();
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_EQ(edits->tensors.size(), 2U);
  EXPECT_EQ(numbers(edits->tensors[0]), kTableCentered);
  EXPECT_TRUE(edits->tensors[1].added);
  EXPECT_EQ(edits->tensors[1].name, "lm_head.weight");
  EXPECT_EQ(numbers(edits->tensors[1]), kTable);
  EXPECT_TRUE(edits->untied);
}

TEST_F(TiedPair, ThatIsSavedTwiceIsEditedOnce) {
  tie("m.lm_head");
  write("model.safetensors", fileOf({{"lm_head.weight", "F32", "[3,2]", bytesOf(kTable)},
                                     {"model.wte.weight", "F32", "[3,2]", bytesOf(kTable)}}));
  const auto edits = edit();
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_EQ(edits->tensors.size(), 1U);
  EXPECT_EQ(edits->tensors[0].name, "model.wte.weight");
  EXPECT_TRUE(edits->untied);
}

// BERT's decoder shares its bias as well: a class that ties nothing wants both names.
TEST_F(TiedPair, WritesWhatElseIsSharedUnderAllOfItsNames) {
  tie("m.lm_head");
  const std::vector<float> bias = {3, 1, 4};
  const auto shared = addConstant(graph_, "m.cls.bias", {3}, bias);
  addNode(graph_, OpKind::Add, "m.cls", {x_, valueOf(graph_, shared)});
  graph_.constants[static_cast<size_t>(shared)].aliases = {"m.lm_head.bias"};
  write("model.safetensors",
        fileOf({{"cls.bias", "F32", "[3]", bytesOf(bias)}, {"model.wte.weight", "F32", "[3,2]", bytesOf(kTable)}}));
  const auto edits = edit();
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_EQ(edits->tensors.size(), 3U);
  EXPECT_EQ(edits->tensors[2].name, "lm_head.bias");
  EXPECT_EQ(numbers(edits->tensors[2]), bias);
}

TEST_F(TiedPair, OfOneModuleIsRefused) {
  tie("m.other");
  write("model.safetensors", fileOf({{"model.wte.weight", "F32", "[3,2]", bytesOf(kTable)}}));
  expectRefused("the model has one name for both");
}

// As ONNX files have it: the head's weight is a constant of its own, with its axes exchanged.
TEST_F(CheckpointEditing, KeepsAHeadThatTheModelHasAsAConstantOfItsOwn) {
  const auto table = addConstant(graph_, "m.model.wte.weight", {3, 2}, kTable);
  addNode(graph_, OpKind::Gather, "m.model.wte", {valueOf(graph_, table), x_});
  const auto head = addConstant(graph_, "onnx::MatMul_9", {2, 3}, {1, 2, 4, 3, 6, 10});
  addNode(graph_, OpKind::MatMul, "m.lm_head", {x_, valueOf(graph_, head)});
  center(table, "(3)(2 sum)");
  write("model.safetensors", fileOf({{"model.wte.weight", "F32", "[3,2]", bytesOf(kTable)}}));
  const auto edits = edit(/*tellsAliases=*/false);
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_EQ(edits->tensors.size(), 2U);
  EXPECT_EQ(numbers(edits->tensors[0]), kTableCentered);
  EXPECT_EQ(edits->tensors[1].name, "lm_head.weight");
  EXPECT_EQ(numbers(edits->tensors[1]), kTable);
}

TEST_F(CheckpointEditing, MovesAScaleThatIsATensorAndRefusesOthers) {
  const auto weight = linear("w", "proj", {2, 3}, kWeight);
  const auto made = graph_.nodes.back().outputs.at(0);
  const auto scale = addConstant(graph_, "gamma", {2}, {2, 4});
  addNode(graph_, OpKind::Mul, "ls", {made, valueOf(graph_, scale)});
  fold::AbsorbScale edit;
  edit.scaleNode = static_cast<graph::NodeId>(graph_.nodes.size() - 1);
  edit.parts.push_back({weight, {2, 4}, {}, 0});
  plan_.edits.emplace_back(edit);
  write("model.safetensors",
        fileOf({{"gamma", "F32", "[2]", bytesOf(std::vector<float>{2, 4})}, {"w", "F32", "[2,3]", bytesOf(kWeight)}}));
  const auto edits = this->edit();
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_EQ(edits->tensors.size(), 2U);
  EXPECT_EQ(numbers(edits->tensors[0]), (std::vector<float>{1, 1}));
  EXPECT_EQ(numbers(edits->tensors[1]), (std::vector<float>{2, 4, 6, 20, 32, 52}));
  addNode(graph_, OpKind::Mul, "again", {made, valueOf(graph_, scale)});
  expectRefused("'again' reads it as well");
  write("model.safetensors", fileOf({{"w", "F32", "[2,3]", bytesOf(kWeight)}}));
  expectRefused("'gamma' is to move, and no tensor");
}

class MovedBeta : public CheckpointEditing {
 protected:
  void SetUp() override {
    CheckpointEditing::SetUp();
    const auto beta = addConstant(graph_, "ln.bias", {3}, {1, 0, 2});
    addNode(graph_, OpKind::LayerNorm, "ln", {x_, graph::kNoValue, valueOf(graph_, beta)});
    analysis::LayerNorm norm;
    norm.node = 0;
    norm.name = norm.title = "ln";
    norm.beta = valueOf(graph_, beta);
    norms_.push_back(norm);
    const auto weight = addConstant(graph_, "fc.weight", {2, 3}, kWeight),
               bias = addConstant(graph_, "fc.bias", {2}, {7, 9});
    addNode(graph_, OpKind::Linear, "fc",
            {graph_.nodes[0].outputs.at(0), valueOf(graph_, weight), valueOf(graph_, bias)});
    fold::AbsorbShift edit;
    edit.shiftNode = 0;
    edit.shiftOperand = 2;
    edit.parts.push_back({weight, {1, 1, graph::kNone}, 1, bias});
    plan_.edits.emplace_back(edit);
    plan_.edits.emplace_back(fold::ReplaceNorm{0});
  }
  const Held beta_{"ln.bias", "F32", "[3]", bytesOf(std::vector<float>{1, 0, 2})};
  const Held weight_{"fc.weight", "F32", "[2,3]", bytesOf(kWeight)};
  const Held bias_{"fc.bias", "F32", "[2]", bytesOf(std::vector<float>{7, 9})};
};

TEST_F(MovedBeta, GoesIntoTheBiasAndLeavesZeros) {
  write("model.safetensors", fileOf({bias_, weight_, beta_}));
  const auto edits = edit();
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_EQ(edits->tensors.size(), 2U);
  EXPECT_EQ(numbers(edits->tensors[0]), (std::vector<float>{7 + 1 + 6, 9 + 5 + 26}));
  EXPECT_EQ(edits->tensors[0].changes.at(0).norm, "ln");
  EXPECT_EQ(edits->tensors[1].name, "ln.bias");
  EXPECT_EQ(numbers(edits->tensors[1]), (std::vector<float>{0, 0, 0}));
  ASSERT_EQ(edits->norms.size(), 1U);
  EXPECT_EQ(edits->norms[0].beta, "ln.bias");
  EXPECT_TRUE(edits->norms[0].betaMoved);
}

TEST_F(MovedBeta, IsRefusedWhereThereIsNoBias) {
  write("model.safetensors", fileOf({weight_, beta_}));
  expectRefused("the shift 'ln.bias' has to go into 'fc.bias', and no tensor of the checkpoint");
}

TEST_F(MovedBeta, IsRefusedWhereAnotherReadsIt) {
  addNode(graph_, OpKind::Add, "other", {x_, norms_[0].beta});
  write("model.safetensors", fileOf({bias_, weight_, beta_}));
  expectRefused("'other' reads it as well");
}

}  // namespace
}  // namespace normlens::formats::safetensors
