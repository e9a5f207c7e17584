import HTTPTypes
import NetworkingCore

/// The query parameters that select a response, as its field `No-Vary-Search` declares them
/// (draft-ietf-httpbis-no-vary-search).
///
/// The rules are those of the working group's text for the drafts -07 to -09, in which `except` has no `params` beside
/// it. The spelling of the drafts up to -03, `params` and `params, except=("a")`, has the same meaning here: the newer
/// text defines no other one, and servers still send it.
struct SearchVariance: Sendable, Hashable {
    /// Names are bytes, because equal strings may differ in their Unicode normalization.
    typealias Name = [UInt8]

    /// The names that count, or those that do not.
    private let names: Set<Name>
    /// Whether only ``names`` count.
    private let isExcept: Bool
    private let ignoresOrder: Bool
    /// The value of the field.
    let text: String

    static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.names == rhs.names && lhs.isExcept == rhs.isExcept && lhs.ignoresOrder == rhs.ignoresOrder
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(names)
        hasher.combine(isExcept)
        hasher.combine(ignoresOrder)
    }

    /// The maximum length of a field in bytes; a longer one is ignored.
    private static let maximumField = 2_048
    /// The maximum length of a query in bytes; a longer one must match exactly.
    private static let maximumQuery = 8_192
    /// The maximum number of parameters of a query; a query with more of them must match exactly.
    private static let maximumParameters = 256

    /// Creates the variance of a response; `nil` if only the exact URL selects it, as without a valid field.
    init?(_ response: HTTPResponse) {
        guard response.headerFields.contains(.noVarySearch) else { return nil }
        self.init(response.headerFields[values: .noVarySearch].joined(separator: ", "))
    }

    /// Parses the value of the field; `nil` if it is malformed, or means that all parameters and their order count.
    init?(_ field: String) {
        guard field.utf8.count <= Self.maximumField, let members = StructuredItem.dictionary(field) else { return nil }
        switch members["key-order"]?.value {
        case nil: ignoresOrder = false
        case .boolean(let isIgnored): ignoresOrder = isIgnored
        default: return nil
        }
        let except = members["except"]?.value
        switch (members["params"]?.value, except) {
        case (nil, nil):
            (names, isExcept) = ([], false)
        case (.innerList(let items), nil):
            guard let parsed = Self.parsed(items) else { return nil }
            (names, isExcept) = (parsed, false)
        case (.boolean(true), nil):
            (names, isExcept) = ([], true)
        case (nil, .innerList(let items)), (.boolean(true), .innerList(let items)):
            guard let parsed = Self.parsed(items) else { return nil }
            (names, isExcept) = (parsed, true)
        default:
            return nil
        }
        guard isExcept || ignoresOrder || !names.isEmpty else { return nil }
        text = field
    }

    private static func parsed(_ items: [StructuredItem]) -> Set<Name>? {
        var names: Set<Name> = []
        for item in items {
            guard case .string(let text) = item.value else { return nil }
            names.insert(decoded(text[...]))
        }
        return names
    }

    /// Decodes a name or a value as in `application/x-www-form-urlencoded`; invalid UTF-8 becomes U+FFFD.
    private static func decoded(_ text: Substring) -> [UInt8] {
        Array(String(decoding: PercentEncoding.bytes(decoding: text, plusIsSpace: true), as: UTF8.self).utf8)
    }

    /// Whether two URLs select the same response.
    func isEquivalent(_ url: String, _ other: String) -> Bool {
        guard url != other else { return true }
        let (base, query) = RequestTarget.split(url)
        let (otherBase, otherQuery) = RequestTarget.split(other)
        guard base == otherBase, let bytes = equivalenceClass(of: query) else { return false }
        return bytes == equivalenceClass(of: otherQuery)
    }

    /// Returns bytes that are equal for queries that select the same response, and for this variance only.
    ///
    /// - Parameter query: The query; `nil` for a URL without one, which is the same as an empty one.
    /// - Returns: The bytes; `nil` if the query is too long to be compared in parts.
    func equivalenceClass(of query: Substring?) -> [UInt8]? {
        guard let parameters = parameters(of: query ?? "") else { return nil }
        var bytes: [UInt8] = [isExcept ? 1 : 0, ignoresOrder ? 1 : 0]
        let known = names.sorted { $0.lexicographicallyPrecedes($1) }
        Self.append(known.count, to: &bytes)
        for text in known + parameters.flatMap({ [$0.name, $0.value] }) {
            // With their lengths, so that no two lists have the same bytes.
            Self.append(text.count, to: &bytes)
            bytes += text
        }
        return bytes
    }

    private static func append(_ number: Int, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: UInt32(clamping: number).littleEndian) { bytes += $0 }
    }

    /// The parameters that count, sorted by their names if their order does not count.
    private func parameters(of query: Substring) -> [(name: Name, value: [UInt8])]? {
        guard query.utf8.count <= Self.maximumQuery else { return nil }
        let parts = query.utf8.split(separator: UInt8(ascii: "&"))
        guard parts.count <= Self.maximumParameters else { return nil }
        var parameters: [(name: Name, value: [UInt8])] = []
        for part in parts {
            let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = Self.decoded(Substring(pair[0]))
            guard names.contains(name) == isExcept else { continue }
            parameters.append((name, pair.count == 2 ? Self.decoded(Substring(pair[1])) : []))
        }
        guard ignoresOrder else { return parameters }
        // By the place too, because parameters of the same name keep their order.
        return parameters.enumerated()
            .sorted { first, second in
                first.element.name == second.element.name
                    ? first.offset < second.offset
                    : first.element.name.lexicographicallyPrecedes(second.element.name)
            }
            .map(\.element)
    }
}
