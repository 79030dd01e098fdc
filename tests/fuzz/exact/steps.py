"""All steps."""

import control_steps
import gate_steps
import stream_steps

from parts import STEPS

__all__ = ["STEPS", "control_steps", "gate_steps", "stream_steps"]
