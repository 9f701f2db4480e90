"""Run the command in this process or as one of its own, and read what it said."""

import csv
import io
import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import mpmath
from click.testing import CliRunner, Result
from mpmath import mpf

from cli import main

LINDYN = Path(sys.executable).parent / "lindyn"
COLUMNS = (
    "feature,objective,depth,predictor_depth,epsilon,fraction,lambda,rho,sigma,asymptote,critical_time,log10_critical_time,status"
).split(",")
Row = dict[str, str]


def run(*args: object, stdin: str | bytes | None = None) -> Result:
    """Invoke the command here; whatever it raises besides an exit fails the test."""
    result = CliRunner().invoke(main, [str(arg) for arg in args], input=stdin, prog_name="lindyn")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"{type(result.exception).__name__}: {result.exception}") from result.exception
    return result


def answered(*args: object, stdin: str | bytes | None = None) -> Result:
    result = run(*args, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result


def process(*args: object, stdin: bytes = b"", timeout: float = 20.0, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Invoke the installed command, every warning an error."""
    return subprocess.run(
        [LINDYN, *map(str, args)],
        input=stdin,
        capture_output=True,
        timeout=timeout,
        env={**os.environ, "PYTHONWARNINGS": "error", **environment},
        check=False,
    )


def complaint(stderr: str) -> str:
    """The one sentence of an error, after the two lines that click puts before it."""
    lines = [line for line in stderr.splitlines() if line and not line.startswith(("Usage: ", "Try 'lindyn"))]
    assert len(lines) == 1, stderr
    assert lines[0].startswith("Error: "), stderr
    assert lines[0].endswith((".", "?")), stderr
    assert not lines[0].endswith(".."), stderr
    return lines[0].removeprefix("Error: ")


def refused(*args: object, stdin: str | bytes | None = None) -> str:
    """Exit 2, nothing on stdout, one sentence on stderr: the sentence."""
    result = run(*args, stdin=stdin)
    assert result.exit_code == 2, (result.exit_code, result.stdout, result.stderr)
    assert result.stdout == ""
    return complaint(result.stderr)


def rows(*args: object, stdin: str | bytes | None = None) -> list[Row]:
    """The table of a command, read back from CSV."""
    return list(csv.DictReader(io.StringIO(answered(*args, "--format", "csv", stdin=stdin).stdout)))


def strict(text: str) -> Any:
    """JSON as a strict parser sees it: no NaN, no Infinity."""

    def constant(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=constant)


def exact_time(
    objective: str, depth: int, predictor_depth: int, lam: float, rho: float, epsilon: float, fraction: float, scale: int = 1
) -> mpmath.mpf:
    """Section 3 of the theory for any exponents, written out in 40 digits: head, and a tail by 2F1 or a logarithm."""
    with mpmath.workdps(40):
        is_jepa = objective == "jepa"
        a = 2 * depth + predictor_depth - 1 if is_jepa else depth + predictor_depth - 1
        b = predictor_depth if is_jepa else depth + predictor_depth
        end = mpf(rho) ** (mpf(1) / b)
        x0 = mpf(epsilon) ** (mpf(1) / depth) / end
        x1 = mpf(fraction) ** (mpf(1) / depth)
        powers = range(a - 1, 0, -b)
        head = mpmath.fsum((x0**-n - x1**-n) / n for n in powers)
        c = len(powers) * b - (a - 1)
        if c == 0:
            tail = mpmath.log(x1 / x0) + (mpmath.log(1 - x0**b) - mpmath.log(1 - x1**b)) / b
        else:
            part = [x**c / c * mpmath.hyp2f1(1, mpf(c) / b, 1 + mpf(c) / b, x**b) for x in (x0, x1)]
            tail = part[1] - part[0]
        return scale * end ** (1 - a) / mpf(lam) * (head + tail)


def decimal(number: mpmath.mpf) -> Decimal:
    """Thirty-five digits of a number known to forty."""
    return Decimal(mpmath.nstr(number, 35, strip_zeros=False))


def jepa_time(depth: int, lam: float, rho: float, epsilon: float, fraction: float) -> mpmath.mpf:
    """JEPA with one predictor layer, as section 3 writes it out."""
    with mpmath.workdps(40):
        lam, rho = mpf(lam), mpf(rho)
        u0, u1 = mpf(epsilon) ** (mpf(1) / depth), mpf(fraction) ** (mpf(1) / depth) * rho
        last = 2 * depth - 1
        total = mpmath.fsum((u0**-n - u1**-n) / (n * rho ** (last - n)) for n in range(1, last + 1))
        return (total + rho**-last * (mpmath.log(u1 / u0) - mpmath.log((1 - u1 / rho) / (1 - u0 / rho)))) / lam


def mae_time(lam: float, rho: float, epsilon: float, fraction: float) -> mpmath.mpf:
    """MAE with one encoder and one decoder layer, as section 3 writes it out."""
    with mpmath.workdps(40):
        lam, rho, start, share = mpf(lam), mpf(rho), mpf(epsilon) ** 2, mpf(fraction) ** 2
        return mpmath.log(share * (rho - start) / (start * (1 - share))) / (2 * lam)
