"""What the command says about itself."""

import re
import shlex
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import click
import numpy as np
import pytest

from cli import main
from tests.cli.running import LINDYN, answered, refused, run

COMMANDS = sorted(main.commands)
PATHS = {(name,): command for name, command in sorted(main.commands.items())}
PATHS |= {
    (*path, name): command
    for path, group in list(PATHS.items())
    if isinstance(group, click.Group)
    for name, command in sorted(group.commands.items())
}
"""Every command by the words that call it, those of groups too."""
EXAMPLE = re.compile(r"(?:^|\$\(|: )\s*lindyn ((?:\"[^\"\n]*\"|[^|)\"\n])+)", re.MULTILINE)
TAKES_LONG = {("verify",)}
"""Examples that take minutes; what they do is tested elsewhere in pieces."""
TAKES_SECONDS = {("attention",), ("attention", "phases"), ("attention", "simulate")}
"""Examples that take more than a few seconds; smaller ones are tested elsewhere."""


def examples(command: click.Command) -> list[str]:
    return EXAMPLE.findall(command.help or "")


def test_the_promised_commands_exist() -> None:
    assert {"critical-time", "trajectory", "order", "features", "derive", "verify", "cite", "completion"} <= set(COMMANDS)


def test_groups_are_seen_through() -> None:
    assert {("multiview", name) for name in ("critical-time", "redundancy", "views", "simulate")} <= set(PATHS)
    assert {("attention", name) for name in ("phases", "simulate", "metrics")} <= set(PATHS)


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_command_helps_on_stdout(path: tuple[str, ...], flag: str) -> None:
    result = answered(*path, flag)
    assert result.stdout.startswith(f"Usage: lindyn {' '.join(path)} ")
    assert result.stderr == ""


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_option_is_documented(path: tuple[str, ...]) -> None:
    for parameter in PATHS[path].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            assert parameter.help.endswith((".", "]")), parameter.name


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_argument_is_named_in_the_text(path: tuple[str, ...]) -> None:
    for parameter in PATHS[path].params:
        if isinstance(parameter, click.Argument) and not isinstance(parameter.type, click.Choice):
            name = parameter.make_metavar(click.Context(PATHS[path])).strip("[].")
            assert re.search(rf"\b{name}\b", PATHS[path].help or ""), name


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_command_shows_an_example_of_itself(path: tuple[str, ...]) -> None:
    assert any(example.startswith(" ".join(path)) for example in examples(PATHS[path]))


@pytest.mark.parametrize(
    "path",
    [
        *(path for path in ((), *PATHS) if path not in TAKES_LONG | TAKES_SECONDS),
        *(pytest.param(path, marks=pytest.mark.slow) for path in sorted(TAKES_SECONDS)),
        *(pytest.param(path, marks=pytest.mark.exhaustive) for path in sorted(TAKES_LONG)),
    ],
    ids=lambda path: " ".join(path) or "lindyn",
)
def test_the_examples_run_as_they_stand(path: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    for name in ("pixels.npy", "DATA.npy"):
        np.save(name, generator.normal(size=(40, 3)) * [3.0, 2.0, 1.0])
    series = generator.normal(size=(40, 3)).cumsum(axis=0)
    np.savetxt("series.csv", series, delimiter=",", header="wind,temp_max,rain", comments="")
    Path("features.csv").write_text("name,lambda,rho\nedge,1.0,0.5\ntexture,0.8,1.2\n")
    np.save("map.npy", generator.dirichlet(np.ones(36), size=36))
    np.savez("digits.npz", x=generator.normal(size=(40, 3)) * [3.0, 2.0, 1.0])
    Path("order.toml").write_text('command = "critical-time"\n[sources.two]\nlambda = [1.0, 0.8]\nrho = [0.6, 0.9]\n')
    if path == ("sweep-table",):
        answered("sweep", "order.toml", "--store", "results")
    for example in examples(PATHS[path] if path else main):
        answered(*shlex.split(example))


def test_the_version_is_the_installed_one() -> None:
    assert answered("--version").stdout == f"lindyn {version('lindyn')}\n"


def test_an_unknown_command_is_refused_with_the_nearest_one() -> None:
    assert "critical-time" in refused("crtical-time")


def test_no_command_shows_the_help() -> None:
    result = run()
    assert result.exit_code in {0, 2}
    assert "critical-time" in result.output


def entries(text: str) -> list[str]:
    return re.findall(r"^@\w+\{([^,]+),", text, re.MULTILINE)


def test_citations_are_balanced_bibtex_with_unique_keys() -> None:
    text = answered("cite").stdout
    assert text.count("{") == text.count("}")
    assert entries(text)[0] == "lindyn"
    assert len(entries(text)) == len(set(entries(text)))
    assert "2407.03475" in text


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in {"cite", "completion"}])
def test_the_citations_of_a_command_are_some_of_all_with_lindyn_first(command: str) -> None:
    mine = entries(answered("cite", command).stdout)
    assert mine[0] == "lindyn"
    assert set(mine) <= set(entries(answered("cite").stdout))


def test_citations_of_an_unknown_command_are_refused() -> None:
    assert "nonsense" in refused("cite", "nonsense")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_parse_in_their_shell(shell: str) -> None:
    script = answered("completion", shell).stdout
    assert "_LINDYN_COMPLETE" in script
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"], input=script.encode(), capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


def test_completion_of_an_unknown_or_missing_shell_is_refused() -> None:
    assert "zsh" in refused("completion", "tcsh")
    assert "zsh" in refused("completion")


def test_completion_offers_the_commands() -> None:
    environment = {"_LINDYN_COMPLETE": "bash_complete", "COMP_WORDS": "lindyn crit", "COMP_CWORD": "1"}
    done = subprocess.run([LINDYN], env=environment, capture_output=True, check=False, timeout=20)
    assert done.stdout == b"plain,critical-time\n"
