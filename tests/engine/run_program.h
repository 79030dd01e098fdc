// Runs the program under test: to its end, or step by step over its pipes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace normlens::test {

// A running program. Killed on destruction if it has not ended. Nothing waits longer than 60 s.
class LiveProgram {
 public:
  LiveProgram(const std::string& program, const std::vector<std::string>& arguments);
  ~LiveProgram();
  LiveProgram(const LiveProgram&) = delete;
  LiveProgram& operator=(const LiveProgram&) = delete;

  void send(const std::string& bytes) const;
  void closeInput();
  // Waits for some bytes on stdout or stderr; false: both are closed, or the time is over.
  bool readSome();
  // Reads the rest; exit status, or -signal.
  int wait();
  void kill(int signal) const;

  std::string out, err;  // what has come so far

 private:
  int input_ = -1, output_ = -1, error_ = -1;
  pid_t pid_ = -1;
};

struct ProgramResult {
  int status = -1;
  std::string out, err;
};
[[nodiscard]] ProgramResult runProgram(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace normlens::test
