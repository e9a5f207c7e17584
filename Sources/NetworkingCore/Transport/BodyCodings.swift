package import HTTPTypes

/// The codings of a body on the wire, and what a transport does with them: the same for every transport.
///
/// A transport decodes a body only if it knows all of its codings. Anything else would be an undecoded, unlimited or
/// unchecked body that looks like a valid one.
package struct BodyCodings: Sendable, Equatable {
    /// The maximum number of content codings of a body, which is that of libcurl.
    fileprivate static let maximumCount = 5

    /// The names of IANA's registry of content codings, without aliases.
    fileprivate static let registered: Set = [
        "aes128gcm", "br", "compress", "dcb", "dcz", "deflate", "exi", "gzip", "pack200-gzip", "zstd",
    ]

    /// The content codings in lower case, in the order in which the server applied them (RFC 9110 section 8.4).
    ///
    /// `identity` and empty members are left out, and `x-gzip` is `gzip`.
    let content: [String]

    /// The transfer codings besides a final `chunked`, which only frames the body (RFC 9112 section 6.1).
    let transfer: [String]

    /// Whether `chunked` frames the body.
    package let isChunked: Bool

    /// Reads the codings.
    ///
    /// - Parameters:
    ///   - contentEncoding: The values of all Content-Encoding fields, joined with commas; `nil` if there is none.
    ///   - transferEncoding: The values of all Transfer-Encoding fields, likewise.
    package init(contentEncoding: String?, transferEncoding: String?) {
        content = contentEncoding.map { Self.names(in: $0) } ?? []
        var transfer = transferEncoding.map { Self.names(in: $0) } ?? []
        isChunked = transfer.last == "chunked"
        if isChunked {
            transfer.removeLast()
        }
        self.transfer = transfer
    }

    /// Whether the body is on the wire as it is.
    package var isEmpty: Bool {
        content.isEmpty && transfer.isEmpty
    }

    /// The content codings, as the field lists them.
    package var text: String {
        content.joined(separator: ", ")
    }

    /// Returns whether a transport can decode the content codings.
    ///
    /// - Parameter known: The codings that the transport decodes.
    /// - Returns: `true` if there are any, it knows all of them, and they are not too many.
    package func areDecoded(by known: Set<String>) -> Bool {
        !content.isEmpty && content.count <= Self.maximumCount && content.allSatisfy(known.contains)
    }

    /// Returns whether an Accept-Encoding field accepts all content codings; it never needs to name `identity`.
    package func areAccepted(by field: String) -> Bool {
        AcceptedCodings(field).contains(content)
    }

    /// Returns whether an Accept-Encoding field accepts a content coding.
    package static func accepts(_ coding: String, in field: String) -> Bool {
        AcceptedCodings(field).contains([coding])
    }

    /// Returns the name of a coding without its alias (RFC 9110 section 8.4.1).
    fileprivate static func name(_ member: some StringProtocol) -> String {
        switch member.lowercased() {
        case "x-gzip": "gzip"
        case "x-compress": "compress"
        case let name: name
        }
    }

    private static func names(in list: String) -> [String] {
        list.split(separator: ",").map { name($0.trimmed) }.filter { !$0.isEmpty && $0 != "identity" }
    }
}

extension HTTPRequestData {
    /// Returns the content codings that a transport removes from a body; empty if the body is passed on as it is.
    ///
    /// A body in a registered coding that the transport does not decode is an error, unless the request itself accepts
    /// it: its Accept-Encoding names the coding or `*`. A body in names that mean nothing to HTTP is passed on, if the
    /// transport can do so (RFC 9110 section 8.4).
    ///
    /// - Parameters:
    ///   - codings: The codings of the body.
    ///   - known: The codings that the transport decodes.
    ///   - passesOthers: Whether the transport can pass a coded body on as it is.
    ///   - head: The head, with its Content-Encoding.
    /// - Returns: The codings in the order in which they were applied.
    /// - Throws: ``NetworkingError/Kind/invalidResponse`` for a body that the transport cannot read.
    package func codingsToDecode(
        _ codings: BodyCodings,
        decoding known: Set<String>,
        passesOthers: Bool,
        of head: HTTPResponse
    ) throws(NetworkingError) -> [String] {
        guard !codings.isEmpty, head.hasBody(inResponseTo: method) else { return [] }
        // The library never sends TE, so that a server must not use any other transfer coding.
        guard codings.transfer.isEmpty else { throw unreadable(codings.transfer, of: "Transfer-Encoding", head) }
        if codings.areDecoded(by: known) { return codings.content }
        let isEmpty = head.headerFields[singleton: .contentLength] == "0"
        let others = codings.content.filter { !known.contains($0) }
        let isUncoded = codings.content.allSatisfy { !BodyCodings.registered.contains($0) }
        guard isEmpty || passesOthers && !others.isEmpty && (isUncoded || accepts(others)) else {
            throw unreadable(codings.content, of: "Content-Encoding", head)
        }
        return []
    }

    /// Returns whether the request's own Accept-Encoding names all of these codings.
    private func accepts(_ codings: [String]) -> Bool {
        headerFields[.acceptEncoding].map { AcceptedCodings($0).contains(codings) } ?? false
    }

    private func unreadable(_ codings: [String], of field: String, _ head: HTTPResponse) -> NetworkingError {
        let names = PrintableText.singleLine(codings.prefix(BodyCodings.maximumCount).joined(separator: ", "))
        return NetworkingError(
            .invalidResponse,
            request: self,
            response: response(with: head),
            reason: "The server sent a body in the \(field) \(names), which this transport does not decode. "
                + "Check the server."
        )
    }
}

/// The codings that an Accept-Encoding field accepts (RFC 9110 section 12.5.3).
private struct AcceptedCodings: Sendable {
    private var isAccepted: [String: Bool] = [:]

    /// Reads the value of the field.
    init(_ field: String) {
        for member in field.split(separator: ",") {
            let parts = member.split(separator: ";", omittingEmptySubsequences: false).map(\.trimmed)
            guard let name = parts.first, !name.isEmpty else { continue }
            let weight = parts.dropFirst().first { $0.lowercased().hasPrefix("q=") }?.dropFirst(2)
            isAccepted[BodyCodings.name(name)] = weight.map { $0.contains { ("1"..."9").contains($0) } } ?? true
        }
    }

    /// Returns whether the field accepts all of these codings; it never needs to name `identity`.
    func contains(_ codings: [String]) -> Bool {
        codings.allSatisfy { isAccepted[$0] ?? isAccepted["*"] ?? false }
    }
}
