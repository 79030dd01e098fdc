// The main() of the GoogleTest programs. A program ends at once: LibTorch would take its registries apart for a
// twentieth of a second in each of a thousand cases. Under a sanitizer it ends in order, as leaks are looked for then.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
#ifndef NORMLENS_SANITIZED
  std::fflush(nullptr);
  ::_exit(status);
#else
  return status;
#endif
}
