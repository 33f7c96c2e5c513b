"""Every command that README and docs print exists, with its options; tests/integration/test_docs_commands.py runs them."""

import functools
import re
import subprocess

import pytest
from docs_commands import PAGES, ROOT, block_commands, lines_of, programs, sentence_commands, unknown_lines
from relay_under_test import raydbg_path
from waits import limit

OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
# A word of a sentence's command that stands for the user's own: `raydbg relay --make-cert [HOST…]`.
PLACEHOLDER = re.compile(r"[\[\]|…]")
FOREIGN = {"jq", "printf", "cmake", "code", "ssh", "pip", "ray", "source", "apt", "systemctl", "adduser", "editor", "podman",
           "buildah", "git"}
# What begins a code block and is not for a shell: a verb for an editor's debug console, and what a hover shows.
NO_COMMAND = re.compile(r"/[a-z]+ |/stacks$|2\.4 GB in 300 objects ")


@functools.cache
def help_of(*argv):
    done = subprocess.run([*argv, "--help"], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          timeout=limit())
    assert done.returncode == 0, argv
    return done.stdout


def check_raydbg(words):
    verbs = re.findall(r"^  ([a-z]+) ", help_of(raydbg_path()), re.M)
    assert words and words[0] in verbs, f"no verb of raydbg: {words[:1]}"
    return help_of(raydbg_path(), words[0])


def check_tool(program, words):
    text = help_of(ROOT / program)
    for word in words:
        if program in ("tools/test", "tools/build", "tools/bench") and not word.startswith("-") and "=" not in word:
            known = (re.search(rf"\b{re.escape(word)}\b", text) or word.isdigit() or word.endswith(".json")
                     or (ROOT / word.split("::")[0]).is_file())
            assert known, f"{program} --help does not know {word}"
    return text


def options_of(words):
    """The options, without what is behind an option of raydbg attach that takes a command for the console."""
    return [word.split("=")[0] for word, before in zip(words, ["", *words]) if before != "-e" and OPTION.match(word)]


@pytest.mark.parametrize("line", [*block_commands(), *sentence_commands()], ids=str)
def test_a_command_exists(line):
    for program, *words in programs(PLACEHOLDER.sub(" ", line.text)):
        if program in FOREIGN:
            continue
        text = check_raydbg(words) if program == "raydbg" else check_tool(program, words)
        missing = [option for option in options_of(words) if option not in OPTION.findall(text)]
        assert not missing, f"{line}: {missing} not in the help"


def anchors(page):
    """Those of a page's headings, as its readers' browsers have them."""
    headings = [text.lstrip("#").strip().lower() for _, text, fence in lines_of(page) if not fence and text.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_leads_somewhere(page):
    """To a file of this tree, and to a heading of it; on the web only to other projects, since this one has no address yet."""
    text = "\n".join("" if fence else line for _, line, fence in lines_of(page))
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if "://" in target:
            assert "raydbg" not in target
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.is_file() and file.is_relative_to(ROOT), f"{target}: no such file"
        assert not anchor or anchor in anchors(file), f"{target}: no such heading in {sorted(anchors(file))}"


def test_the_first_screen():
    """What a new user types, in this order, on the page of the repository and on that of the package."""
    for page in ROOT / "README.md", ROOT / "python/README.md":
        commands = [text.split("#")[0].strip() for _, text, _ in lines_of(page) if text.startswith("    ")]
        assert commands[:4] == ["pip install raydbg-bridge", "raydbg doctor", "raydbg list", "raydbg attach square"], page


def test_the_pages_have_commands():
    """An extraction that finds nothing checks nothing."""
    found = [line.text for line in block_commands()]
    assert len(found) > 50 and "raydbg attach square -e where -e locals" in found
    assert "raydbg relay --make-observer-token" in [line.text for line in sentence_commands()]


def test_no_command_is_overlooked():
    """docs_commands.py knows the programs that a line of a code block may begin with."""
    unknown = [line for line in unknown_lines() if not NO_COMMAND.match(line.text)]
    assert not unknown, [*map(str, unknown)]


@pytest.mark.parametrize("needed", [r"RAY_DEBUG_POST_MORTEM\W+1\b", "debugpy"], ids=["post mortem", "debugpy"])
@pytest.mark.parametrize("page", ["README.md", "python/README.md", "vscode-ext/README.md", "docs/doctor.md"])
def test_what_the_cluster_needs_is_said(page, needed):
    """On each page that a new user begins with, and that promises what needs it: nobody looks for a switch on another one."""
    assert re.search(needed, (ROOT / page).read_text())
