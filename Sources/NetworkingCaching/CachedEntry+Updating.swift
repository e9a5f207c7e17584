import HTTPTypes
import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension [CachedEntry] {
    /// The entry that a 304 to this cache's own condition speaks of (RFC 9111 section 4.3.4).
    func confirmed(by head: HTTPResponse, chosen: CachedEntry?) -> CachedEntry? {
        guard let tag = head.headerFields[.eTag] else {
            // Of several tags that were sent nobody knows which one holds.
            return count == 1 ? first : chosen?.facts.tag == nil ? chosen : nil
        }
        if let chosen, chosen.facts.tag == nil || chosen.facts.tag?.isWeaklyEqual(to: tag) == true { return chosen }
        return first { $0.facts.tag?.isWeaklyEqual(to: tag) == true }
    }

    /// The entry that a 304 to somebody else's condition speaks of: what they have may be another.
    func confirmed(byAnswerToAnother head: HTTPResponse) -> CachedEntry? {
        if let tag = head.headerFields[.eTag] {
            return first { $0.facts.tag?.isWeaklyEqual(to: tag) == true }
        }
        guard let modified = head.headerFields[.lastModified] else { return nil }
        return first { $0.facts.tag == nil && $0.response.headerFields[.lastModified] == modified }
    }
}

extension CachedEntry {
    /// The fields that describe the message and not what is stored (RFC 9111 section 3.2).
    private static let unchanged: Set<String> = [
        "content-length", "content-encoding", "content-range", "transfer-encoding", "connection", "keep-alive", "te",
        "trailer",
        "upgrade", "proxy-connection", "proxy-authenticate", "proxy-authentication-info",
    ]

    /// This, confirmed by a response whose fields it takes over.
    ///
    /// - Parameters:
    ///   - head: The head of the response.
    ///   - rules: What is kept of a head.
    ///   - request: The request that the entry answers from now on, which may have been another's; nil to leave that as
    ///     it is.
    ///   - credentials: The credentials of the request.
    ///   - sent: When the request was sent.
    ///   - received: When the response came.
    /// - Returns: An entry with the same body.
    func freshened(
        by head: HTTPResponse,
        _ rules: CacheRules,
        for request: HTTPRequestData?,
        _ credentials: CredentialDigests,
        sent: Date,
        received: Date
    ) -> CachedEntry {
        var response = response
        let head = rules.stored(head)
        let names = Set(head.headerFields.map { $0.name.canonicalName }).subtracting(Self.unchanged)
        for name in names {
            guard let name = HTTPField.Name(name) else { continue }
            response.headerFields[fields: name] = head.headerFields[fields: name]
        }
        if !names.contains("age") {
            response.headerFields[.age] = nil
        }
        // A message without a date is from when it came (RFC 9110 section 6.6.1).
        if !names.contains("date") {
            response.headerFields[.date] = received.httpDate
        }
        let varying = request.map { rules.varying(response, $0, credentials) } ?? varying
        return CachedEntry(
            id: CacheRules.id(of: varying),
            response: response,
            body: body,
            part: part,
            varying: varying,
            requestDate: sent,
            responseDate: received
        )
    }

    /// This and a part that follows or overlaps it, of the same strong tag (RFC 9111 section 3.4).
    func combined(with new: CachedEntry) -> CachedEntry? {
        guard let tag = response.headerFields[.eTag], !tag.hasPrefix("W/"), new.response.headerFields[.eTag] == tag,
            let newPart = new.part
        else { return nil }
        let old = part?.range ?? 0..<body.count
        let length = part.map { $0.length } ?? body.count
        guard old.lowerBound <= newPart.range.upperBound, newPart.range.lowerBound <= old.upperBound else { return nil }
        let range = min(old.lowerBound, newPart.range.lowerBound)..<max(old.upperBound, newPart.range.upperBound)
        var bytes = Data(count: range.count)
        bytes.replaceSubrange(old.lowerBound - range.lowerBound..<old.upperBound - range.lowerBound, with: body)
        bytes.replaceSubrange(
            newPart.range.lowerBound - range.lowerBound..<newPart.range.upperBound - range.lowerBound,
            with: new.body
        )
        let whole = newPart.length ?? length
        let isWhole = whole == range.count && range.lowerBound == 0
        var head = new.response
        if isWhole {
            head.status = .ok
            head.headerFields[.contentRange] = nil
            head.headerFields[.contentLength] = "\(range.count)"
        }
        return CachedEntry(
            id: new.id,
            response: head,
            body: bytes,
            part: isWhole ? nil : Part(range: range, length: whole),
            varying: new.varying,
            requestDate: new.requestDate,
            responseDate: new.responseDate
        )
    }
}
