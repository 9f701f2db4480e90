"""A user's loss: what is read, what is refused, and where the refusal points."""

import string
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Expr, Integer, Rational

from derivations.expression import LossError, decimal, parse_loss
from derivations.gradient_flow import LOSSES, balanced_rate, family_member, gradient_flow, mode
from derivations.notation import L, M, lam, rho, sg, sigma, u, v
from dynamics.errors import LindynError

JEPA = "sigma**2*(v**M*u**L)**2/2 - lam*v**M*u**L*sg(u**L)"
MAE = "sigma**2*(v**M*u**L)**2/2 - lam*v**M*u**L"


def outcome(text: str) -> Expr | str:
    try:
        return parse_loss(text)
    except LossError as refused:
        return str(refused)


@pytest.mark.parametrize(("text", "objective"), [(JEPA, "jepa"), (MAE, "mae")])
def test_the_losses_of_the_objectives_are_read_as_they_are(text, objective):
    assert parse_loss(text) == LOSSES[objective]
    assert family_member(balanced_rate(gradient_flow(parse_loss(text)))) == mode(objective)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("u", u),
        ("+u - -v", u + v),
        ("-u**2", -(u**2)),
        ("(-u)**2", u**2),
        ("u**-1", 1 / u),
        ("2**3**2*u", 512 * u),
        ("u/2/4", u / 8),
        ("u - v - 1", u - v - 1),
        ("u**(2*L + M - 1)", u ** (2 * L + M - 1)),
        ("u**(L/2)", u ** (L / 2)),
        ("u**2.5", u ** Rational(5, 2)),
        ("0.01*(L*u**2 + M*v**2)/2", (L * u**2 + M * v**2) / 200),
        ("(rho - u)**2*v", (rho - u) ** 2 * v),
        ("sigma**2*u**2*v**2/2 - lam*u*v*sg(u)", sigma**2 * u**2 * v**2 / 2 - lam * u * v * sg(u)),
        ("\tu\n + v \r\n", u + v),
        ("u*sg(u*v)", u * sg(u * v)),
    ],
)
def test_arithmetic_means_what_python_means(text, expected):
    assert parse_loss(text) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", Rational(1, 10)),
        ("0.01", Rational(1, 100)),
        ("1e-3", Rational(1, 1000)),
        ("1E3", Integer(1000)),
        (".5", Rational(1, 2)),
        ("5.", Integer(5)),
        ("1_000", Integer(1000)),
        ("0.333333333333333333333333333333", Rational(333333333333333333333333333333, 10**30)),
    ],
)
def test_decimals_are_the_fractions_they_are_written_as(text, value):
    assert decimal(text) == value
    assert parse_loss(f"{text}*u") == value * u


def test_negative_decimals_and_what_is_none():
    assert decimal("-2.5e1") == -25
    for text in ("", "-", "nan", "inf", "1e401", "0." + "1" * 50, "1e1000000000", "1e", "٣"):
        with pytest.raises(ValueError, match="It "):
            decimal(text)


def test_a_stop_gradient_inside_another_or_around_a_constant_is_dropped():
    assert parse_loss("u*sg(v*sg(u))") == u * sg(u * v)
    assert parse_loss("u*sg(lam*L)") == u * lam * L
    assert parse_loss("u*sg(2)") == 2 * u


def test_a_loss_without_predictor_is_allowed():
    assert parse_loss("sigma**2*u**(2*L)/2 - lam*u**L*sg(u**L)") == sigma**2 * u ** (2 * L) / 2 - lam * u**L * sg(u**L)


REFUSALS = [
    ("sigma**2 + u*x", "the name 'x' at column 14; it may use u, v, L, M, lam, sigma, rho and sg(...)."),
    ("u^2", "'^' at column 2; write ** for a power."),
    ("u + lambda*v", "'lambda' at column 5; write lam."),
    ("lambda u: u", "'lambda' at column 1; write lam."),
    ("u*λ", "'λ' at column 3; write lam."),
    ("u*\N{SCRIPT SMALL L}", r"'\u2113' at column 3;"),
    ("u + \N{MATHEMATICAL BOLD SMALL U}", r"'\U0001d42e' at column 5;"),
    ("u + \N{FULLWIDTH LATIN SMALL LETTER U}", r"'\uff55' at column 5;"),
    ("u\u202e*v", r"'\u202e' at column 2;"),
    ("u\0", r"'\x00' at column 2;"),
    ("u*²", r"'\xb2' at column 3;"),
    ("u+(v", "'(' at column 3; that parenthesis is never closed."),
    ("(u*(v)", "'(' at column 1; that parenthesis is never closed."),
    ("u+v)", "')' at column 4; no parenthesis is open there."),
    ("u) + (v", "')' at column 2;"),
    ("u v", "'v' at column 3; an operator is missing before it"),
    ("2u", "'u' at column 2; an operator is missing before it"),
    ("(u)(v)", "'(' at column 4; an operator is missing before it"),
    ("sg(u)(v)", "'(' at column 6; an operator is missing before it"),
    ("0x10*u", "'x10' at column 2"),
    ("1j*u", "'j' at column 2"),
    ("u +", "ends after '+' at column 3;"),
    ("u + *v", "'*' at column 5; a number, a name or a parenthesis is missing before it."),
    ("u***2", "'*' at column 4;"),
    ("u//2", "'//' at column 2; write / for a quotient."),
    ("u*()", "')' at column 4;"),
    ("sg()", "')' at column 4;"),
    ("sg(*u)", "'*' at column 4;"),
    ("sg(**u)", "'**' at column 4;"),
    ("sg(u, v)", "',' at column 5; sg takes one argument."),
    ("sg(x=u)", "the name 'x' at column 4;"),
    ("sg(u=u)", "'=' at column 5;"),
    ("u*sg", "'sg' at column 3; write sg(...)"),
    ("(sg)(u)", "'sg' at column 2;"),
    ("u + sin(v)", "calls 'sin' at column 5; it may call nothing but sg(...)."),
    ("u*log(u)", "calls 'log' at column 3;"),
    ("sqrt (u)", "calls 'sqrt' at column 1;"),
    ("2*u(v)", "calls 'u' at column 3; it may call nothing but sg(...), and a product needs *."),
    ("__import__('os')", "calls '__import__' at column 1;"),
    ("u.real", "'.' at column 2;"),
    ("u.__class__", "'.' at column 2;"),
    ("u[0]", "'[' at column 2;"),
    ("[u for u in v]", "'[' at column 1;"),
    ("{u}", "'{' at column 1;"),
    ("f'{u}'", "the name 'f' at column 1;"),
    ("u*'a'", '"\'" at column 3;'),
    ('"u"', "'\"' at column 1;"),
    ("(u:=v)", "':' at column 3;"),
    ("u<v", "'<' at column 2;"),
    ("u==v", "'=' at column 2;"),
    ("u if v else u", "the name 'if' at column 3;"),
    ("u or v", "the name 'or' at column 3;"),
    ("not u", "the name 'not' at column 1;"),
    ("~u", "'~' at column 1;"),
    ("u@v", "'@' at column 2;"),
    ("u%v", "'%' at column 2;"),
    ("u&v", "'&' at column 2;"),
    ("u # v", "'#' at column 3;"),
    ("u; v", "';' at column 2;"),
    ("u\\\n+v", r"'\\' at column 2;"),
    ("u*True", "the name 'True' at column 3;"),
    ("None", "the name 'None' at column 1;"),
    ("await u", "the name 'await' at column 1;"),
    ("u...", "'.' at column 2;"),
    ("007*u", "'007*u' at column 1;"),
    ("u/0", "divides by '0' at column 3; that is zero."),
    ("u/(v - v)", "divides by 'v - v' at column 4;"),
    ("u/(u/(u+1) + 1/(u+1) - 1)", "divides by 'u/(u+1) + 1/(u+1) - 1' at column 4;"),
    ("u/(u - sg(u))", "divides by 'u - sg(u)' at column 4;"),
    ("u + (v-v)**-1", "'(v-v)**-1' at column 5; it divides by zero."),
    ("u + 0**(-L)", "'0**(-L)' at column 5;"),
    ("u**v", "'v' at column 4; an exponent is made of numbers, L and M."),
    ("u**sg(L)", "'sg(L)' at column 4;"),
    ("u**(2*lam)", "'lam' at column 7;"),
    ("u**(L*M)", "the exponent 'L*M' at column 5; exponents are linear in L and M with numbers up to 1000."),
    ("u**(1/L)", "the exponent '1/L' at column 5;"),
    ("(u**L)**M", "'(u**L)**M' at column 1; exponents are linear"),
    ("u**1001", "the exponent '1001' at column 4;"),
    ("u**10**9", "the exponent '10**9' at column 4;"),
    ("u**1e9", "the exponent '1e9' at column 4;"),
    ("u*9**9**9**9", "the exponent '9**9' at column 9;"),
    ("u**(10**10000)", "the exponent '10000' at column 9;"),
    ("((10**40*u)**10)**10", "'((10**40*u)**10)**10' at column 1; its numbers would be too large."),
    ("u*2**(1/2)", "'2**(1/2)' at column 3; a number may be raised to whole powers only."),
    ("(-u)**(1/2)", "'(-u)**(1/2)' at column 1;"),
    ("(u+v+lam)**1000", "'(u+v+lam)**1000' at column 1; it has more than 250 terms"),
    ("u*" + "1" * 51, "at column 3; a number may have up to 50 digits"),
    ("u*1e401", "the number '1e401' at column 3;"),
    ("-" * 60 + "u", "'-' at column 51; parentheses and signs may stand up to 50 deep."),
    ("(" * 60 + "u" + ")" * 60, "'(' at column 51;"),
    ("u" + "+u" * 300, "goes on with 'u' at column 401; a loss may have up to 400 numbers, names and signs."),
    ("sg(u)*v", "does not move 'u' at column 4; no u outside sg(...) is left"),
    ("v - u + u", "does not move 'u' at column 5;"),
    ("(u+1)**2 - u**2 - 2*u + v", "does not move 'u' at column 2;"),
    ("(u - sg(u))**2*v", "does not move 'u' at column 2;"),
    ("v**2", "The loss has no u;"),
    ("", "The loss is empty at column 1;"),
    (" \t\n", "The loss is empty at column 1;"),
]


@pytest.mark.parametrize(("text", "told"), REFUSALS, ids=[repr(text[:30]) for text, _ in REFUSALS])
def test_a_refusal_is_one_sentence_that_points_at_the_place(text, told):
    with pytest.raises(LossError) as refused:
        parse_loss(text)
    sentence = str(refused.value)
    assert told in sentence
    assert sentence.startswith("The loss ")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert sentence.isprintable()
    assert isinstance(refused.value, LindynError)


@pytest.mark.parametrize(
    "text",
    [
        "u+" * 500_000 + "u",
        "(" * 10_000 + "u" + ")" * 10_000,
        "-" * 10_000 + "u",
        "9**9**9**9*u",
        "u**(10**10000)",
        "u*" + "9" * 10_000,
        "1**" * 133 + "u",
        "u**" + "1**" * 190 + "1",
        "u*" + "(u+v)" * 150,
        "*".join(["(u+v)"] * 75),
        "*".join(["(u+v+lam+rho)**9"] * 40),
        "/".join(["(u+v)"] * 75),
        "((((u+v)**5)**5)**5)**5",
        "u**999*" * 150 + "u",
        "1/(" * 40 + "u+v" + ")" * 40,
        "sg(" * 49 + "u" + ")" * 49,
    ],
    ids=lambda text: f"{text[:12]}-{len(text)}",
)
@pytest.mark.slow
@pytest.mark.timed
def test_adversarial_input_is_answered_at_once(text):
    began = time.perf_counter()
    outcome(text)
    assert time.perf_counter() - began < 2.0


def test_long_flat_sums_are_no_deep_nesting():
    assert parse_loss("+".join(["u"] * 200)) == 200 * u


PIECES = st.sampled_from(
    [
        "u",
        "v",
        "L",
        "M",
        "lam",
        "sigma",
        "rho",
        "sg(",
        "(",
        ")",
        "+",
        "-",
        "*",
        "/",
        "**",
        " ",
        "2",
        "0",
        "0.5",
        "1e2",
        "x",
        ",",
        "\n",
    ]
)


@settings(max_examples=400)
@given(st.one_of(st.text(max_size=60), st.text(string.printable, max_size=60), st.lists(PIECES, max_size=25).map("".join)))
@pytest.mark.slow
@pytest.mark.timed
def test_any_text_is_a_loss_or_a_sentence(text):
    began = time.perf_counter()
    found = outcome(text)
    assert time.perf_counter() - began < 5.0
    if isinstance(found, str):
        assert found.startswith("The loss ")
        assert found.isprintable()
    else:
        assert found.free_symbols <= {u, v, L, M, lam, sigma, rho}


LEAVES = st.sampled_from(["u", "v", "lam", "rho", "sigma", "2", "0.5", "sg(u)", "L"])
SUMS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda parts: f"({''.join(parts)})"),
        inner.map(lambda text: f"({text})**2"),
        inner.map(lambda text: f"-{text}"),
    ),
    max_leaves=6,
)


@settings(max_examples=200)
@given(SUMS)
def test_arithmetic_agrees_with_python_on_the_same_symbols(text):
    text = f"u + {text}"
    names = {"u": u, "v": v, "lam": lam, "rho": rho, "sigma": sigma, "L": L, "sg": sg}
    found = outcome(text)
    if isinstance(found, Expr):
        expected = eval(text.replace("0.5", "half"), {"__builtins__": {}}, names | {"half": Rational(1, 2)})
        assert (found - expected).expand() == 0
