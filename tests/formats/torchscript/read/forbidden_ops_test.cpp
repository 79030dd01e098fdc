// Models that would write a file: in forward(), or by code that torch runs as it loads them. They write to a folder of
// the test's own, where nothing must be found afterwards.
#include "core/formats/torchscript/program/forbidden_ops.h"

#include <deque>

#include "core/formats/archive/archive_writer.h"
#include "core/formats/torchscript/run/interpreter.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::torchscript::test {
namespace {

struct Victim {
  TemporaryFolder folder;
  std::filesystem::path file = folder / "written";

  [[nodiscard]] std::string fromFile(const std::string& torch = "torch.from_file") const {
    return torch + "(\"" + file.string() + "\", True, 16)";
  }
  [[nodiscard]] bool unharmed() const { return !std::filesystem::exists(file); }
};

torch::jit::Module moduleOf(const std::string& code) {
  torch::jit::Module m("M");
  m.register_parameter("w", draw({8, 8}, 1, at::kFloat), false);
  m.define(code);
  return m;
}

const std::string kForward = "def forward(self, x):\n  return torch.linear(x, self.w)\n";

ModelPtr opened(const torch::jit::Module& module, const Victim& victim) {
  const auto path = victim.folder / "model.pt";
  module.save(path.string());
  return must(TorchScriptModel::open(path, {}));
}

Tensors someInput() { return {{"in_0", viewOf(draw({3, 8}, 3, at::kFloat))}}; }

// A sound file with its code edited by hand.
std::filesystem::path withCode(const Victim& victim, const std::function<void(std::string&)>& edit) {
  const auto from = victim.folder / "sound.pt", to = victim.folder / "edited.pt";
  moduleOf(kForward).save(from.string());
  const auto archive = Archive::open(MappedFile::open(from).value()).value();
  std::vector<RecordToWrite> records;
  std::deque<std::string> contents;
  for (const ZipRecord& record : archive->records()) {
    if (record.name.ends_with(".debug_pkl")) continue;
    std::string& content = contents.emplace_back(archive->read(record, 1 << 20).value());
    if (record.name.ends_with(".py")) edit(content);
    records.push_back({record.name, ZipMethod::Stored, content.size(), {std::as_bytes(std::span(content))}, {}});
  }
  EXPECT_TRUE(writeArchive(to, std::move(records), {}, {}));
  return to;
}

void insert(std::string& code, const std::string& before, const std::string& text) {
  const size_t at = code.find(before);
  ASSERT_NE(at, std::string::npos) << code;
  code.insert(at, text);
}

void addSetState(std::string& code, const std::string& body) {
  code +=
      "  def __getstate__(self: __torch__.M) -> Any:\n    return 1\n"
      "  def __setstate__(self: __torch__.M,\n    state: Any) -> NoneType:\n" +
      body + "    return None\n";
}

TEST(ForbiddenOps, AModelThatWouldWriteAFileIsShownAndNeverRun) {
  const Victim victim;
  torch::jit::Module layer("L");
  layer.define("def forward(self, x):\n  return x + " + victim.fromFile() + "[0]\n");
  torch::jit::Module whole("M");
  whole.register_module("layer", layer);
  whole.define("def forward(self, x):\n  return self.layer.forward(x)\n");
  const auto model = opened(whole, victim);
  EXPECT_FALSE(model->graph().nodes.empty());
  const std::string sentence =
      "the model calls aten::from_file, which can write files (forward of layer), so it is never run";
  const auto expectRefused = [&](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(result.error().message, sentence);
  };
  const auto twin = asTorchScript(model->perturbed(1));
  expectRefused(model->inferInputs());
  expectRefused(model->probe(someInput(), {}));
  expectRefused(model->run(someInput(), {}));
  expectRefused(model->runner(someInput(), {}));
  expectRefused(model->runCapturing(someInput(), {}, {}));
  expectRefused(model->narrowOp(someInput(), {}));
  expectRefused(twin->run(someInput(), {}));
  EXPECT_TRUE(victim.unharmed());
}

TEST(ForbiddenOps, WhatTheCheckDoesNotSeeRaisesAnErrorInstead) {
  const Victim victim;
  const std::string save = "torch.save(x, \"" + victim.file.string() + "\")";
  auto module = moduleOf("def forward(self, x):\n  " + save + "\n  return torch.linear(x, self.w)\n");
  const auto model = opened(module, victim);
  Interpreter interpreter(model->program());
  EXPECT_PRED2(contains, failureOf(interpreter.run({draw({3, 8}, 3, at::kFloat)}, {}, {})).message,
               "aten::save, which writes files, so it is never run");
  EXPECT_ANY_THROW(module.forward({draw({3, 8}, 3, at::kFloat)})) << "torch's own interpreter";
  EXPECT_TRUE(victim.unharmed());
}

TEST(ForbiddenOps, CodeThatRunsWhileItIsLoadedWritesNothing) {
  const Victim victim;
  const std::string use = "    self.w = torch.add_(" + victim.fromFile() + ", 1)\n";
  const std::vector<std::pair<const char*, std::function<void(std::string&)>>> ways = {
      {"__setstate__", [&](std::string& code) { addSetState(code, use); }},
      {"another name of torch",
       [&](std::string& code) {
         addSetState(code,
                     "    t = torch\n    f = t.from_file\n    self.w = t.add_(" + victim.fromFile("f") + ", 1)\n");
       }},
      {"a name that the text does not hold",
       [&](std::string& code) {
         const std::string f = victim.fromFile(R"(getattr(torch, "from\137" "file"))");
         addSetState(code, "    self.w = torch.add_(" + f + ", 1)\n");
       }},
      {"a default argument",
       [&](std::string& code) { insert(code, ") -> Tensor", ",\n    k: Tensor=" + victim.fromFile()); }},
      {"a constant of a class",
       [&](std::string& code) { insert(code, "  def forward", "  k : Final[Tensor] = " + victim.fromFile() + "\n"); }},
  };
  for (const auto& [name, edit] : ways) {
    SCOPED_TRACE(name);
    const auto path = withCode(victim, edit);
    const Error model = failureOf(TorchScriptModel::open(path, {}));
    EXPECT_EQ(model.code, ErrorCode::Unsupported);
    EXPECT_EQ(model.message, path.string() +
                                 " calls aten::from_file, which can write files (code/__torch__.py), as soon as it is "
                                 "loaded; it was not opened");
    EXPECT_TRUE(victim.unharmed());
  }
}

TEST(ForbiddenOps, CodeThatFailsWhileItIsLoadedIsToldAsSuch) {
  const Victim victim;
  const auto path =
      withCode(victim, [](std::string& code) { addSetState(code, "    ops.prim.RaiseException(\"no good\")\n"); });
  EXPECT_EQ(failureOf(TorchScriptModel::open(path, {})).message,
            path.string() +
                ": its code that runs while it is loaded (__setstate__) raised an error: "
                "no good");
}

TEST(ForbiddenOps, OpsThatReachOutOfTheProcessAreForbiddenByTheirNamespace) {
  const Victim victim;
  const auto path = withCode(victim, [](std::string& code) {
    insert(code, "torch.linear(x", R"(torch.add(ops._c10d_functional.all_reduce(x, "sum", "0"), )");
    code.insert(code.find(')', code.find("torch.linear(x")), ")");
  });
  const auto model = must(TorchScriptModel::open(path, {}));
  EXPECT_PRED2(contains, failureOf(model->inferInputs()).message, "_c10d_functional::all_reduce");
}

TEST(ForbiddenOps, ModulesAndMethodsMayBeCalledLikeThem) {
  const Victim victim;
  auto named = moduleOf(kForward);
  torch::jit::Module whole("M");
  whole.register_module("save", named);
  whole.register_attribute("training", c10::BoolType::get(), false);
  whole.define(R"(
def from_file(self, x):
  return self.save.forward(x) + 1
def forward(self, x):
  return self.from_file(self.save.forward(x))
def __getstate__(self) -> Tuple[bool]:
  return (self.training,)
def export(self, x):
  torch.save(x, "never called")
)");
  const auto model = opened(whole, victim);
  EXPECT_TRUE(model->inferInputs());
  EXPECT_TRUE(model->run(someInput(), {}));
}

// Last: strict stays on.
TEST(ForbiddenOps, StrictForbidsPrintingAndAllCodeThatRunsWhileItIsLoaded) {
  const Victim victim;
  const auto model =
      opened(moduleOf("def forward(self, x):\n  print(\"x\")\n  return torch.linear(x, self.w)\n"), victim);
  ASSERT_TRUE(model);
  EXPECT_TRUE(model->run(someInput(), {}));

  const auto strict = must(TorchScriptModel::open(victim.folder / "model.pt", {}, true));
  EXPECT_EQ(failureOf(strict->inferInputs()).message,
            "the model calls prim::Print, which prints (forward), so it is never run");

  const auto path = withCode(victim, [](std::string& code) { addSetState(code, ""); });
  const Error loading = failureOf(TorchScriptModel::open(path, {}, true));
  EXPECT_EQ(loading.code, ErrorCode::Unsupported);
  EXPECT_NE(loading.message.find("__setstate__ in "), std::string::npos) << loading.message;
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
