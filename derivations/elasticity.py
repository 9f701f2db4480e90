"""d ln t / d ln of each parameter, in the scaled layer amplitudes x0 = epsilon^(1/L)/u* and x1 = p^(1/L)."""

from __future__ import annotations

from sympy import Expr, S

from derivations.integrals import Duration
from derivations.notation import L, a, b, x0, x1

DURATION = Duration(a, b, x0, x1)

BRACKET = (1 - a) * (1 - x0**b) * DURATION + x0 ** (1 - a)
"""Has the sign of the elasticity by rho; its zero is the sharp epsilon."""

BY_LAMBDA: Expr = -S.One
BY_RHO = ((1 - a) + x0 ** (1 - a) / ((1 - x0**b) * DURATION)) / b
BY_EPSILON = -(x0 ** (1 - a)) / (L * (1 - x0**b) * DURATION)
BY_FRACTION = x1 ** (1 - a) / (L * (1 - x1**b) * DURATION)
