import FoundationForNetworking
import HTTPTypes
public import NetworkingCore
import Synchronization

extension NetworkingComponent {
    /// Sends request bodies in a content coding, and as they are to servers that refuse it (RFC 9110 section 8.4, RFC
    /// 7694).
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .retry()
    ///     .compressedBodies()
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// A body in memory of up to 1 MiB is compressed once, off the caller's actor, and sent as it is if that does not
    /// make it shorter. Files, streams and longer bodies are compressed while they are sent, without a
    /// `Content-Length`. gzip and deflate then pass on bytes after each 64 KiB, so leave out bodies that another party
    /// waits for piece by piece. A body that can be sent again still can: it is read and compressed again.
    ///
    /// If a server refuses the coding with 415, the body is sent again at once: in another of the codings if
    /// `Accept-Encoding` of the response names it, and otherwise as it is. The modifier remembers refusals of up to
    /// 1,000 origins, each for an hour, and also those in the `Accept-Encoding` of other responses. A 415 that accepts
    /// the coding, or that the plain body gets too, is about the media type, and is returned. So is the 415 of a body
    /// that can be sent only once, and one after which another user has signed in.
    ///
    /// Requests with a `Content-Encoding`, a `Content-Range`, a digest of their body or fields of a resumable upload
    /// pass unchanged.
    ///
    /// Place it outside of `signed`, so that digests and signatures cover the bytes that are sent, and outside of
    /// `retry`, so that a body in memory is compressed once. Do not compress secrets together with text that an
    /// attacker chooses, because the length of the result then reveals them.
    ///
    /// - Parameters:
    ///   - codings: The codings, the preferred one first.
    ///   - minimumBytes: The length in bytes below which a body is sent as it is; 1,024 by default. Files and streams
    ///     without a known length count as longer.
    ///   - isCompressible: Returns whether the body of a request is compressed. `nil` decides by the media type: text,
    ///     JSON, XML, forms and scripts are compressed.
    /// - Returns: A component that sends compressed bodies. Its copies share the refusals.
    /// - Precondition: One of `codings` has an encoder, and `minimumBytes` is not negative.
    public func compressedBodies(
        with codings: [ContentCoding] = [.gzip],
        minimumBytes: Int = 1_024,
        where isCompressible: (@Sendable (HTTPRequestData) -> Bool)? = nil
    ) -> some NetworkingComponent {
        precondition(
            codings.contains { $0.makeEncoder != nil },
            "codings must contain one with an encoder (is \(codings))"
        )
        precondition(minimumBytes >= 0, "minimumBytes must not be negative (is \(minimumBytes))")
        return modified(
            CompressedBodies(
                codings: codings.filter { $0.makeEncoder != nil },
                minimumBytes: minimumBytes,
                isCompressible: isCompressible
            )
        )
    }

    /// Accepts responses in further content codings, over transports that decode with
    /// ``HTTPRequestData/contentDecoders``.
    ///
    /// ```swift
    /// struct InvertingDecoder: ContentDecoder {
    ///     mutating func decode(_ bytes: Data, _ output: (Data) throws -> Void) throws {
    ///         try output(Data(bytes.map { ~$0 }))
    ///     }
    ///
    ///     mutating func finish(_ output: (Data) throws -> Void) throws {}
    /// }
    ///
    /// let inverted = ContentCoding("x-inverted", decoder: { InvertingDecoder() })
    /// let network = URLSession.shared.decompressedBodies(with: [inverted])
    /// ```
    ///
    /// A request with ``HTTPRequestData/contentDecoders`` of its own keeps them. The place in the stack does not
    /// matter.
    ///
    /// - Parameter codings: The codings, the preferred one first. Those without a decoder are ignored.
    /// - Returns: A component that sends requests with these decoders.
    public func decompressedBodies(with codings: [ContentCoding]) -> some NetworkingComponent {
        modified(DecompressedBodies(codings: codings.filter { $0.makeDecoder != nil }))
    }
}

struct CompressedBodies: UpstreamLimited, CustomStringConvertible {
    let codings: [ContentCoding]
    let minimumBytes: Int
    let isCompressible: (@Sendable (HTTPRequestData) -> Bool)?
    private let refusals = CodingRefusals()

    init(codings: [ContentCoding], minimumBytes: Int, isCompressible: (@Sendable (HTTPRequestData) -> Bool)?) {
        self.codings = codings
        self.minimumBytes = minimumBytes
        self.isCompressible = isCompressible
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard mayCompress(request), let coding = firstCoding(for: request) else {
            return try await upstream.send(request)
        }
        return try await exchange(request, in: coding, upstream: upstream)
    }

    private func exchange(
        _ request: HTTPRequestData,
        in first: ContentCoding,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        var plain = request
        let sinkUse = plain.observeSink()
        var coding: ContentCoding? = first
        var refused: Set<String> = []
        // A refusal without Accept-Encoding, which may be one of the media type.
        var unexplained: ContentCoding?
        while true {
            var attempt = plain
            if let tried = coding, try await !attempt.compressBody(in: tried) {
                coding = nil
            }
            let result = try await upstream.outcome(of: attempt)
            // A redirect may have led to another server, which says nothing about this one.
            guard let response = attempt.response(in: result), request.hasOrigin(of: response.sentRequest) else {
                return try result.get()
            }
            let isRefused = response.status == .unsupportedMediaType
            guard let sent = coding else {
                if let unexplained, !isRefused {
                    refusals.add(unexplained, of: request)
                }
                return try result.get()
            }
            let field = response.headerFields[.acceptEncoding]
            let isAccepted = field.map { BodyCodings.accepts(sent.name, in: $0) } ?? !isRefused
            guard !isAccepted else { return try result.get() }
            if field == nil {
                unexplained = sent
            } else {
                refusals.add(sent, of: request)
            }
            guard isRefused, plain.canBeSentAgain(sinkUse), request.exchangeLimit?.isReached != true,
                upstream.isSameUser(of: request, as: response.principal)
            else { return try result.get() }
            try Task.checkCancellation()
            request.emit(ContentCodingEvent.refused(coding: sent.name))
            refused.insert(sent.name)
            coding = field.flatMap { field in
                codings.first { !refused.contains($0.name) && BodyCodings.accepts($0.name, in: field) }
            }
            // Data that the sink already has need not be sent again.
            plain.sink?.prepare(&plain)
        }
    }

    private func firstCoding(for request: HTTPRequestData) -> ContentCoding? {
        codings.first { !refusals.contain($0, of: request) }
    }

    /// The fields of requests that pass unchanged, because they describe the bytes of their body.
    private static let excluded: [HTTPField.Name] = [
        .contentEncoding, .contentRange, HTTPField.Name("Content-Digest")!, HTTPField.Name("Content-MD5")!,
        HTTPField.Name("Repr-Digest")!, HTTPField.Name("Tus-Resumable")!, HTTPField.Name("Upload-Complete")!,
        HTTPField.Name("Upload-Offset")!,
    ]

    private func mayCompress(_ request: HTTPRequestData) -> Bool {
        guard let body = request.body, let type = request.headerFields[.contentType] ?? body.contentType else {
            return false
        }
        // The length of a file would be read from the disk on the caller's thread.
        let isLong = body.isOnDisk || body.length.map { $0 >= Int64(minimumBytes) } ?? true
        guard isLong, !Self.excluded.contains(where: request.headerFields.contains) else { return false }
        return isCompressible?(request) ?? Self.isCompressible(type)
    }

    /// Returns whether bytes of a media type usually become shorter.
    static func isCompressible(_ mediaType: String) -> Bool {
        let type = mediaType.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
        if type.hasPrefix("text/") || type.hasSuffix("+json") || type.hasSuffix("+xml") { return true }
        return [
            "application/graphql", "application/javascript", "application/json", "application/json-seq",
            "application/jsonl", "application/x-ndjson", "application/x-plist", "application/x-www-form-urlencoded",
            "application/xml", "application/yaml",
        ]
        .contains(type)
    }

    var stackPart: StackPart {
        StackPart(
            roles: [StackRole("compression"), .resending],
            rules: [
                .notInside(.signing, "is inside signed, so it changes bodies that are signed. Put it outside.")
            ]
        )
    }

    var description: String {
        "compressedBodies(with: \(codings.map(\.name).joined(separator: ", ")))"
    }
}

struct DecompressedBodies: UpstreamLimited, CustomStringConvertible {
    let codings: [ContentCoding]

    func resolve(_ request: inout HTTPRequestData) {
        if request.contentDecoders.isEmpty {
            request.contentDecoders = codings
        }
    }

    var description: String {
        "decompressedBodies(with: \(codings.map(\.name).joined(separator: ", ")))"
    }
}

// MARK: The body

extension HTTPRequestData {
    /// The maximum size in bytes of a body that is compressed before it is sent.
    private static let maximumAtOnce = 1 << 20

    /// Replaces the body by a compressed one; returns `false` without a change if it would not be shorter.
    fileprivate mutating func compressBody(in coding: ContentCoding) async throws -> Bool {
        guard let body, let makeEncoder = coding.makeEncoder else { return false }
        // The media type of parts has their boundary, which the compressed body does not know.
        describeBody()
        let contentType = body.contentType ?? "application/octet-stream"
        if let data = body.data, data.count <= Self.maximumAtOnce {
            let encoded: Data
            do {
                encoded = try await Self.encoded(data, by: makeEncoder)
            } catch {
                try Task.checkCancellation()
                throw NetworkingError(
                    .unencodableBody,
                    request: self,
                    underlying: error,
                    reason: "The body cannot be compressed with \(coding.name)."
                )
            }
            guard encoded.count < data.count else { return false }
            emit(ContentCodingEvent.compressed(coding: coding.name, from: data.count, to: encoded.count))
            self.body = .data(encoded, contentType: contentType)
        } else if body.isReplayable {
            self.body = .stream(contentType: contentType) { EncodedChunks(body.chunks, makeEncoder) }
        } else {
            self.body = .stream(EncodedChunks(body.chunks, makeEncoder), contentType: contentType)
        }
        headerFields[.contentEncoding] = coding.name
        return true
    }

    @concurrent
    private static func encoded(
        _ data: Data,
        by makeEncoder: @Sendable () -> any ContentEncoder
    ) async throws -> Data {
        var encoder = makeEncoder()
        let start = data.isEmpty ? Data() : try encoder.encode(data)
        try Task.checkCancellation()
        return start + (try encoder.finish())
    }

    /// Whether another request goes to the same server.
    fileprivate func hasOrigin(of other: HTTPRequestData) -> Bool {
        scheme == other.scheme && authorityKey == other.authorityKey
    }
}

/// The encoded chunks of a body.
private struct EncodedChunks: AsyncSequence, Sendable {
    private let chunks: BodyChunks
    private let makeEncoder: @Sendable () -> any ContentEncoder

    init(_ chunks: BodyChunks, _ makeEncoder: @escaping @Sendable () -> any ContentEncoder) {
        self.chunks = chunks
        self.makeEncoder = makeEncoder
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(chunks: chunks.makeAsyncIterator(), encoder: makeEncoder())
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var chunks: BodyChunks.Iterator
        fileprivate var encoder: (any ContentEncoder)?

        mutating func next() async throws -> Data? {
            while encoder != nil {
                guard let chunk = try await chunks.next() else {
                    let end = try encoder?.finish()
                    encoder = nil
                    return end
                }
                if let encoded = try encoder?.encode(chunk), !encoded.isEmpty { return encoded }
            }
            return nil
        }
    }
}

// MARK: Refusals

/// The content codings that servers have refused.
private final class CodingRefusals: Sendable {
    /// The maximum number of refusals; the oldest are removed first.
    private static let limit = 1_000
    private static let lifetime = Duration.seconds(3_600)

    private struct Key: Hashable {
        let isPlain: Bool
        let authority: AuthorityKey?
        let coding: String

        init(_ coding: ContentCoding, of request: HTTPRequestData) {
            isPlain = request.scheme == "http"
            authority = request.authorityKey
            self.coding = coding.name
        }
    }

    /// The times of the refusals.
    private let refusals = Mutex<[Key: Duration]>([:])

    func contain(_ coding: ContentCoding, of request: HTTPRequestData) -> Bool {
        let key = Key(coding, of: request)
        guard let time = refusals.withLock({ $0[key] }) else { return false }
        return NetworkEnvironment.current.clock.now - time < Self.lifetime
    }

    func add(_ coding: ContentCoding, of request: HTTPRequestData) {
        let now = NetworkEnvironment.current.clock.now
        refusals.withLock { refusals in
            if refusals.count >= Self.limit {
                // A tenth is removed at a time, so that the search for them is cheap on average.
                for (key, _) in refusals.sorted(by: { $0.value < $1.value }).prefix(Self.limit / 10) {
                    refusals[key] = nil
                }
            }
            refusals[Key(coding, of: request)] = now
        }
    }
}
