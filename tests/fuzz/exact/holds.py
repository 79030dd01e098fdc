"""The conditions that a fold names for its inputs (`holds_if`): runs that break one are not claimed to be exact."""


def is_claimed(fold, inputs):
    return all(keeps(condition, inputs) for condition in fold.get("holds_if", ()))


def keeps(condition, inputs):
    """Size 1 there, or no such axis; no such axis alone where the condition is how many there are. Of the values that have to
    be finite (axis 0) the inputs make none infinite."""
    if condition["axis"] == 0:
        return True
    names = list(inputs)
    name = condition["input"] if condition["input"] in inputs else names[int(condition["input"].removeprefix("in_"))]
    shape, axis = inputs[name].shape, -condition["axis"]
    counted = condition.get("text", "").endswith((" axes", " has one axis"))
    return axis > len(shape) or (not counted and shape[-axis] == 1)
