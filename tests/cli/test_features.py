"""Features measured on a user's arrays."""

import gc
import io
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from tests.cli.running import Row, answered, complaint, refused, rows, run

N = 64
RHO = np.array([0.9, 0.5, -0.2])
SPREAD = np.array([2.0, 1.0, 0.5])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder that holds x and y: exactly uncorrelated columns, y = rho x + what x does not know."""
    monkeypatch.chdir(tmp_path)
    white = whitened(6)
    x, y = white[:, :3] * SPREAD, white[:, :3] * SPREAD * RHO + white[:, 3:] * 0.3
    np.save("x.npy", x)
    np.save("y.npy", y)
    np.savez("both.npz", x=x, y=y)
    np.savez("one.npz", x=x)
    names = ["wind", "rain", "sun"]
    for name, array in (("x", x), ("y", y)):
        pd.DataFrame(array, columns=names).to_csv(f"{name}.csv", index=False)
        pd.DataFrame(array, columns=names).to_csv(f"{name}.tsv", index=False, sep="\t")
        pd.DataFrame(array, columns=names).to_parquet(f"{name}.parquet")
    return tmp_path


def whitened(columns: int) -> np.ndarray:
    """Columns of mean 0 and second moments 1, exactly uncorrelated, with the divisor N."""
    draws = np.random.default_rng(0).normal(size=(N, columns))
    basis, _ = np.linalg.qr(np.column_stack([np.ones(N), draws]))
    white: np.ndarray = basis[:, 1:] * np.sqrt(N)
    return white


def column(found: list[Row], name: str) -> np.ndarray:
    return np.array([float(row[name]) for row in found])


def test_exactly_diagonal_views_give_the_features_they_were_made_of() -> None:
    found = rows("features", "x.npy", "y.npy")
    assert_allclose(column(found, "rho"), RHO, rtol=1e-10)
    assert_allclose(column(found, "sigma"), SPREAD, rtol=1e-10)
    assert_allclose(column(found, "lambda"), RHO * SPREAD**2, rtol=1e-10)


@pytest.mark.parametrize(
    "pair", [("both.npz:x", "both.npz:y"), ("x.csv", "y.csv"), ("x.tsv", "y.tsv"), ("x.parquet", "y.parquet")]
)
def test_every_kind_of_file_gives_the_same_features(pair: tuple[str, str]) -> None:
    found = rows("features", *pair)
    assert_allclose(column(found, "lambda"), RHO * SPREAD**2, rtol=1e-10)


def test_a_single_array_needs_no_key() -> None:
    assert rows("features", "one.npz", "y.npy") == rows("features", "one.npz:x", "y.npy")


@pytest.mark.parametrize(
    ("target", "keep"),
    [("full", 0.3), ("full", 1.0), ("independent", 0.3), ("independent", 1.0), ("complementary", 0.3), ("complementary", 0.5)],
)
def test_masks_are_averaged_over_as_the_theory_writes_out(target: str, keep: float) -> None:
    covariance = np.array([[1.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 1.0]])
    kappa, vectors = np.linalg.eigh(covariance)
    np.save("masked.npy", whitened(3) @ (vectors * np.sqrt(kappa)) @ vectors.T)
    lam = {"full": keep * kappa, "independent": keep**2 * kappa, "complementary": keep * (1 - keep) * (kappa - 1.0)}[target]
    variance = keep**2 * kappa + keep * (1 - keep)
    found = rows("features", "masked.npy", "--mask", keep, "--target", target)
    order = np.argsort(-lam)
    assert_allclose(column(found, "lambda"), lam[order], rtol=1e-9, atol=1e-12)
    assert_allclose(column(found, "sigma") ** 2, variance[order], rtol=1e-9)


@pytest.mark.parametrize("lag", [1, 3])
def test_lagged_views_are_rows_and_the_rows_that_many_later(lag: int) -> None:
    series = np.random.default_rng(1).normal(size=(50, 1)).cumsum(axis=0)
    np.save("series.npy", series)
    x, y = series[:-lag, 0], series[lag:, 0]
    (row,) = rows("features", "series.npy", "--lag", lag)
    assert_allclose(float(row["lambda"]), np.mean((x - x.mean()) * (y - y.mean())), rtol=1e-12)
    assert_allclose(float(row["sigma"]), x.std(), rtol=1e-12)


def test_columns_are_chosen_by_name() -> None:
    assert_allclose(column(rows("features", "x.csv", "y.csv", "--columns", "rain,sun"), "rho"), RHO[1:], rtol=1e-10)


def test_columns_of_the_second_view_are_found_by_name_or_refused() -> None:
    pd.read_csv("y.csv")[["sun", "wind", "rain"]].to_csv("shuffled.csv", index=False)
    result = run("features", "x.csv", "shuffled.csv", "--format", "csv")
    if result.exit_code == 0:
        assert result.stdout == answered("features", "x.csv", "y.csv", "--format", "csv").stdout
    else:
        assert "sun" in complaint(result.stderr)


def test_standardised_columns_have_unit_spread() -> None:
    found = rows("features", "x.npy", "y.npy", "--standardise")
    assert_allclose(column(found, "sigma"), 1.0, rtol=1e-10)
    assert_allclose(sorted(column(found, "rho")), sorted(RHO), rtol=1e-9)


def test_constant_columns_are_dropped_with_a_note() -> None:
    x, y = np.load("x.npy"), np.load("y.npy")
    np.save("constant.npy", np.column_stack([x[:, 0], np.full(N, 3.0), x[:, 1:]]))
    np.save("other.npy", np.column_stack([y[:, 0], y[:, 0], y[:, 1:]]))
    result = answered("features", "constant.npy", "other.npy", "--format", "csv")
    assert "does not vary" in result.stderr
    assert result.stdout == answered("features", "x.npy", "y.npy", "--format", "csv").stdout


def test_directions_without_variance_are_dropped_with_a_note() -> None:
    x, y = np.load("x.npy"), np.load("y.npy")
    np.save("twice.npy", np.column_stack([x, x[:, 0]]))
    np.save("other.npy", np.column_stack([y, y[:, 0]]))
    result = answered("features", "twice.npy", "other.npy", "--format", "csv")
    assert "does not vary" in result.stderr
    assert len(result.stdout.splitlines()) == 4


def test_the_features_are_a_table_that_order_reads() -> None:
    answered("features", "x.npy", "y.npy", "--bootstrap", "5", "--output", "features.csv")
    found = rows("order", "features.csv", "--objective", "jepa")
    assert [row["feature"] for row in found] == ["1", "2", "3"]
    assert [row["status"] for row in found] == ["reached", "reached", "never"]


def test_the_bootstrap_repeats_with_its_seed_and_changes_with_another() -> None:
    question = ("features", "x.npy", "y.npy", "--bootstrap", "10", "--format", "csv")
    default, zero, one = (answered(*question, *seed).stdout for seed in ((), ("--seed", "0"), ("--seed", "1")))
    assert default == zero
    assert one != zero
    for row in rows(*question[:-2], "--seed", "1"):
        assert float(row["lambda_se"]) > 0
        assert float(row["rho_se"]) > 0


def test_the_bootstrap_leaves_the_features_as_they_were() -> None:
    plain, with_errors = rows("features", "x.npy", "y.npy"), rows("features", "x.npy", "y.npy", "--bootstrap", "5")
    assert [{name: row[name] for name in plain[0]} for row in with_errors] == plain


def test_standard_errors_shrink_like_those_of_a_mean() -> None:
    white = np.random.default_rng(3).normal(size=(4000, 2))
    np.save("a.npy", white[:, :1])
    np.save("b.npy", 0.5 * white[:, :1] + white[:, 1:])
    (row,) = rows("features", "a.npy", "b.npy", "--bootstrap", "200")
    assert_allclose(float(row["rho_se"]), 1 / np.sqrt(4000), rtol=0.25)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float16", "float32", ">f8", "bool"])
def test_every_real_type_is_taken(dtype: str) -> None:
    x = np.round(4 * np.load("x.npy") + 20).astype(int)
    np.save("typed.npy", (x % 2 if dtype == "bool" else x).astype(dtype))
    np.save("plain.npy", (x % 2 if dtype == "bool" else x).astype(float))
    typed, plain = rows("features", "typed.npy", "--lag", "1"), rows("features", "plain.npy", "--lag", "1")
    assert_allclose(column(typed, "lambda"), column(plain, "lambda"), rtol=1e-9)


def test_arrays_in_column_order_are_the_same_arrays() -> None:
    np.save("columns.npy", np.asfortranarray(np.load("x.npy")))
    assert_allclose(column(rows("features", "columns.npy", "y.npy"), "rho"), RHO, rtol=1e-10)


def test_a_table_may_come_from_standard_input() -> None:
    table = Path("x.csv").read_bytes()
    assert rows("features", "-", "--lag", "1", stdin=table) == rows("features", "x.csv", "--lag", "1")


def test_parquet_round_trips() -> None:
    frame = pd.read_parquet(io.BytesIO(answered("features", "x.npy", "y.npy", "--format", "parquet").stdout_bytes))
    assert_allclose(frame["lambda"], column(rows("features", "x.npy", "y.npy"), "lambda"), rtol=0)


def bad_files() -> None:
    x = np.load("x.npy")
    for name, array in {
        "one_d": x[:, 0], "three_d": x.reshape(8, 8, 3), "scalar": np.array(1.0), "complex": x + 1j,
        "text": np.array([["a", "b"]]),
        "no_rows": x[:0], "no_columns": x[:, :0], "one_row": x[:1], "flat": np.ones((9, 2)),
        "huge": x * 1e200, "tiny": x * 1e-200,
        "nan": np.where(np.arange(N)[:, None] == 3, np.nan, x), "inf": np.where(np.arange(N)[:, None] == 3, np.inf, x),
        "short": x[:10], "narrow": x[:, :2],
    }.items():  # fmt: skip
        np.save(f"{name}.npy", array)
    objects = np.array([{"a": 1}, None], dtype=object)
    np.save("pickle.npy", objects, allow_pickle=True)
    np.savez("pickle.npz", x=objects)
    np.savez("nothing.npz")
    for name in ("garbage.npy", "garbage.npz", "garbage.parquet", "garbage.csv"):
        Path(name).write_bytes(bytes(range(128, 256)))
    for name in ("empty.npy", "empty.npz", "empty.csv", "empty.parquet"):
        Path(name).touch()
    Path("cut.npy").write_bytes(Path("x.npy").read_bytes()[:400])
    Path("cut.npz").write_bytes(Path("both.npz").read_bytes()[:400])
    Path("words.csv").write_text("date,a,b\n2012-01-01,1,2\n2012-01-02,3,5\n2012-01-03,2,1\n")
    Path("hole.csv").write_text("a,b\n1,2\n3,\n4,5\n")
    Path("nan.csv").write_text("a,b\n1,2\n3,nan\n4,5\n")
    Path("many.csv").write_text("a,b\n1,2\n3,4,5\n4,5\n")
    Path("few.csv").write_text("a,b\n1,2\n3\n4,5\n")
    Path("twice.csv").write_text("a,a\n1,2\n3,4\n4,6\n")
    Path("header.csv").write_text("a,b\n")
    Path("x.xyz").write_text("a,b\n1,2\n")
    Path("folder.npy").mkdir()


MASK = ("--mask", "0.5")
REFUSED = [
    (("one_d.npy", *MASK), ["one_d.npy", "two-dimensional"]),
    (("three_d.npy", *MASK), ["three_d.npy", "two-dimensional"]),
    (("scalar.npy", *MASK), ["scalar.npy", "two-dimensional"]),
    (("complex.npy", *MASK), ["complex.npy", "real"]),
    (("text.npy", *MASK), ["text.npy", "numbers"]),
    (("no_rows.npy", *MASK), ["no_rows.npy", "empty"]),
    (("no_columns.npy", *MASK), ["no_columns.npy", "empty"]),
    (("one_row.npy", *MASK), ["2"]),
    (("flat.npy", *MASK), ["varies"]),
    (("huge.npy", *MASK), ["rescale"]),
    (("tiny.npy", *MASK), ["rescale"]),
    (("nan.npy", *MASK), ["row 4", "nan"]),
    (("inf.npy", *MASK), ["row 4", "inf"]),
    (("x.npy", "nan.npy"), ["row 4", "nan"]),
    (("x.npy", "short.npy"), ["10", "64"]),
    (("x.npy", "narrow.npy"), ["2 columns", "3 columns"]),
    (("pickle.npy", *MASK), ["pickle.npy", "pickle"]),
    (("pickle.npz", *MASK), ["pickle.npz", "pickle"]),
    (("pickle.npz:x", *MASK), ["pickle.npz", "pickle"]),
    (("both.npz", *MASK), ["both.npz", "x", "y", "KEY"]),
    (("both.npz:z", *MASK), ["both.npz", "z"]),
    (("nothing.npz", *MASK), ["nothing.npz"]),
    (("garbage.npy", *MASK), ["garbage.npy"]),
    (("garbage.npz", *MASK), ["garbage.npz"]),
    (("garbage.parquet", *MASK), ["garbage.parquet"]),
    (("garbage.csv", *MASK), ["garbage.csv", "UTF-8"]),
    (("empty.npy", *MASK), ["empty.npy"]),
    (("empty.npz", *MASK), ["empty.npz"]),
    (("empty.csv", *MASK), ["empty.csv"]),
    (("empty.parquet", *MASK), ["empty.parquet"]),
    (("cut.npy", *MASK), ["cut.npy"]),
    (("cut.npz", *MASK), ["cut.npz"]),
    (("words.csv", *MASK), ["words.csv", "row 1", "date", "--columns"]),
    (("hole.csv", *MASK), ["hole.csv", "row 2", "column b"]),
    (("nan.csv", *MASK), ["nan.csv", "row 2", "b"]),
    (("many.csv", *MASK), ["many.csv", "row 2"]),
    (("few.csv", *MASK), ["few.csv", "row 2"]),
    (("twice.csv", *MASK), ["twice.csv", "a"]),
    (("header.csv", *MASK), ["header.csv"]),
    (("x.xyz", *MASK), ["x.xyz", ".npy"]),
    (("missing.npy", *MASK), ["missing.npy", "no such file"]),
    (("missing.npz:x", *MASK), ["missing.npz", "no such file"]),
    (("folder.npy", *MASK), ["folder.npy", "is a folder with neither"]),
    (("x.npy",), ["--mask", "--lag"]),
    (("x.npy", "y.npy", *MASK), ["--mask"]),
    (("x.npy", *MASK, "--lag", "1"), ["--mask", "--lag"]),
    (("x.npy", "--mask", "0"), ["--mask"]),
    (("x.npy", "--mask", "1.5"), ["--mask"]),
    (("x.npy", "--mask", "-0.5"), ["--mask"]),
    (("x.npy", "--mask", "nan"), ["--mask"]),
    (("x.npy", "--mask", "half"), ["--mask"]),
    (("x.npy", *MASK, "--target", "other"), ["--target"]),
    (("x.npy", "--mask", "1", "--target", "complementary"), ["--mask"]),
    (("x.npy", "--lag", "0"), ["--lag"]),
    (("x.npy", "--lag", "-1"), ["--lag"]),
    (("x.npy", "--lag", str(N)), ["--lag", str(N)]),
    (("x.npy", "--lag", str(10 * N)), ["--lag"]),
    (("x.npy", "--lag", "1.5"), ["--lag"]),
    (("x.npy", "y.npy", "--bootstrap", "0"), ["--bootstrap"]),
    (("x.npy", "y.npy", "--bootstrap", "1"), ["--bootstrap"]),
    (("x.npy", "y.npy", "--bootstrap", "5", "--seed", "-1"), ["--seed"]),
    (("x.npy", "y.npy", "--bootstrap", "5", "--block-length", "0"), ["--block-length"]),
    (("x.npy", "y.npy", "--bootstrap", "5", "--block-length", "999"), ["--block-length"]),
    (("x.npy", "y.npy", "--bootstrap", "5", "--depth", "0"), ["--depth"]),
    (("x.npy", "y.npy", "--block-length", "5"), ["--block-length", "--bootstrap"]),
    (("x.npy", "y.npy", "--target", "independent"), ["--target", "--mask"]),
    (("x.csv", "y.csv", "--columns", "wind,snow"), ["snow", "wind"]),
    (("x.csv", "y.csv", "--columns", "wind,wind"), ["wind"]),
    (("x.csv", "y.csv", "--columns", ""), ["--columns"]),
    (("x.npy", "y.npy", "--columns", "wind"), ["column"]),
    ((), ["X"]),
]  # fmt: skip


@pytest.mark.parametrize(("question", "said"), REFUSED, ids=[" ".join(question) or "nothing" for question, _ in REFUSED])
def test_what_cannot_be_read_or_asked_is_refused_in_one_sentence(question: tuple[str, ...], said: list[str]) -> None:
    bad_files()
    sentence = refused("features", *question)
    for part in said:
        assert part in sentence
    if ".npz" in "".join(question):
        gc.collect()  # a file left open is a ResourceWarning here, not in a later test


def test_a_pickle_is_never_run(folder: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(folder / "exploded"),)

    array = np.empty(1, dtype=object)
    array[0] = Bomb()
    np.save("bomb.npy", array, allow_pickle=True)
    np.savez("bomb.npz", x=array)
    for name in ("bomb.npy", "bomb.npz", "bomb.npz:x"):
        assert "pickle" in refused("features", name, *MASK)
    assert not (folder / "exploded").exists()
