// libFuzzer target: a torch.export archive up to where LibTorch would see it. Bytes that start as a zip go through all
// that is read of an archive, those that start as a JSON list or object through the parser, all others are the text of
// a symbolic size.
#include "core/formats/pt2/file/container.h"
#include "core/formats/pt2/file/input_rules.h"
#include "core/formats/pt2/file/node_place.h"
#include "core/formats/pt2/file/payloads.h"
#include "core/formats/pt2/file/sample_inputs.h"
#include "tests/fuzz/fuzz_support.h"

namespace {

using namespace normlens;
using namespace normlens::formats;
using namespace normlens::formats::pt2;

// A document that was read is written as it will be read again.
void expectSame(const Json& json) {
  const auto again = parseJson(json.dump());
  if (!again) fuzz::found("written: " + again.error().message);
  if (*again != json) fuzz::found("another document");
}

void readAll(const Archive& archive, const ProgramFile& file) {
  expectSame(file.program);
  for (const Json* graph : graphsIn(file.graph())) {
    for (const Json& node : graph->at("nodes").items()) {
      static_cast<void>(moduleStack(node));
      static_cast<void>(sourceLine(node));
    }
  }
  const Signature signature = readSignature(file);
  const Payloads payloads = readPayloads(file, archive);
  for (const auto& [name, payload] : payloads.weights) {
    const ZipRecord* record = archive.find(std::string(archive.prefix()) + payload.record);
    if (record == nullptr) fuzz::found("no record");
    checkPayload(payload, record->size);
  }
  static_cast<void>(readSampleInputs(archive, file.name, signature.inputs));
  const InputRules rules(signature.inputs, readRanges(file), readAssertions(file));
  const auto shapes = rules.shapesFor(rules.distinctSymbols());
  if (!shapes) return;
  std::vector<GivenInput> given;
  for (size_t i = 0; i < signature.inputs.size(); ++i)
    given.push_back({signature.inputs[i].meta.dtype, (*shapes)[i], std::nullopt});
  if (const Status fits = rules.check(given); !fits) fuzz::expectPlainSentence(fits.error());
}

void check(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  if (!file) return fuzz::expectRefusal(file.error());
  const auto archive = Archive::open(*file);
  if (!archive) return fuzz::expectRefusal(archive.error());
  if (const Status known = checkContainer(**archive); !known) return fuzz::expectRefusal(known.error());
  const auto program = readProgramFile(**archive, modelsIn(**archive).front());
  if (!program) return fuzz::expectRefusal(program.error());
  try {
    readAll(**archive, *program);
  } catch (const UnsupportedProgram& problem) {
    fuzz::expectRefusal(unsupportedProgram(path, problem));
  } catch (const BrokenDocument& problem) {
    fuzz::expectRefusal(damagedProgram(path, problem.what()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("PK")) {
    check(folder.write("model.pt2", {data, size}));
  } else if (text.starts_with('{') || text.starts_with('[')) {
    const auto json = parseJson(text);
    if (json) return expectSame(*json), 0;
  } else if (const auto expr = parseSymExpr(text)) {
    SymValues symbols{{"s0", 3}};
    static_cast<void>(textOf(*expr));
    static_cast<void>(valueOf(*expr, symbols));
    static_cast<void>(solveFor(*expr, 12, symbols));
  }
  return 0;
}
