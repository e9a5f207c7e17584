/// Rules for hidden names: plain names, which are looked up, and patterns, which are matched.
struct NameRules: Sendable, Hashable {
    /// The plain names in lower case, and whether each is hidden.
    private var names: [String: Bool] = [:]
    /// The patterns; the last one that matches decides.
    private var patterns: [Rule] = []

    private struct Rule: Sendable, Hashable {
        let pattern: NamePattern
        let isHidden: Bool
    }

    init(hiding hidden: [String], showing shown: [String] = []) {
        set(hidden, isHidden: true)
        set(shown, isHidden: false)
    }

    /// Adds names and patterns, which take precedence over the existing ones.
    mutating func set(_ texts: [String], isHidden: Bool) {
        for text in texts.map({ $0.lowercased() }) {
            guard let pattern = NamePattern(text) else {
                names[text] = isHidden
                continue
            }
            patterns.removeAll { $0.pattern == pattern }
            patterns.append(Rule(pattern: pattern, isHidden: isHidden))
        }
    }

    /// Removes the rule for a plain name, in lower case, so that patterns decide.
    mutating func forget(_ name: String) {
        names[name] = nil
    }

    /// Returns whether a name is hidden.
    ///
    /// A name with brackets, `user[password]`, is hidden if any of its parts is.
    func hides(_ name: String) -> Bool {
        let name = name.lowercased()
        if hides(lowercased: name) { return true }
        guard name.utf8.contains(UInt8(ascii: "[")) else { return false }
        return name.split { $0 == "[" || $0 == "]" }.contains { hides(lowercased: String($0)) }
    }

    /// Returns whether a name in lower case is hidden.
    func hides(lowercased name: String) -> Bool {
        if let isHidden = names[name] { return isHidden }
        var name = name
        return name.withUTF8 { bytes in patterns.last { $0.pattern.matches(bytes) }?.isHidden ?? false }
    }
}
