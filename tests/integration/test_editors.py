"""`raydbg dap` with editors as they are: nvim with nvim-dap's requests, Emacs with the real dap-mode."""

import re
import shutil
from pathlib import Path

from cluster import PROGRAMS, ROOT, line_of
from waits import limit

EDITORS = Path(__file__).resolve().parent / "editors"
PAUSES = PROGRAMS / "pauses.py"


def lines_of(cluster, argv):
    """What the editor's script printed, once it has ended well."""
    home = cluster.directory / "editor"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    done = cluster.run(argv, env={"HOME": str(home), "RAY_ADDRESS": cluster.head()}, timeout=limit(120))
    assert done.returncode == 0 and "FAIL" not in done.stdout, done.stdout + done.stderr
    return done.stdout.splitlines()


def arguments(cluster):
    return [cluster.raydbg_path, "walk", PAUSES, line_of(PAUSES, "helper-add")]


def assert_in_order(said, *expected):
    """That these lines (regular expressions) are among what was said, in this order."""
    rest = iter(said)
    for pattern in expected:
        assert any(re.fullmatch(pattern, line) for line in rest), (pattern, said[-12:])


def test_nvim_as_nvim_dap(cluster):
    driver = cluster.driver("pauses.py", "walk")
    cluster.wait_paused()
    said = lines_of(cluster, [cluster.venv / "bin/nvim", "--headless", "-u", "NONE", "-l", EDITORS / "nvim.lua",
                              *arguments(cluster)])
    add = line_of(PAUSES, "helper-add")
    assert_in_order(said, f"breakpoint {add} true",
                    f"stopped breakpoint walk pauses.py {line_of(PAUSES, 'walk-breakpoint')} of true",
                    "variable Locals number 7", "evaluate 8",
                    f"stopped step walk pauses.py {line_of(PAUSES, 'walk-call')} of true",
                    f"stopped breakpoint helper pauses.py {add} of true", "variable Locals i 0", "exit 0")
    assert not [line for line in said if line.startswith("STDERR")]
    assert driver.result("walk") == "232"


def test_emacs_with_dap_mode(cluster):
    driver = cluster.driver("pauses.py", "walk")
    cluster.wait_paused()
    said = lines_of(cluster, ["emacs", "--batch", "-q", "-l", EDITORS / "dap-mode.el", *arguments(cluster)])
    assert_in_order(said, f"stopped walk pauses.py {line_of(PAUSES, 'walk-breakpoint')}", "variable number 7",
                    "evaluate 8", f"stopped walk pauses.py {line_of(PAUSES, 'walk-call')}",
                    f"stopped helper pauses.py {line_of(PAUSES, 'helper-add')}", "variable i 0", "ended terminated")
    assert driver.result("walk") == "232"
