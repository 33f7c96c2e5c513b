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
from fake_relay import FakeRelay, machine
from waits import limit

KV = "from ray.experimental import internal_kv as kv; "
SPACE = "namespace=b'raydbg'"


FACTS = ("addresses", "tls", "pid", "id", "cluster", "fingerprint", "host", "machine", "version", "start_ticks", "started",
         "refreshed")


def entry(relay, **changes):
    now = int(time.time() * 1000)
    return {"addresses": [relay.address], "tls": False, "pid": 7, "id": relay.id, "cluster": ADDRESS, "fingerprint": "",
            "host": socket.gethostname(), "machine": relay.machine, "version": "0.1.0", "start_ticks": 1, "started": now,
            "refreshed": now, **changes}


def proven(value, token="t" * 32):
    """The entry as a relay writes it that knows the token."""
    text = json.dumps({name: value[name] for name in FACTS}, separators=(",", ":")).removesuffix("}")
    return {**value, "proofs": [hmac.new(token.encode(), f"raydbg registration\n{text}".encode(), "sha256").hexdigest()]}


def proven_as_before(value, token="t" * 32):
    """The same for the addresses alone, as relays did it that were copied."""
    text = "\n".join(["raydbg-relay", "tls" if value["tls"] else "plain", value["fingerprint"], *value["addresses"], ""])
    return {**value, "proofs": [hmac.new(token.encode(), text.encode(), "sha256").hexdigest()]}


def store(cluster, values):
    """Puts these under relay:NAME; None takes one away."""
    acts = [f"kv._internal_kv_put(b'relay:{name}', {json.dumps(value)!r}.encode(), True, {SPACE})" if value else
            f"kv._internal_kv_del(b'relay:{name}', {SPACE})" for name, value in values.items()]
    done = cluster.run([cluster.venv / "bin/python", "-c", f"import ray; ray.init(address='{ADDRESS}', "
                        f"logging_level='error', _node_ip_address='127.0.0.1'); {KV}{'; '.join(acts)}"])
    assert done.returncode == 0, done.stderr


@pytest.fixture
def relay(cluster):
    """A relay inside, which has not registered itself."""
    done = cluster.run(["sh", "-c", "cat /proc/sys/kernel/random/boot_id; readlink /proc/self/ns/net"])
    with FakeRelay(sock=cluster.listen(), token="t" * 32, machine=" ".join(done.stdout.split())) as fake:
        yield fake


def asked(cluster, tmp_path, *arguments):
    """What `raydbg list` says, for a user who has no relay on this machine."""
    done = cluster.raydbg("list", "--address", ADDRESS, *arguments,
                          env={"XDG_STATE_HOME": str(tmp_path / "client"), "RAYDBG_TOKEN": "t" * 32})
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_what_the_cluster_says_of_relays(cluster, relay, tmp_path):
    good = proven(entry(relay))
    try:
        store(cluster, {relay.id: good})
        assert relay.address in asked(cluster, tmp_path)
        assert "t" * 32 not in str(relay.calls), "the token was sent in clear"
        assert relay.address not in asked(cluster, tmp_path, "--no-relay")
        old = good["refreshed"] - 60000
        for value in proven(entry(relay, refreshed=old)), proven(entry(relay, machine=machine())), {**good, "addresses": []}:
            store(cluster, {relay.id: value})
            assert relay.address not in asked(cluster, tmp_path), value
    finally:
        store(cluster, {relay.id: None})


def test_a_copied_entry_leads_nowhere(cluster, relay, tmp_path):
    """A relay of another machine has proven `genuine`; each part of it is changed so that it would fit here."""
    genuine = proven(entry(relay, host="elsewhere", machine="elsewhere", refreshed=1, started=1, addresses=["127.0.0.1:1"],
                           pid=8, start_ticks=2, cluster="", version="0"))
    here = entry(relay)
    copies = {f"copy-{name}": {**genuine, **{other: here[other] for other in FACTS if other != name}} for name in FACTS}
    copies |= {f"{n}": {**here, "id": f"{n}", "proofs": value["proofs"]} for n, value in enumerate((
        genuine, proven(here), proven_as_before(here), proven(here, "another token" * 2), {"proofs": []},
        {"proofs": [""]}, {"proofs": None}))}
    copies |= {"another key": proven(here), "old": proven_as_before({**here, "id": "old"}),
               "older": {name: value for name, value in proven_as_before(here).items() if name not in ("id", "machine")}}
    try:
        store(cluster, copies)
        assert relay.address not in asked(cluster, tmp_path)
        assert not relay.calls
    finally:
        store(cluster, dict.fromkeys(copies))


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
    assert len(wait_for(lambda: keys(cluster), "the relay registers")) == 1
    assert address in asked(cluster, tmp_path)
    assert (tmp_path / "relay/raydbg/relay.json").stat().st_mode & 0o777 == 0o600
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=limit())
    assert keys(cluster) == []
    assert not (tmp_path / "relay/raydbg/relay.json").exists()
