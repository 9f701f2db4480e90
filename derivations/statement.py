"""Statements: hypotheses, a claim whose formulas are data, a proof, and the mutants that the proof must reject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from random import Random
from time import perf_counter
from typing import Any

from derivations.formulas import inline, tex
from derivations.notation import Domain
from derivations.proof import QUADRATURE, Finding, Proof
from derivations.reduction import UndecidedError

STATEMENTS: dict[str, Statement] = {}
"""Every statement by its id, in the order of the theory."""

JEPA_PAPER = "Littwin et al. 2024"
SAXE_PAPER = "Saxe, McClelland and Ganguli 2014, dynamics of deep linear networks"


@dataclass(frozen=True)
class Mutant:
    """A claim altered so that it is false."""

    name: str
    altered: Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What became of a statement, or of one of its mutants.

    Attributes
    ----------
    steps, findings
        The steps of the proof and what became of each; empty where the claim could not even be set up.
    seconds
        Time it took.
    """

    statement: str
    claim: str
    mutant: str
    steps: Proof
    findings: tuple[Finding, ...]
    seconds: float
    reason: str = ""
    broken: bool = False

    @property
    def proved(self) -> bool:
        """Whether every step holds, both by reduction and in numbers, and quadrature is not all there is."""
        rigorous = any(step.method != QUADRATURE for step in self.steps)
        return rigorous and all(finding.holds for finding in self.findings)

    @property
    def rejected(self) -> bool:
        """Whether the claim was examined and refused."""
        return not self.proved and not self.broken

    @property
    def refuted(self) -> bool:
        """Whether the numbers contradict a step: a certified enclosure does, or a limit is not approached."""
        return any(finding.refuted for finding in self.findings)

    @property
    def points(self) -> int:
        """Random points at which the steps were evaluated, altogether."""
        return sum(finding.points for finding in self.findings)

    @property
    def method(self) -> str:
        """The weakest way in which a step was proved; beside it, what was proved for some depths or sizes only."""
        general = [_weakest({step.method for step in self.steps if not step.scope})]
        scopes = dict.fromkeys(step.scope for step in self.steps if step.scope)
        limited = [f"{_weakest({step.method for step in self.steps if step.scope == scope})} for {scope}" for scope in scopes]
        return "; ".join(word for word in (*general, *limited) if word)

    @property
    def failure(self) -> str:
        """Why it is not proved; empty if it is."""
        for step, finding in zip(self.steps, self.findings, strict=True):
            if not finding.holds:
                return f"{step.sentence} {finding.reason}"
        return self.reason


def _weakest(methods: set[str]) -> str:
    return next((word for word in ("limit", "exact", "certified") if word in methods), "")


@dataclass(frozen=True)
class Statement:
    """A theorem of the theory that can be checked.

    Attributes
    ----------
    claim
        A sentence with the formulas of the claim in braces, so that what is printed is what is checked.
    formulas
        The formulas, by the names the proof takes them under.
    prove
        From the formulas to the steps of a proof. It neither prints nor asserts.
    """

    name: str
    claim: str
    source: str
    hypotheses: tuple[str, ...]
    domain: Domain
    prove: Callable[..., Proof]
    formulas: Mapping[str, Any]
    mutants: list[Mutant] = field(default_factory=list)

    def mutant(self, name: str, **altered: Any) -> None:
        """Add a false variant: some formulas altered."""
        unknown = altered.keys() - self.formulas.keys()
        if unknown or not altered:
            raise TypeError(f"{self.name} has the formulas {', '.join(self.formulas)}; a mutant alters some of them.")
        self.mutants.append(Mutant(name, altered))

    def sentence(self, altered: Mapping[str, Any] | None = None, *, latex: bool = False) -> str:
        """The claim with its formulas written out."""
        show = (lambda formula: f"${tex(formula)}$") if latex else inline
        return self.claim.format_map({name: show(formula) for name, formula in {**self.formulas, **(altered or {})}.items()})

    def examine(self, mutant: Mutant | None = None) -> Verdict:
        """Check the statement, or one of its mutants, step by step; the same points every time.

        A check that breaks is told as such: it neither proves a statement nor rejects a mutant.
        """
        altered = mutant.altered if mutant else {}
        start, random = perf_counter(), Random(self.name)
        steps: Proof = ()
        findings: tuple[Finding, ...] = ()
        reason, broken = "", False
        try:
            steps = self.prove(**altered)
            findings = tuple(step.check(self.domain, random) for step in steps)
        except UndecidedError as error:
            steps, reason = (), str(error)
        except Exception as error:  # a defect of the check, which must not end the run of the others
            steps, reason, broken = (), f"The check broke: {type(error).__name__}: {error}", True
        seconds = perf_counter() - start
        name = mutant.name if mutant else ""
        return Verdict(self.name, self.sentence(altered), name, steps, findings, seconds, reason, broken)


def statement(
    name: str, *, claim: str, source: str, hypotheses: tuple[str, ...] = (), domain: Domain | None = None
) -> Callable[[Callable[..., Proof]], Statement]:
    """Register the decorated function as the proof of a claim whose formulas are its keyword defaults."""

    def register(prove: Callable[..., Proof]) -> Statement:
        formulas = {key: parameter.default for key, parameter in signature(prove).parameters.items()}
        made = Statement(name, claim, source, hypotheses, domain or {}, prove, formulas)
        if name in STATEMENTS:
            raise ValueError(f"There are two statements {name}.")
        STATEMENTS[name] = made
        return made

    return register


def statements_from(source: str) -> Callable[..., Callable[[Callable[..., Proof]], Statement]]:
    """`statement` for a room whose statements come from one place, the paper and the topic."""
    return partial(statement, source=source)
