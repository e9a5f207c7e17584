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
    /// A part that is `CustomStringConvertible` is printed with its description, and any other part with its type.
    public var outline: String {
        outlineLines(of: self).joined(separator: "\n")
    }
}

/// A component that lists its parts in an outline.
package protocol Outlined {
    var outlineLines: [String] { get }
}

extension Modified: Outlined {
    package var outlineLines: [String] {
        NetworkingCore.outlineLines(of: modifier) + NetworkingCore.outlineLines(of: upstream)
    }
}

extension AnyNetworkingComponent: Outlined {
    package var outlineLines: [String] {
        NetworkingCore.outlineLines(of: base)
    }
}

extension Optional: Outlined where Wrapped: NetworkingModifier {
    package var outlineLines: [String] {
        map { NetworkingCore.outlineLines(of: $0) } ?? []
    }
}

extension NetworkingModifier {
    /// The modifier's line in an outline, by which a diagnostic names it.
    public var outlineName: String {
        NetworkingCore.outlineLines(of: self).joined(separator: ", ")
    }
}

private func outlineLines(of part: some Any) -> [String] {
    switch part {
    case let part as any Outlined: part.outlineLines
    case let part as any CustomStringConvertible: [part.description]
    default: ["\(type(of: part))"]
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
