"""Rewrites Swift sources so that one build contains many mutants.

A mutant is one small change of one line. The rewritten line contains the original and all its mutants, and `mutant(n)` chooses between
them when the program runs: `if count < limit {` becomes `if mutant(1) != (mutant(2) ? (count <= limit) : (count < limit)) {`. A rewritten
file has as many lines as the original, so that the compiler's messages lead back to the mutants of a line.

It knows no grammar. It changes the kinds of lines that it recognises and leaves the others alone. What it gets wrong does not compile, and
the caller leaves out the mutants of such a line.
"""

import re
import sys
from dataclasses import dataclass, field

# The operators to change. The blanks around them tell comparisons from generics.
SWAPS = [(" <= ", " < "), (" < ", " <= "), (" >= ", " > "), (" > ", " >= "), (" == ", " != "), (" != ", " == "), (" && ", " || "),
         (" || ", " && "), (" + ", " - "), (" - ", " + "), (" += ", " -= "), (" -= ", " += "), ("..<", "..."), ("...", "..<")]
WORDS = {"true": "false", "false": "true", "min": "max", "max": "min"}
WORD = re.compile(r"(?<![\w.$`])(?:(?P<word>true|false)\b(?!:)|(?P<call>min|max)(?=\()|(?P<number>\d[\d_]*)(?![\w.]*[\w]))")
BOOLEAN = re.compile(r"^!|^(true|false)$| (==|!=|<|<=|>|>=|&&|\|\|) ")
CONDITION = re.compile(r"^(?P<head>(?:\} else )?(?:if|guard|while) )(?!\w+: |true \{)(?P<rest>.*)$")
BINDING = re.compile(r"^(let|var|case|#\w+)\b")
ASSIGNMENT = re.compile(r"^(?P<target>[\w.!?]+(?:\[[^\]=]*\])?) (?P<operator>[-+]?=) (?P<value>.+)$")
DECLARATION = re.compile(r"^(?P<target>(?:(?:(?:public|package|private|fileprivate)(?:\(set\))?|static|nonisolated|@usableFromInline) )*(?:let|var) \w+(?:: [^={]+)?) = (?P<value>.+)$")
CALL = re.compile(r"^(?:_ = )?(?:try[?!]? )?(?:await )?[\w.?!]+(?:\[[^\]]*\])?[?!]?(?:\.[\w.?!]+)?\(.*\)$|^[\w.?!]+(?:\.\w+)+\(.*\) \{ .* \}$")
NEVER = re.compile(r"^(?:public|package|private|fileprivate|fatalError|precondition|preconditionFailure|assert|assertionFailure|super\.init|self\.init|switch|if|for|return|throw|init|func|case|guard|while|subscript)\b")
GETTER = re.compile(r"^(?P<head>.*\b(?:var \w+: [^={}]+|func [^{}]*-> [^{}]+) \{ )(?!get\b)(?P<value>[^{}]+(?:\{[^{}]*\}[^{}]*)*)(?P<tail> \})$")
CASE = re.compile(r"^(?P<head>(?:case (?:[^:\"]|:(?! ))+|default): )(?P<value>.+)$")
WHERE = re.compile(r"^(?P<head>(?:case|for) .* where )(?P<value>.+?)(?P<tail>:| \{)$")
# The beginning of a body that has a result.
RESULT = re.compile(r"(?:-> .*|\bvar \w+: .*|\bget) \{$")
# Keywords that begin no expression.
KEYWORD = re.compile(r"^(?:return|throw|let|var|if|guard|for|while|switch|case|default|func|init|struct|class|enum|extension|import|defer|do|repeat|break"
                     r"|continue|fallthrough|subscript|typealias|static|public|package|private|fileprivate|internal|get|set|@|#|\}|\)|\]|\.|//|nil$|\"|where|else)")
# The modules that this platform does not have; all traits are enabled.
ABSENT_MODULES = ({"Glibc", "Musl", "Android", "FoundationNetworking"} if sys.platform == "darwin" else
                  {"Musl", "Android", "Darwin", "Security", "Network", "AuthenticationServices", "SwiftUI", "Combine", "os"})
OPERATING_SYSTEM = "macOS" if sys.platform == "darwin" else "Linux"
CONTINUATION = re.compile(r"^(?:[.?:)\]]|&&|\|\||\?\?|[-+*/<>=]|catch|where|else\b)")


@dataclass
class Mutant:
    """One change of one line."""

    path: str
    line: int
    original: str
    change: str
    # 0 for the changes that nearly always compile. Of a line that does not compile, the highest rank is left out first.
    rank: int = 0
    number: int = -1
    # Which of several equal lines of the file it is.
    occurrence: int = 1

    @property
    def key(self):
        """The file, the text of the line and the change, which stay the same when other lines change."""
        key = f"{self.path} | {self.original.strip()} | {self.change}"
        return key if self.occurrence == 1 else f"{key} | line {self.occurrence}"


@dataclass
class Line:
    """A line with mutants: `render` returns its text for those that are left."""

    text: str
    render: object
    mutants: list = field(default_factory=list)


def masked(text):
    """Returns a line with its strings replaced by underscores, without its comment, and as long as before."""
    text = re.sub(r'"(?:\\.|[^"\\])*"', lambda match: '"' + "_" * (len(match[0]) - 2) + '"', text)
    found = re.search(r"(^|\s)//", text)
    return text[:found.start()].ljust(len(text)) if found else text


def depth_after(mask, depth=0):
    """Returns how many brackets are open after a masked text; negative if it closes more than it opens."""
    lowest = depth
    for character in mask:
        depth += (character in "([{") - (character in ")]}")
        lowest = min(lowest, depth)
    return depth if lowest >= 0 else -1


def find(mask, what):
    """Returns the index of a text outside of all brackets; -1 if there is none."""
    depth = 0
    for index, character in enumerate(mask):
        if depth == 0 and mask.startswith(what, index):
            return index
        depth += (character in "([{") - (character in ")]}")
    return -1


def clauses(text, mask):
    """Splits a text at its commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(mask):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


def is_compiled(condition):
    """Returns whether the lines after `#if` with a condition are compiled on this platform."""
    condition = re.sub(r"canImport\((\w+)\)", lambda match: str(match[1] not in ABSENT_MODULES), condition)
    condition = re.sub(r"\bos\((\w+)\)", lambda match: str(match[1] == OPERATING_SYSTEM), condition)
    condition = condition.replace("!", " not ").replace("&&", " and ").replace("||", " or ")
    return eval(re.sub(r"\w+", lambda match: match[0] if match[0] in ("True", "False", "not", "and", "or") else "True", condition))


def alternatives(text):
    """Returns the changed versions of an expression, each with a name for the change."""
    mask, found = masked(text), []
    for old, new in SWAPS:
        for match in re.finditer(re.escape(old), mask):
            if old == "..." and not (re.search(r"[\w)]$", mask[:match.start()]) and re.match(r"[\w(.]", mask[match.end():])):
                continue
            found.append((match.start(), text[:match.start()] + new + text[match.end():], f"{old.strip()} to {new.strip()}"))
    for match in WORD.finditer(mask):
        old = match[0]
        new = WORDS.get(old) or str(int(old.replace("_", "")) + 1)
        found.append((match.start(), text[:match.start()] + new + text[match.end():], f"{old} to {new}"))
    counts = {}
    result = []
    for position, changed, name in sorted(found):
        counts[name] = counts.get(name, 0) + 1
        result.append((changed, name if counts[name] == 1 else f"{name}, number {counts[name]}"))
    return result[:6]


class Rewriter:
    """Finds the mutants of one file."""

    def __init__(self, path, text):
        self.path = path
        self.lines = text.split("\n")
        self.found = {}
        self.scan()

    def mutants(self):
        mutants, counts = [mutant for line in self.found.values() for mutant in line.mutants], {}
        for mutant in mutants:
            mutant.occurrence = 1
            counts[mutant.key] = counts.get(mutant.key, 0) + 1
            mutant.occurrence = counts[mutant.key]
        return mutants

    def text(self):
        """Returns the file with the mutants that have a number."""
        lines = list(self.lines)
        for index, line in self.found.items():
            lines[index] = line.render(lines[index], {mutant.change: mutant.number for mutant in line.mutants if mutant.number >= 0})
        return "\n".join(lines)

    def leave_out(self, line, all=False):
        """Leaves out the riskiest mutants of a line that does not compile, or all; returns whether there were any."""
        mutants = [mutant for mutant in self.found.get(line - 1, Line("", None)).mutants if mutant.number >= 0]
        highest = max((mutant.rank for mutant in mutants), default=0)
        for mutant in mutants:
            if all or mutant.rank == highest:
                mutant.number = -1
        return bool(mutants)

    def is_in_initialiser(self, index):
        """Returns whether a line is in the body of an initialiser."""
        indent = len(self.lines[index]) - len(self.lines[index].lstrip())
        for line in reversed(self.lines[:index]):
            own = len(line) - len(line.lstrip())
            if line.strip() and own < indent:
                # The end of a signature of several lines has the same indent as its beginning.
                indent = own + line.strip().startswith(")")
                if found := re.search(r"\b(func|init|var|subscript|struct|class|enum|extension)\b", masked(line)):
                    return found[1] == "init"
        return False

    # The lines

    def scan(self):
        in_text = in_conditions = False
        starts_clause = False
        # For each `#if` around the line: whether its lines are compiled, and whether those of an earlier branch are.
        branches = []
        for index, line in enumerate(self.lines):
            if line.count('"""') % 2:
                in_text = not in_text
                continue
            stripped = line.strip()
            if match := re.match(r"#(if|elseif|else|endif)\b(.*)", "" if in_text else stripped):
                had_earlier = any(branches.pop()) if match[1] != "if" else False
                if match[1] != "endif":
                    branches.append((not had_earlier and (match[1] == "else" or is_compiled(match[2])), had_earlier))
            if not all(current for current, _ in branches):
                continue
            if in_text or not stripped or stripped.startswith(("//", "#", "@available", "///", "import")):
                continue
            indent = line[:len(line) - len(line.lstrip())]
            if in_conditions:
                in_conditions = self.conditions(index, indent, "", stripped, starts_clause)
                starts_clause = masked(stripped).rstrip().endswith(",")
            elif match := CONDITION.match(stripped):
                in_conditions = self.conditions(index, indent, match["head"], match["rest"], True)
                starts_clause = masked(stripped).rstrip().endswith(",")
            else:
                self.statement(index, indent, stripped)

    def conditions(self, index, indent, head, rest, starts_clause):
        """Reads the conditions of a line; returns whether they continue on the next line."""
        mask = masked(rest)
        if rest.startswith("else {") or rest.startswith("{"):
            return False
        ends = [position for position in (find(mask, " else {"), find(mask, " {")) if position >= 0]
        # A trailing closure is no body: a body ends the line, or is closed at its end.
        end = min(ends) if ends and head + rest[min(ends):] else -1
        if end < 0 and mask.rstrip().endswith(" else"):
            end = find(mask, " else")
        text, tail = (rest, "") if end < 0 else (rest[:end], rest[end:])
        body_open = end >= 0
        if depth_after(masked(text)) != 0:
            return not body_open
        ends_clause = body_open or masked(text).rstrip().endswith(",") or self.next(index).startswith(("else {", "{"))
        trailing = ""
        if masked(text).rstrip().endswith(","):
            text, trailing = text.rstrip()[:-1], ","
        parts = clauses(text, masked(text))
        usable = [
            part_index for part_index, part in enumerate(parts)
            if not BINDING.match(part.strip()) and part.strip() and (starts_clause or part_index > 0) and (ends_clause or part_index < len(parts) - 1)
        ]
        mutants = []
        for part_index in usable:
            part = parts[part_index].strip()
            label = "" if len(usable) == 1 else f" of ({part})"
            mutants.append(Mutant(self.path, index + 1, self.lines[index], f"negated{label}"))
            is_comparison = re.fullmatch(r"[^&|]* (==|!=) [^&|]*", masked(part))
            for _, name in alternatives(part):
                if not (is_comparison and name in ("== to !=", "!= to ==")):
                    mutants.append(Mutant(self.path, index + 1, self.lines[index], f"{name}{label}", rank=1))

        def render(_, numbers):
            shown = list(parts)
            for part_index in usable:
                part = parts[part_index].strip()
                label = "" if len(usable) == 1 else f" of ({part})"
                chosen = ternary(part, {name: numbers[f"{name}{label}"] for _, name in alternatives(part) if f"{name}{label}" in numbers})
                number = numbers.get(f"negated{label}")
                shown[part_index] = (" " if part_index else "") + (f"mutant({number}) != {chosen}" if number is not None else chosen if chosen != f"({part})" else part)
            return indent + head + ",".join(shown) + trailing + tail

        if mutants:
            self.found[index] = Line(self.lines[index], render, mutants)
        return not body_open

    def next(self, index):
        return next((line.strip() for line in self.lines[index + 1:] if line.strip() and not line.strip().startswith("//")), "")

    def previous(self, index):
        return next((line.strip() for line in reversed(self.lines[:index]) if line.strip() and not line.strip().startswith("//")), "")

    def statement(self, index, indent, text):
        mask = masked(text).rstrip()
        following, before = self.next(index), self.previous(index)
        is_whole = (depth_after(mask) == 0 and not CONTINUATION.match(following) and not re.search(r"[,({\[=]$|(?:&&|\|\||\?\?|->|[-+*/<>?:]| in| else)$", mask)
                    and not CONTINUATION.match(text))
        if match := WHERE.match(text):
            self.value(index, indent + match["head"], match["value"], match["tail"], negatable=True)
        elif (match := GETTER.match(text)) and depth_after(mask) == 0:
            self.value(index, indent + match["head"], match["value"], match["tail"], negatable="Bool {" in match["head"])
        elif not is_whole or masked(before).rstrip().endswith((",", "(", "[", "=", "&&", "||", "??", "->")):
            return
        elif text.startswith("return ") and text != "return nil":
            value = text[len("return "):]
            self.statements(index, indent, "return ", value, negatable=bool(BOOLEAN.search(masked(value))))
        elif match := DECLARATION.match(text):
            if ":" not in match["target"] or not match["value"].startswith("{"):
                self.value(index, indent + match["target"] + " = ", match["value"], "", rank=1)
        elif match := ASSIGNMENT.match(text):
            # A property must have a value at the end of an initialiser.
            declaration = re.compile(rf"\blet {re.escape(match['target'])}(?:: [^=]+)?$")
            removable = not self.is_in_initialiser(index) and not any(map(declaration.search, self.lines))
            self.statements(index, indent, f"{match['target']} {match['operator']} ", match["value"], removable=removable)
        elif NEVER.match(text):
            return
        elif match := CASE.match(text):
            value = match["value"]
            if value.startswith("return ") and value != "return nil":
                self.statements(index, indent + match["head"], "return ", value[len("return "):], negatable=bool(BOOLEAN.search(masked(value))))
            elif not KEYWORD.match(value) and not ASSIGNMENT.match(value):
                self.value(index, indent + match["head"], value, "", negatable=bool(BOOLEAN.search(masked(value))))
        elif masked(before).rstrip().endswith(("{", " in")) and following.startswith("}") and not KEYWORD.match(text):
            # The only expression of a body: its value, or a call.
            if CALL.match(text) and not BOOLEAN.search(masked(text)) and not RESULT.search(masked(before).rstrip()):
                self.call(index, indent, text, alone=True)
            else:
                self.value(index, indent, text, "", negatable=bool(BOOLEAN.search(masked(text))))
        elif CALL.match(text):
            self.call(index, indent, text)

    # The kinds of changes

    def value(self, index, head, value, tail, negatable=False, rank=0):
        """An expression that stays one: `head (mutant(1) ? (changed) : (value)) tail`."""
        changes = alternatives(value)
        mutants = [Mutant(self.path, index + 1, self.lines[index], name, rank=rank) for _, name in changes]
        if negatable and not re.fullmatch(r"true|false", value) and not re.fullmatch(r"[^&|]* (==|!=) [^&|]*", masked(value)):
            mutants.append(Mutant(self.path, index + 1, self.lines[index], "negated", rank=1))

        def render(line, numbers):
            if not numbers:
                return line
            chosen = ternary(value, {name: numbers[name] for _, name in changes if name in numbers})
            return f"{head}mutant({numbers['negated']}) != {chosen}{tail}" if "negated" in numbers else f"{head}{chosen}{tail}"

        if mutants:
            self.found[index] = Line(self.lines[index], render, mutants)

    def statements(self, index, indent, head, value, negatable=False, removable=False):
        """A statement that ends in an expression: `if mutant(1) { head changed } else { head value }`."""
        changes = [(f"{head}{changed}", name) for changed, name in alternatives(value)]
        if head.endswith(" += ") or head.endswith(" -= "):
            other = head.replace("+=", "-=") if "+=" in head else head.replace("-=", "+=")
            changes.append((other + value, "other sign"))
        if negatable and not re.fullmatch(r"true|false", value) and not re.fullmatch(r"[^&|]* (==|!=) [^&|]*", masked(value)):
            changes.append((f"{head}!({value})", "negated"))
        mutants = [Mutant(self.path, index + 1, self.lines[index], name) for _, name in changes]
        if removable:
            mutants.append(Mutant(self.path, index + 1, self.lines[index], "removed", rank=2))

        def render(line, numbers):
            text = line.strip() if not masked(line.strip()).strip().startswith("case") else head + value
            text = f"{head}{value}"
            for changed, name in changes:
                if name in numbers:
                    text = f"if mutant({numbers[name]}) {{ {changed} }} else {{ {text} }}"
            if "removed" in numbers:
                text = f"if !mutant({numbers['removed']}) {{ {text} }}"
            return indent + text

        if mutants:
            self.found[index] = Line(self.lines[index], render, mutants)

    def call(self, index, indent, text, alone=False):
        """A call: `if mutant(1) { changed } else if !mutant(2) { call }`."""
        changes = alternatives(text)
        mutants = [Mutant(self.path, index + 1, self.lines[index], name, rank=1) for _, name in changes]
        mutants.append(Mutant(self.path, index + 1, self.lines[index], "removed", rank=0))
        if alone:
            for mutant in mutants:
                mutant.rank = 1 if mutant.change == "removed" else 0

        def render(line, numbers):
            if not numbers:
                return line
            if alone and "removed" not in numbers:
                return indent + ternary(text, numbers)
            shown = text
            for changed, name in changes:
                if name in numbers:
                    shown = f"if mutant({numbers[name]}) {{ {changed} }} else {{ {shown} }}"
            return indent + (f"if !mutant({numbers['removed']}) {{ {shown} }}" if "removed" in numbers else shown)

        self.found[index] = Line(self.lines[index], render, mutants)


def ternary(value, numbers):
    """Returns an expression that is the first version whose mutant is active, and otherwise the original."""
    chosen = f"({value})"
    for changed, name in alternatives(value):
        if name in numbers:
            chosen = f"(mutant({numbers[name]}) ? ({changed}) : {chosen})"
    return chosen


def planted(text):
    """Reads mutants by hand: a path, then the lines `- original` and `+ rewritten`, in which `mutant` stands for whether it is active."""
    path, original = None, None
    for line in text.split("\n"):
        if line.startswith("- "):
            original = line[2:].strip()
        elif line.startswith("+ "):
            yield path, original, line[2:].strip()
        elif line.strip() and not line.startswith("#"):
            path = line.strip()


def plant(rewriter, original, rewritten):
    """Adds a mutant by hand to a file; returns an error, or `None`."""
    places = [index for index, line in enumerate(rewriter.lines) if line.strip() == original]
    if not places:
        return f"{rewriter.path} has no line: {original}"
    index = places[0]
    indent = rewriter.lines[index][:len(rewriter.lines[index]) - len(rewriter.lines[index].lstrip())]
    change = f"by hand: {rewritten}"
    before = rewriter.found.get(index)
    mutant = Mutant(rewriter.path, index + 1, rewriter.lines[index], change, rank=-1)
    by_hand = [other for other in before.mutants if other.rank == -1] if before else []
    if by_hand:
        return f"{rewriter.path} has two mutants by hand for one line: {original}"

    def render(line, numbers):
        number = numbers.get(change)
        return line if number is None else indent + re.sub(r"\bmutant\b(?!\()", f"mutant({number})", rewritten)

    # A line has either its own mutants or one by hand.
    rewriter.found[index] = Line(rewriter.lines[index], render, [mutant])
    return None
