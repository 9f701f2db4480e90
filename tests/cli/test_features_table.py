"""Tables of features as users write them."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.running import answered, refused, rows

GOOD = [(1.0, 0.5), (0.8, 1.2)]


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def times(source: Path | str, stdin: str | bytes | None = None) -> list[tuple[float, float]]:
    found = rows("critical-time", source, "--objective", "jepa", stdin=stdin)
    return [(float(row["lambda"]), float(row["rho"])) for row in found]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.csv", "lambda,rho\n1.0,0.5\n0.8,1.2\n"),
        ("UPPER.CSV", "lambda,rho\n1.0,0.5\n0.8,1.2\n"),
        ("any.txt", "lambda,rho\n1.0,0.5\n0.8,1.2\n"),
        ("no_last_newline.csv", "lambda,rho\n1.0,0.5\n0.8,1.2"),
        ("bom.csv", "\ufefflambda, rho , name\r\n1.0, 0.5, edge\r\n0.8, 1.2, texture\r\n"),
        ("blank_lines.csv", "lambda,rho\n1.0,0.5\n\n0.8,1.2\n\n"),
        ("swapped.csv", "rho,lambda\n0.5,1.0\n1.2,0.8\n"),
        ("tabs.tsv", "lambda\trho\n1.0\t0.5\n0.8\t1.2\n"),
        ("list.json", '[{"lambda": 1.0, "rho": 0.5}, {"lambda": 0.8, "rho": 1.2}]'),
        ("lines.jsonl", '{"lambda": 1.0, "rho": 0.5}\n\n{"lambda": 0.8, "rho": 1.2}\n'),
    ],
)
def test_the_same_features_are_read_from_every_kind_of_table(tmp_path: Path, name: str, content: str) -> None:
    assert times(written(tmp_path, name, content)) == GOOD


@pytest.mark.parametrize(
    "content",
    [
        "lambda,rho\n1.0,0.5\n0.8,1.2\n",
        "lambda\trho\n1.0\t0.5\n0.8\t1.2\n",
        '[{"lambda": 1.0, "rho": 0.5}, {"lambda": 0.8, "rho": 1.2}]',
        '{"lambda": 1.0, "rho": 0.5}\n{"lambda": 0.8, "rho": 1.2}\n',
    ],
)
def test_standard_input_is_recognised_by_its_content(content: str) -> None:
    assert times("-", content) == GOOD


def test_parquet_is_read_from_a_file_and_from_standard_input(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    pd.DataFrame({"lambda": [1.0, 0.8], "rho": [0.5, 1.2]}).to_parquet(buffer)
    assert times(written(tmp_path, "table.parquet", buffer.getvalue())) == GOOD
    assert times("-", buffer.getvalue()) == GOOD


def test_byte_order_mark_and_spaces_keep_the_names(tmp_path: Path) -> None:
    path = written(tmp_path, "bom.csv", "\ufefflambda, rho , name\r\n1.0, 0.5, edge\r\n0.8, 1.2, texture\r\n")
    assert [row["feature"] for row in rows("critical-time", path, "--objective", "mae")] == ["edge", "texture"]


def test_names_that_look_like_numbers_or_nothing_are_kept_as_written(tmp_path: Path) -> None:
    path = written(tmp_path, "names.csv", 'name,lambda,rho\n007,1,1\nNA,2,1\nnull,3,1\n1e5,4,1\n"a, ""b""",5,1\n')
    assert [row["feature"] for row in rows("critical-time", path, "--objective", "mae")] == [
        "007",
        "NA",
        "null",
        "1e5",
        'a, "b"',
    ]


def test_integers_mean_the_same_as_floats(tmp_path: Path) -> None:
    whole = written(tmp_path, "whole.csv", "lambda,rho\n1,1\n2,1\n")
    floats = written(tmp_path, "floats.csv", "lambda,rho\n1.0,1.0\n2.0,1.0\n")
    assert rows("critical-time", whole) == rows("critical-time", floats)


def test_every_digit_of_a_double_survives_reading_and_writing(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    lam = generator.random(500) * 10 ** generator.uniform(-9, 9, 500)
    text = "lambda,rho\n" + "".join(f"{value!r},0.5\n" for value in lam.tolist())
    assert [value for value, _ in times(written(tmp_path, "digits.csv", text))] == lam.tolist()


def test_signs_are_never_learned_and_leave_the_rest_intact(tmp_path: Path) -> None:
    path = written(tmp_path, "signs.csv", "name,lambda,sigma\nfast,1.0,1.0\nabsent,0.0,1.0\nanti,-0.4,1.0\n")
    found = rows("critical-time", path, "--objective", "mae")
    assert [(row["feature"], row["status"]) for row in found] == [("fast", "reached"), ("absent", "never"), ("anti", "never")]
    assert [row["critical_time"] for row in found[1:]] == ["inf", "inf"]


@pytest.mark.parametrize(
    "extra", [(), ("--elasticities", "--expansion", "--learning-rate", "1", "--digits", "3", "--time", "paper")]
)
@pytest.mark.parametrize("table_format", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_a_table_the_command_wrote_is_a_table_it_reads(tmp_path: Path, table_format: str, extra: tuple[str, ...]) -> None:
    path = tmp_path / f"out.{table_format}"
    question = ("--lambda", "1,0.8", "--rho", "0.5,1.2", "--objective", "jepa")
    answered("critical-time", *question, *extra, "--output", path)
    assert times(path) == GOOD


REFUSED = [
    ("headerless.csv", "1.0,0.5\n0.8,1.2\n", ["lambda", "rho", "sigma"]),
    ("empty_cell.csv", "name,lambda,rho\na,1.0,0.5\nb,,0.5\n", ["row 2", "lambda"]),
    ("nan_cell.csv", "name,lambda,rho\na,1.0,0.5\nc,1.0,nan\n", ["row 2", "rho"]),
    ("na_cell.csv", "name,lambda,rho\na,1.0,0.5\nc,1.0,NA\n", ["row 2", "rho"]),
    ("inf_cell.csv", "lambda,rho\n1.0,0.5\n1.0,inf\n", ["row 2", "rho"]),
    ("overflow_cell.csv", "lambda,rho\n1.0,0.5\n1.0,1e999\n", ["row 2", "rho"]),
    ("text_cell.csv", "lambda,rho\n1.0,0.5\n1.0,high\n", ["row 2", "rho", "high"]),
    ("comma_decimal.csv", 'lambda,rho\n1.0,0.5\n1.0,"0,5"\n', ["row 2", "rho"]),
    ("zero_sigma.csv", "lambda,sigma\n1.0,1.0\n1.0,0.0\n", ["row 2", "sigma", "positive"]),
    ("one_zero_sigma.csv", "lambda,sigma\n1.0,0.0\n", ["row 1", "sigma", "positive"]),
    ("negative_sigma.csv", "lambda,sigma\n1.0,1.0\n1.0,-2.0\n", ["row 2", "sigma", "positive"]),
    ("inconsistent.csv", "name,lambda,rho,sigma\na,1.0,0.5,1.0\n", ["lambda = rho sigma^2", "row 1", "0.5"]),
    ("repeated_names.csv", "name,lambda,rho\na,1.0,0.5\na,0.9,0.5\n", ["a", "1 and 2"]),
    ("nameless.csv", "name,lambda,rho\na,1.0,0.5\n,0.9,0.5\n", ["row 2", "name"]),
    ("too_many.csv", "lambda,rho\n1.0,0.5\n1.0,0.5,3\n", ["row 2"]),
    ("all_too_many.csv", "lambda,rho\n1.0,0.5,3\n", ["row 1"]),
    ("too_few.csv", "lambda,rho\n1.0,0.5\n1.0\n", ["row 2", "rho"]),
    ("open_quote.csv", 'name,lambda,rho\n"a,1.0,0.5\n', ["open_quote.csv"]),
    ("unknown.csv", "lambda,rho,colour\n1.0,0.5,3\n", ["colour", "lambda"]),
    ("capitals.csv", "Lambda,RHO\n1.0,0.5\n", ["Lambda", "lambda"]),
    ("twice.csv", "lambda,rho,lambda\n1.0,0.5,2\n", ["lambda", "twice"]),
    ("only_one.csv", "lambda\n1.0\n", ["rho", "sigma"]),
    ("none.csv", "name\na\n", ["lambda", "rho", "sigma"]),
    ("semicolons.csv", "lambda;rho\n1.0;0.5\n", ["lambda"]),
    ("empty.csv", "", ["empty"]),
    ("blank.csv", "\n\n", ["empty"]),
    ("header_only.csv", "lambda,rho\n", ["rows"]),
    ("garbage.csv", bytes(range(128, 256)) * 4, ["garbage.csv", "UTF-8"]),
    ("zeros.csv", b"\0" * 64, ["zeros.csv"]),
    ("latin1.csv", "name,lambda,rho\ncaf\xe9,1,1\n".encode("latin-1"), ["UTF-8"]),
    ("utf16.csv", "lambda,rho\n1,1\n".encode("utf-16"), ["UTF-8"]),
    ("garbage.parquet", b"PAR1 and then nothing", ["garbage.parquet"]),
    ("csv.parquet", "lambda,rho\n1,1\n", ["csv.parquet"]),
    ("object.json", '{"lambda": 1, "rho": 0.5}', ["list of objects"]),
    ("numbers.json", "[1, 2]", ["list of objects"]),
    ("empty_list.json", "[]", ["lambda"]),
    ("truncated.json", '[{"lambda": 1, "rho"', ["truncated.json"]),
    ("empty.json", "", ["empty.json"]),
    ("null.json", '[{"lambda": 1, "rho": 1}, {"lambda": 1, "rho": null}]', ["row 2", "rho"]),
    ("missing_key.json", '[{"lambda": 1, "rho": 1}, {"lambda": 1}]', ["row 2", "rho"]),
    ("nested.json", '[{"lambda": 1, "rho": [1]}]', ["row 1", "rho"]),
    ("boolean.json", '[{"lambda": true, "rho": 1}]', ["row 1", "lambda"]),
    ("text.json", '[{"lambda": 1, "rho": "high"}]', ["row 1", "rho"]),
    ("nan.json", '[{"lambda": 1, "rho": NaN}]', ["row 1", "rho"]),
    ("overflow.json", '[{"lambda": 1, "rho": 1e999}]', ["row 1", "rho"]),
    ("big_integer.json", '[{"lambda": 1, "rho": %s}]' % ("9" * 500), ["row 1", "rho"]),
    ("deep.json", "[" * 100_000, ["deep.json"]),
    ("twice.json", '[{"lambda": 1, "lambda": 2, "rho": 1}]', ["lambda", "twice"]),
    ("second_line.jsonl", '{"lambda": 1, "rho": 1}\nnonsense\n', ["line 2"]),
    ("scalar_line.jsonl", '{"lambda": 1, "rho": 1}\n3\n', ["object"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "said"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_a_bad_table_is_refused_with_its_place_in_one_sentence(
    tmp_path: Path, name: str, content: str | bytes, said: list[str]
) -> None:
    sentence = refused("critical-time", written(tmp_path, name, content))
    assert name in sentence
    for part in said:
        assert part in sentence


def test_a_missing_file_a_directory_and_an_empty_name_are_refused(tmp_path: Path) -> None:
    assert "no such file" in refused("critical-time", tmp_path / "missing.csv")
    assert "directory" in refused("critical-time", tmp_path)
    refused("critical-time", "")


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "secret.csv", "lambda,rho\n1,1\n")
    path.chmod(0)
    try:
        path.read_bytes()
    except PermissionError:
        assert "permission" in refused("critical-time", path)
    else:
        pytest.skip("this user reads everything")


def test_empty_standard_input_is_refused() -> None:
    assert "standard input" in refused("critical-time", "-", stdin="")


def test_a_table_and_options_together_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "table.csv", "lambda,rho\n1,1\n")
    assert "--lambda" in refused("critical-time", path, "--lambda", "1")


def test_a_column_that_is_named_like_the_result_is_not_read_as_input(tmp_path: Path) -> None:
    path = written(tmp_path, "table.csv", "lambda,rho,critical_time,status\n1.0,0.5,hello,\n0.8,1.2,,\n")
    assert times(path) == GOOD
