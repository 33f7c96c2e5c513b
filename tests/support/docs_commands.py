"""The shell commands of README.md, CONTRIBUTING.md, docs/ and the wheel's description: those of code blocks, and those within a sentence."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "python/README.md"]
PROGRAMS = r"raydbg|tools/\w+|pip install|cmake|code|printf .*\| raydbg|ssh"
# Those that a code block may have as well; in a sentence they are words of the language, too.
BLOCK_PROGRAMS = PROGRAMS + r"|(?:\w+=\S+ )?ray (?:job|start)|source|apt|systemctl|adduser|editor|podman|buildah|git"
BEGINNING = re.compile(rf"(?:exec )?(?:{PROGRAMS})(?: |$)")
BLOCK_BEGINNING = re.compile(rf"(?:exec )?(?:{BLOCK_PROGRAMS})(?: |$)")


@dataclass(frozen=True)
class Line:
    """A line of a code block; `command` if it is one for the shell, else it is output, or for the console."""

    page: str
    number: int
    text: str
    command: bool

    def __str__(self):
        return f"{self.page}:{self.number}: {self.text}"


def lines_of(page):
    """(number, text, fence) of all lines: "" outside a fence, else its language, "text" if it has none. What a backslash
    continues is one line."""
    fence, begun = "", ""
    for number, text in enumerate(page.read_text().splitlines(), 1):
        if text.startswith("```"):
            fence = "" if fence else text[3:].strip() or "text"
        elif text.endswith(" \\"):
            begun += text.removesuffix("\\").strip() + " "
        else:
            yield number, begun + (text.strip() if begun else text), fence
            begun = ""


def line_in_block(page, number, text, fence):
    """The Line, or None if this is no code that a shell or a console may get."""
    if not fence and not re.match(r" {4}\S", text) or fence not in ("", "text", "sh"):
        return None
    text = text if fence else text[4:]
    prompted = text.startswith("$ ")
    bare = re.sub(r"\s+# .*$", "", text.removeprefix("$ ")).rstrip()
    return Line(page.name, number, bare, bool(BLOCK_BEGINNING.match(bare)) and (prompted or not text.startswith(" ")))


def blocks():
    """Each code block that has a command, as a list of its Lines."""
    for page in PAGES:
        block, last = [], 0
        for number, text, fence in lines_of(page):
            line = line_in_block(page, number, text, fence)
            if line is None:
                continue
            if number != last + 1 and block:
                yield from [block] if any(each.command for each in block) else []
                block = []
            block.append(line)
            last = number
        if any(each.command for each in block):
            yield block


def block_commands():
    return [line for block in blocks() for line in block if line.command]


def transcript(line):
    """The lines that its block prints below a command, up to the next one."""
    [block] = [block for block in blocks() if line in block]
    below = block[block.index(line) + 1:]
    end = next((i for i, each in enumerate(below) if each.command), len(below))
    return [each.text for each in below[:end]]


def unknown_lines():
    """The lines of code blocks in which a shell would expect a command: that begin a block without a fence, or are prompted."""
    for page in PAGES:
        last = 0
        for number, text, fence in lines_of(page):
            line = line_in_block(page, number, text, fence)
            if line is None:
                continue
            if not line.command and (text.startswith("$ ") or (not fence and number != last + 1)):
                yield line
            last = number


def sentence_commands():
    """`raydbg …` and `tools/…` between backquotes, as Lines."""
    for page in PAGES:
        text = "\n".join("" if fence else line for _, line, fence in lines_of(page))
        for found in re.finditer(r"`([^`]+)`", text):
            words = " ".join(found[1].split())
            if BEGINNING.match(words) and words not in ("raydbg", "code"):
                yield Line(page.name, text.count("\n", 0, found.start()) + 1, words, True)


def programs(text):
    """The words of each program of a pipeline: [["raydbg", "list", "--format", "json"], ["jq", …]]."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    parts = [[]]
    for word in lexer:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return [part[1:] if part[0] == "exec" or re.match(r"\w+=", part[0]) else part for part in parts]
