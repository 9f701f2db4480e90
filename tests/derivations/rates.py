"""Losses beyond the family, their rates, and quadrature apart from the library."""

import mpmath as mp
from sympy import S

from derivations.balls import precision
from derivations.expression import parse_loss
from derivations.gradient_flow import balanced_rate, gradient_flow, powers_of_layer
from derivations.notation import L, M, lam, rho
from derivations.rates import polynomial

JEPA = "sigma**2*(v**M*u**L)**2/2 - lam*v**M*u**L*sg(u**L)"
MAE = "sigma**2*(v**M*u**L)**2/2 - lam*v**M*u**L"
DECAY = "*(L*u**2 + M*v**2)/2"


def terms_of(loss):
    return powers_of_layer(balanced_rate(gradient_flow(parse_loss(loss))))


def rate_of(expression):
    return polynomial(powers_of_layer(expression))


def at(depth, predictor_depth=1, **numbers):
    return {L: S(depth), M: S(predictor_depth)} | {{"lam": lam, "rho": rho}[name]: value for name, value in numbers.items()}


def number(value):
    """A ball as an mpmath number."""
    with precision(400):
        return mp.mpf(value.mid().str(60, radius=False))


def quadrature(rate, start, end):
    """The time by Gauss-Legendre in the logarithm of u, piece by piece."""
    numbers = [(term.exponent, mp.mpf(int(term.coefficient.p)) / int(term.coefficient.q)) for term in rate.terms]

    def integrand(s):
        return mp.exp(s) / mp.fsum(c * mp.exp(k * s) for k, c in numbers)

    low, high = mp.log(start), mp.log(end)
    pieces = 12
    near = [high - (high - low) * mp.mpf(2) ** -k for k in range(1, 30)]
    return mp.quad(integrand, [low, *(low + (near[0] - low) * k / pieces for k in range(1, pieces)), *near, high])
