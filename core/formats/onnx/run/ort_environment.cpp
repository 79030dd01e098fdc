#include "core/formats/onnx/run/ort_environment.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <regex>

#include "core/base/library/runtime_library.h"
#include "core/base/plain_error.h"
#include "core/base/printable.h"
#include "core/formats/onnx/run/runtime.h"
#include "core/formats/onnx/source/operators.h"

namespace normlens::formats::onnx {
namespace {

constexpr size_t kLongestText = 300, kLongestGiven = 2000;

// Microsoft's builds collect telemetry (since 1.29: a device id and a database on the disk, a host looked up) unless
// this is in the environment when the first Ort::Env is made. Set before there are threads that may read the
// environment.
[[maybe_unused]] const int kNoTelemetry = setenv("ORT_DISABLE_TELEMETRY", "1", /*overwrite=*/1);

// Errors come back as exceptions; nothing is written to the terminal.
void dropMessage(void*, OrtLoggingLevel, const char*, const char*, const char*, const char*) {}

// "1.31.0" -> 31, which is the version of its interface as well.
uint32_t interfaceOf(std::string_view version) {
  uint32_t minor = 0;
  version.remove_prefix(std::min(version.find('.'), version.size() - 1) + 1);
  std::from_chars(version.data(), version.data() + version.size(), minor);
  return minor;
}

Result<std::string> load() {
  ASSIGN_OR_RETURN(const RuntimeLibrary library, onnxRuntimeLibrary());
  using Base = const OrtApiBase* (*)();
  const auto base = reinterpret_cast<Base>(dlsym(library.handle, "OrtGetApiBase"));
  const std::string wanted = "1." + std::to_string(ORT_API_VERSION) + " or newer is needed";
  const Hint hint("install onnxruntime 1." + std::to_string(ORT_API_VERSION) + " or newer");
  if (base == nullptr) {
    return fail(ErrorCode::Unsupported, library.path.string() + " is no ONNX Runtime, of which " + wanted, hint);
  }
  const std::string version = base()->GetVersionString();
  const OrtApi* api = interfaceOf(version) < ORT_API_VERSION ? nullptr : base()->GetApi(ORT_API_VERSION);
  if (api == nullptr) {
    return fail(ErrorCode::Unsupported,
                "ONNX Runtime " + version + " in " + library.path.parent_path().string() + " is too old: " + wanted,
                hint);
  }
  Ort::InitApi(api);
  return version;
}

}  // namespace

Result<std::string> runtimeVersion() {
  static const Result<std::string> version = load();
  return version;
}

std::shared_ptr<Ort::Env> ortEnvironment() {
  static std::mutex mutex;
  static std::weak_ptr<Ort::Env> shared;
  const std::lock_guard lock(mutex);
  auto environment = shared.lock();
  if (!environment) {
    environment = std::make_shared<Ort::Env>(ORT_LOGGING_LEVEL_FATAL, "normlens", dropMessage, nullptr);
    shared = environment;
  }
  return environment;
}

std::vector<std::string> runtimeProviders() {
  return runtimeVersion() ? Ort::GetAvailableProviders() : std::vector<std::string>();
}
bool runtimeHasCuda() { return std::ranges::count(runtimeProviders(), "CUDAExecutionProvider") > 0; }

std::string plainOrtText(const std::string& given) {
  // Places in the runtime's sources, its functions, its own ways of reporting that something went wrong.
  static const std::regex place(R"((/[^\s:]*)?[\w.]+\.(cc|h|cpp):\d+\s+)"),
      signature(R"([\w:<>~ ]*::\w+\([^)]*\)( \[with [^\]]*\])?[^:]*?\s(?=[A-Z]))"),
      prefix(
          R"(^(Load model from .*? failed: ?|Exception during (initialization|loading): ?|\[ONNXRuntimeError\] : \d+ : )"
          R"(\w+ : |Fatal error: |This is an invalid model\. ))"),
      running(R"(Non-zero status code returned while running (\w+) node\. Name:'([^']*)' Status Message: )"),
      moreMemory(R"(Failed to allocate memory for requested buffer of size (\d+))"), memory("std::bad_alloc"),
      inferring(R"(Node \(([^)]*)\) Op \((\w+)\) (\[\w+\] )?)"), nameless(R"( '': )");
  if (given.find("pthread_create failed") != std::string::npos) return std::string(kNoMemory) + " for another thread";
  // Regular expressions recurse: no longer than needed.
  std::string text = given.substr(0, kLongestGiven);
  std::ranges::replace(text, '\n', ' ');
  text = std::regex_replace(text, place, "");
  text = std::regex_replace(text, running, "$1 '$2': ");
  text = std::regex_replace(text, signature, ": ");
  for (std::string before; before != text;) {
    before = text;
    text = std::regex_replace(text, prefix, "");
  }
  text = std::regex_replace(text, inferring, "$2 '$1': ");
  text = std::regex_replace(text, nameless, ": ");
  text = std::regex_replace(text, moreMemory, std::string(kNoMemory) + " for another $1 bytes");
  text = std::regex_replace(text, memory, std::string(kNoMemory));
  text.erase(0, text.find_first_not_of(" :"));
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  if (text.size() > kLongestText) text = text.substr(0, kLongestText) + " ...";
  return printable(text);
}

}  // namespace normlens::formats::onnx
