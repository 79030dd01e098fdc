#include "app/engine/serve/supervise_serve.h"
#include "app/engine/verbs.h"

namespace normlens::engine {

Declared declareServe(CLI::App&, const confine::Limits& limits) {
  return {{}, {}, [&limits](Console& console) { return superviseServe(console, limits); }};
}

}  // namespace normlens::engine
