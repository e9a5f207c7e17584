/// The parts of a stack as a flowchart in Mermaid's language.
struct Flowchart {
    private var lines = ["flowchart TD"]
    private var arrows: [String] = []
    private var lastNumber = 0

    init(of nodes: [OutlineNode]) {
        add(nodes, to: nil, indentation: 1)
    }

    var text: String {
        (lines + arrows.map { "    " + $0 }).joined(separator: "\n")
    }

    /// Adds parts that a request passes one after the other.
    ///
    /// - Parameters:
    ///   - nodes: The parts.
    ///   - former: The part before the first of them, and the arrow from there; `nil` if there is none.
    ///   - indentation: The depth of the frames around them.
    /// - Returns: The last part, and the arrow to the next one.
    @discardableResult
    private mutating func add(
        _ nodes: [OutlineNode],
        to former: (name: String, arrow: String)?,
        indentation: Int
    ) -> (name: String, arrow: String)? {
        let margin = String(repeating: "    ", count: indentation)
        var former = former
        for node in nodes {
            lastNumber += 1
            let name = "p\(lastNumber)"
            let label = Self.label(node.text)
            guard node.group.isEmpty else {
                lines.append("\(margin)subgraph \(name)[\(label)]")
                former = add(node.group, to: former, indentation: indentation + 1)
                lines.append("\(margin)end")
                continue
            }
            lines.append("\(margin)\(name)[\(label)]")
            if let former {
                arrows.append("\(former.name) \(former.arrow) \(name)")
            }
            former = (name, "-->")
            for branch in node.branches {
                add(branch, to: (name, "-.->"), indentation: indentation)
            }
        }
        return former
    }

    /// Returns text in quotes, with each character that Mermaid, Markdown or HTML might interpret as an entity.
    static func label(_ text: String) -> String {
        var label = ""
        var former: Unicode.Scalar?
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            // A dot, also after a number, may start a list, and "www." a link.
            let isInNumber = scalar == "." && former?.isDigit == true && rest.first?.isDigit == true
            if former == nil ? scalar.isLetter : scalar.isPlain || isInNumber {
                label.unicodeScalars.append(scalar)
            } else {
                label += "#\(scalar.value);"
            }
            former = scalar
        }
        return "\"\(label.isEmpty ? "#32;" : label)\""
    }
}

extension Unicode.Scalar {
    fileprivate var isDigit: Bool {
        ("0"..."9").contains(self)
    }

    fileprivate var isLetter: Bool {
        ("a"..."z").contains(self) || ("A"..."Z").contains(self)
    }

    /// Whether the character has no meaning in Mermaid, Markdown or HTML.
    fileprivate var isPlain: Bool {
        guard isASCII else { return !PrintableText.isUnprintable(self) }
        return isLetter || isDigit || " (),:%=".unicodeScalars.contains(self)
    }
}
