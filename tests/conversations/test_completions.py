"""Help, manual pages and completions: each option of each command is in all of them, as real shells and groff read them."""

import functools
import json
import os
import re
import subprocess

import pytest
from relay_under_test import raydbg_path
from waits import ROOT, limit

SHELLS = ["bash", "zsh", "fish"]
LISTED = '[{"task_id": "c2668a65bda616c1ffffffff", "task_name": "square"}]'  # by the raydbg that the scripts run
VALUES = {("list", "--state"): {"waiting", "attached", "held", "idle"}, ("memory", "--format"): {"table", "json", "yaml", "csv"},
          ("attach", "--format"): {"text", "json"}, ("relay", "--hold"): {"on-attach", "on-pause", "on-loss", "never"}}


def printed(*argv, **more):
    env = {"LISTED": LISTED, **os.environ, **more.pop("env", {})}
    done = subprocess.run([*map(str, argv)], capture_output=True, text=True, timeout=limit(), env=env, **more)
    assert done.returncode == 0 and not done.stderr, (argv, done.stderr)
    return done.stdout


@functools.cache
def commands():
    return re.findall(r"^  ([a-z]+) ", printed(raydbg_path(), "help"), re.M)


@functools.cache
def options(*command):
    """The options of a command's help, or without one of raydbg's own, with those that have a letter as pairs."""
    rows = re.findall(r"^  (?:-(\w), |    )--([a-z][a-z-]*)", printed(raydbg_path(), *command, "--help"), re.M)
    return {f"--{name}": letter and f"-{letter}" for letter, name in rows}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """The scripts' paths by shell; a raydbg on PATH for what they run."""
    directory = tmp_path_factory.mktemp("completions")
    for shell in SHELLS:
        (directory / shell).write_text(printed(raydbg_path(), "completions", shell))
    (directory / "raydbg").write_text('#!/bin/sh\nprintf "%s\\n" "$LISTED"\n')
    (directory / "raydbg").chmod(0o755)
    return directory


def bash(scripts, *words):
    """What bash offers for the last of the words."""
    script = ('PATH=$1:$PATH; . "$1/bash"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _raydbg; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    return set(printed("bash", "--norc", "-uc", script, "bash", scripts, "raydbg", *words, cwd=scripts).split())


def zsh(scripts, *words):
    """What zsh's function passes to its _arguments and _describe."""
    script = ('path=($1 $path); compdef() { }; _arguments() { print -rl -- "$@" }; '
              '_describe() { print -rl -- ${(P)2} }; '
              'source $1/zsh; shift; words=("$@"); CURRENT=$#; _raydbg')
    return printed("zsh", "-fuc", script, "zsh", scripts, "raydbg", *words, cwd=scripts).splitlines()


def fish(scripts, *words, **more):
    """What fish offers for the last of the words: {candidate: description}."""
    script = f"set -x PATH {scripts} $PATH; source {scripts}/fish; complete -C '{' '.join(('raydbg', *words))}'"
    lines = printed("fish", "--no-config", "-c", script, cwd=scripts, **more).splitlines()
    return dict((line.split("\t") + [""])[:2] for line in lines)


def test_there_are_commands_and_options():
    assert {"list", "attach", "relay", "completions"} <= set(commands())
    assert {"--address", "--watch", "--relay-key"} <= set(options("list")) and options("list")["--watch"] == "-w"
    assert sum(len(options(command)) for command in commands()) > 100
    assert options() == {"--help": "-h", "--version": "-V"}
    assert all(options(command)["--help"] == "-h" for command in commands())


@pytest.mark.parametrize("command", ["version", "-V", "--version"])
def test_the_version(command):
    """And nothing else: a script reads it."""
    assert re.fullmatch(r"raydbg \d+\.\d+\.\d+\n", printed(raydbg_path(), command))
    done = subprocess.run([raydbg_path(), command, "1"], capture_output=True, text=True)
    assert done.returncode == 2 and "version takes no names" in done.stderr and not done.stdout


def test_commands_are_offered(scripts):
    assert bash(scripts, "") == set(commands())
    assert bash(scripts, "re") == {"relay", "release"}
    assert [line.split(":")[0] for line in zsh(scripts, "")] == commands()
    assert set(fish(scripts, "")) == set(commands())
    assert fish(scripts, "rel")["release"] == "let tasks go on that the relay holds"
    for offered in bash(scripts, "help", ""), set(fish(scripts, "help ")):
        assert set(commands()) <= offered


def test_options_without_a_command_are_offered(scripts):
    assert bash(scripts, "-") == set(options())
    assert fish(scripts, "--") == {"--help": "the commands", "--version": "the version"}
    assert set(zsh(scripts, "-")) == {"-h[the commands]", "--help[the commands]", "-V[the version]", "--version[the version]"}


def test_options_are_offered(scripts):
    for command in commands():
        expected = {*options(command)}
        assert bash(scripts, command, "--") == expected, command
        assert set(fish(scripts, command, "--")) == expected, command
        specs = zsh(scripts, command, "--")
        named = {found for spec in specs for found in re.findall(r"^\*?(--[a-z-]+)\[", spec)}
        assert named == expected, command
        letters = {found for spec in specs for found in re.findall(r"^\*?(-\w)\[", spec)}
        assert letters == set(filter(None, options(command).values())), command
        assert all(description for name, description in fish(scripts, command, "--").items()), command


def test_values_are_offered(scripts):
    for (command, option), words in VALUES.items():
        assert bash(scripts, command, option, "") == words
        assert set(fish(scripts, command, option, "")) >= words
        spec, = (spec for spec in zsh(scripts, command, "") if spec.startswith(f"{option}["))
        assert set(re.search(r":\(([^)]*)\)$", spec).group(1).split()) == words
    assert bash(scripts, "completions", "") == set(SHELLS)
    assert "zsh" in bash(scripts, "relay", "--tls-key", "z"), "files"
    assert "zsh" in fish(scripts, "relay", "--tls-key", "z")


@pytest.mark.parametrize("before", [["run"], ["break"], ["run", "--break"], ["env", "--break"], ["run", "train.py", "--lr"]], ids=" ".join)
def test_files_are_offered(scripts, before):
    assert bash(scripts, *before, "z") == {"zsh"}
    assert set(fish(scripts, *before, "z")) == {"zsh"}
    specs = zsh(scripts, before[0], "")
    if before[-1] == "--break":
        assert any(re.match(r"\*?--break\[.*:_files$", spec) for spec in specs), specs
    else:
        assert "*:file:_files" in specs


def test_tasks_are_offered(scripts):
    for command in "attach", "dap", "release":
        assert bash(scripts, command, "") == {"c2668a65bda6", "square"}
        assert fish(scripts, command, "")["c2668a65bda6"] == "square"
        assert "*:task:_raydbg_tasks" in zsh(scripts, command, "")


# What bash makes of a word that it has completed, as the command line has it then.
READ_BACK = """\
. "$1/bash"
COMP_WORDS=(raydbg attach "$2") COMP_CWORD=2
_raydbg
quote=
case $2 in [\\"\\']*) quote=${2:0:1} ;; esac
for word in "${COMPREPLY[@]}"; do
    eval "printf '%s\\n' $quote$word$quote"
done
"""


@pytest.mark.parametrize("name, typed", [
    ("my `touch pwned` $(touch pwned)", ["my", r"my\ \`t", "'my"]), ("$(touch pwned)", ["", r"\$\(", "'"]),
    ("`touch pwned`", ["", r"\`"]), ("it's <one> & *", ["it", r"it\'s\ ", '"it']), ("ServeReplica:app:f=1@2", ["Serve", r"ServeReplica\:a"]),
    ("~root;x", ["", '"~', "'~"]), ("träge {a,b} #!", ["tr", "'tr"]),
])
def test_a_name_is_one_word_and_runs_nothing(scripts, tmp_path, name, typed):
    """A task's name is any text, and not this user's."""
    env = {"LISTED": json.dumps([{"task_id": "c2668a65bda616c1ffffffff", "task_name": name}], ensure_ascii=False), "LANG": "C.UTF-8",
           "PATH": f"{scripts}:{os.environ['PATH']}"}
    for word in typed:
        offered = printed("bash", "--norc", "-uc", READ_BACK, "bash", scripts, word, cwd=tmp_path, env=env).splitlines()
        assert offered == ["c2668a65bda6"] * (not word.strip("\"'")) + [name], word
    assert fish(scripts, "attach", "", env=env)["c2668a65bda6"] == name
    assert list(tmp_path.iterdir()) == [] and not (scripts / "pwned").exists()


def test_a_name_that_cannot_be_written_is_left_out(scripts, tmp_path):
    """One with a quote inside quotes, or with what JSON escapes; the task's id is there."""
    path = {"PATH": f"{scripts}:{os.environ['PATH']}"}
    for name, word in (("it's", "'"), ("a $HOME", '"'), ('say "x"', ""), ("a\nb", ""), ("a\\b", "")):
        env = {"LISTED": json.dumps([{"task_id": "c2668a65bda616c1ffffffff", "task_name": name}]), **path}
        assert printed("bash", "--norc", "-uc", READ_BACK, "bash", scripts, word, cwd=tmp_path, env=env) == "c2668a65bda6\n", name


def test_an_unknown_shell():
    done = subprocess.run([raydbg_path(), "completions", "tcsh"], capture_output=True, text=True)
    assert done.returncode == 2 and "bash, zsh or fish" in done.stderr and not done.stdout


# --- manual pages ---


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """{command, or "" for raydbg(1): the page as groff shows it}; groff has nothing to warn of."""
    directory = tmp_path_factory.mktemp("man")
    printed(raydbg_path(), "help", "--man", directory)
    found = {}
    for page in sorted(directory.iterdir()):
        command = page.stem.partition("-")[2]
        assert page.suffix == (".8" if command == "relay" else ".1")
        found[command] = printed("groff", "-man", "-Tascii", "-ww", "-P-cbou", "-rLL=200n", page)
    return found


def test_each_command_has_a_page(pages):
    assert set(pages) == {"", *commands()}
    for command in commands():
        section = 8 if command == "relay" else 1
        assert f"raydbg-{command}({section})" in pages[""]
        assert f"raydbg {command}" in pages[command]


def test_options_are_in_the_pages(pages):
    for command in ["", *commands()]:
        for option, letter in options(*command.split()).items():
            label = f"{letter}, {option}" if letter else option
            assert re.search(rf"^ +{label}( |$)", pages[command], re.M), (command, option)
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION" if command else "COMMANDS", "SEE ALSO"):
            assert re.search(f"^{section}$", pages[command], re.M), (command, section)


def test_each_form_of_a_command_is_a_line(pages):
    """Of the help: another form, or what continues the line before. Of the page: one with the command's name."""
    for command in commands():
        first, *more = re.search(r"^usage: (.*(?:\n.+)*)", printed(raydbg_path(), command, "--help"), re.M)[1].splitlines()
        assert all(re.match(rf" {{7}}raydbg {command} | {{8,}}\S", line) for line in more), (command, more)
        forms = [first] + [line.strip() for line in more if line.startswith("       raydbg ")]
        shown = re.search(r"^SYNOPSIS\n((?: +\S.*\n)+)", pages[command], re.M)[1]
        assert [line.split()[:2] for line in re.sub(r"\n +(?! |raydbg )", " ", shown).splitlines()] == len(forms) * [["raydbg", command]]


def test_the_exit_codes_are_those_of_the_readme(pages):
    readme = words_of((ROOT / "README.md").read_text()).replace("`", "")
    said = re.search(r"Exit codes of all commands: ([^.]+\^C)\.", readme)[1]
    assert f"exit codes: {said}" in words_of(printed(raydbg_path(), "help"))
    assert said in words_of(pages[""])


def words_of(text):
    return re.sub(r"\s+", " ", re.sub(r"-\n *", "-", text))


def test_the_pages_say_what_the_help_says(pages):
    for command in commands():
        whole = printed(raydbg_path(), command, "--help")
        page = words_of(pages[command])
        for paragraph in re.findall(r"^ {26}?\S.*$|^[A-Z].*$", whole.partition("\n\n")[2], re.M):
            if not paragraph.startswith(("usage", "exit codes")):
                assert words_of(paragraph).strip() in page, (command, paragraph)


def test_lines_that_stay_as_they_are(pages):
    """A backslash, quotes, and the depth of a line."""
    line = r"printf 'break train.py:41, loss > 9\nc\np loss\n' | raydbg attach Trainer.step"
    assert line in printed(raydbg_path(), "attach", "--help") and line in pages["attach"]
    first, second = (next(row for row in pages["dap"].splitlines() if text in row) for text in ("dap.configurations", "'square'"))
    assert second.index("task =") - first.index("dap.c") == 31


def test_a_directory_that_is_none(tmp_path):
    done = subprocess.run([raydbg_path(), "help", "--man", str(tmp_path / "none")], capture_output=True, text=True)
    assert done.returncode == 1 and "cannot write" in done.stderr and "No such file" in done.stderr
