// Derives the story bar's texts and the sensible next action from the state of the session.
#pragma once

#include <QString>
#include <array>

#include "ui/window/frame/story_segment.h"

namespace normlens::ui {

class Session;

enum StoryIndex { StoryModel, StoryFoldable, StoryPlan, StoryProved, StoryMeasured, StorySteps };

enum class NextAction { None, Open, Restart, Resume, Fold, ShowBlocked, Inputs, ShowProof, Export, Measure, Suggest };

struct Story {
  std::array<StoryStep, StorySteps> steps;
  bool unconfirmed = false;  // the verdicts are inferred, and the run that confirms them was stopped
  NextAction next = NextAction::None;
  QString nextText, nextIcon, nextTip;
};

// "Nothing to fold.", or what can be done instead.
[[nodiscard]] QString nothingToFold(const Session& session);
[[nodiscard]] Story storyOf(const Session& session);

}  // namespace normlens::ui
