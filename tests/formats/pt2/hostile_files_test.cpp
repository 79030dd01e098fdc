// Archives of each kind that is not opened, and what they are told to be.
#include <gtest/gtest.h>

#include "tests/formats/pt2/archive_fixture.h"

namespace normlens::formats::pt2 {
namespace {

using test::ExportedFileTest;
using test::linearAndNorm;
using test::ProgramText;
using test::says;

class HostilePt2Test : public ExportedFileTest {
 protected:
  std::string refusal(const std::vector<formats::test::ZipEntry>& entries) {
    const Status known = checkContainer(*archive(entries));
    return known ? std::string() : known.error().message + " | " + known.error().hint.text();
  }
  // The tables of tensors with one text in place of another.
  std::string withTable(const std::string& from, const std::string& to) {
    ProgramText text = linearAndNorm();
    const size_t at = text.weights.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.weights.replace(at, from.size(), to);
    return problem(text);
  }
};

TEST_F(HostilePt2Test, TakesASoundOne) {
  EXPECT_EQ(problem(linearAndNorm()), "");
  EXPECT_EQ(problem(linearAndNorm(4, true)), "");
}

TEST_F(HostilePt2Test, TellsContainersByTheirDirectory) {
  const auto kind = [&](const std::vector<formats::test::ZipEntry>& entries) { return containerOf(*archive(entries)); };
  EXPECT_EQ(kind(linearAndNorm().entries()), Container::Archive);
  EXPECT_EQ(kind({{.name = "m/data.pkl"}, {.name = "m/code/x.py"}}), Container::None);
  EXPECT_EQ(kind({{.name = "serialized_exported_program.json"}, {.name = "version"}}), Container::Flat);
  EXPECT_EQ(kind({{.name = "m/models/model.json"}, {.name = "m/data/weights/model.pt"}, {.name = "m/archive_format"}}),
            Container::Pickled);
  EXPECT_EQ(kind({{.name = "m/data/aotinductor/model/a.so"}, {.name = "m/archive_format"}}), Container::Compiled);
}

TEST_F(HostilePt2Test, SaysWhatIsNotRead) {
  EXPECT_TRUE(says(refusal({{.name = "m/data/aotinductor/model/a.so"}}), "machine code and no graph"));
  auto entries = linearAndNorm().entries();
  for (auto& entry : entries) {
    if (entry.name.ends_with("archive_version")) entry.content = "1";
  }
  EXPECT_TRUE(says(refusal(entries), "version"));
  EXPECT_TRUE(says(problem(linearAndNorm().bend(R"("major": 8)", R"("major": 6)")), "schema 6.20"));
}

TEST_F(HostilePt2Test, RefusesPickledTensorsAndObjects) {
  EXPECT_TRUE(says(withTable(R"("use_pickle": false)", R"("use_pickle": true)"), "pickled"));
  EXPECT_TRUE(says(withTable(R"("path_name": "weight_0")", R"("path_name": "opaque_obj_0")"), "never loads"));
  ProgramText object = linearAndNorm();
  object.bend(R"({"user_input")",
              R"({"custom_obj": {"arg": {"name": "o", "class_fqn": "c"}, "custom_obj_name": "o"}}, {"user_input")");
  object.bend(R"({"as_tensor": {"name": "x"}}], "outputs")",
              R"({"as_custom_obj": {"name": "o"}}, {"as_tensor": {"name": "x"}}], "outputs")");
  EXPECT_TRUE(says(problem(object), "object of a class of its own"));
}

TEST_F(HostilePt2Test, RefusesAnExportWithoutWeights) {
  ProgramText text = linearAndNorm();
  text.records["data/weights/weight_0"] = "";
  EXPECT_TRUE(says(problem(text), "FakeTensorMode"));
}

// Each of these would be read outside its record.
TEST_F(HostilePt2Test, RefusesTensorsThatReachBeyondTheirRecords) {
  const std::string outside = "past the end of its record";
  EXPECT_TRUE(says(
      withTable(R"("sizes": [{"as_int": 4}, {"as_int": 4}])", R"("sizes": [{"as_int": 4}, {"as_int": 5}])"), outside));
  EXPECT_TRUE(
      says(withTable(R"("strides": [{"as_int": 4}, {"as_int": 1}])", R"("strides": [{"as_int": 5}, {"as_int": 1}])"),
           outside));
  EXPECT_TRUE(says(withTable(R"("storage_offset": {"as_int": 0})", R"("storage_offset": {"as_int": 1})"), outside));
  EXPECT_TRUE(says(withTable(R"("dtype": 7)", R"("dtype": 8)"), outside));
  EXPECT_TRUE(says(withTable(R"("strides": [{"as_int": 4}, {"as_int": 1}])",
                             R"("strides": [{"as_int": 9223372036854775807}, {"as_int": 1}])"),
                   outside));
  EXPECT_TRUE(
      says(withTable(R"("storage_offset": {"as_int": 0})", R"("storage_offset": {"as_int": 9223372036854775807})"),
           outside));
  EXPECT_TRUE(
      says(withTable(R"("strides": [{"as_int": 4}, {"as_int": 1}])", R"("strides": [{"as_int": -4}, {"as_int": 1}])"),
           "negative stride"));
  EXPECT_TRUE(
      says(withTable(R"("storage_offset": {"as_int": 0})", R"("storage_offset": {"as_int": -1})"), "do not fit"));
  EXPECT_TRUE(
      says(withTable(R"("sizes": [{"as_int": 4}, {"as_int": 4}])", R"("sizes": [{"as_int": -4}, {"as_int": 4}])"),
           "beyond all measure"));
  EXPECT_TRUE(says(
      withTable(
          R"("sizes": [{"as_int": 4}, {"as_int": 4}], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 4}, {"as_int": 1}])",
          R"("sizes": [{"as_int": 4294967296}, {"as_int": 4294967296}], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 0}, {"as_int": 0}])"),
      "beyond all measure"));
}

TEST_F(HostilePt2Test, RefusesTablesThatDoNotFit) {
  EXPECT_TRUE(says(withTable(R"("path_name": "weight_0")", R"("path_name": "weight_9")"), "missing"));
  EXPECT_TRUE(
      says(withTable(R"("path_name": "weight_0")", R"("path_name": "../../models/model.json")"), "another folder"));
  EXPECT_TRUE(says(withTable(R"("fc.weight")", R"("other.weight")"), "no tensor is given for 'fc.weight'"));
  EXPECT_TRUE(says(withTable(R"("dtype": 7)", R"("dtype": 29)"), "number 29"));
  EXPECT_TRUE(says(withTable(R"("layout": 7)", R"("layout": 1)"), "sparse"));
  EXPECT_TRUE(
      says(withTable(R"({"as_int": 4})", R"x({"as_expr": {"expr_str": "Symbol('s0')", "hint": null}})x"), "symbolic"));
}

TEST_F(HostilePt2Test, RefusesBrokenDocuments) {
  const std::string deep =
      R"({"as_graph": {"name": "g", "graph": {"inputs": [], "outputs": [], "nodes": [{"inputs": [{"name": "", "arg": )";
  std::string nested, tail;
  for (int i = 0; i < 20; ++i) nested += deep, tail += "}]}]}}}";
  EXPECT_TRUE(says(problem(linearAndNorm().bend(R"({"as_float": 1e-05})", nested + R"({"as_none": true})" + tail)),
                   "nested more than 16 deep"));
  EXPECT_TRUE(
      says(problem(linearAndNorm().bend(R"("p_fc_weight"}, "parameter_name")", R"("p_fc_bias"}, "parameter_name")")),
           "two inputs are called"));
  EXPECT_TRUE(says(problem(linearAndNorm().bend(R"({"user_input")", R"({"unheard_of": {}}, {"user_input")")),
                   "not as many inputs"));
  EXPECT_TRUE(says(problem(linearAndNorm().bend(R"("parameter_name": "fc.weight")", R"("parameter_name": "")")),
                   "name is empty"));
  EXPECT_TRUE(
      says(problem(linearAndNorm().bend(R"("graph_module")", R"("graph_modul")")), "'graph_module' is missing"));
  ProgramText cut = linearAndNorm();
  cut.program.resize(cut.program.size() / 2);
  EXPECT_TRUE(says(problem(cut), "in 'models/model.json' the JSON is broken"));
}

}  // namespace
}  // namespace normlens::formats::pt2
