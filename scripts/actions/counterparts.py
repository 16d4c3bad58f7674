"""The counterparts of the actions: installed, started, asked and stopped."""

import base64
import hashlib
import json
import os
import pwd
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree
from pathlib import Path

PARTS = Path(__file__).resolve().parent
NEW = ["azure-storage-queue==12.18.1", "azure-servicebus==7.15.0", "standardwebhooks==1.1.0"]
OLD = ["azure-servicebus==0.21.1"]
NODE = ["azurite@3.35.0", "rhea@3.0.5"]
# Seconds in which a counterpart starts, on a slow machine.
START = 90


class Trouble(Exception):
    """Something about the counterparts does not work."""


def within(seconds, condition):
    """Whether a condition comes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def stop(process, with_signal):
    if process and process.poll() is None:
        process.send_signal(with_signal)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def release_binary(root):
    metadata = subprocess.check_output(
        ["cargo", "metadata", "--format-version=1", "--no-deps", "--offline"], cwd=root)
    return Path(json.loads(metadata)["target_directory"]) / "release" / "punctual"


class Clients:
    """Programs of others, each in the environment that it wants."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "NODE_PATH": str(folder / "node" / "node_modules")}

    def _python(self, environment, script, *arguments, text=None):
        command = [self.folder / environment / "bin" / "python", PARTS / script, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, input=text, timeout=120)
        if done.returncode:
            raise Trouble(f"{script} {arguments}: {done.stderr.strip()[-2000:]}")
        return json.loads(done.stdout) if done.stdout.strip() else None

    def new(self, script, *arguments):
        return self._python("new", script, *arguments)

    def old(self, script, *arguments, text=None):
        return self._python("old", script, *arguments, text=text)

    def node(self, script, *arguments):
        command = ["node", PARTS / script, *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.environment)


def install(folder):
    """Installs what is not there yet, in the versions of this file."""
    for name, packages in [("new", NEW), ("old", OLD), ("node", NODE)]:
        place = folder / name
        marker = place / "installed"
        if marker.exists() and marker.read_text() == "\n".join(packages):
            continue
        print(f"installing {', '.join(packages)}", flush=True)
        shutil.rmtree(place, ignore_errors=True)
        if name == "node":
            if not shutil.which("npm"):
                raise Trouble("npm is not there; on Debian: apt-get install nodejs npm")
            place.mkdir(parents=True)
            command = ["npm", "install", "--prefix", place, "--no-audit", "--no-fund", "--loglevel=error", *packages]
        else:
            subprocess.run([sys.executable, "-m", "venv", place], check=True)
            command = [place / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        marker.write_text("\n".join(packages))
    return Clients(folder)


class Azurite:
    def __init__(self, clients, folder):
        self.clients, self.folder, self.port = clients, folder, free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}/devstoreaccount1"

    def __enter__(self):
        program = self.clients.folder / "node" / "node_modules" / ".bin" / "azurite-queue"
        command = [program, "--queueHost", "127.0.0.1", "--queuePort", str(self.port), "--location", self.folder,
                   "--silent", "--skipApiVersionCheck", "--disableTelemetry"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        if not within(START, lambda: answers(self.port)):
            stop(self.process, signal.SIGTERM)
            raise Trouble("Azurite does not start")
        return self

    def __exit__(self, *_):
        stop(self.process, signal.SIGTERM)

    def client(self, command, *queues):
        return self.clients.new("storage_client.py", command, self.endpoint, *queues)


class Broker:
    """The small broker with Service Bus's manners."""

    def __init__(self, clients, folder, entities, key_name, key):
        self.clients, self.folder, self.entities = clients, folder, entities
        self.key_name, self.key = key_name, key
        self.port, self.tls_port = free_port(), free_port()
        self.certificate, self.process = folder / "cert.pem", None

    def __enter__(self):
        self.folder.mkdir()
        # Not a CA: those who are asked to trust it refuse a CA that speaks for itself.
        (self.folder / "openssl.cnf").write_text(
            "[req]\nprompt = no\ndistinguished_name = name\nx509_extensions = server\n[name]\nCN = localhost\n"
            "[server]\nbasicConstraints = CA:FALSE\nsubjectAltName = DNS:localhost\n")
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                   "-days", "2", "-config", self.folder / "openssl.cnf",
                   "-keyout", self.folder / "key.pem", "-out", self.certificate]
        subprocess.run(command, check=True, capture_output=True)
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self):
        options = {"port": self.port, "tlsPort": self.tls_port, "cert": str(self.certificate),
                   "key": str(self.folder / "key.pem"), "file": str(self.folder / "messages"),
                   "entities": self.entities, "keys": {self.key_name: self.key}}
        command = ["node", PARTS / "broker.js", json.dumps(options)]
        self.process = subprocess.Popen(
            command, stdout=(self.folder / "log").open("a"), env=self.clients.environment)
        if not within(START, lambda: answers(self.port) and answers(self.tls_port)):
            raise Trouble("the broker does not start")

    def kill(self):
        stop(self.process, signal.SIGKILL)

    def _log(self):
        return [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]

    def tokens(self, entity):
        return sum(1 for line in self._log() if line.get("good") and line["audience"].endswith("/" + entity))

    def connections(self):
        return sum(1 for line in self._log() if line["event"] == "connection")

    def open_connections(self):
        return self.connections() - sum(1 for line in self._log() if line["event"] == "gone")

    def azure_client(self, queue, count):
        """What lies in a queue, as Azure's client reads it."""
        return self.clients.new("bus_client.py", self.port, self.key_name, self.key, queue, count)

    def ids(self, name, _count):
        lines = (self.folder / "messages").read_text().splitlines()
        return [line["id"] for line in map(json.loads, lines) if line["address"] == name]


class Rabbit:
    def __init__(self, clients, folder, queues):
        self.clients, self.folder, self.port, self.process = clients, folder, free_port(), None
        self.queues, self.epmd = queues, free_port()

    def __enter__(self):
        self.folder.mkdir()
        (self.folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\nlog.console = true\nlog.file = false\n"
            f"load_definitions = {self.folder}/definitions.json\n")
        # Queues that survive a restart must be there before: those that AMQP 1.0 clients make do not.
        salt = os.urandom(4)
        password = base64.b64encode(salt + hashlib.sha256(salt + b"guest").digest()).decode()
        queue = {"vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}
        (self.folder / "definitions.json").write_text(json.dumps({
            "vhosts": [{"name": "/"}],
            "users": [{"name": "sender", "password_hash": password, "tags": "",
                       "hashing_algorithm": "rabbit_password_hashing_sha256"}],
            "permissions": [{"user": "sender", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}],
            "queues": [{"name": name, **queue} for name in self.queues],
        }))
        (self.folder / "plugins").write_text("[rabbitmq_amqp1_0].\n")
        self.user = pwd.getpwnam("rabbitmq")
        for path in [self.folder, *self.folder.iterdir()]:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()
        subprocess.run([shutil.which("epmd"), "-port", str(self.epmd), "-kill"], capture_output=True)

    def start(self):
        variables = {
            "HOME": self.folder, "PATH": os.environ["PATH"], "RABBITMQ_NODENAME": f"check{self.port}@localhost",
            "RABBITMQ_CONFIG_FILE": self.folder / "rabbitmq.conf", "RABBITMQ_MNESIA_BASE": self.folder / "mnesia",
            "RABBITMQ_LOG_BASE": self.folder / "log", "RABBITMQ_ENABLED_PLUGINS_FILE": self.folder / "plugins",
            "RABBITMQ_DIST_PORT": str(free_port()), "ERL_EPMD_ADDRESS": "127.0.0.1", "ERL_EPMD_PORT": str(self.epmd),
        }
        # Its scripts start the virtual machine as a child; the group is what is killed.
        self.process = subprocess.Popen(
            ["/usr/lib/rabbitmq/bin/rabbitmq-server"], env={k: str(v) for k, v in variables.items()},
            user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[], cwd=self.folder, start_new_session=True,
            stdout=(self.folder / "out").open("a"), stderr=subprocess.STDOUT)
        if not within(START, lambda: answers(self.port)):
            raise Trouble(f"RabbitMQ does not start:\n{(self.folder / 'out').read_text()[-2000:]}")

    def kill(self):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        within(START, lambda: not answers(self.port))

    def listen(self, address, count):
        return Listener(self.clients, self.port, address, count)

    def ids(self, name, count):
        """The ids of all that lies in a queue: as many as expected, and what came twice."""
        listener = self.listen(f"/amq/queue/{name}", 100_000)
        found = []
        # A duplicate can only be seen by waiting for it: read until nothing more comes.
        for message in listener.until_silent(count, 3):
            found.append(message["message_id"])
        return found


class Listener:
    """A client that reads from an address."""

    def __init__(self, clients, port, address, count):
        self.address, self.count = address, count
        self.process = clients.node("receive.js", port, "sender", "guest", address, count)
        if '"ready"' not in self.process.stdout.readline():
            raise Trouble(f"{address} cannot be read")

    def messages(self):
        try:
            text, _ = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            text, _ = self.process.communicate()
        found = [json.loads(line) for line in text.splitlines()]
        if len(found) != self.count:
            raise Trouble(f"{self.address}: {len(found)} messages instead of {self.count}")
        return found

    def until_silent(self, count, seconds):
        """Messages until there are as many as expected, and nothing came for a while."""
        lines = queue.Queue()
        threading.Thread(target=lambda: [lines.put(line) for line in self.process.stdout], daemon=True).start()
        found = []
        try:
            while True:
                found.append(json.loads(lines.get(timeout=seconds if len(found) >= count else 60)))
        except queue.Empty:
            stop(self.process, signal.SIGTERM)
        return found


def rabbit(clients, folder, queues):
    """RabbitMQ, if there is one or one can be had."""
    if not shutil.which("rabbitmq-server", path="/usr/sbin:/usr/bin:/usr/lib/rabbitmq/bin"):
        if os.geteuid() or not shutil.which("apt-get"):
            print("skipped: RabbitMQ is not there; on Debian: apt-get install rabbitmq-server", flush=True)
            return None
        print("installing rabbitmq-server", flush=True)
        command = ["apt-get", "install", "--yes", "--no-install-recommends", "rabbitmq-server"]
        if subprocess.run(command, capture_output=True).returncode:
            print("skipped: RabbitMQ cannot be installed", flush=True)
            return None
    if os.geteuid():
        print("skipped: RabbitMQ runs as a user of its own, which only root can start", flush=True)
        return None
    return Rabbit(clients, folder, queues)


def retries(count, seconds=1):
    return {"retryType": "fixed", "retryInterval": f"PT{seconds}S", "retryCount": count}


def decoded(texts):
    return [base64.b64decode(text).decode() for text in texts]


def envelope_tags(texts):
    """The execution tags of enveloped messages."""
    return [re.search("<ExecutionTag>(.*)</ExecutionTag>", text)[1] for text in decoded(texts)]


def read_envelope(texts, job, collection, region, message):
    """Reads the one message of a queue as the readers of the old service do."""
    if len(texts) != 1:
        raise Trouble(f"{job}: {len(texts)} messages")
    (text,) = decoded(texts)
    # The text says UTF-16 of itself; whoever has it as a text does not care.
    root = xml.etree.ElementTree.fromstring(text.split("?>", 1)[1])
    found = {element.tag: element.text for element in root}
    expected = {"SchedulerJobId": job, "SchedulerJobcollectionId": collection, "Region": region, "Message": message}
    names = ["ExecutionTag", "ClientRequestId", "ExpectedExecutionTime", *expected]
    if root.tag != "StorageQueueMessage" or list(found) != names:
        raise Trouble(f"{job}: the envelope has {root.tag} and {list(found)}")
    for name, value in expected.items():
        if found[name] != value:
            raise Trouble(f"{job}: {name} is {found[name]!r}, expected {value!r}")
