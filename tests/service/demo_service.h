// A service with one of the bundled models.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/service/service.h"
#include "tests/support/must.h"

namespace normlens::service {

inline const std::filesystem::path kDemos = NORMLENS_DEMO_MODELS;

// Each throws where the service refuses. A model is bundled, or at a path of its own.
struct DemoService : Service {
  protocol::Analysis analyzed(const std::filesystem::path& model) {
    must(open(kDemos / model, Task{}));
    return must(analyze(Task{}));
  }
  // Without a proof.
  protocol::FoldResult folded(Policy policy = protocol::PlanParams().policy) {
    protocol::FoldParams params;
    params.plan.policy = policy;
    params.verify = false;
    return must(fold(params, Task{}));
  }
};

}  // namespace normlens::service
