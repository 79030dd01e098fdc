#include <gtest/gtest.h>

#include "core/formats/pt2/file/node_place.h"
#include "core/formats/pt2/file/sample_inputs.h"
#include "core/formats/pt2/file/signature.h"
#include "tests/formats/archive/small_archive.h"
#include "tests/formats/pt2/archive_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::pt2 {
namespace {

using graph::DType;
using test::says;
using Names = std::vector<std::string>;
using namespace std::string_literals;
using test::ExportedFileTest;

UserInput input(const std::string& name, const std::vector<std::string>& sizes, DType dtype = DType::Float32) {
  UserInput made;
  made.name = name;
  made.meta.dtype = dtype;
  for (const std::string& size : sizes) {
    SymSize& each = made.meta.sizes.emplace_back();
    each.expr = parseSymExpr(size).value();
    each.example = valueOf(each.expr, {{"s0", 3}, {"s1", 3}}).value_or(-1);
  }
  return made;
}

const std::string kS0 = "Symbol('s0')", kS1 = "Symbol('s1')", kTwice = "Mul(Integer(2), Symbol('s0'))";

std::string problem(const InputRules& rules, const std::vector<GivenInput>& given) {
  const Status fits = rules.check(given);
  return fits ? std::string() : fits.error().message;
}

TEST(InputRulesTest, AStaticExportTakesItsOwnSizesAlone) {
  const InputRules rules({input("x", {"3", "8"})}, {});
  EXPECT_EQ(problem(rules, {{DType::Float32, {3, 8}, {}}}), "");
  EXPECT_EQ(problem(rules, {{DType::Float64, {3, 8}, {}}}), "");  // a twin's
  EXPECT_TRUE(says(problem(rules, {{DType::Float32, {4, 8}, {}}}), "axis 0 of the model's input 'x' is 4"));
  EXPECT_TRUE(says(problem(rules, {{DType::Float32, {3, 8, 1}, {}}}), "3 axes"));
  EXPECT_TRUE(says(problem(rules, {{DType::Int64, {3, 8}, {}}}), "int64"));
}

// What Dim.AUTO makes of ids and their mask.
TEST(InputRulesTest, SizesThatTheExampleHadEqualOnOneAxisStayEqual) {
  const InputRules rules({input("ids", {kS0, "Symbol('s2')"}), input("mask", {kS1, "Symbol('s3')"})}, {});
  // s2 and s3 have no example: they are nobody's twins.
  EXPECT_EQ(rules.twins(), (std::map<std::string, std::string>{{"s1", "s0"}}));
  const SymValues chosen = rules.distinctSymbols();
  EXPECT_EQ(chosen.at("s0"), chosen.at("s1"));
  const InputRules one({input("x", {kS0, kS1})}, {});
  EXPECT_TRUE(one.twins().empty()) << "two axes of one input";
  EXPECT_NE(one.distinctSymbols().at("s0"), one.distinctSymbols().at("s1"));
}

TEST(InputRulesTest, SayWhichSizesMayVary) {
  EXPECT_TRUE(says(InputRules({input("x", {"3", "8"})}, {}).inWords(), "for the sizes of its example only"));
  const InputRules rules({input("x", {kS0, kTwice, "4"})}, {{"s0", {2, 8}}});
  EXPECT_TRUE(
      says(rules.inWords(), "axis 0 of the model's input 'x' (s0: 2 to 8), axis 1 of the model's input 'x' (2*s0)."));
}

TEST(InputRulesTest, SizesGoTogetherAndStayInTheirRange) {
  const InputRules rules({input("x", {kS0, kTwice}), input("m", {kS0, kS1}, DType::Bool)},
                         {{"s0", {2, 8}}, {"2*s0", {4, 12}}});
  const auto given = [](int64_t a, int64_t b, int64_t c, int64_t d) {
    return std::vector<GivenInput>{{DType::Float32, {a, b}, {}}, {DType::Bool, {c, d}, {}}};
  };
  EXPECT_EQ(problem(rules, given(4, 8, 4, 99)), "");
  EXPECT_TRUE(says(problem(rules, given(4, 9, 4, 1)), "axis 1 of the model's input 'x'"));
  EXPECT_TRUE(says(problem(rules, given(4, 8, 5, 1)), "axis 0 of the model's input 'm'"));
  EXPECT_TRUE(says(problem(rules, given(1, 2, 1, 1)), "2 to 8"));
  EXPECT_TRUE(says(problem(rules, given(7, 14, 7, 1)), "4 to 12"));
}

TEST(InputRulesTest, ASizeMayStandInAnExpressionAlone) {
  const InputRules rules({input("x", {kTwice})}, {{"s0", {2, 8}}});
  EXPECT_EQ(problem(rules, {{DType::Float32, {6}, {}}}), "");
  EXPECT_TRUE(says(problem(rules, {{DType::Float32, {7}, {}}}), "exported for 2*s0"));
  EXPECT_TRUE(says(problem(rules, {{DType::Float32, {18}, {}}}), "the size s0 is 9"));
}

TEST(InputRulesTest, WhatTheProgramAssertsIsAskedBefore) {
  const SymExpr even = parseSymExpr("Equality(Mod(Symbol('s0'), Integer(2)), Integer(0))").value();
  const SymExpr unbacked = parseSymExpr("GreaterThan(Symbol('u0'), Integer(2))").value();
  const InputRules rules({input("x", {kS0})}, {}, {{even, "an even batch"}, {unbacked, "u0"}});
  EXPECT_EQ(problem(rules, {{DType::Float32, {4}, {}}}), "");
  EXPECT_TRUE(says(problem(rules, {{DType::Float32, {5}, {}}}), "an even batch"));
}

TEST(InputRulesTest, FreeSizesAreMadeToDiffer) {
  const InputRules rules({input("x", {kS0, kS1, kTwice, "5"})}, {{"s0", {2, 8}}, {"s1", {2, 3}}});
  EXPECT_EQ(rules.shapesFor(rules.exampleSymbols())->front(), (graph::Shape{3, 3, 6, 5}));
  const auto distinct = rules.shapesFor(rules.distinctSymbols())->front();
  EXPECT_NE(distinct[0], distinct[1]);
  EXPECT_EQ(distinct[2], 2 * distinct[0]);
  EXPECT_LE(distinct[1], 3);
  EXPECT_EQ(distinct[3], 5);
}

Json node(const std::string& key, const std::string& text) {
  return {Json::Object{{"metadata", Json(Json::Object{{key, Json(text)}})}}};
}
std::string innermost(const std::string& stack) {
  const auto modules = moduleStack(node("nn_module_stack", stack));
  return modules.empty() ? "-" : modules.back().path + ":" + modules.back().className;
}

TEST(NodePlaceTest, ReadsModules) {
  EXPECT_EQ(innermost("L__self__,,m.Net;L__self___h,h.0.ln_1,torch.nn.LayerNorm"), "h.0.ln_1:LayerNorm");
  EXPECT_EQ(innermost("L__self__,,m.Net;123@1,_export_root.ln,torch.nn.LayerNorm"), "ln:LayerNorm");
  EXPECT_EQ(innermost("L__self__,,m.Net"), ":Net");
  EXPECT_EQ(innermost("_empty_nn_module_stack_from_metadata_hook,_empty_nn_module_stack_from_metadata_hook,x"), "-");
  EXPECT_EQ(innermost("nothing of the kind"), "-");
  EXPECT_EQ(innermost("a,b..c,T"), "-");
  EXPECT_EQ(innermost("a," + std::string(5000, 'x') + ",T"), "-");
}

TEST(NodePlaceTest, ReadsTheInnermostLine) {
  const std::string trace =
      "  File \"outer.py\", line 3, in forward\n    f(x)\n  File \"lib/inner.py\", line 41, in f\n    y";
  const SourceLine line = sourceLine(node("stack_trace", trace));
  EXPECT_EQ(line.file, "lib/inner.py");
  EXPECT_EQ(line.line, 41);
  EXPECT_EQ(sourceLine(node("stack_trace", "File \"x.py\", line none")).line, 0);
  EXPECT_EQ(sourceLine(node("other", "File \"x.py\", line 3")).line, 0);
}

// What results are called: trees as torch.utils._pytree.treespec_dumps writes them.

const std::string kLeaf = R"({"type": null, "context": null, "children_spec": []})";

std::string inner(const std::string& type, const std::string& context, const std::vector<std::string>& children) {
  std::string all;
  for (const std::string& child : children) all += (all.empty() ? "" : ", ") + child;
  return R"({"type": ")" + type + R"(", "context": )" + Json(context).dump() + R"(, "children_spec": [)" + all + "]}";
}
std::string dict(const std::string& keys, const std::vector<std::string>& children) {
  return inner("builtins.dict", keys, children);
}
std::string tuple(const std::vector<std::string>& children) { return inner("builtins.tuple", "null", children); }

Names namesOf(const std::string& tree, const std::string& namedTuples = "{}") {
  const std::string spec = Json("[1, " + tree + "]").dump();
  const auto module =
      parseJson(R"({"module_call_graph": [{"fqn": "fc", "signature": null}, {"fqn": "", "signature": {"out_spec": )" +
                spec + R"(}}], "treespec_namedtuple_fields": )" + namedTuples + "}");
  EXPECT_TRUE(module);
  return outputNames(*module);
}

TEST(OutputNames, AreKeysAndFields) {
  EXPECT_EQ(namesOf(dict(R"(["logits", "loss"])", {kLeaf, kLeaf})), (Names{"logits", "loss"}));
  EXPECT_EQ(namesOf(inner("Output", R"([["logits", "hidden"], ["loss"]])", {kLeaf, tuple({kLeaf, kLeaf})})),
            (Names{"logits", "hidden.0", "hidden.1"}));
  EXPECT_EQ(
      namesOf(inner("collections.namedtuple", "Pair", {kLeaf, kLeaf}), R"({"Pair": {"field_names": ["one", "two"]}})"),
      (Names{"one", "two"}));
}

TEST(OutputNames, OfWhatIsOnlyCountedThereAreNone) {
  EXPECT_EQ(namesOf(kLeaf), (Names{""}));
  EXPECT_EQ(namesOf(tuple({kLeaf, dict(R"(["k"])", {kLeaf})})), (Names{"", "1.k"}));
  EXPECT_EQ(namesOf(inner("collections.namedtuple", "Pair", {kLeaf, kLeaf})), (Names{"", ""}));
}

TEST(OutputNames, WhatCannotBeReadNamesNothing) {
  EXPECT_EQ(namesOf(dict(R"(["logits"])", {kLeaf, kLeaf})), (Names{"", ""}));
  EXPECT_EQ(namesOf(dict("[1, 2]", {kLeaf, kLeaf})), (Names{"", ""}));
  EXPECT_EQ(namesOf(dict("no JSON", {kLeaf})), (Names{""}));
  EXPECT_EQ(namesOf(dict(R"(["a\nb"])", {kLeaf})), (Names{"a?b"}));
  EXPECT_EQ(namesOf(dict("[\"" + std::string(300, 'a') + "\"]", {kLeaf})), (Names{""}));
  EXPECT_EQ(namesOf(R"({"type": 3})"), Names{});
  EXPECT_EQ(outputNames(*parseJson(R"({"module_call_graph": []})")), Names{});
  EXPECT_EQ(outputNames(*parseJson("{}")), Names{});
}

class SampleInputsTest : public ExportedFileTest {
 protected:
  // A zip of a torch.save in the zip: one vector of four floats.
  SampleInputs samples(const std::string& pickle, const graph::Shape& shape) {
    const std::string inner =
        formats::test::buildZip({{.name = "archive/data.pkl", .content = pickle},
                                 {.name = "archive/data/0", .content = test::floats({2, -1, 7, 3})}});
    auto entries = test::linearAndNorm().entries();
    entries.push_back({.name = "m/data/sample_inputs/model.pt", .content = inner});
    UserInput input;
    input.meta.dtype = graph::DType::Float32;
    for (const int64_t size : shape) {
      input.meta.sizes.emplace_back();
      input.meta.sizes.back().example = input.meta.sizes.back().expr.value = size;
    }
    return readSampleInputs(*archive(entries), "model", {input});
  }
};

TEST_F(SampleInputsTest, TellsHowFarTheNumbersGo) {
  const auto found = samples(torchscript::tensorPickle(4, 4), {4});
  ASSERT_TRUE(found.at(0));
  EXPECT_EQ(found[0]->low, -1);
  EXPECT_EQ(found[0]->high, 7);
}

TEST_F(SampleInputsTest, IsSilentWhereItIsNotOfTheseInputs) {
  EXPECT_FALSE(samples(torchscript::tensorPickle(4, 4), {2, 2}).at(0));
  EXPECT_FALSE(samples("\x80\x02)", {4}).at(0));
  EXPECT_FALSE(samples(torchscript::tensorPickle(4, 5), {5}).at(0));  // outside its storage
  EXPECT_FALSE(samples("cos\nsystem\n(X\x02\0\0\0lstR."s, {4}).at(0));
  EXPECT_FALSE(readSampleInputs(*archive(test::linearAndNorm().entries()), "model", {UserInput{}}).at(0));
}

// Which of several models in one archive is opened.

class SeveralModelsTest : public test::ExportedFileTest {
 protected:
  std::shared_ptr<const Archive> holding(const std::vector<std::string>& models) {
    std::vector<formats::test::ZipEntry> entries{{.name = "m/archive_format", .content = "pt2"}};
    for (const std::string& model : models) entries.push_back({.name = "m/models/" + model + ".json"});
    return archive(entries);
  }
};

TEST_F(SeveralModelsTest, TablesOfAnyModelTellTheContainer) {
  std::vector<formats::test::ZipEntry> entries{{.name = "m/archive_format", .content = "pt2"},
                                               {.name = "m/models/encode.json"},
                                               {.name = "m/data/weights/weight_0"},
                                               {.name = "m/data/weights/encode_weights_config.json"}};
  EXPECT_EQ(containerOf(*archive(entries)), Container::Archive);
  entries.back().name = "m/data/weights/encode.pt";
  EXPECT_EQ(containerOf(*archive(entries)), Container::Pickled);
}

TEST_F(SeveralModelsTest, OpensTheOneThatIsNamed) {
  const auto several = holding({"encode", "decode"});
  EXPECT_EQ(modelToOpen(*several, "encode", false), "encode");
  EXPECT_EQ(modelToOpen(*several, "decode", true), "decode");
  EXPECT_EQ(modelToOpen(*several, "", false), "decode");
  EXPECT_EQ(modelToOpen(*holding({"encode", "model"}), "", false), "model");
}

TEST_F(SeveralModelsTest, TellsTheNamesWhereItHasNoneOfThatName) {
  for (const bool onlyOfSeveral : {false, true}) {
    const Error refused = failureOf(modelToOpen(*holding({"encode", "decode"}), "Encode", onlyOfSeveral));
    EXPECT_EQ(refused.code, ErrorCode::Usage);
    EXPECT_TRUE(says(refused.message, "holds no model 'Encode' but decode, encode"));
    EXPECT_TRUE(says(refused.hint.text(), "--model NAME"));
  }
}

TEST_F(SeveralModelsTest, AnOnlyOneIsThatBesideAnother) {
  const auto one = holding({"model"});
  EXPECT_EQ(modelToOpen(*one, "encode", true), "model");
  EXPECT_EQ(modelToOpen(*one, "model", false), "model");
  EXPECT_FALSE(modelToOpen(*one, "encode", false));
  const auto flat = archive({{.name = "serialized_exported_program.json"}});
  EXPECT_EQ(modelToOpen(*flat, "", false), "model");
  EXPECT_FALSE(modelToOpen(*flat, "encode", false));
}

TEST_F(SeveralModelsTest, SaysWhatElseThereIs) {
  EXPECT_EQ(besideOthers(*holding({"model"}), "model"), "");
  EXPECT_TRUE(says(besideOthers(*holding({"c", "a", "b"}), "b"), "this is 'b', beside a, c"));
}

}  // namespace
}  // namespace normlens::formats::pt2
