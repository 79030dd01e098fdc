// libFuzzer target: a project file, and what is read of it written again.
#include "tests/fuzz/fuzz_support.h"
#include "ui/session/project/project.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace normlens;
  const auto project = ui::projectFromJson({reinterpret_cast<const char*>(data), size});
  if (!project) {
    fuzz::expectPlainSentence(project.error());
    return 0;
  }
  const std::string written = ui::projectToJson(*project, project->beside);
  const auto again = ui::projectFromJson(written);
  if (!again || ui::projectToJson(*again, again->beside) != written) fuzz::found("no round trip: " + written);
  return 0;
}
