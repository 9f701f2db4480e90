"""The lindyn command: parse, call one library function, render."""

from cli.commands import main

__all__ = ["main"]
