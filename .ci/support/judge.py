"""Runs tests, and repeats the few that failed: `python3 .ci/support/judge.py [--forbid PATTERN] COMMAND…`.

A test with a time limit can fail because thousands of tests run at the same time, or under a sanitizer. If at most five tests fail, they
run again alone: COMMAND with a filter as its last argument. If they pass, the run names them at its end and continues, so that it does
not hide other failures. No test must print the forbidden pattern, and at least one must run.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
DULL = re.compile(r"(started\.?|passed after [0-9.]+ seconds\.)$")
MOST_AGAIN = 5


def run(command, environment=None, is_quiet=False):
    """Runs a command, prints its output without the lines about passed tests, and returns whether it succeeds and its lines."""
    lines = []
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for raw in process.stdout:
            line = COLOUR.sub("", raw.decode("utf-8", "replace")).rstrip("\n")
            lines.append(line)
            if not is_quiet and ("Test run with" in line or not DULL.search(line)):
                print(line, flush=True)
    return process.returncode == 0, lines


def failures(lines):
    """Returns the names of the failed tests."""
    return sorted({found[1] for line in lines if (found := re.match(r"✘ Test ([A-Za-z0-9_]+)\(.* failed after", line))})


def unended(lines):
    """Returns the names of the tests that have started and not ended."""
    names = {"started": set(), "ended": set()}
    for line in lines:
        if found := re.search(r"\S+ Test ([A-Za-z0-9_]+)\(.*? (started|passed|failed|skipped)\b", line):
            names["started" if found[2] == "started" else "ended"].add(found[1])
    return sorted(names["started"] - names["ended"])


def passes_alone(lines, command, environment):
    """Returns whether the failed tests pass alone, and the lines of that run."""
    names = failures(lines)
    # Without the summary, the process ended before its tests.
    if not any(re.match(r"✘ Test run with \d+ tests", line) for line in lines) or not 0 < len(names) <= MOST_AGAIN:
        return False, []
    print(f"\nAgain, alone: {', '.join(names)}", flush=True)
    _, again = run([*command, rf"[./]({'|'.join(names)})\("], environment, is_quiet=True)
    if not any(re.match(r". Test run with [1-9].* passed", line) for line in again):
        return False, again
    if temporary := os.environ.get("CI_TEMPORARY"):
        with open(Path(temporary) / "unsteady", "a", encoding="utf-8") as file:
            file.write("\n".join(names) + "\n")
    return True, again


def print_failures(lines, again):
    """Prints the failed tests and their first issues, so that the end of the output shows what failed."""
    if not any("Test run with" in line for line in lines) and (names := unended(lines)):
        print("\nStarted, and not ended:", ", ".join(names[:40]))
    if names := failures(again):
        print("\nFailed again, alone:", ", ".join(names))
    print("\nFailed:")
    print("\n".join([line for line in lines if re.match(r"✘ (Test|Suite) .* failed after", line)][:40]))
    print("\nThe first issues:")
    print("\n".join([line[:600] for line in lines if re.match(r"✘ Test .* recorded an issue", line)][:40]), flush=True)


def judge(command, alone, environment=None, forbidden=None):
    """Runs tests with a command, and the few failed ones again with another one that ends with their filter; returns the lines."""
    succeeds, lines = run(command, environment)
    if not succeeds:
        succeeds, again = passes_alone(lines, alone, environment)
        if not succeeds:
            print_failures(lines, again)
            sys.exit("error: the tests do not pass")
        lines += again
    if not any(re.match(r". Test run with [1-9]", line) for line in lines):
        sys.exit("error: no test ran")
    if forbidden and any(re.search(forbidden, line) for line in lines):
        sys.exit(f"error: the tests print {forbidden}")
    return lines


if __name__ == "__main__":
    arguments = sys.argv[1:]
    pattern = arguments[1] if arguments[0] == "--forbid" else None
    arguments = arguments[2:] if pattern else arguments
    judge(arguments, arguments, forbidden=pattern)
