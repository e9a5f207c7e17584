"""The steps of CI, and the program that runs them: see .ci/run.

A step is a script in .ci/checks, or a command of its own. Each lane runs its steps in the order of the table, and a step starts when
those that it needs have passed. The first lane prints what it does. The others run in parallel to it on idle processors until the first
lane waits for them, and their output is printed if they fail. The first failure ends the run.
"""

import argparse
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import scheduler  # noqa: E402
from scheduler import Step  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
# The seconds that a run may take.
LIMIT = 84 * 60

# For each step: its lane, name and title, the steps that it needs, and what it costs on two cores beside the other lanes: seconds, and
# seconds of processor time, rounded. A step that costs half as much again in a run on such a machine needs a look, or a new number here.
# The name is that of the script in .ci/checks, unless the step has a command.
STEPS = [
    Step("first", "tools", "Tools", [], (1, 1), "bash .ci/support/install"),
    # In a lane of its own at normal priority, because it only waits for the network, and the tests wait for it.
    Step("packages", "test-packages", "Packages for the tests", ["tools"], (13, 13), "bash .ci/support/test-packages"),
    Step("first", "scheduler", "The program that runs these steps", [], (10, 1)),
    Step("first", "tracked-files", "Files that must not be tracked", [], (1, 1)),
    Step("first", "links", "Links of the documents", [], (1, 1)),
    Step("first", "standards", "Table of standards", [], (1, 1)),
    Step("first", "errors", "Page of errors", [], (1, 1)),
    Step("first", "diagnostics", "Table of diagnostics", [], (1, 1)),
    Step("first", "excerpts", "Excerpts of the examples", [], (1, 1)),
    Step("first", "paragraph-width", "Paragraphs of the documents", [], (1, 1), "python3 .ci/checks/paragraph-width --check"),
    Step("first", "articles", "Articles of DocC", [], (1, 1), "python3 Documentation/DocC/make --check"),
    Step("first", "diagrams", "Diagrams", [], (1, 1), "python3 Documentation/Images/draw --check"),
    Step("first", "first-screen", "First screen of the README", [], (1, 1), "python3 .ci/checks/release-app/first-screen --text"),
    Step("first", "layers", "Layers", [], (1, 1)),
    Step("first", "layers-self-test", "Layers: the check itself", [], (1, 1), "python3 .ci/checks/layers --self-test"),
    Step("first", "test-folders", "Folders of the tests", [], (1, 1)),
    Step("first", "package-symbols", "Package symbols of one module", [], (1, 1)),
    Step("first", "mutants", "Mutants: the rewriting", [], (3, 3), "python3 .ci/checks/mutants/run --self-test"),
    Step("first", "line-width", "Long lines", [], (1, 1)),
    # Before the other lanes start, so that no two processes fetch the same repository.
    Step("first", "resolve", "Dependencies", ["tools"], (2, 2), "swift package resolve"),
    Step("builds", "address-sanitizer-build", "Build for the address sanitizer", ["resolve"], (400, 400),
         "bash .ci/checks/address-sanitizer --build"),
    Step("builds", "quickstart-build", "Build of the quickstart", ["resolve"], (280, 210), "bash .ci/checks/quickstart --build"),
    Step("builds", "traits", "No trait, and one trait alone", ["resolve"], (251, 139)),
    Step("builds", "service", "Example of a service", ["resolve"], (130, 140), is_optional=True),
    # The most expensive steps, and so those that a machine at less than half of the usual speed leaves out. The last of their lane,
    # because the pace of the machine is known by then.
    Step("builds", "thread-sanitizer-build", "Build for the thread sanitizer", ["resolve"], (700, 690),
         "bash .ci/checks/thread-sanitizer/check --build", is_optional=True),
    Step("first", "format", "Format", ["resolve"], (20, 31)),
    Step("first", "build", "Build of everything with all traits, without warnings", ["resolve"], (883, 911)),
    Step("checks", "documentation", "Documentation", ["build"], (96, 13)),
    Step("checks", "snippets", "Snippets of the documentation", ["build"], (150, 60)),
    Step("checks", "first-snippets", "First snippet of each page, as a reader pastes it", ["build"], (30, 40),
         "python3 .ci/checks/snippets/first-blocks"),
    Step("checks", "tutorial", "Tutorial", ["build"], (73, 29)),
    Step("checks", "third-party", "A third party's package, with public API only", ["build"], (30, 11)),
    Step("checks", "adapters", "Adapters of other libraries, against stubs", ["build"], (60, 40)),
    Step("checks", "spellings", "Spellings of the everyday calls", ["build"], (16, 6)),
    Step("checks", "examples", "Examples", ["build"], (59, 22)),
    Step("checks", "public-symbols", "Public symbols without a test", ["build"], (8, 3)),
    Step("checks", "public-api", "Public API, against the reviewed one", ["build"], (5, 3)),
    # Other expensive steps, the last of their lane for the same reason.
    Step("checks", "random-stacks", "10,000 random stacks", ["build"], (120, 120), is_optional=True),
    Step("checks", "fuzz", "Fuzzed parsers", ["build"], (120, 100), is_optional=True),
    Step("checks", "apple-stubs", "Apple's code and tests, against stubs", ["build"], (500, 400),
         "bash .ci/checks/apple-stubs/check --tests", is_optional=True),
    Step("checks", "release-app", "A new app and a program for each product, in release", ["build"], (560, 530), is_optional=True),
    Step("checks", "instructions", "Instructions of a call, against the recorded ones", ["release-app"], (90, 41), is_optional=True),
    Step("first", "tests", "All tests", ["build", "test-packages"], (700, 600)),
    Step("first", "thread-sanitizer", "Tests under the thread sanitizer", ["thread-sanitizer-build"], (400, 540),
         "python3 .ci/support/judge.py --forbid WARNING:.ThreadSanitizer bash .ci/checks/thread-sanitizer/check"),
    Step("first", "address-sanitizer", "Tests under the address sanitizer", ["address-sanitizer-build"], (101, 81),
         "python3 .ci/support/judge.py --forbid ERROR:.AddressSanitizer bash .ci/checks/address-sanitizer"),
    Step("first", "quickstart", "Quickstart", ["quickstart-build"], (14, 10)),
]


def command_of(step):
    """Returns the command of a step, which names a script unless it has a command of its own."""
    if step.command:
        return step.command.split()
    script = ROOT / ".ci/checks" / step.name
    script = script / "check" if script.is_dir() else script
    first = script.read_text(encoding="utf-8").partition("\n")[0]
    return ["python3" if "python" in first else "bash", str(script.relative_to(ROOT))]


def help_of(command):
    """Returns the first sentence of what the script of a command says about itself."""
    script = next((ROOT / word for word in reversed(command) if (ROOT / word).is_file()), None)
    lines = script.read_text(encoding="utf-8").splitlines()[1:] if script else []
    text = " ".join(line.strip('#" ') for line in lines[:5]).strip()
    return re.split(r"(?<=\w)[:.] ", text)[0]


def closure(names):
    """Returns the steps with these names and the steps that they need, in the order of the table."""
    steps, wanted = {step.name: step for step in STEPS}, set()

    def add(name):
        if name not in steps:
            sys.exit(f"error: no step {name}; .ci/run --list prints the steps")
        if name not in wanted:
            wanted.add(name)
            for need in steps[name].needs:
                add(need)

    for name in names:
        add(name)
    return [step for step in STEPS if step.name in wanted]


def environment(temporary):
    """Returns the environment of all steps."""
    return {
        **os.environ,
        "CI_TEMPORARY": str(temporary),
        # SwiftPM passes the traits in the order of a set. Without this variable, every new plan compiles this package again.
        "SWIFT_DETERMINISTIC_HASHING": "1",
        # C code that four of the builds need and that is not this package's is compiled once.
        "CC": str(ROOT / ".ci/support/clang"),
        "COMPILED_ONCE": str(temporary / "compiled-once"),
    }


def additions(step):
    """Returns what a step's environment has besides that of all steps."""
    # The checks of a build do not ask the package manager for its folder, because only one process can use it at a time.
    built = (ROOT / ".build/debug").resolve()
    return {"PRODUCTS": str(built)} if "build" in step.needs and built.exists() else {}


def main():
    parser = argparse.ArgumentParser(prog=".ci/run", description="Runs the checks of this repository.")
    parser.add_argument("steps", nargs="*", metavar="STEP", help="the steps to run, with the steps that they need; all by default")
    parser.add_argument("--list", action="store_true", help="print the steps and what they cost, and run nothing")
    options = parser.parse_args()
    steps = closure(options.steps or [step.name for step in STEPS])
    if options.list:
        for step in steps:
            print(f"{step.lane:8} {step.name:24} {step.cost[0]:5} s {step.cost[1]:5} s  {' '.join(command_of(step))}")
            print(f"         {help_of(command_of(step)) or step.title}")
        return 0
    os.chdir(ROOT)
    temporary = Path(tempfile.mkdtemp())
    try:
        run = scheduler.Run(steps, command_of, environment(temporary), additions, temporary, first="first", urgent=["packages"], limit=LIMIT)
        return run.run()
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
