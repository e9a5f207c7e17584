/// A search for the value at a coding path of a JSON document, for the description of a decoding failure.
///
/// It reads each byte at most once and decodes nothing but the names of members. The tokenizer stores the nesting in an
/// array, so a deeply nested document cannot cause a stack overflow.
///
/// Names match keys without regard to case, underscores and hyphens, because a decoder may convert the names: `user_id`
/// matches the key `userID`.
struct JSONPathSearch {
    /// The result of the search for a value.
    enum Value: Equatable {
        /// The value has this type: "a string".
        case found(String)
        /// The path leads to no value: a member, an element or its container is missing.
        case missing
        /// The document is not JSON, at least up to the value.
        case unreadable
    }

    /// The result of the search for a member.
    enum Member: Equatable {
        /// The object has the member, and its value has this type.
        case found(String)
        /// The object has no such member, but one with a name that differs only in case, underscores and hyphens.
        case similar(String)
        /// The object has no such member.
        case missing
        /// The path leads to no object, or the document is not JSON, at least up to there.
        case noObject
    }

    private enum Step {
        /// The first token of a value.
        case value(JSONTokenizer.Token)
        case missing
        case unreadable
    }

    private var tokens: JSONTokenizer

    private init(_ document: [UInt8]) {
        tokens = JSONTokenizer(document)
    }

    /// Returns the type of the value at a path.
    static func value(at path: [any CodingKey], in document: [UInt8]) -> Value {
        var search = JSONPathSearch(document)
        return switch search.move(along: path) {
        case .value(let token): .found(name(ofTypeOf: token))
        case .missing: .missing
        case .unreadable: .unreadable
        }
    }

    /// Returns the member with a name of the object at a path.
    static func member(named name: String, ofObjectAt path: [any CodingKey], in document: [UInt8]) -> Member {
        var search = JSONPathSearch(document)
        guard case .value(.start(.object)) = search.move(along: path) else { return .noObject }
        let folded = Self.folded(name)
        var similar: String?
        while let token = search.tokens.next() {
            switch token {
            case .name(let range):
                let found = search.tokens.text(of: range)
                guard let value = search.tokens.next() else { return .noObject }
                if found == name { return .found(Self.name(ofTypeOf: value)) }
                if similar == nil, Self.folded(found) == folded { similar = found }
                guard search.skipRest(of: value) else { return .noObject }
            case .comma:
                continue
            default:
                return similar.map { Member.similar($0) } ?? .missing
            }
        }
        return .noObject
    }

    // MARK: Steps

    /// Moves to the value at a path.
    private mutating func move(along path: [any CodingKey]) -> Step {
        var step = next()
        for key in path {
            guard case .value(let token) = step else { return step }
            switch token {
            case .start(.object): step = member(named: key.stringValue)
            case .start(.array): step = element(at: key.intValue)
            default: return .missing
            }
        }
        return step
    }

    /// Moves to the value of a member, after the start of its object.
    private mutating func member(named name: String) -> Step {
        let folded = Self.folded(name)
        while let token = tokens.next() {
            switch token {
            case .name(let range):
                let found = tokens.text(of: range)
                if found == name || Self.folded(found) == folded { return next() }
                guard let value = tokens.next(), skipRest(of: value) else { return .unreadable }
            case .comma:
                continue
            default:
                return .missing
            }
        }
        return .unreadable
    }

    /// Moves to an element, after the start of its array.
    private mutating func element(at index: Int?) -> Step {
        guard var remaining = index, remaining >= 0 else { return .missing }
        while let token = tokens.next() {
            switch token {
            case .comma:
                continue
            case .end:
                return .missing
            default:
                if remaining == 0 { return .value(token) }
                remaining -= 1
                guard skipRest(of: token) else { return .unreadable }
            }
        }
        return .unreadable
    }

    private mutating func next() -> Step {
        tokens.next().map { Step.value($0) } ?? .unreadable
    }

    /// Skips the rest of a value after its first token; `false` if the value is malformed.
    private mutating func skipRest(of value: JSONTokenizer.Token) -> Bool {
        guard case .start = value else { return true }
        let depth = tokens.depth
        while tokens.depth >= depth {
            guard tokens.next() != nil else { return false }
        }
        return true
    }

    // MARK: Text

    /// Returns a name without the differences that decoders convert.
    private static func folded(_ name: String) -> String {
        name.lowercased().filter { $0 != "_" && $0 != "-" }
    }

    private static func name(ofTypeOf value: JSONTokenizer.Token) -> String {
        switch value {
        case .start(.object): "an object"
        case .start(.array): "an array"
        case .string: "a string"
        case .number: "a number"
        case .boolean: "a Boolean"
        case .null: "null"
        case .end, .comma, .name, .documentEnd: "nothing"
        }
    }
}
