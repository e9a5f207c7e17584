extension NetworkingComponent {
    /// The parts of the stack with their settings, one per line, outermost part first.
    ///
    /// ```swift
    /// print(network.outline)
    /// // server(authority: "api.example.com")
    /// // logged(level: info, detail: headers)
    /// // timeout(10.0 seconds)
    /// // URLSession
    /// ```
    ///
    /// The parts of a preset, and those of another stack that a part may send a request through, are the branches of a
    /// tree:
    ///
    /// ```swift
    /// print(network.outline)
    /// // fallback(to:)
    /// // ├─ timeout(5.0 seconds)
    /// // └─ AsyncHTTPClient
    /// // retry(up to 3 times, …)
    /// // URLSession
    /// ```
    ///
    /// A part that is `CustomStringConvertible` is printed with its description, and any other part with its type.
    public var outline: String {
        outlineTree.flatMap(\.lines).joined(separator: "\n")
    }

    /// The stack as a flowchart in Mermaid's language, for a page of Markdown or a tool that draws it.
    ///
    /// It has the parts of the ``outline``: a box for each part, a frame around the parts of a preset, and a dotted
    /// arrow to each other stack that a part may send a request through.
    ///
    /// ```swift
    /// print(network.diagram)
    /// // flowchart TD
    /// //     p1["timeout(10.0 seconds)"]
    /// //     p2["URLSession"]
    /// //     p1 --> p2
    /// ```
    public var diagram: String {
        Flowchart(of: outlineTree).text
    }

    /// The parts as nodes, outermost first.
    private var outlineTree: [OutlineNode] {
        OutlineNode.nodes(of: chain.flatMap { OutlineNode.Entry.entries(of: $0) })
    }
}

extension NetworkingModifier {
    /// The modifier's line in an outline, by which a diagnostic names it.
    public var outlineName: String {
        outlineLines(of: self).joined(separator: ", ")
    }
}

/// Returns the lines of a component without its upstream, or of a modifier, without their branches.
func outlineLines(of part: some Any) -> [String] {
    OutlineNode.Entry.entries(of: part).map(\.text)
}

/// A part in the tree of an outline.
struct OutlineNode {
    let text: String
    /// The parts that this one stands for, outermost first.
    let group: [OutlineNode]
    /// The other stacks that the part may send a request through.
    let branches: [[OutlineNode]]

    /// A part with the number of modifiers further in that belong to it.
    struct Entry {
        let text: String
        let isModifier: Bool
        let facts: StackPart?

        /// Returns the parts of a component without its upstream, or of a modifier that may consist of others.
        static func entries(of part: some Any) -> [Entry] {
            let facts = (part as? any StackDescribing)?.stackPart
            let text = facts?.name ?? (part as? any CustomStringConvertible)?.description
            if text == nil, let modifiers = facts?.modifiers { return modifiers.flatMap { entries(of: $0) } }
            let line = PrintableText.singleLine(text ?? "\(type(of: part))")
            return [Entry(text: line, isModifier: part is any NetworkingModifier, facts: facts)]
        }
    }

    /// Returns the nodes of parts, outermost first.
    static func nodes(of entries: [Entry]) -> [OutlineNode] {
        var nodes: [OutlineNode] = []
        var rest = entries[...]
        while let entry = rest.popFirst() {
            var grouped: [Entry] = []
            var left = entry.facts?.groupedModifiers ?? 0
            while left > 0, let next = rest.popFirst() {
                grouped.append(next)
                left -= next.isModifier ? 1 : 0
            }
            let branches = (entry.facts?.branches ?? [])
                .map { branch in Self.nodes(of: branch.chain.flatMap { Entry.entries(of: $0) }) }
            nodes.append(OutlineNode(text: entry.text, group: Self.nodes(of: grouped), branches: branches))
        }
        return nodes
    }

    /// The lines of the part and, indented, of those below it.
    var lines: [String] {
        var below = group
        if branches.count == 1 {
            below += branches[0]
        } else {
            below += branches.indices.map { index in
                OutlineNode(text: "branch \(index + 1)", group: branches[index], branches: [])
            }
        }
        return [text]
            + below.indices.flatMap { index in
                let isLast = index == below.count - 1
                return zip(below[index].lines, 0...)
                    .map { line, number in
                        (number == 0 ? (isLast ? "└─ " : "├─ ") : (isLast ? "   " : "│  ")) + line
                    }
            }
    }
}

extension AnyKeyPath {
    /// The key path as an outline prints it: as written if the platform supports that, otherwise by its root and value
    /// types.
    ///
    /// Outside of Apple's platforms, the description of a computed property is an address that differs in each run.
    package var outlined: String {
        let text = "\(self)"
        return text.contains("<computed") ? "\\\(Self.rootType).<\(Self.valueType)>" : text
    }
}
