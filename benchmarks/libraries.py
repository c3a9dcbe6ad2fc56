# SPDX-License-Identifier: BSD-3-Clause
"""MPI libraries as the benchmarks name them, NAME=PREFIX[:SUFFIX], how each is run at its best, and when runs can be compared."""
import argparse
import atexit
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def leave(number, frame):
    """A benchmark that is told to end takes what it has started along."""
    sys.exit(128 + number)


for told in (signal.SIGTERM, signal.SIGINT):
    signal.signal(told, leave)


def unread():
    """Nobody reads what is printed any more, which is no error: the rest goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def excepthook(kind, error, trace, usual=sys.excepthook):
    unread() if kind is BrokenPipeError else usual(kind, error, trace)


@atexit.register
def flush():
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        unread()


sys.excepthook = excepthook


def positive(text):
    """A type of arguments."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: wanted a number from 1")
    return int(text)


def positives(text):
    """A list of them."""
    return [positive(part) for part in text.split(",")]


def demand_writable(path, tool):
    """Ends where results could not be written at the end of the measuring.  path may be None."""
    try:
        if path:
            open(path, "a").close()
    except OSError as error:
        sys.exit(f"{tool}: cannot write {path}: {error.strerror}")


def write_json(path, facts):
    """path may be None."""
    if path:
        with open(path, "w") as file:
            json.dump(facts, file, indent=1)
            file.write("\n")


def read_json(path, tool, wanted):
    """What write_json() has written; ends where it is not there, or has not the member `wanted`."""
    try:
        with open(path) as file:
            facts = json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"{tool}: cannot read {path}: {error}")
    if not isinstance(facts, dict) or wanted not in facts:
        sys.exit(f"{tool}: {path} is none of the results that {tool} --json writes")
    return facts


def demand_distinct(names, tool):
    """Ends where the numbers of two libraries would be taken for those of one."""
    twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
    if twice:
        sys.exit(f"{tool}: two libraries have the name {twice}; give each its own")


class Floor:
    """The bare ping-pong of a flag between two processors.

    A virtual machine's processors are moved while it runs: now they share a cache, now they do not, and all that goes from one
    to the other takes another time.  Only what was measured in one of these states can be compared."""
    OTHER = 1.6  # times as long is another state
    TRIES = 4
    WAIT_S = 30
    WAIT_FOR_BOUNDS_S = 600  # a state that is chosen may be rare

    def __init__(self, folder, waits=True, bounds=None):
        """waits: for a state; else everything is taken in whatever state it was measured.
        bounds: ns, least and most, of the only state in which to measure."""
        self.waits = waits
        self.bounds = bounds
        self.program = f"{folder}/floor"
        self.seen = []
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-o", self.program, f"{HERE}/floor.c"], check=True)

    def ns(self):
        result = subprocess.run([self.program], capture_output=True, text=True, check=False)
        if result.returncode:
            sys.exit(result.stderr.strip() or f"floor: ended with {result.returncode}")
        return float(result.stdout)

    def _same(self, one, other):
        return max(one, other) < self.OTHER * min(one, other)

    def _is(self, state, now):
        """state: None: any, within the bounds if there are some."""
        if state is None:
            return not self.bounds or self.bounds[0] <= now <= self.bounds[1]
        return self._same(state, now)

    def _wait_for(self, state):
        """The floor when it is that state's again; None: it does not become so."""
        end = time.monotonic() + (self.WAIT_FOR_BOUNDS_S if self.bounds else self.WAIT_S)
        while not self._is(state, now := self.ns()):
            if time.monotonic() > end:
                return None
            time.sleep(0.1)
        return now

    def in_one_state(self, runs):
        """What each of the functions returns, all called in one state of the processors, or [] if they are moved too often."""
        results, state = [], None
        if not self.waits:
            self.seen.append(self.ns())
            return [run() for run in runs]
        for run in runs:
            for _ in range(self.TRIES):
                before = self._wait_for(state)
                if before is None:
                    return []
                result = run()
                if self._same(before, self.ns()):
                    break
            else:
                return []
            state = state or before
            results.append(result)
        self.seen.append(state)
        return results


def mpi_of(program):
    """The file of the MPI library that a program is linked with."""
    ldd = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    found = re.search(r"libmpi(ch)?\.so\S* => (\S+)", ldd)
    return os.path.realpath(found[2]) if found else "no MPI library"


class Failed(SystemExit):
    """A program of a library has failed; who does not catch it ends with its output."""


class Library:
    """PREFIX/bin/mpiccSUFFIX compiles, PREFIX/bin/mpirunSUFFIX runs."""

    def __init__(self, text, tool):
        self.name, _, rest = text.partition("=")
        prefix, _, suffix = rest.partition(":")
        if not self.name or not prefix:
            sys.exit(f"{tool}: {text}: wanted NAME=PREFIX[:SUFFIX]")
        self.tool = tool
        self.cc = f"{prefix}/bin/mpicc{suffix}"
        self.run = f"{prefix}/bin/mpirun{suffix}"
        self.missing = next((p for p in (self.cc, self.run) if not os.access(p, os.X_OK)), None)
        # "mpirun (Open MPI) 4.1.4", where it is not called mpirun "mpirun.openmpi (OpenRTE) 4.1.4"
        self.open_mpi = not self.missing and re.search(r"\(Open ?(MPI|RTE)\)", subprocess.run(
            [self.run, "--version"], capture_output=True, text=True).stdout) is not None
        self.has_dimmnet = os.path.exists(f"{prefix}/bin/dnet-info{suffix}")
        self.options = ["--oversubscribe"] if self.open_mpi else []

    def demand(self):
        """Ends where there is no such library."""
        if self.missing:
            sys.exit(f"{self.tool}: {self.name}: no {self.missing}; is the library installed there?")

    def settings(self):
        """{name: options}: the ways to run it among which users choose, for as many ranks as processors."""
        if not self.open_mpi:
            return {self.name: []}
        return {self.name: [], f"{self.name}-vader": ["--mca", "pml", "ob1", "--mca", "btl", "self,vader"]}

    def crowded_settings(self):
        """The same for more ranks than processors, as users of Open MPI are told to run it."""
        yields = ["--mca", "mpi_yield_when_idle", "1"] if self.open_mpi else []
        return {name: options + yields for name, options in self.settings().items()}

    def binding(self, ranks):
        """Each rank on a processor of its own, where there are as many."""
        if ranks <= len(os.sched_getaffinity(0)):
            return ["--bind-to" if self.open_mpi else "-bind-to", "core"]
        return ["--bind-to", "none"] if self.open_mpi else []

    def build(self, source, folder):
        """Compile a source of this folder; the path of the program."""
        program = f"{folder}/{self.name}-{os.path.basename(source)[:-2]}"
        result = subprocess.run([self.cc, "-O2", "-o", program, f"{HERE}/{source}"],
                                capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{self.tool}: {self.name}: cannot compile {source}:\n{result.stderr}")
        return program

    def demand_own(self, program, own):
        """Ends where a program that a user has built runs with another library than `own`, one that build() has made."""
        if mpi_of(program) != mpi_of(own):
            sys.exit(f"{self.tool}: {program} runs with {mpi_of(program)}, and not with {mpi_of(own)} of {self.name}: "
                     "build it with that library's mpicc")

    def command(self, ranks, options):
        """What starts so many ranks of a program."""
        return [os.path.abspath(self.run), *self.options, *options, "-n", str(ranks)]

    def execute(self, ranks, program, arguments, timeout_s, environment=None, options=(), folder=None):
        """Standard output of a run, in `folder` if there is one; None: no end in time, and everything it started is gone.
        Raises Failed."""
        command = [*self.command(ranks, options), program, *arguments]
        settings = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                        **(environment or {}))
        if not self.has_dimmnet:
            settings.pop("MPIR_CVAR_NETMOD", None)  # another MPICH refuses a netmod that it does not have
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                       env=settings, cwd=folder, start_new_session=True)
            try:
                status = process.wait(timeout_s)
            except BaseException as stop:
                process.terminate()  # mpirun ends its ranks
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                if isinstance(stop, subprocess.TimeoutExpired):
                    return None
                raise
            out.seek(0)
            err.seek(0)
            if status:
                raise Failed(f"{self.tool}: {self.name}: {' '.join(command)} failed:\n"
                             f"{out.read()}{err.read()[-2000:]}")
            return out.read()
