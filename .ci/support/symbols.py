"""The public symbols of the library, as the compiler describes them, for the checks that read them.

It needs the modules of `swift build --enable-all-traits -Xswiftc -warnings-as-errors`; the variable PRODUCTS may name the folder of another
build. The symbols that only Apple's platforms have are read from the sources.
"""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import manifest

ROOT = Path(__file__).resolve().parents[2]

KINDS = {
    "swift.struct": "struct", "swift.class": "class", "swift.actor": "actor", "swift.enum": "enum", "swift.protocol": "protocol",
    "swift.typealias": "typealias",
}


class Symbol:
    def __init__(self, raw: dict, module: str):
        self.module = module
        self.kind = raw["kind"]["identifier"]
        self.path = raw["pathComponents"]
        self.name = raw["pathComponents"][-1]
        self.identifier = raw["identifier"]["precise"]
        location = raw.get("location", {"uri": "", "position": {"line": 0}})
        # From the folder of the module on, so that the order does not depend on where the tree is.
        self.file = location["uri"].partition(f"/Sources/{module}/")[2]
        self.line = location["position"]["line"]
        self.text = re.sub(r"\s+", " ", "".join(part["spelling"] for part in raw["declarationFragments"])).strip()
        self.conformances: set[str] = set()
        self.is_apple = False

    @property
    def is_type(self) -> bool:
        return self.kind in KINDS and not (self.kind == "swift.typealias" and len(self.path) > 1)


def products_folder() -> Path:
    if os.environ.get("PRODUCTS"):
        return Path(os.environ["PRODUCTS"])
    command = ["swift", "build", "--enable-all-traits", "--show-bin-path", "-Xswiftc", "-warnings-as-errors"]
    return Path(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip())


def modules() -> list[str]:
    """Returns the modules that an app imports: the products, and the modules that `Networking` re-exports."""
    exports = (ROOT / "Sources/Networking/Exports.swift").read_text(encoding="utf-8")
    own = re.findall(r"^@_exported public import (\w+)$", exports, re.MULTILINE)
    return own + [name for name in manifest.libraries(manifest.package(ROOT)) if name not in (*own, "Networking")]


def extract(folder: Path) -> dict[str, list[Symbol]]:
    """Returns the public symbols of each module."""
    products, names = products_folder(), modules()
    if not (products / "Modules/Networking.swiftmodule").exists():
        sys.exit("error: first run 'swift build --enable-all-traits -Xswiftc -warnings-as-errors'")
    flags = ["-I", str(products / "Modules")]
    # The C modules that the packages of the build import: with maps of their own, or with maps that the build has made.
    for module_map in sorted(products.glob("C*.build/module.modulemap")):
        flags += ["-Xcc", f"-fmodule-map-file={module_map}"]
    for parent, folders, _ in os.walk(products.parents[1] / "checkouts"):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        flags += [option for name in folders if name in ("include", "GRDBSQLite") for option in ("-I", f"{parent}/{name}")]

    def run(module: str) -> list[Symbol]:
        output = folder / module
        output.mkdir()
        result = subprocess.run(
            ["swift", "symbolgraph-extract", "-module-name", module, "-target", products.parent.name, *flags,
             "-minimum-access-level", "public", "-skip-synthesized-members", "-output-dir", str(output)],
            capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"error: the symbols of {module} could not be extracted:\n{result.stderr[:2000]}")
        return read(module, output)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        symbols = dict(zip(names, pool.map(run, names)))
    for module in names:
        apple = read_apple(module, {".".join(symbol.path) for symbol in symbols[module]})
        for symbol in apple:
            symbol.is_apple = True
        symbols[module] += apple
    return symbols


def read(module: str, folder: Path) -> list[Symbol]:
    symbols: dict[str, Symbol] = {}
    relationships = []
    for file in sorted(folder.glob("*.symbols.json")):
        graph = json.loads(file.read_text())
        for raw in graph["symbols"]:
            symbol = Symbol(raw, module)
            symbols.setdefault(symbol.identifier, symbol)
        relationships += graph["relationships"]
    for relationship in relationships:
        source, target = symbols.get(relationship["source"]), relationship["target"]
        if source and relationship["kind"] in ("conformsTo", "inheritsFrom"):
            name = symbols[target].name if target in symbols else relationship.get("targetFallback", target)
            source.conformances.add(name.rsplit(".", 1)[-1])
        elif relationship["kind"] == "defaultImplementationOf":
            # The requirement describes it.
            symbols.pop(relationship["source"], None)
    return sorted(symbols.values(), key=lambda symbol: (symbol.file, symbol.line, symbol.name, symbol.text))


# MARK: Apple's platforms

APPLE = re.compile(r"\bos\((macOS|iOS|tvOS|watchOS|visionOS)\)|(?<!!)canImport\((Darwin|Security|os|Network|AuthenticationServices|SwiftUI)\)"
                   r"|!canImport\(FoundationNetworking\)")
LINUX = re.compile(r" *(os\(Linux\)|canImport\((FoundationNetworking|Glibc)\))$")
DECLARATION = re.compile(r"(?:@\w+(?:\([^)]*\))? )*public ((?:static |final |nonisolated |convenience )*)(struct|class|enum|protocol|func|var|let|init)\b")
CONTAINER = re.compile(r"(?:@\w+ )*(?:public |private |fileprivate |package )?(?:final )?(?:extension|struct|class|enum|protocol) ([\w.]+)")
KINDS_OF_MEMBERS = {"func": "method", "var": "property", "let": "property"}


def read_apple(module: str, known: set[str]) -> list[Symbol]:
    """Returns the public symbols that only Apple's platforms have, which the modules of Linux do not contain: read from the sources."""
    symbols = []
    for file in sorted((ROOT / "Sources" / module).rglob("*.swift")):
        lines = file.read_text().splitlines()
        conditions: list[tuple[bool, str]] = []
        containers: list[tuple[int, str]] = []
        for number, line in enumerate(lines):
            directive = re.match(r"\s*#(if|elseif|else|endif)\b(.*)", line)
            if directive:
                name, condition = directive.groups()
                before = None if name == "if" else conditions.pop()
                if name == "else":
                    conditions.append((bool(LINUX.match(before[1])), ""))
                elif name != "endif":
                    conditions.append((bool(APPLE.search(condition)) and "os(Linux)" not in condition, condition))
                continue
            text = line.strip()
            indent = len(line) - len(line.lstrip())
            if text:
                containers = [container for container in containers if container[0] < indent]
            owner = [name for _, name in containers]
            is_case = bool(re.fullmatch(r"case \w+(\(.*\))?", text)) and any(symbol.path == owner and symbol.kind == "swift.enum" for symbol in symbols)
            declaration = DECLARATION.match(text)
            if any(is_apple for is_apple, _ in conditions) and (declaration or is_case):
                symbol = source_symbol(module, file, lines, number, owner, declaration)
                if ".".join(symbol.path) not in known:
                    symbols.append(symbol)
            container = CONTAINER.match(text)
            if container:
                containers.append((indent, container[1]))
    return symbols


def source_symbol(module: str, file: Path, lines: list[str], number: int, owner: list[str], declaration) -> Symbol:
    text = lines[number].strip()
    end = number
    while text.count("(") > text.count(")"):
        end += 1
        text += " " + lines[end].strip()
    text = re.sub(r"\( ", "(", text).replace(" )", ")").replace(",)", ")")
    is_open = text.endswith("{")
    text = re.sub(r"^.*?\bpublic ", "", text).removesuffix("{").strip()
    if declaration is None:
        kind, name = "swift.enum.case", text.removeprefix("case ").partition(" ")[0]
    else:
        modifiers, keyword = declaration[1], declaration[2]
        name = re.search(rf"\b{keyword} ?(\w*)", text)[1] if keyword != "init" else "init"
        if "(" in text and keyword in ("func", "init"):
            name += f"({''.join(label + ':' for label in labels(text))})"
        kind = KINDS_OF_MEMBERS.get(keyword, keyword)
        kind = f"swift.type.{kind}" if "static" in modifiers else f"swift.{kind}"
        if keyword == "var" and is_open:
            indent = len(lines[number]) - len(lines[number].lstrip())
            body = []
            for line in lines[end + 1:]:
                if line.strip() and len(line) - len(line.lstrip()) <= indent:
                    break
                body.append(line.strip())
            text += " { get set }" if any(line.startswith("set ") for line in body) else " { get }"
        if keyword in ("struct", "class", "enum", "protocol"):
            text = f"{keyword} {name}"
    return Symbol({
        "kind": {"identifier": kind}, "pathComponents": [part for name in owner for part in name.split(".")] + [name],
        "identifier": {"precise": f"{file}:{number}"}, "declarationFragments": [{"spelling": text}],
        "location": {"uri": str(file), "position": {"line": number}},
    }, module)


def labels(declaration: str) -> list[str]:
    """Returns the labels of the parameters of a function."""
    depth, found, parameter = 0, [], ""
    for character in declaration[declaration.index("("):]:
        depth += (character in "([{<") - (character in ")]}" or character == ">" and not parameter.endswith("-"))
        if depth == 0 or depth == 1 and character == ",":
            if parameter.strip():
                found.append(re.split(r"[ :]", parameter.strip())[0])
            parameter = ""
            if depth == 0:
                break
        elif not (depth == 1 and character == "("):
            parameter += character
    return found
