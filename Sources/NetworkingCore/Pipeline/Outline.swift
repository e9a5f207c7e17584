extension NetworkingComponent {
    /// The stack as it is, outermost part first, one part with its settings a line.
    ///
    /// ```swift
    /// print(network.outline)
    /// // server(authority: "api.example.com")
    /// // logged(level: info, detail: headers)
    /// // timeout(10.0 seconds)
    /// // URLSession
    /// ```
    ///
    /// A part that is `CustomStringConvertible` prints as its description, any other as its type.
    public var outline: String {
        outlineLines(of: self).joined(separator: "\n")
    }
}

/// What can name the parts that it consists of.
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
    /// The modifier's line in an outline.
    package var outlineName: String {
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
    /// How it shows in an outline: as written where the platform knows that, else by the types of its ends.
    ///
    /// Elsewhere than on Apple's platforms a computed property prints as an address, another one in each run.
    package var outlined: String {
        let text = "\(self)"
        return text.contains("<computed") ? "\\\(Self.rootType).<\(Self.valueType)>" : text
    }
}
