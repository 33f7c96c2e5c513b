#!/usr/bin/env python3
"""Packs a raydbg as a wheel that pip installs.

usage: wheel.py BINARY VERSION DIRECTORY
"""

import sys
import zipfile
from pathlib import Path

METADATA = "Metadata-Version: 2.1\nName: raydbg-bridge\nVersion: {version}\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: tests/vscode\nRoot-Is-Purelib: false\nTag: py3-none-any\n"


def main(binary, version, directory):
    Path(directory).mkdir(parents=True, exist_ok=True)
    info = f"raydbg_bridge-{version}.dist-info"
    content = {f"raydbg_bridge-{version}.data/scripts/raydbg": Path(binary).read_bytes(),
               f"{info}/METADATA": METADATA.format(version=version), f"{info}/WHEEL": WHEEL}
    with zipfile.ZipFile(Path(directory) / f"raydbg_bridge-{version}-py3-none-any.whl", "w") as wheel:
        for name, data in content.items():
            member = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            member.external_attr = 0o100755 << 16
            wheel.writestr(member, data)
        wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in [*content, f"{info}/RECORD"]))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
