// normlens-bench MODEL ENGINE OPS_LIBRARY: prints what NormLens costs beside what the same bytes cost without it.
#include <cstdio>
#include <exception>

#include "tests/bench/timing.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr,
                 "usage: normlens-bench MODEL.pt NORMLENS_ENGINE LIBNORMLENS_OPS (tests/bench/run does it all)\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // rows appear as they are measured
  try {
    normlens::bench::benchNorms(argv[3]);
    normlens::bench::benchCommand(argv[1], argv[2]);
    normlens::bench::benchFold(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "normlens-bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
