// Archives of each kind that is not opened, with the words of each refusal; containers of torch 2.5 to 2.8, whose
// tensors are found where they lie.
#include <gtest/gtest.h>

#include "core/formats/pt2/file/legacy.h"
#include "tests/formats/archive/small_archive.h"
#include "tests/formats/pt2/archive_fixture.h"
#include "tests/support/must.h"

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

using formats::test::buildZip;
using formats::test::ZipEntry;
using test::ExportedFileTest;
using test::floats;
using test::linearAndNorm;
using test::ProgramText;
using test::says;

// A dict of vectors, each the whole of a storage of its own: name, elements.
// `more`: further arguments of each tensor.
std::string dictPickle(const std::vector<std::pair<std::string, int>>& tensors, const std::string& more = {}) {
  const auto byte = [](size_t value) { return std::string(1, static_cast<char>(value)); };
  const auto text = [&](const std::string& s) { return "X" + byte(s.size()) + std::string(3, '\0') + s; };
  std::string pickle = "\x80\x02}(";
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, count] = tensors[i];
    pickle += text(name) + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\nFloatStorage\n" +
              text(std::to_string(i)) + text("cpu") + "K" + byte(static_cast<size_t>(count)) + "tQK" + byte(0) + "(K" +
              byte(static_cast<size_t>(count)) + "t(K\x01t\x89)" + more + "tR";
  }
  return pickle + "u.";
}

std::string saved(const std::string& pickle, const std::vector<std::string>& storages) {
  std::vector<ZipEntry> entries{{.name = "archive/data.pkl", .content = pickle}};
  for (size_t i = 0; i < storages.size(); ++i)
    entries.push_back({.name = "archive/data/" + std::to_string(i), .content = storages[i]});
  return buildZip(entries);
}

class LegacyTest : public ExportedFileTest {
 protected:
  static std::vector<ZipEntry> flat(const std::string& stateDict, const std::string& program) {
    return {{.name = "serialized_exported_program.json", .content = program},
            {.name = "serialized_state_dict.pt", .content = stateDict},
            {.name = "serialized_constants.pt", .content = saved("\x80\x02}.", {})},
            {.name = "version", .content = "8.2"}};
  }
  std::string refusal(const std::vector<ZipEntry>& entries) {
    const auto opened = archive(entries);
    if (const Status known = checkContainer(*opened); !known) return known.error().message;
    const auto program = readLegacyProgram(opened);
    return program ? std::string() : program.error().message;
  }

  const std::string program_ = linearAndNorm().program;
  const std::vector<std::string> norm_{floats({1, 2, 3, 4}), floats({5, 6, 7, 8})};
};

TEST_F(LegacyTest, ATensorIsTheBytesOfTheInnerZip) {
  const auto opened = archive(flat(saved(dictPickle({{"ln.weight", 4}, {"ln.bias", 4}}), norm_), program_));
  const auto program = must(readLegacyProgram(opened));
  EXPECT_EQ(program.file.weights.at("config").members().size(), 2U);
  const std::string record = program.file.weights.at("config").at("ln.bias").at("path_name").text();
  const auto* found = program.archive->find(std::string(program.archive->prefix()) + "data/weights/" + record);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(program.archive->read(*found, 100).value(), norm_[1]);
  EXPECT_TRUE(checkCrcs(*program.archive, 1));
}

TEST_F(LegacyTest, WhatTheGraphDoesNotNameIsLeftOut) {
  const auto opened = archive(flat(saved(dictPickle({{"ln.weight", 4}, {"other", 4}}), norm_), program_));
  const auto program = must(readLegacyProgram(opened));
  EXPECT_EQ(program.file.weights.at("config").members().size(), 1U);
}

TEST_F(LegacyTest, WhatDoesNotFitIsTold) {
  const std::string pickle = dictPickle({{"ln.weight", 4}, {"ln.bias", 4}});
  EXPECT_TRUE(says(refusal(flat(saved(pickle, {norm_[0]}), program_)), "lacks the storage '1'"));
  EXPECT_TRUE(says(refusal(flat("no zip", program_)), "is no file of torch.save"));
  EXPECT_TRUE(says(refusal(flat(saved("\x80\x02}(", {}), program_)), "the pickle is cut off"));
  auto compressed = flat(saved(pickle, norm_), program_);
  compressed[1].size = static_cast<int64_t>(compressed[1].content.size());
  compressed[1].content = formats::test::deflated(compressed[1].content);
  compressed[1].method = 8;
  EXPECT_TRUE(says(refusal(compressed), "is compressed"));
  ProgramText halves = linearAndNorm();
  halves.bend(R"("p_ln_weight": {"dtype": 7)", R"("p_ln_weight": {"dtype": 6)");
  EXPECT_TRUE(says(refusal(flat(saved(pickle, norm_), halves.program)), "another element type for 'ln.weight'"));
}

// torch.save keeps such a bit beside the storage, which alone would be read as another number.
TEST_F(LegacyTest, ATensorThatIsNotAsItIsStoredIsRefused) {
  const std::string negative = dictPickle({{"ln.weight", 4}}, "}X\x03" + std::string(3, '\0') + "neg\x88s");
  EXPECT_TRUE(says(refusal(flat(saved(negative, {norm_[0]}), program_)), "the negative of what it stores"));
}

TEST_F(LegacyTest, StoragesOfAnotherByteOrderAreRefused) {
  const std::string pickle = dictPickle({{"ln.weight", 4}});
  const auto ordered = [&](const std::string& order) {
    return buildZip({{.name = "archive/data.pkl", .content = pickle},
                     {.name = "archive/byteorder", .content = order},
                     {.name = "archive/data/0", .content = norm_[0]}});
  };
  EXPECT_TRUE(says(refusal(flat(ordered("big"), program_)), "another byte order"));
  EXPECT_EQ(refusal(flat(ordered("little"), program_)), "");
}

// A storage that is shorter than its pickle says.
TEST_F(LegacyTest, ATensorThatReachesPastItsRecordIsTold) {
  const auto opened = archive(flat(saved(dictPickle({{"ln.weight", 4}}), {floats({1, 2})}), program_));
  const auto program = must(readLegacyProgram(opened));
  EXPECT_THROW(static_cast<void>(readPayloads(program.file, *program.archive)), BrokenDocument);
}

TEST_F(LegacyTest, SeveralModelsWithPickledWeightsAreRefused) {
  std::vector<ZipEntry> entries{{.name = "m/archive_format", .content = "pt2"},
                                {.name = "m/archive_version", .content = "0"}};
  for (const char* name : {"decode", "encode"}) {
    entries.push_back({.name = std::string("m/models/") + name + ".json", .content = program_});
    entries.push_back({.name = std::string("m/data/weights/") + name + ".pt", .content = "x"});
  }
  EXPECT_TRUE(says(refusal(entries), "holds several models with pickled weights"));
}

}  // namespace
}  // namespace normlens::formats::pt2
