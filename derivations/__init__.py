"""Symbols: from the loss to the mode equation to the closed form to the theorem (SymPy)."""
