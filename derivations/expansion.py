"""The critical time of a family member for a small start: powers of 1/epsilon, a logarithm or none, and a constant."""

from __future__ import annotations

from sympy import Expr, Integer, S, log

from derivations.gradient_flow import Member
from derivations.integrals import Tail, head_and_tail
from derivations.notation import L, epsilon, p


def order(member: Member, n: Expr) -> Expr:
    """Minus L times the power of epsilon in the n-th term, n = 1, 2, ..."""
    return member.a - 1 - (n - 1) * member.b


def singular_term(member: Member, n: Expr) -> Expr:
    """The n-th power of 1/epsilon, the most singular first; only the first does not know rho."""
    power = order(member, n)
    return epsilon ** (-power / L) / (power * member.growth * member.capacity ** (n - 1))


def end_term(member: Member, n: Expr) -> Expr:
    """What the n-th power takes off the constant."""
    power = order(member, n)
    return p ** (-power / L) * _unit(member) / power


def dominant_term(member: Member) -> Expr:
    """The critical time to leading order, for a >= 1; for a < 1 the time has a limit instead."""
    return singular_term(member, S.One) if member.a != 1 else logarithm(member)


def logarithm(member: Member) -> Expr:
    """The logarithmic term, present where (a - 1)/b is whole."""
    return -_unit(member) * log(epsilon) / L


def constant_beside_logarithm(member: Member) -> Expr:
    """The rest of the constant where (a - 1)/b is whole."""
    return _unit(member) * (log(member.capacity) / member.b + log(p) / L - log(1 - p ** (member.b / L)) / member.b)


def constant_of_tail(member: Member, c: Expr) -> Expr:
    """The rest of the constant where c = K b - (a - 1) > 0."""
    return _unit(member) * Tail(c, member.b, p ** (1 / L))


def expansion(member: Member) -> tuple[Expr, ...]:
    """The terms that do not vanish with epsilon, written out for rational numbers a and b."""
    count, c = head_and_tail(member.a, member.b)
    return (
        *(singular_term(member, Integer(n)) for n in range(1, count + 1)),
        *((constant_of_tail(member, c),) if c else (logarithm(member), constant_beside_logarithm(member))),
        *(-end_term(member, Integer(n)) for n in range(1, count + 1)),
    )


def _unit(member: Member) -> Expr:
    return member.capacity ** (-(member.a - 1) / member.b) / member.growth
