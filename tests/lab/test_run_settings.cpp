#include <gtest/gtest.h>

#include <future>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/lab/train.h"
#include "core/protocol/run_record.h"
#include "core/protocol/run_settings.h"
#include "tests/support/must.h"

namespace normlens::lab {
namespace {

using nlohmann::json;

TEST(RunSettings, AreTheSameAfterTheirFile) {
  for (const auto experiment : kExperiments) {
    RunSettings settings = usualSettings(experiment);
    settings.width = 48;
    settings.seeds = {3, 5};
    settings.data.noise = 0.125;
    settings.device = "cuda:1";
    const auto again = must(readRunSettings(writeRunSettings(settings)));
    EXPECT_EQ(again, settings) << nameOf(experiment);
  }
}

TEST(RunSettings, AreTheDefaultsWhereTheFileIsSilent) {
  const auto settings = must(readRunSettings(R"({"optimizers": [{"kind": "sgd", "momentum": 0.9}]})"));
  RunSettings expected;
  expected.optimizers = {{.kind = OptimizerKind::Sgd, .momentum = 0.9}};
  EXPECT_EQ(settings, expected);
}

struct Wrong {
  const char* name;
  const char* change;  // merged into the defaults
  const char* told;
};

class WrongSettings : public testing::TestWithParam<Wrong> {};

TEST_P(WrongSettings, AreTold) {
  json file = json::parse(writeRunSettings({}));
  file.merge_patch(json::parse(GetParam().change));
  const Error settings = failureOf(readRunSettings(file.dump()));
  EXPECT_EQ(settings.code, ErrorCode::BadInput);
  EXPECT_EQ(settings.message, GetParam().told);
}

const Wrong kWrong[] = {
    {"experiment", R"({"experiment": "tea"})",
     "experiment is \"tea\", and must be one of equivalence, depth_sweep, dropout, cost, crms, continued"},
    {"misspelt", R"({"epoch": 3})", "the settings of a run have no field epoch"},
    {"misspelt_deep", R"({"data": {"sample": 3}})", "the settings of a run have no field data.sample"},
    {"misspelt_listed", R"({"optimizers": [{}, {"lr": 1}]})", "the settings of a run have no field optimizers[1].lr"},
    {"type", R"({"width": "wide"})", "width must be a whole number"},
    {"type_deep", R"({"optimizers": [{"kind": 3}]})", "optimizers[0].kind must be a text"},
    {"width", R"({"width": 1})", "width is 1, and must lie between 2 and 16384"},
    {"activation", R"({"activation": "step"})", "activation is \"step\", and must be one of relu, gelu, tanh"},
    {"device", R"({"device": "cuda1"})", "device is \"cuda1\", and must be cpu, cuda or a GPU's number: cuda:1"},
    {"layers", R"({"layers": []})", "layers is empty: at least one is needed"},
    {"layers_twice", R"({"layers": [6, 6]})", "layers names one of them twice"},
    {"layer", R"({"layers": [6, 1]})", "layers[1] is 1, and must lie between 2 and 200"},
    {"seeds", R"({"seeds": [1, 2, 1]})", "seeds names one of them twice"},
    {"network", R"({"networks": ["layer_norm", "batch_norm"]})",
     "networks[1] is \"batch_norm\", and must be one of layer_norm, cbwc_rms_norm, rms_norm, crms_norm, plain"},
    {"precision", R"({"precisions": ["float16"]})",
     "precisions[0] is \"float16\", and must be one of float32, float64, bfloat16"},
    {"no_optimizer", R"({"optimizers": []})", "optimizers is empty: at least one is needed"},
    {"rate", R"({"optimizers": [{"learning_rate": 0}]})", "optimizers[0].learning_rate must be above 0"},
    {"rate_nan", R"({"optimizers": [{"learning_rate": "nan"}]})", "optimizers[0].learning_rate must be above 0"},
    {"momentum", R"({"optimizers": [{"kind": "adam", "momentum": 0.9}]})",
     "optimizers[0].momentum is for sgd alone: adam has beta1"},
    {"decay", R"({"optimizers": [{"weight_decay": -1}]})",
     "optimizers[0].weight_decay is -1, and must lie between 0 and 1"},
    {"decay_of", R"({"optimizers": [{"decay_of": "all"}]})",
     "optimizers[0].decay_of is \"all\", and must be one of weight, centered"},
    {"no_path", R"({"data": {"kind": "npz"}})", "data.path is empty: npz data are read from a file"},
    {"text_for_mlp", R"({"data": {"kind": "characters"}})",
     "data.kind is \"characters\", which only a transformer can learn"},
    {"table_for_transformer", R"({"architecture": "pre_norm_transformer"})",
     "data.kind is \"spirals\", and a transformer needs characters"},
    {"heads", R"({"architecture": "pre_norm_transformer", "data": {"kind": "characters"}, "heads": 5})",
     "heads is 5, which does not divide the width 256"},
    {"groups", R"({"architecture": "convolutional", "groups": 7})", "groups is 7, which does not divide the width 256"},
    {"crms_mlp", R"({"networks": ["layer_norm", "crms_norm"]})",
     "networks names crms_norm, which only a pre_norm_transformer has"},
    {"crms_dropout",
     R"({"architecture": "pre_norm_transformer", "data": {"kind": "characters"}, "networks": ["crms_norm"],
         "optimizers": [{"dropout": 0.1}]})",
     "optimizers[0].dropout acts on channels of the stream, of which crms_norm has one fewer: it must be 0"},
    {"clip", R"({"optimizers": [{"clip_norm": -1}]})",
     "optimizers[0].clip_norm is -1, and must lie between 0 and 1e6"},
    {"warmup", R"({"optimizers": [{"warmup": 1}]})", "optimizers[0].warmup is 1, and must lie between 0 and 0.99"},
    {"batches", R"({"batches": [8, 0]})", "batches[1] is 0, and must lie between 1 and 1e6"},
    {"handover", R"({"experiment": "continued", "handover_epoch": 40})",
     "handover_epoch is 40, and must lie between 1 and 39"},
    {"reference", R"({"experiment": "continued", "networks": ["rms_norm"]})",
     "networks lacks layer_norm, from whose weights the others go on"},
    {"schema", R"({"schema": 2})", "schema is 2, and this version of NormLens reads 1"},
};

INSTANTIATE_TEST_SUITE_P(All, WrongSettings, testing::ValuesIn(kWrong),
                         [](const auto& test) { return test.param.name; });

TEST(RunSettings, WhatIsNoJsonIsTold) {
  EXPECT_EQ(readRunSettings("{").error().message, "the file of the run is not JSON");
  EXPECT_EQ(readRunSettings("[]").error().message, "the file of the run must hold one JSON object");
}

TEST(RunSettings, TheUsualOnesAreGood) {
  for (const auto experiment : kExperiments)
    EXPECT_TRUE(checkRunSettings(usualSettings(experiment))) << nameOf(experiment);
}

TEST(RunSettings, OnesThatWereKeptBeforeThereWereArchitecturesAreRead) {
  const auto kept = readRunSettings(R"({"experiment": "transformer", "data": {"kind": "characters"}, "context": 32})");
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->experiment, Experiment::Equivalence);
  EXPECT_EQ(kept->architecture, Architecture::PreNormTransformer);
  EXPECT_EQ(kept->context, 32);
  RunResult run;
  run.settings = *kept;
  std::string result = writeRunResult(run);
  const std::string now = R"("experiment":"equivalence")";
  ASSERT_NE(result.find(now), std::string::npos) << result;
  result.replace(result.find(now), now.size(), R"("experiment":"transformer")");
  const auto ended = readRunResult(result);
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(ended->settings, *kept);
}

TEST(RunSettings, SayTheirOptimizer) {
  EXPECT_EQ(describe({.schedule = Schedule::Cosine, .warmup = 0.1, .clip_norm = 1, .dropout = 0.3}),
            "Adam, cosine schedule, warm-up 0.1, gradients clipped to 1, dropout 0.3");
  EXPECT_EQ(
      describe({.kind = OptimizerKind::Sgd, .momentum = 0.9, .weight_decay = 0.01, .decay_of = DecayOf::Centered}),
      "SGD, momentum 0.9, weight decay 0.01 of the centered weight");
  EXPECT_EQ(describe(OptimizerSettings{}), "Adam");
}

RunRecord someRecord(NormUse network, int epoch) {
  RunRecord record;
  record.event = RunEvent::Epoch;
  record.run = "12";
  record.member = {network, 6, 0, 1, Precision::Float64};
  record.epoch = epoch;
  record.epochs = 40;
  record.train_loss = 0.25;
  record.test_loss = std::numeric_limits<double>::infinity();
  record.gradient_norms = {0.1, 1.0 / 3};
  record.inputs = {{1, 2, 3, 4, 5, 6}};
  record.weight_difference = 1.9e-15;
  return record;
}

TEST(RunRecord, IsOneLineAndTheSameAfterIt) {
  const RunRecord record = someRecord(NormUse::RmsNorm, 27);
  const std::string line = writeRunRecord(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto again = must(readRunRecord(line));
  EXPECT_EQ(again, record);
}

TEST(RunRecord, WhatIsNoneIsTold) {
  EXPECT_EQ(readRunRecord("tea").error().message, "a record of a run is not JSON");
  EXPECT_EQ(readRunRecord(R"({"inputs": [{"mean": "x"}]})").error().message,
            "a record of a run: inputs[0].mean must be a number");
}

TEST(RunResult, IsTheSameAfterItsFile) {
  RunResult result;
  result.run = "12";
  result.settings.width = 3;
  result.end = RunEnd::Stopped;
  result.records = {someRecord(NormUse::LayerNorm, 1), someRecord(NormUse::RmsNorm, 1)};
  result.findings = {{"it is so", false, 2.0, 1.0, "2 is above 1"}};
  result.costs = {{{NormUse::RmsNorm, 2, 0, 1, Precision::Float32}, 1, 0.5, 2, 1.5, 1.25, 1.75, false, 4096}};
  const auto again = must(readRunResult(writeRunResult(result)));
  EXPECT_EQ(again, result);
}

TEST(RunRecord, TheLastOfEachMemberIsFound) {
  std::vector<RunRecord> records{someRecord(NormUse::LayerNorm, 1), someRecord(NormUse::Plain, 1),
                                 someRecord(NormUse::LayerNorm, 2)};
  records.push_back(someRecord(NormUse::Plain, 2));
  records.back().event = RunEvent::Diverged;
  const auto last = lastOfEach(records);
  ASSERT_EQ(last.size(), 2U);
  EXPECT_EQ(last[0], records[2]);
  EXPECT_EQ(last[1], records[1]);
}

TEST(RunRecord, MembersHaveNamesOfTheirOwn) {
  RunSettings settings;
  EXPECT_EQ(memberName({NormUse::LayerNorm, 6, 0, 1, Precision::Float32}, settings), "layer_norm_6x256_seed1_float32");
  settings.optimizers.resize(2);
  EXPECT_EQ(memberName({NormUse::LayerNorm, 6, 1, 1, Precision::Float32}, settings),
            "layer_norm_6x256_optimizer2_seed1_float32");
}

TEST(PauseSwitch, HoldsUntilItGoesOnOrStops) {
  PauseSwitch pause;
  std::stop_source stop;
  pause.wait(stop.get_token());  // is off: returns
  pause.pause();
  EXPECT_TRUE(pause.paused());
  auto waiting = std::async(std::launch::async, [&] { pause.wait(stop.get_token()); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  pause.goOn();
  waiting.get();
  pause.pause();
  waiting = std::async(std::launch::async, [&] { pause.wait(stop.get_token()); });
  stop.request_stop();
  waiting.get();
  EXPECT_TRUE(pause.paused());
}

}  // namespace
}  // namespace normlens::lab
