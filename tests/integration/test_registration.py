"""A relay's entry in the key-value store of a real GCS: who finds it, and who does not."""

import ast
import hmac
import json
import signal
import socket
import subprocess
import time

import pytest
from cluster import ADDRESS, wait_for
from fake_relay import FakeRelay

KV = "from ray.experimental import internal_kv as kv; "
SPACE = "namespace=b'raydbg'"


def entry(**changes):
    now = int(time.time() * 1000)
    return {"addresses": ["127.0.0.1:4999"], "tls": False, "pid": 7, "cluster": ADDRESS, "host": socket.gethostname(),
            "start_ticks": 1, "started": now, "refreshed": now, **changes}


def proven(value, token="t" * 32):
    """The entry as a relay writes it that knows the token."""
    text = "\n".join(["raydbg-relay", "tls" if value["tls"] else "plain", value.get("fingerprint") or "",
                      *value["addresses"], ""])
    return {**value, "proofs": [hmac.new(token.encode(), text.encode(), "sha256").hexdigest()]}


def store(cluster, **values):
    """Puts these under relay:NAME; None takes one away."""
    for name, value in values.items():
        act = f"kv._internal_kv_put(b'relay:{name}', {json.dumps(value)!r}.encode(), True, {SPACE})" if value else \
            f"kv._internal_kv_del(b'relay:{name}', {SPACE})"
        done = cluster.run([cluster.venv / "bin/python", "-c", f"import ray; ray.init(address='{ADDRESS}', "
                            f"logging_level='error', _node_ip_address='127.0.0.1'); {KV}{act}"])
        assert done.returncode == 0, done.stderr


@pytest.fixture
def relay(cluster):
    """A relay inside, which has not registered itself."""
    with FakeRelay(sock=cluster.listen(), token="t" * 32) as fake:
        yield fake


def asked(cluster, tmp_path, *arguments):
    """What `raydbg list` says, for a user who has no relay on this machine."""
    done = cluster.raydbg("list", "--address", ADDRESS, *arguments,
                          env={"XDG_STATE_HOME": str(tmp_path / "client"), "RAYDBG_TOKEN": "t" * 32})
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_what_the_cluster_says_of_relays(cluster, relay, tmp_path):
    good = proven(entry(addresses=[relay.address]))
    try:
        for changes, found in (({}, True), ({"refreshed": good["refreshed"] - 60000}, False),
                               ({"host": "elsewhere"}, False), ({"addresses": []}, False)):
            store(cluster, test={**good, **changes})
            assert (relay.address in asked(cluster, tmp_path)) is found, changes
        for stranger in (entry(addresses=[relay.address]), proven(entry(addresses=[relay.address]), "another token" * 2)):
            store(cluster, test=stranger)
            assert relay.address not in asked(cluster, tmp_path), "who does not know the token gets to see it"
        store(cluster, test=good)
        assert relay.address not in asked(cluster, tmp_path, "--no-relay")
    finally:
        store(cluster, test=None)


def keys(cluster):
    done = cluster.run([cluster.venv / "bin/python", "-c", f"import ray; ray.init(address='{ADDRESS}', "
                        f"logging_level='error', _node_ip_address='127.0.0.1'); {KV}"
                        f"print([k.decode() for k in kv._internal_kv_list(b'relay:', {SPACE})])"])
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout.strip().splitlines()[-1])


def test_a_relay_registers_itself_and_takes_leave(cluster, tmp_path):
    env = {"XDG_STATE_HOME": str(tmp_path / "relay"), "RAYDBG_TOKEN": "t" * 32}
    process = cluster.raydbg_popen("relay", "--listen", "127.0.0.1:0", "--hold", "never", "--address", ADDRESS,
                                   env=env, stderr=subprocess.PIPE, text=True)
    said = [process.stderr.readline()]
    while "ready" not in said[-1]:
        said.append(process.stderr.readline())
        assert said[-1], said
    address = said[0].split()[4]
    assert len(wait_for(lambda: keys(cluster), 10, "the relay registers")) == 1
    assert address in asked(cluster, tmp_path)
    assert (tmp_path / "relay/raydbg/relay.json").stat().st_mode & 0o777 == 0o600
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert keys(cluster) == []
    assert not (tmp_path / "relay/raydbg/relay.json").exists()
