import HTTPTypes
import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A single range of bytes that a request wants (RFC 9110 section 14.1.2).
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

    /// Its bytes in a representation of a length; nil where that is not known and matters, or there are none.
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
    /// The one range that it wants; nil for all, and for what cannot be read.
    var byteRange: ByteRange? {
        headerFields[.range].flatMap { ByteRange($0) }
    }

    /// Whether a range of a stored response is what it wants (RFC 9110 section 13.1.5).
    func ifRangeHolds(for response: HTTPResponse) -> Bool {
        guard let condition = headerFields[.ifRange] else { return true }
        if condition.hasPrefix("\"") { return response.headerFields[.eTag] == condition }
        return response.headerFields[.lastModified] == condition
    }

    var isConditional: Bool {
        [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince]
            .contains {
                headerFields.contains($0)
            }
    }

    /// Whether the caller has what is stored, so that a 304 says all (RFC 9110 section 13.2.2).
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
    /// The entity tags of a list; they may hold commas.
    var entityTags: [String] {
        var tags: [String] = []
        var rest = self[...].trimmed
        while !rest.isEmpty {
            if rest.hasPrefix("*") { return ["*"] }
            let isWeak = rest.hasPrefix("W/")
            let opaque = isWeak ? rest.dropFirst(2) : rest
            guard opaque.hasPrefix("\""), let end = opaque.dropFirst().firstIndex(of: "\"") else {
                // One without quotes, up to the next comma.
                let piece = rest.prefix { $0 != "," }
                if !piece.trimmed.isEmpty { tags.append(String(piece.trimmed)) }
                rest = rest.dropFirst(piece.count + 1).trimmed
                continue
            }
            tags.append((isWeak ? "W/" : "") + opaque[...end])
            rest = opaque[opaque.index(after: end)...].drop { $0 == "," || $0 == " " || $0 == "\t" }
        }
        return tags
    }

    /// RFC 9110 section 8.8.3.2.
    func isWeaklyEqual(to other: String) -> Bool {
        func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
        return opaque(self) == opaque(other)
    }
}
