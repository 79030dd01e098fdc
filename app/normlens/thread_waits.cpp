#include "app/normlens/thread_waits.h"

#include <cstdlib>

void letWaitingThreadsSleep() {
  constexpr const char* kTurns = "3000";  // of GNU OpenMP's waiting loop, which takes 300,000 by itself
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", kTurns, /*overwrite=*/0);
}
