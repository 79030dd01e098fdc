"""Parameters of a module in training form beside those of a plain one."""


def plain_name(name):
    """embed.parametrizations.weight.original -> embed.weight"""
    return name.replace("parametrizations.", "").replace(".original", "")


def by_name(module):
    """Parameters in the order of their plain names; one with several names under each."""
    return sorted(
        ((plain_name(name), parameter) for name, parameter in module.named_parameters(remove_duplicate=False)),
        key=lambda pair: pair[0],
    )


def plain_state(module):
    """The keys of its state dict."""
    return sorted(module.state_dict())
