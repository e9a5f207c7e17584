/// Rules for redacted names: plain names, which are looked up, and patterns, which are matched.
struct NameRules: Sendable, Hashable {
    /// The plain names in lower case, and whether each is redacted.
    private var names: [String: Bool] = [:]
    /// The patterns; the last one that matches decides.
    private var patterns: [Rule] = []

    private struct Rule: Sendable, Hashable {
        let pattern: NamePattern
        let isRedacted: Bool
    }

    init(redacting redacted: [String], showing shown: [String] = []) {
        set(redacted, isRedacted: true)
        set(shown, isRedacted: false)
    }

    /// Adds names and patterns, which take precedence over the existing ones.
    mutating func set(_ texts: [String], isRedacted: Bool) {
        for text in texts.map({ $0.lowercased() }) {
            guard let pattern = NamePattern(text) else {
                names[text] = isRedacted
                continue
            }
            patterns.removeAll { $0.pattern == pattern }
            patterns.append(Rule(pattern: pattern, isRedacted: isRedacted))
        }
    }

    /// Removes the rule for a plain name, in lower case, so that patterns decide.
    mutating func forget(_ name: String) {
        names[name] = nil
    }

    /// Returns whether a name is redacted.
    ///
    /// A name with brackets, `user[password]`, is redacted if any of its parts is.
    func redacts(_ name: String) -> Bool {
        let name = name.lowercased()
        if redacts(lowercased: name) { return true }
        guard name.utf8.contains(UInt8(ascii: "[")) else { return false }
        return name.split { $0 == "[" || $0 == "]" }.contains { redacts(lowercased: String($0)) }
    }

    /// Returns whether a name in lower case is redacted.
    func redacts(lowercased name: String) -> Bool {
        if let isRedacted = names[name] { return isRedacted }
        var name = name
        return name.withUTF8 { bytes in patterns.last { $0.pattern.matches(bytes) }?.isRedacted ?? false }
    }
}
