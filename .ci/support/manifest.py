"""Reads Package.swift as the package manager does, for the checks that compare it with something.

`python3 .ci/support/manifest.py libraries`, `documented` and `traits` print the names, a line each.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path


def package(root):
    """Returns the package in a folder as the package manager describes it."""
    # With a folder of its own for the build, because another process may use the package's.
    with tempfile.TemporaryDirectory() as scratch:
        command = ["swift", "package", "--package-path", root, "--scratch-path", scratch, "dump-package"]
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        raise SystemExit(f"error: the manifest does not load:\n{result.stderr}")
    return json.loads(result.stdout)


def libraries(package):
    """Returns the names of the products that apps import, in the manifest's order."""
    return [product["name"] for product in package["products"] if "library" in product["type"]]


def documented(package):
    """Returns the products with documentation of their own: that of Networking includes the modules that it re-exports."""
    return [name for name in libraries(package) if name not in dependencies(package)["Networking"]]


def traits(package):
    """Returns the names of the traits that an app can enable."""
    return sorted(trait["name"] for trait in package["traits"] if trait["name"] != "default")


def dependencies(package):
    """Returns the targets of the package on which each of its targets depends, by name."""
    return {
        target["name"]: {next(iter(use.values()))[0] for use in target["dependencies"] if "product" not in use}
        for target in package["targets"]
    }


if __name__ == "__main__":
    own = package(Path(__file__).resolve().parents[2])
    print("\n".join({"libraries": libraries, "documented": documented, "traits": traits}[sys.argv[1]](own)))
