"""The manifest for KubeRay, as far as it can be validated without a cluster."""

import re
import subprocess

import pytest
from conftest import ROOT, output

MANIFEST = ROOT / "packaging/kubernetes/kuberay.yaml"
CHECK = ROOT / ".cache/packages/bin/python", ROOT / "tests/packages/kubernetes_check.py"


def test_the_manifest_is_valid():
    assert output(*CHECK, MANIFEST) == "6 documents, 0 errors\n"


@pytest.mark.parametrize("word, misspelt", [("readinessProbe:", "readynessProbe:"), ("targetPort:", "targtPort:"),
                                            ("runAsNonRoot: true", 'runAsNonRoot: "yes"'), ("policyTypes:", "policyType:"),
                                            ("verbs: [create]", "verb: [create]"), ("mountPath: /run/raydbg-tls,", "")])
def test_a_misspelling_is_found(word, misspelt, tmp_path):
    text = MANIFEST.read_text()
    assert word in text
    planted = tmp_path / "planted.yaml"
    planted.write_text(text.replace(word, misspelt, 1))
    done = subprocess.run([*CHECK, planted], capture_output=True, text=True)
    assert done.returncode == 1 and ", 0 errors" not in done.stdout, done.stdout + done.stderr


def test_the_relays_options_exist_and_the_version_is_ours(version):
    text = MANIFEST.read_text()
    known = output(ROOT / "build/raydbg", "relay", "--help")
    options = re.findall(r"- (--[a-z-]+)=", text)
    assert len(options) > 6
    for option in options:
        assert re.search(rf"^ +(-\w, )? *{option} ", known, re.M), option
    assert f"image: raydbg:{version}\n" in text
