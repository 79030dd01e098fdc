// Preloaded into a program (LD_PRELOAD), it runs the program's main() as often as it is asked to, each time in a child
// of its own. What loading takes, of LibTorch a tenth of a second, is taken once. Its other end is
// tests/conformance/samples.py.
//
// NORMLENS_FORK_SERVER is a socket of whole packets (SOCK_SEQPACKET). A packet holds words that a zero ends each: the
// folder to work in, the files for stdout and stderr, then the program's words, its name excepted. The answer is what
// waitpid() said. NORMLENS_FORK_SERVER_LOADS is a library that the program loads by itself when it needs it.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Main = int (*)(int, char**, char**);

Main programsMain = nullptr;  // __libc_start_main() hands on a plain function

void writeTo(const std::string& path, int stream) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || dup2(file, stream) < 0) _exit(127);
}

int runAs(const std::vector<std::string>& request, char* program, char** environment) {
  if (request.size() < 3 || chdir(request[0].c_str()) != 0) return 127;
  writeTo(request[1], STDOUT_FILENO);
  writeTo(request[2], STDERR_FILENO);
  std::vector<char*> words{program};
  for (size_t i = 3; i < request.size(); ++i) words.push_back(const_cast<char*>(request[i].c_str()));
  const int count = static_cast<int>(words.size());
  words.push_back(nullptr);
  return programsMain(count, words.data(), environment);
}

int serve(int /*count*/, char** words, char** environment) {
  const char* const named = getenv("NORMLENS_FORK_SERVER");
  const int requests = named == nullptr ? -1 : std::atoi(named);
  if (const char* library = getenv("NORMLENS_FORK_SERVER_LOADS")) dlopen(library, RTLD_NOW | RTLD_LOCAL);
  unsetenv("LD_PRELOAD");  // what the program starts is not served
  std::array<char, 65536> packet{};
  for (ssize_t size = 0; (size = recv(requests, packet.data(), packet.size(), 0)) > 0;) {
    std::vector<std::string> request;
    for (const char* at = packet.data(); at < packet.data() + size; at += request.back().size() + 1)
      request.emplace_back(at);
    const pid_t child = fork();
    if (child == 0) {
      close(requests);
      std::exit(runAs(request, words[0], environment));
    }
    int status = -1;
    waitpid(child, &status, 0);
    send(requests, &status, sizeof status, MSG_NOSIGNAL);
  }
  return 0;
}

}  // namespace

extern "C" int __libc_start_main(Main main, int count, char** words, void (*begin)(), void (*end)(), void (*unload)(),
                                 void* stack) {
  const auto start = reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  programsMain = main;
  return start(serve, count, words, begin, end, unload, stack);
}
