"""What the package of symbols shows of itself, and what it leans on."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import derivations

HOME = Path(derivations.__file__).parent
NAMES = [
    "Derivation",
    "LossError",
    "Result",
    "Statement",
    "Verdict",
    "derive",
    "derive_loss",
    "parse_loss",
    "selected",
    "verify",
]
UNTRUSTED = {"integrate", "dsolve", "simplify", "nsimplify", "solve", "limit", "summation", "series"}
RUNS_CODE = {"eval", "exec", "compile", "parse_expr", "lambdify"}


def test_the_public_names_are_these() -> None:
    assert derivations.__all__ == NAMES == dir(derivations)


def test_every_public_name_resolves_and_is_documented() -> None:
    for name in derivations.__all__:
        assert getattr(derivations, name).__doc__, name


def test_no_public_name_is_also_a_module() -> None:
    assert not {path.stem for path in HOME.glob("*.py")} & set(NAMES)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(derivations, "drive")


def test_the_package_alone_imports_no_sympy() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", "import sys, derivations; print('sympy' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.strip() == "False"


@pytest.mark.parametrize("path", sorted(HOME.rglob("*.py")), ids=lambda path: str(path.relative_to(HOME)))
def test_no_proof_rests_on_what_is_not_trusted(path: Path) -> None:
    """Neither SymPy's integrators and simplifiers, nor anything that runs a user's text as code."""
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    bare = {call.id for call in calls if isinstance(call, ast.Name)}
    methods = {call.attr for call in calls if isinstance(call, ast.Attribute)}
    own = {"integrate"} if path.name == "partial_fractions.py" else set()  # of a polynomial or a ball, term by term
    assert not bare & (UNTRUSTED | RUNS_CODE)
    assert not methods & (UNTRUSTED - own)


@pytest.mark.parametrize("path", sorted(HOME.rglob("*.py")), ids=lambda path: str(path.relative_to(HOME)))
def test_of_the_numbers_only_errors_and_processes_are_imported(path: Path) -> None:
    modules = {
        node.module for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom) and node.module
    }
    assert {module for module in modules if module.split(".")[0] in ("dynamics", "figures", "cli")} <= {
        "dynamics.errors",
        "dynamics.workers",
    }
