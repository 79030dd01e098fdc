// Inputs and outputs that are tuples, lists and dicts of tensors: the names of their arrays, values for them, and runs.

#include "core/base/run_watch.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::torchscript::test {
namespace {

using Names = std::vector<std::string>;

ModelPtr modelOf(const std::string& code) {
  torch::jit::Module top("Top");
  top.register_parameter("w", draw({8, 6}, 1, at::kFloat), false);
  top.register_parameter("v", draw({8, 8}, 2, at::kFloat), false);
  top.define(code);
  return std::move(TorchScriptModel::fromModule({std::move(top), {}, nullptr, {}}, {}).value());
}

Names arraysOf(const TorchScriptModel& model, const Names& given = {}) {
  Names names;
  for (const InputArray& array : model.inputArrays(given)) names.push_back(array.name);
  return names;
}

// Arrays whose elements are 1, 2, 3 ... by their place.
Tensors numbered(const Names& names) {
  Tensors tensors;
  for (const std::string& name : names) {
    tensors.push_back({name, viewOf(at::full({1}, static_cast<double>(tensors.size() + 1)))});
  }
  return tensors;
}

double result(const TorchScriptModel& model, const Names& names) {
  const auto outputs = model.run(numbered(names), {});
  if (!outputs) throw std::runtime_error(outputs.error().message);
  return tensorOf(outputs->front().view).item().toDouble();
}

std::string refusalOf(const TorchScriptModel& model, const Names& names) {
  const auto outputs = model.run(numbered(names), {});
  return outputs ? "it ran" : outputs.error().message;
}

std::vector<InputSpec> found(const TorchScriptModel& model) {
  const auto specs = model.inferInputs();
  if (!specs) throw std::runtime_error(specs.error().message);
  return *specs;
}

const std::string kTuple =
    "def forward(self, x, state: Tuple[Tensor, Tensor]):\n  return x * 100 + state[0] * 10 + state[1]\n";
const std::string kOnlyList = "def forward(self, xs: List[Tensor]):\n  return xs[0] * 100 + xs[-1]\n";
const std::string kAnyLength =
    "def forward(self, xs: List[Tensor]):\n  y = xs[0] * 0\n  for x in xs:\n    y = y * 10 + x\n  return y\n";
const std::string kOnlyDict =
    "def forward(self, batch: Dict[str, Tensor]):\n  return batch['image'] * 10 + batch['mask']\n";
const std::string kCache =
    "def forward(self, x, past: List[Tuple[Tensor, Tensor]]):\n"
    "  h = torch.linear(x, self.w)\n"
    "  k = torch.cat([past[0][0], h], 1)\n"
    "  v = torch.cat([past[0][1], h], 1)\n"
    "  h = h + torch.matmul(torch.softmax(torch.matmul(h, k.transpose(1, 2)), -1), v)\n"
    "  return torch.layer_norm(torch.linear(h, self.v), [8])\n";
const std::string kOptional =
    "def forward(self, x, past: Optional[Tuple[Tensor, Tensor]] = None):\n"
    "  return x if past is None else x * 100 + past[0] * 10 + past[1]\n";

TEST(ContainerInputs, EachArrayHasItsName) {
  EXPECT_EQ(arraysOf(*modelOf(kTuple)), (Names{"x", "state.0", "state.1"}));
  EXPECT_EQ(arraysOf(*modelOf(kOnlyDict)), (Names{"batch.image", "batch.mask"}));
  EXPECT_EQ(arraysOf(*modelOf(kCache)), (Names{"x", "past.0.0", "past.0.1"}));
  EXPECT_EQ(arraysOf(*modelOf(kOnlyList)), (Names{"xs.0"})) << "the first and the last may be one";
  EXPECT_EQ(arraysOf(*modelOf(kAnyLength), {"xs.2"}), (Names{"xs.0", "xs.1", "xs.2"})) << "as long as what is given";
}

TEST(ContainerInputs, ArraysGoByTheirNamesAndNumbers) {
  EXPECT_EQ(result(*modelOf(kTuple), {"x", "state.0", "state.1"}), 123);
  EXPECT_EQ(result(*modelOf(kTuple), {"state.1", "state.0", "x"}), 321);
  EXPECT_EQ(result(*modelOf(kTuple), {"in_0", "in_1", "in_2"}), 123);
  EXPECT_EQ(result(*modelOf(kAnyLength), {"xs.1", "xs.0", "xs.2"}), 213);
}

TEST(ContainerInputs, WhatAnOnlyContainerHoldsNeedNotHaveItsName) {
  EXPECT_EQ(result(*modelOf(kOnlyDict), {"mask", "image"}), 21);
  EXPECT_EQ(result(*modelOf(kAnyLength), {"a", "b", "c"}), 123);
  EXPECT_EQ(result(*modelOf(kAnyLength), {"in_2", "in_0", "in_1"}), 231);
  EXPECT_EQ(modelOf(kAnyLength)->ownNames({"xs.1", "xs.0"}), (Names{"xs.1", "xs.0"})) << "torch numbers names alike";
  EXPECT_EQ(modelOf(kOnlyDict)->ownNames({"mask", "image"}), (Names{"batch.mask", "batch.image"}));
}

// Takes a third element, or a mask, only where there is one.
const std::string kAtMostThree =
    "def forward(self, x, xs: List[Tensor]):\n"
    "  for y in xs:\n    x = x * 10 + y\n"
    "  if len(xs) > 2:\n    x = x + 1000 * xs[2]\n"
    "  return x\n";
const std::string kMayHaveMask =
    "def forward(self, batch: Dict[str, Tensor]):\n"
    "  x = batch['image']\n"
    "  if 'mask' in batch:\n    x = x * 10 + batch['mask']\n"
    "  return x\n";
const std::string kLoopedPairs =
    "def forward(self, x, past: List[Tuple[Tensor, Tensor]]):\n"
    "  for k, v in past:\n    x = x * 100 + k * 10 + v\n"
    "  return x\n";

TEST(ContainerInputs, ListsAndDictsHoldWhatIsGiven) {
  EXPECT_EQ(arraysOf(*modelOf(kAtMostThree)), (Names{"x", "xs.0", "xs.1", "xs.2"}));
  EXPECT_EQ(arraysOf(*modelOf(kAtMostThree), {"x", "xs.0"}), (Names{"x", "xs.0"}));
  EXPECT_EQ(result(*modelOf(kAtMostThree), {"x", "xs.0"}), 12);
  EXPECT_EQ(result(*modelOf(kAtMostThree), {"x", "xs.0", "xs.1", "xs.2"}), 5234);
  EXPECT_EQ(arraysOf(*modelOf(kMayHaveMask)), (Names{"batch.image", "batch.mask"}));
  EXPECT_EQ(arraysOf(*modelOf(kMayHaveMask), {"batch.image"}), (Names{"batch.image"}));
  EXPECT_EQ(result(*modelOf(kMayHaveMask), {"image"}), 1);
  EXPECT_EQ(result(*modelOf(kMayHaveMask), {"batch.mask", "batch.image"}), 21);
  EXPECT_EQ(result(*modelOf(kLoopedPairs), {"x", "past.0.0", "past.0.1", "past.1.0", "past.1.1"}), 12345);
}

TEST(ContainerInputs, PartsGoByTheNumberOfTheirArgument) {
  EXPECT_EQ(result(*modelOf(kTuple), {"in_1.1", "in_1.0", "in_0"}), 321);
  EXPECT_EQ(result(*modelOf(kAtMostThree), {"in_0", "in_1.0", "in_1.1"}), 123);
  EXPECT_EQ(result(*modelOf(kLoopedPairs), {"in_0", "in_1.0.0", "in_1.0.1", "in_1.1.0", "in_1.1.1"}), 12345);
  EXPECT_EQ(result(*modelOf(kAnyLength), {"in_0.0", "in_0.1"}), 12);
  EXPECT_EQ(modelOf(kOnlyDict)->ownNames({"in_0.mask", "in_0.image"}), (Names{"batch.mask", "batch.image"}));
}

TEST(ContainerInputs, OptionalOnesMayBeLeftOutWhole) {
  const auto model = modelOf(kOptional);
  EXPECT_EQ(result(*model, {"x"}), 1);
  EXPECT_EQ(result(*model, {"x", "past.0", "past.1"}), 123);
  EXPECT_NE(refusalOf(*model, {"x", "past.0"}).find("'past.1'"), std::string::npos);
  for (const InputArray& array : model->inputArrays({})) EXPECT_EQ(array.hasDefault, array.name != "x") << array.name;
}

TEST(ContainerInputs, WhatIsMissingOrTooMuchIsNamed) {
  EXPECT_NE(refusalOf(*modelOf(kTuple), {"x", "state.0"}).find("'state.1'"), std::string::npos);
  EXPECT_NE(refusalOf(*modelOf(kTuple), {"x", "state.0", "state.1", "state.2"}).find("'state.2'"), std::string::npos);
  EXPECT_NE(refusalOf(*modelOf(kAnyLength), {"xs.0", "xs.2"}).find("'xs.1'"), std::string::npos);
}

TEST(ContainerInputs, ValuesAreFoundForAllArrays) {
  watchPage().trialLimitMs = 200'000;  // Other tests may slow down the search, which ends by the clock.
  const auto cache = found(*modelOf(kCache));
  ASSERT_EQ(cache.size(), 3U);
  EXPECT_EQ(cache[0].shape.back(), 6);
  EXPECT_EQ(cache[1].name, "past.0.0");
  EXPECT_EQ(cache[1].shape.size(), 3U);
  EXPECT_EQ(cache[1].shape.back(), 8) << "as wide as what it is joined with";
  EXPECT_EQ(found(*modelOf(kAnyLength)).size(), 1U) << "a list of one where the code says nothing";
  EXPECT_EQ(found(*modelOf(kOnlyDict)).size(), 2U);
  EXPECT_EQ(found(*modelOf(kOptional)).size(), 1U) << "what may be left out is";
  const auto missed =
      found(*modelOf("def forward(self, x, past: Optional[Tuple[Tensor, Tensor]] = None):\n"
                     "  assert past is not None\n"
                     "  return torch.linear(x, self.w) + past[0] * past[1]\n"));
  EXPECT_EQ(missed.size(), 3U) << "unless it is missed";
  watchPage().trialLimitMs = 0;
}

TEST(ContainerInputs, TextsAreNotMadeUp) {
  EXPECT_PRED2(contains,
               failureOf(modelOf("def forward(self, x, modes: List[str]):\n  return x\n")->inferInputs()).message,
               "'modes.0' is a str");
}

TEST(ContainerOutputs, WhatADictHoldsHasItsKey) {
  const auto names = [](const std::string& result) {
    return modelOf("def forward(self, x):\n  y = x + 1\n  return " + result + "\n")->graph().outputNames;
  };
  EXPECT_EQ(names("{'logits': x, 'hidden': y}"), (Names{"logits", "hidden"}));
  EXPECT_EQ(names("(x, {'logits': y, 'states': x})"), (Names{"", "1.logits", "1.states"}));
  EXPECT_EQ(names("(x, y)"), (Names{"", ""}));
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
