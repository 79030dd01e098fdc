#include "tests/support/fake_engine/mischief.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>

#include "core/protocol/framing.h"

namespace normlens::fake {

namespace {

void say(const std::string& bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fflush(stdout);
}

void body(const std::string& json) { say(protocol::encodeFrame(json)); }

std::string repeated(const std::string& part, int times) {
  std::string whole;
  for (int i = 0; i < times; ++i) whole += part;
  return whole;
}

constexpr int kDeep = 100'000;
constexpr int kMany = 20'000;  // of what is small

[[noreturn]] void forEver(const std::string& bytes) {
  for (;;) say(bytes);
}

const std::map<std::string, std::function<void()>>& rows() {
  static const std::map<std::string, std::function<void()>> kRows{
      // ---- messages beyond all measure
      {"deep list", [] { body(R"({"id":2,"result":)" + repeated("[", kDeep) + repeated("]", kDeep) + "}"); }},
      {"deep object",
       [] { body(R"({"id":2,"result":)" + repeated(R"({"a":)", kDeep) + "1" + repeated("}", kDeep) + "}"); }},
      {"many values", [] { body(R"({"id":2,"result":[)" + repeated("0,", 40'000'000) + "0]}"); }},
      // NOLINTNEXTLINE(bugprone-string-constructor)
      {"long text", [] { body(R"({"id":2,"result":")" + std::string(40'000'000, 'x') + "\"}"); }},
      {"frame of 10 GB", [] { say("Content-Length: 10000000000\r\n\r\n{"); }},
      // ---- what is no message
      {"not JSON", [] { body("this is no JSON"); }},
      {"not an object", [] { body("[1, 2, 3]"); }},
      {"id is a text", [] { body(R"({"id":"two","result":{}})"); }},
      {"text without end", [] { forEver(std::string(4096, 'x')); }},
      {"lines without end", [] { forEver("WARNING: some library printed this\n"); }},
      {"empty lines without end", [] { forEver("\n\n\n\n"); }},
      {"frames without end", [] { forEver(repeated(protocol::encodeFrame("no"), 100)); }},
      // ---- messages that nobody waits for: they are dropped
      {"answers to nobody", [] { body(R"({"id":987654321,"result":{}})"); }},
      {"answers again and again", [] { say(repeated(protocol::encodeFrame(R"({"id":1,"result":{}})"), kMany)); }},
      {"huge ids",
       [] {
         body(R"({"id":18446744073709551615,"result":{}})");
         body(R"({"id":-9223372036854775808,"result":{}})");
       }},
      {"progress of nobody",
       [] {
         say(repeated(
             protocol::encodeFrame(R"({"method":"$/progress","params":{"id":99,"stage":"x","fraction":1e308}})"),
             kMany));
       }},
      {"progress of wrong types",
       [] { body(R"({"method":"$/progress","params":[{"id":{},"stage":7,"fraction":"much"}]})"); }},
      {"unknown notification", [] { body(R"({"method":"$/told","params":{"id":2}})"); }},
      {"lines on the side",
       [] {
         for (int i = 0; i < kMany; ++i) std::fputs("a line of little worth\n", stderr);
       }},
      // ---- silence
      {"stop", [] { std::raise(SIGSTOP); }},
      {"more announced than sent", [] { say("Content-Length: 100000000\r\n\r\n{"); }},  // and goes on with what follows
      {"half a message",
       [] {
         say("Content-Length: 1000\r\n\r\n{\"id\":");
         std::raise(SIGSTOP);
       }},
      {"half a header",
       [] {
         say("Content-Len");
         std::raise(SIGSTOP);
       }},
      {"die", [] { std::raise(SIGKILL); }},
  };
  return kRows;
}

}  // namespace

void attack(const std::string& how) {
  const auto row = rows().find(how);
  if (row == rows().end()) std::_Exit(64);
  row->second();
}

}  // namespace normlens::fake
