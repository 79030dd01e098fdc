// How long the program takes from its start to a window and to the first picture of a model.
#pragma once

#include <QStringList>

namespace normlens::bench {

// Starts `program` without a model and then with each of `models`, several times; prints the medians. False when a
// milestone was not reached.
bool benchStarts(const QString& program, const QStringList& models);

}  // namespace normlens::bench
