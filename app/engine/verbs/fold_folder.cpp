#include "app/engine/verbs/fold_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "app/engine/stop_signals.h"

namespace normlens::engine {
namespace {

namespace fs = std::filesystem;

// The package may be missing, which is no result of a fold.
constexpr const char* kProgram =
    "import sys\n"
    "sys.path[:] = [path for path in sys.path if path]\n"  // the working directory may be a stranger's
    "try:\n"
    "    from normlens.checkpoint.__main__ import main\n"
    "    sys.exit(main(sys.argv[1:]))\n"
    "except ImportError as error:\n"
    "    print(f'normlens: a folder is folded by the Python package normlens: {error}; install it with its extras, or "
    "name a Python that has it with NORMLENS_PYTHON', file=sys.stderr)\n"
    "    sys.exit(3)\n";

// In a checkout the package lies beside the build folder's parent: build/release/bin/normlens-engine.
void addCheckout(const fs::path& engine) {
  std::error_code error;
  const fs::path package = engine.parent_path() / "../../../app/python";
  if (!fs::exists(package / "normlens/checkpoint", error)) return;
  const char* const before = std::getenv("PYTHONPATH");
  const std::string path =
      fs::canonical(package, error).string() + (before != nullptr && *before != '\0' ? ":" + std::string(before) : "");
  ::setenv("PYTHONPATH", path.c_str(), 1);
}

}  // namespace

bool isCheckpointFolder(const std::string& model) {
  std::error_code error;
  return fs::is_directory(model, error) && fs::exists(fs::path(model) / "config.json", error);
}

Exit foldFolder(const std::vector<std::string>& words, Console& console) {
  std::error_code error;
  const fs::path engine = fs::read_symlink("/proc/self/exe", error);
  addCheckout(engine);
  if (engine.filename() == "normlens-engine") ::setenv("NORMLENS_ENGINE", engine.c_str(), 0);
  const char* const named = std::getenv("NORMLENS_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  std::vector<std::string> all{python, "-c", kProgram};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  StopSignals::letThrough();
  ::dup2(console.ownStdout(), STDOUT_FILENO);
  ::dup2(console.ownStderr(), STDERR_FILENO);
  ::execvp(python.c_str(), arguments.data());
  return console.fail({ErrorCode::Unreadable, python + " cannot be started: " + std::strerror(errno),
                       "a folder is folded by the Python package; name a Python with NORMLENS_PYTHON"});
}

}  // namespace normlens::engine
