"""Runs steps in lanes: see steps.py for the steps, and `python3 .ci/checks/scheduler` for its test."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

null_device = os.devnull


@dataclass
class Step:
    lane: str
    name: str
    title: str
    # The steps that must have passed before this one starts.
    needs: list
    # The seconds that the step took, and the seconds of processor time.
    cost: tuple = (0, 0)
    command: str = ""
    # The seconds after which the step fails.
    timeout: int = 5400
    # Whether a slow machine may leave out the step, with those that need it, when the run would exceed its limit.
    is_optional: bool = False


class Run:
    """One run of steps. The first lane prints what its steps print; the output of the others is in files."""

    def __init__(self, steps, command_of, environment, additions, temporary, first, urgent=(), limit=float("inf")):
        self.steps, self.command_of, self.additions = steps, command_of, additions
        # The seconds that the run may take.
        self.limit = limit
        self.environment, self.temporary, self.first, self.urgent = environment, temporary, first, urgent
        self.began = time.monotonic()
        # Guards what follows, and is notified when a step ends.
        self.changed = threading.Condition()
        self.passed, self.left_out, self.failed, self.table = set(), set(), None, []
        # The processor time of the steps that have passed: what they took, and what the table says.
        self.taken, self.expected = 0, 0
        # The process of each step that runs now. Its identifier is also that of its session.
        self.running, self.starts = {}, {}
        # The steps of other lanes that the first lane waits for, with those before them in their lanes.
        self.hurried = set()
        # What outlived its step.
        self.orphans = []
        self.had_null_device = is_device(null_device)

    def run(self):
        """Runs all steps, prints a table, and returns the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self.interrupted)
        lanes = list(dict.fromkeys(step.lane for step in self.steps if step.lane != self.first))
        threads = [threading.Thread(target=self.run_lane, args=(lane,), daemon=True) for lane in lanes]
        for thread in threads:
            thread.start()
        self.run_lane(self.first)
        for step in self.steps:
            if step.lane != self.first:
                self.wait_for(step.name)
        self.stop()
        for thread in threads:
            thread.join()
        return self.report()

    def run_lane(self, lane):
        for step in self.steps:
            if step.lane != lane:
                continue
            for name in step.needs:
                if not self.wait_for(name, is_first=lane == self.first):
                    return
            if not self.leaves_out(step) and not self.run_step(step):
                return

    def wait_for(self, name, is_first=True):
        """Waits until a step has passed or is left out, and returns False if any step has failed."""
        if is_first:
            self.hurry(name)
        with self.changed:
            self.changed.wait_for(lambda: self.failed or name in self.passed | self.left_out)
            return not self.failed

    def leaves_out(self, step):
        """Leaves out a step that the machine is too slow for, or that needs such a step, and returns whether it did."""
        with self.changed:
            too_slow = step.is_optional and self.predicted_end() > self.limit
            if not too_slow and not self.left_out.intersection(step.needs):
                return False
            self.left_out.add(step.name)
            self.table.append((self.clock(), 0, 0, "left out", step.title))
            self.changed.notify_all()
            return True

    def predicted_end(self):
        """Returns when the run would end with all steps that are left, at the pace of those that have passed."""
        pace = max(1, self.taken / self.expected) if self.expected else 1
        seconds = 0
        for step in self.steps:
            if step.name not in self.passed | self.left_out:
                done = (self.clock() - self.starts.get(step.name, self.clock())) / pace / max(1, step.cost[0])
                seconds += step.cost[1] * max(0, 1 - done)
        return self.clock() + pace * seconds / os.cpu_count()

    def run_step(self, step):
        """Runs a step, and returns whether the run can continue."""
        is_first = step.lane == self.first
        command = self.command_of(step)
        log = self.temporary / f"{step.name}.log"
        with self.changed:
            if self.failed:
                return False
            if not is_first and step.lane not in self.urgent and step.name not in self.hurried:
                # Not with renice: SwiftPM resets the niceness of its compilers to zero if it is allowed to.
                command = ["chrt", "--idle", "0", *command]
            started = self.clock()
            self.say(step.title if is_first else f"in parallel: {step.title}")
            with open(log, "wb") as file:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=None if is_first else file, stderr=None if is_first else subprocess.STDOUT,
                    env={**self.environment, **self.additions(step)}, start_new_session=True,
                )
            self.running[step.name], self.starts[step.name] = process.pid, started
        alarm = threading.Timer(step.timeout, self.give_up, (step, process.pid))
        alarm.start()
        # Until the process is reaped, no other session can have its identifier.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        alarm.cancel()
        left = kill_session(process.pid, patience=5)
        # With the processor time of all its child processes that it has waited for.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        with self.changed:
            del self.running[step.name]
            if process.returncode == 0:
                self.orphans += [f"{step.title}: {name}" for name in left]
            result = "passed" if process.returncode == 0 else "stopped" if self.failed else "FAILED"
            if self.had_null_device and not is_device(null_device):
                # A compiler that writes to /dev/null as root replaces the device by a file, which later tests read.
                self.say(f"{step.title}: {null_device} is no device any more", sys.stderr)
                self.had_null_device, result = False, "FAILED"
            self.table.append((started, self.clock() - started, usage.ru_utime + usage.ru_stime, result, step.title))
            if result == "passed":
                self.passed.add(step.name)
                self.taken, self.expected = self.taken + self.table[-1][2], self.expected + step.cost[1]
            elif result == "FAILED":
                self.failed = step.title
                print_end(log, 200)
                self.stop()
            self.changed.notify_all()
            return result == "passed" and not self.failed

    def hurry(self, name):
        """Lets a step of another lane continue at normal priority, because the first lane waits for it."""
        lane = next(step.lane for step in self.steps if step.name == name)
        names = [step.name for step in self.steps if step.lane == lane]
        names = set(names[: names.index(name) + 1])
        with self.changed:
            self.hurried |= names
            sessions = [session for other, session in self.running.items() if other in names]
        for process in [process for session in sessions for process in processes_of(session)]:
            try:
                os.sched_setscheduler(process, os.SCHED_OTHER, os.sched_param(0))
            except OSError:
                # It has ended, or this user may not raise it again.
                pass

    def give_up(self, step, session):
        self.say(f"{step.title}: no end after {step.timeout} s", sys.stderr)
        kill_session(session)

    def interrupted(self, number, frame):
        # Without the lock, which this thread may hold.
        self.failed = self.failed or signal.Signals(number).name
        self.stop()

    def stop(self):
        """Ends the steps that run now, with all their child processes."""
        for session in list(self.running.values()):
            kill_session(session)

    def report(self):
        self.say("Steps: start, duration and processor time in seconds:")
        for start, duration, processor, result, title in sorted(self.table):
            print(f"{start:6.0f} {duration:6.0f} s {processor:6.0f} s  {result:8} {title}")
        unsteady = self.temporary / "unsteady"
        if unsteady.exists():
            print("\nThese tests failed once and passed alone; please mend them:")
            print("\n".join(sorted(set(unsteady.read_text().split()))))
        if self.orphans:
            print("\nThese processes outlived their step:")
            print("\n".join(self.orphans))
        if self.left_out:
            print(f"\nThe steps that are left out would end after {self.limit / 60:.0f} minutes on this machine.")
        if self.failed:
            self.say(f"FAILED: {self.failed}", sys.stderr)
            return 1
        self.say("All checks passed.")
        return 0

    def clock(self):
        return time.monotonic() - self.began

    def say(self, text, file=None):
        print(f"\n==> [{self.clock():4.0f} s] {text}", file=file or sys.stdout, flush=True)


def is_device(path):
    try:
        return stat.S_ISCHR(os.stat(path).st_mode)
    except OSError:
        return False


def print_end(log, count):
    """Prints the last lines of a log."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    print("\n".join(lines[-count:]), file=sys.stderr, flush=True)


def processes_of(session):
    """Returns the processes of a session. Unlike a process group, a session also has what a child process starts in a group of its own."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(name))
    return found


def name_of(process):
    """Returns the command of a process."""
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()[:200]
    except OSError:
        return ""


def kill_session(session, patience=0):
    """Ends the processes of a session, after some seconds in which they may end by themselves, and returns their commands."""
    end = time.monotonic() + patience
    while processes_of(session) and time.monotonic() < end:
        time.sleep(0.1)
    commands = [name for process in processes_of(session) if (name := name_of(process))]
    # More than once, because a process may start another one meanwhile.
    for _ in range(100):
        found = processes_of(session)
        for process in found:
            try:
                os.kill(process, signal.SIGKILL)
            except OSError:
                pass
        if not found:
            break
        time.sleep(0.05)
    return commands
