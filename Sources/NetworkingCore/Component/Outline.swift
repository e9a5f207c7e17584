extension NetworkingModifier {
    /// The modifier's line in an outline, by which a diagnostic names it.
    public var outlineName: String {
        outlineLines(of: self).joined(separator: ", ")
    }
}

/// Returns the lines of a component without its upstream, or of a modifier.
func outlineLines(of part: some Any) -> [String] {
    let facts = (part as? any StackDescribing)?.stackPart
    if let name = facts?.name { return [name] }
    if let part = part as? any CustomStringConvertible { return [part.description] }
    return facts?.modifiers?.flatMap { outlineLines(of: $0) } ?? ["\(type(of: part))"]
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
