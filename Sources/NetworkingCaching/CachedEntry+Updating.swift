import FoundationForNetworking
import HTTPTypes
import NetworkingCore

extension [CachedEntry] {
    /// Returns the entry that a 304 to this cache's own condition confirms (RFC 9111 section 4.3.4).
    func confirmed(by head: HTTPResponse, chosen: CachedEntry?) -> CachedEntry? {
        guard let tag = head.headerFields[singleton: .eTag] else {
            // If several tags were sent, it is unknown which one matched.
            return count == 1 ? first : chosen?.facts.tag == nil ? chosen : nil
        }
        if let chosen, chosen.facts.tag == nil || chosen.facts.tag?.isWeaklyEqual(to: tag) == true { return chosen }
        return first { $0.facts.tag?.isWeaklyEqual(to: tag) == true }
    }

    /// Returns the entry that a 304 to the caller's own condition confirms; the caller may have another version.
    func confirmed(byResponseToAnother head: HTTPResponse) -> CachedEntry? {
        if let tag = head.headerFields[singleton: .eTag] {
            return first { $0.facts.tag?.isWeaklyEqual(to: tag) == true }
        }
        guard let modified = head.headerFields[singleton: .lastModified] else { return nil }
        return first { $0.facts.tag == nil && $0.response.headerFields[singleton: .lastModified] == modified }
    }
}

extension CachedEntry {
    /// The fields that describe the message and not the stored response (RFC 9111 section 3.2).
    private static let unchanged: Set<String> = [
        "content-length", "content-encoding", "content-range", "transfer-encoding", "connection", "keep-alive", "te",
        "trailer",
        "upgrade", "proxy-connection", "proxy-authenticate", "proxy-authentication-info",
    ]

    /// Returns the entry confirmed by a response, with the fields of that response.
    ///
    /// - Parameters:
    ///   - head: The head of the response.
    ///   - rules: The rules for the fields that are stored.
    ///   - request: The request that the entry serves from now on, which may differ from the original one; `nil` to
    ///     keep the selecting fields.
    ///   - credentials: The credentials of the request.
    ///   - sent: The date at which the request was sent.
    ///   - received: The date at which the response arrived.
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
        // The date of a message without one is that of its arrival (RFC 9110 section 6.6.1).
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

    /// Returns the entry combined with an adjacent or overlapping part with the same strong tag (RFC 9111 section 3.4).
    func combined(with new: CachedEntry) -> CachedEntry? {
        guard let tag = response.headerFields[singleton: .eTag], !tag.hasPrefix("W/"),
            new.response.headerFields[singleton: .eTag] == tag,
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
