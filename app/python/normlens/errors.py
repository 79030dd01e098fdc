"""What the package raises. Each message is one sentence: what is wrong, and what to do."""

from __future__ import annotations


class NormLensError(Exception):
    """Base of all errors of this package."""


class EngineNotFound(NormLensError):
    """No engine program was found; the message names the places that were looked at."""


class EngineDied(NormLensError):
    """The engine ended, or closed its output, while a request was waiting for its answer."""


class EngineError(NormLensError):
    """The engine refused a request.

    code: the engine's word for the kind of error ("unreadable", "bad input", ...), or the JSON-RPC number.
    hint: what to do about it; may be empty.
    """

    def __init__(self, message: str, code: str = "", hint: str = "") -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.code = code
        self.hint = hint


class ExportFailed(NormLensError):
    """torch.export could not make a graph of the module; the message has its reason."""


class FolderRefused(NormLensError):
    """A checkpoint's folder cannot be read safely, or is of a kind that is not folded; the message names the file."""


class OutsideContract(NormLensError):
    """A folded module was called in a way that its fold does not hold for; the message names the argument."""


class NotEqual(NormLensError):
    """The changed module does not compute what the original does. The change was undone.

    checks: what was compared, with the figures (normlens.Check). norms: paths of new norms whose input has a mean.
    """

    def __init__(self, message: str, checks: tuple = (), norms: tuple = ()) -> None:
        super().__init__(message)
        self.checks = checks
        self.norms = norms
