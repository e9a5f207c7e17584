import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// A single byte range that a request asks for (RFC 9110 section 14.1.2).
enum ByteRange: Sendable, Equatable {
    case from(Int, through: Int?)
    case last(Int)

    init?(_ field: String) {
        let parts = field.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, parts[0].trimmed.lowercased() == "bytes", !parts[1].contains(",") else { return nil }
        let bounds = parts[1].trimmed.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard bounds.count == 2 else { return nil }
        switch (Int(bounds[0]), Int(bounds[1])) {
        case (let first?, let last?) where first >= 0 && last >= first && last < .max:
            self = .from(first, through: last)
        case (let first?, nil) where bounds[1].isEmpty && first >= 0: self = .from(first, through: nil)
        case (nil, let count?) where bounds[0].isEmpty && count > 0: self = .last(count)
        default: return nil
        }
    }

    /// Returns the bytes in a representation of a given length; `nil` if there are none, or if the length is needed and
    /// unknown.
    func bounds(of length: Int?) -> Range<Int>? {
        switch self {
        case .from(let first, through: let last?):
            let end = min(last + 1, length ?? .max)
            return first < end ? first..<end : nil
        case .from(let first, through: nil):
            guard let length, first < length else { return nil }
            return first..<length
        case .last(let count):
            guard let length, length > 0 else { return nil }
            return max(0, length - count)..<length
        }
    }
}

extension HTTPRequestData {
    /// The single range that the request asks for; `nil` for the whole representation or for a malformed range.
    var byteRange: ByteRange? {
        headerFields[.range].flatMap { ByteRange($0) }
    }

    /// Whether a range of a stored response satisfies the request's If-Range condition (RFC 9110 section 13.1.5).
    func ifRangeHolds(for response: HTTPResponse) -> Bool {
        guard let condition = headerFields[.ifRange] else { return true }
        if condition.hasPrefix("\"") { return response.headerFields[singleton: .eTag] == condition }
        return response.strongLastModified == condition
    }

    var isConditional: Bool {
        [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince]
            .contains {
                headerFields.contains($0)
            }
    }

    /// Whether the caller already has the stored response, so that a 304 is enough (RFC 9110 section 13.2.2).
    func alreadyHas(_ entry: CachedEntry) -> Bool {
        guard !headerFields.isEmpty, entry.response.status.kind == .successful else { return false }
        let tags = headerFields[values: .ifNoneMatch].flatMap { $0.entityTags }
        if !tags.isEmpty {
            guard let tag = entry.facts.tag else { return tags.contains("*") }
            return tags.contains("*") || tags.contains { $0.isWeaklyEqual(to: tag) }
        }
        guard let since = headerFields[.ifModifiedSince].flatMap({ Date(httpDate: $0, now: entry.responseDate) }) else {
            return false
        }
        return entry.facts.lastModified ?? entry.facts.date <= since
    }
}

extension String {
    /// The entity tags of a list; tags may contain commas.
    var entityTags: [String] {
        var tags: [String] = []
        var rest = self[...].trimmed
        while !rest.isEmpty {
            if rest.hasPrefix("*") { return ["*"] }
            let isWeak = rest.hasPrefix("W/")
            let opaque = isWeak ? rest.dropFirst(2) : rest
            guard opaque.hasPrefix("\""), let end = opaque.dropFirst().firstIndex(of: "\"") else {
                // A tag without quotes ends at the next comma.
                let part = rest.prefix { $0 != "," }
                if !part.trimmed.isEmpty { tags.append(String(part.trimmed)) }
                rest = rest.dropFirst(part.count + 1).trimmed
                continue
            }
            tags.append((isWeak ? "W/" : "") + opaque[...end])
            rest = opaque[opaque.index(after: end)...].drop { $0 == "," || $0 == " " || $0 == "\t" }
        }
        return tags
    }

    /// Whether two entity tags are equal by weak comparison (RFC 9110 section 8.8.3.2).
    func isWeaklyEqual(to other: String) -> Bool {
        func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
        return opaque(self) == opaque(other)
    }
}
