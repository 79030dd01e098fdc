// The pages of the bottom dock that need nothing of it; the source of each name describes the page. Their parent owns
// them; session: not owned.
#pragma once

#include <functional>

class QWidget;

namespace normlens::ui {

class Session;
struct VariantRow;

// nodeChosen: called with the node of the edit that is clicked.
[[nodiscard]] QWidget* makePlanPage(Session* session, std::function<void(int node)> nodeChosen, QWidget* parent);
// compare: called with the two variants that are to be shown side by side.
using CompareVariants = std::function<void(const VariantRow& a, const VariantRow& b)>;
[[nodiscard]] QWidget* makeVariantsPage(Session* session, CompareVariants compare, QWidget* parent);
[[nodiscard]] QWidget* makeNormTablePage(Session* session, QWidget* parent);
[[nodiscard]] QWidget* makeInputsPage(Session* session, QWidget* parent);
// exportAnyway: called when the user wants the folded model written although its proof failed.
[[nodiscard]] QWidget* makeProofPage(Session* session, std::function<void()> exportAnyway, QWidget* parent);
[[nodiscard]] QWidget* makeStreamsPage(Session* session, QWidget* parent);

}  // namespace normlens::ui
