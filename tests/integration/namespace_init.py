"""Process 1 of a test cluster's namespace: brings the loopback up and serves sockets until its stdin ends.

Run as `namespace_init.py DIR`. It listens on DIR/ns.sock; a request is one line, `connect HOST PORT` or
`listen HOST PORT`, and its answer one byte with the connected or listening socket attached, or the error's text. So
the tests, outside, hold real sockets of the inside. When stdin ends (the test run is over, or was killed), every
process of the namespace is killed and DIR removed.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading


def reap(*_):
    """Collects what was orphaned in the namespace; children of our own are waited for by nobody else."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def prepare():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2g", "tmpfs", "/dev/shm"], check=True)
    signal.signal(signal.SIGCHLD, reap)


def open_socket(verb, host, port):
    if verb == "connect":
        return socket.create_connection((host, int(port)), timeout=20)
    return socket.create_server((host, int(port)))


def answer(client):
    with client:
        try:
            with open_socket(*client.makefile("r").readline().split()) as sock:
                sock.settimeout(None)
                socket.send_fds(client, [b"+"], [sock.fileno()])
        except Exception as error:
            client.sendall(str(error).encode() or b"failed")


def serve(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        while True:
            client, _ = listener.accept()
            threading.Thread(target=answer, args=(client,), daemon=True).start()


def main(directory):
    prepare()
    threading.Thread(target=serve, args=(os.path.join(directory, "ns.sock"),), daemon=True).start()
    while os.read(0, 4096):
        pass
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.kill(-1, signal.SIGKILL)
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
