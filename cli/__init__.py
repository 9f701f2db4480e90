"""The lindyn command: parse, call one library function, render."""

from cli.theory import main  # the last module that adds commands to it

__all__ = ["main"]
