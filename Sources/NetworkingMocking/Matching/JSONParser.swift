import NetworkingCore

/// Builds a JSON document from its tokens.
struct JSONParser {
    /// Deeper documents are refused, so that none can overflow the call stack.
    private static let maximumDepth = 256

    private var tokens: JSONTokenizer

    init(_ source: [UInt8]) {
        tokens = JSONTokenizer(source)
    }

    /// Returns the document; `nil` if it is malformed or too deep.
    mutating func document() -> JSONDocument? {
        guard String(validating: tokens.source, as: UTF8.self) != nil, let token = tokens.next(),
            let value = value(token), tokens.next() == .documentEnd
        else { return nil }
        return value
    }

    private mutating func value(_ token: JSONTokenizer.Token) -> JSONDocument? {
        switch token {
        case .start(let container):
            guard tokens.depth <= Self.maximumDepth else { return nil }
            return container == .object ? object() : array()
        case .string(let range): return .string(tokens.text(of: range))
        case .number(let range): return .number(String(decoding: tokens.source[range], as: UTF8.self))
        case .boolean(let value): return .boolean(value)
        case .null: return .null
        case .end, .comma, .name, .documentEnd: return nil
        }
    }

    private mutating func object() -> JSONDocument? {
        var members: [JSONDocument.Name: JSONDocument] = [:]
        while let token = tokens.next() {
            switch token {
            case .end: return .object(members)
            case .name(let range):
                guard let first = tokens.next(), let member = value(first) else { return nil }
                members[JSONDocument.Name(text: tokens.text(of: range))] = member
            default: continue
            }
        }
        return nil
    }

    private mutating func array() -> JSONDocument? {
        var elements: [JSONDocument] = []
        while let token = tokens.next() {
            switch token {
            case .end: return .array(elements)
            case .comma: continue
            default:
                guard let element = value(token) else { return nil }
                elements.append(element)
            }
        }
        return nil
    }
}
