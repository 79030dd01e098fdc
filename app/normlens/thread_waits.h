// How the engine's threads wait for each other, which only the environment that it is started with can say.
#pragma once

// Lets a thread of OpenMP that has nothing to do sleep after a hundredth of its usual wait. It would otherwise wait for
// the others in a loop for milliseconds, which on a machine with other work (a window that is drawn, a container with
// two of many cores) is time that they could have: a proof took up to ten times as long. Leaves what the user has set.
void letWaitingThreadsSleep();
