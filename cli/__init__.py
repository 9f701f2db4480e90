"""The lindyn command: parse, call one library function, render."""

from cli import attention, figure, multiview, simulation, sweep, theory  # these add their commands to it
from cli.commands import main

__all__ = ["attention", "figure", "main", "multiview", "simulation", "sweep", "theory"]
