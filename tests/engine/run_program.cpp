#include "tests/engine/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <stdexcept>

namespace normlens::test {
namespace {

constexpr int kPatienceMs = 60000;

void closeEnd(int& end) {
  if (end >= 0) ::close(end);
  end = -1;
}

// Appends what is there; closes the descriptor at its end.
void readFrom(int& descriptor, std::string& text) {
  std::array<char, 65536> buffer{};
  const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
  if (got <= 0) return closeEnd(descriptor);
  text.append(buffer.data(), static_cast<size_t>(got));
}

}  // namespace

LiveProgram::LiveProgram(const std::string& program, const std::vector<std::string>& arguments) {
  signal(SIGPIPE, SIG_IGN);
  int in[2], outPipe[2], errPipe[2];
  if (pipe2(in, O_CLOEXEC) || pipe2(outPipe, O_CLOEXEC) || pipe2(errPipe, O_CLOEXEC))
    throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, outPipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errPipe[1], STDERR_FILENO);
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const int failed = posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  for (int end : {in[0], outPipe[1], errPipe[1]}) ::close(end);
  input_ = in[1];
  output_ = outPipe[0];
  error_ = errPipe[0];
  if (failed != 0) throw std::runtime_error("cannot start " + program);
}

LiveProgram::~LiveProgram() {
  if (pid_ > 0) {
    kill(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (int* end : {&input_, &output_, &error_}) closeEnd(*end);
}

void LiveProgram::send(const std::string& bytes) const {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t wrote = ::write(input_, bytes.data() + sent, bytes.size() - sent);
    if (wrote <= 0) throw std::runtime_error("the program does not read");
    sent += static_cast<size_t>(wrote);
  }
}

void LiveProgram::closeInput() { closeEnd(input_); }

bool LiveProgram::readSome() {
  if (output_ < 0 && error_ < 0) return false;
  pollfd waiting[2] = {{output_, POLLIN, 0}, {error_, POLLIN, 0}};
  if (poll(waiting, 2, kPatienceMs) <= 0) return false;
  if (waiting[0].revents) readFrom(output_, out);
  if (waiting[1].revents) readFrom(error_, err);
  return true;
}

int LiveProgram::wait() {
  while (readSome()) {
  }
  if (output_ >= 0 || error_ >= 0) kill(SIGKILL);  // the time is over
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void LiveProgram::kill(int signal) const { ::kill(pid_, signal); }

ProgramResult runProgram(const std::string& program, const std::vector<std::string>& arguments) {
  LiveProgram live(program, arguments);
  live.closeInput();
  const int status = live.wait();
  return {status, live.out, live.err};
}

}  // namespace normlens::test
