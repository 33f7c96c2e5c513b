"""A relay without a cluster, processes of the user's with an agent, and the fixtures that make them: for tests/conversations/test_run*.py."""

import json
import os
import subprocess

import pytest
import sanitizers
from agent_process import PROGRAM, AgentProcess, line_of
from relay_process import RelayProcess
from relay_under_test import raydbg_path
from waits import limit, wait_until

WORK = {"file": str(PROGRAM), "line": line_of("work")}


class Relay(RelayProcess):
    """A relay without a cluster, and what is said to it of breakpoints."""

    def breakpoints(self):
        answer = self.http("GET", "/v1/breakpoints")
        assert answer.status == 200, answer
        return answer.json

    def set(self, **more):
        answer = self.http("POST", "/v1/breakpoints", body=json.dumps({**WORK, **more}))
        assert answer.status == 200, answer
        return answer.json

    def processes(self, **expected):
        def there():
            return expected.items() <= self.breakpoints()["processes"].items()
        wait_until(there, lambda: f"{expected}: {self.breakpoints()}")

    def stop(self, count=1):
        """The pauses, once so many have stopped and their location is known."""
        wait_until(lambda: sum(p["location"] is not None for p in self.pauses()) == count, lambda: str(self.pauses()))
        return self.pauses()

    def attach(self, program, kind="tcp", **more):
        return self.join(kind, filters=(), task=f"{program.pid}@127.0.0.1", **more)

    def cli_env(self):
        """The environment of a raydbg that uses this relay."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RAYDBG_"))}
        scheme = "https://" if self.tls else ""
        return {**clean, **self.env, "RAY_ADDRESS": "127.0.0.1:1", "RAYDBG_RELAY": "%s%s:%d" % (scheme, *self.address)}

    def cli(self, *arguments, input=None, code=0, **env):
        done = subprocess.run([raydbg_path(), *arguments], input=input, capture_output=True, text=True, timeout=limit(),
                              env={**self.cli_env(), **env})
        sanitizers.check(done.returncode, done.stderr)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done


@pytest.fixture
def start():
    started = []

    def run(*arguments, **options):
        started.append(Relay("--allow-connect", "--no-register", *arguments, **options))
        return started[-1]

    yield run
    for relay in started:
        relay.close()


@pytest.fixture
def relay(start):
    return start()


@pytest.fixture
def run_agent():
    """run_agent(relay): a process of the user's with an agent, which has had its first word."""
    started = []

    def run(relay, env=(), **options):
        env = {"AGAIN_S": "0.1 0.3", **dict(env)}  # it dials a relay that was away soon
        started.append(AgentProcess(relay.address, relay.token, word=60, env=env, **options))
        return started[-1]

    yield run
    for program in started:
        program.kill()
