public import FoundationForNetworking
import HTTPTypes
import Synchronization

/// The body of a request, with its length and media type, and whether it can be sent again.
///
/// ```swift
/// request.body = .json(message)
/// request.body = .form(["user": "kminchelle", "password": password])
/// request.body = .data(png, contentType: "image/png")
/// request.body = .file(URL(filePath: "/tmp/film.mov"))
/// request.body = .multipart([.text("Holiday", name: "title"), .file(photo, name: "photo")])
/// request.body = .stream { try await recorder.samples() }
/// ```
///
/// A body has a Content-Type, which the request's header fields override. Files and streams are read in chunks while
/// they are sent, and are never in memory as a whole.
public struct RequestBody: Sendable {
    private let storage: Storage

    private init(_ content: Content, contentType: String?) {
        storage = Storage(content, contentType: contentType)
    }

    /// Creates a body from a source.
    package init(_ source: some BodySource, contentType: String) {
        guard HTTPField.isValidValue(contentType) else {
            self.init(.unencodable(Failure.invalidContentType), contentType: nil)
            return
        }
        self.init(.source(source), contentType: contentType)
    }

    /// Creates a body that cannot be sent.
    init(_ failure: Failure) {
        self.init(.unencodable(failure), contentType: nil)
    }

    /// Creates a body from bytes in memory.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - contentType: The media type of the bytes.
    /// - Returns: A body that can be sent any number of times.
    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> RequestBody {
        RequestBody(.data(data), contentType: contentType)
    }

    /// Creates a body with a value as JSON.
    ///
    /// The stack's `encoder` encodes the value when the stack rewrites the request. A stack without one uses a standard
    /// encoder, which does not escape slashes and sorts keys, so that equal values give equal requests. The value is
    /// encoded once for each send, so that retries send the same bytes. If it cannot be encoded, the send fails with
    /// ``NetworkingError/Kind/unencodableBody``, which contains the encoder's error.
    ///
    /// - Parameter value: The value to encode. Use `RequestBody.json(_:encoder:)` for a value that is not `Sendable`.
    /// - Returns: A body of type `application/json`.
    public static func json(_ value: some Encodable & Sendable) -> RequestBody {
        encodedAsJSON(value)
    }

    static func encodedAsJSON(_ value: some Encodable & Sendable) -> RequestBody {
        RequestBody(EncodableValue(isJSON: true) { try $0.encode(value) })
    }

    /// Creates a body with a value that the given encoder encodes as JSON, instead of the stack's `encoder`.
    ///
    /// The value is encoded in this call. If it cannot be encoded, the send fails with
    /// ``NetworkingError/Kind/unencodableBody``, which contains the encoder's error.
    ///
    /// - Parameters:
    ///   - value: The value to encode.
    ///   - encoder: The encoder.
    /// - Returns: A body of type `application/json`.
    public static func json(_ value: some Encodable, encoder: JSONEncoder) -> RequestBody {
        encoded(value, by: encoder, contentType: "application/json")
    }

    /// Creates a body with a value that the stack's `encoder` encodes, or with its JSON if the stack has none.
    ///
    /// The time of the encoding and its errors are the same as for `RequestBody.json(_:)`.
    ///
    /// - Parameter value: The value to encode.
    /// - Returns: A body of the encoder's media type.
    public static func encoded(_ value: some Encodable & Sendable) -> RequestBody {
        RequestBody(EncodableValue(isJSON: false) { try $0.encode(value) })
    }

    /// Creates a body with a value as a property list, encoded in this call.
    ///
    /// If the value cannot be encoded, the send fails with ``NetworkingError/Kind/unencodableBody``.
    ///
    /// - Parameters:
    ///   - value: The value to encode.
    ///   - encoder: The encoder; by default, one that writes XML.
    /// - Returns: A body of type `application/x-plist`.
    public static func propertyList(_ value: some Encodable, encoder: PropertyListEncoder? = nil) -> RequestBody {
        encoded(value, by: encoder ?? .standard, contentType: "application/x-plist")
    }

    /// Creates a body with a value from a custom encoder, encoded in this call.
    ///
    /// If the value cannot be encoded, the send fails with ``NetworkingError/Kind/unencodableBody``.
    ///
    /// - Parameters:
    ///   - value: The value to encode.
    ///   - encoder: The encoder.
    ///   - contentType: The media type of the encoded value.
    /// - Returns: A body that can be sent any number of times.
    public static func encoded(
        _ value: some Encodable,
        by encoder: some BodyEncoder,
        contentType: String
    ) -> RequestBody {
        RequestBody(Content { try encoder.encode(value) }, contentType: contentType)
    }

    /// The media type, for the Content-Type field; `nil` only for a body that cannot be sent.
    public var contentType: String? {
        storage.contentType
    }

    /// The number of bytes, if it is known before sending.
    ///
    /// The length of a file is read from the disk on each access, which may block the calling thread. The body of a
    /// request that a transport receives has the length at the start of the exchange.
    public var length: Int64? {
        switch storage.content {
        case .data(let data): Int64(data.count)
        case .source(let source): storage.measured.map(\.length) ?? source.length
        case .unencodable: nil
        }
    }

    /// Whether reading the length and opening the body may wait for the disk.
    package var isOnDisk: Bool {
        guard case .source(let source) = storage.content else { return false }
        return source.isOnDisk
    }

    /// Returns the same body with the length that it has now, so that reading ``length`` does not wait for the disk.
    ///
    /// - Parameter limit: The time limit of the caller.
    /// - Returns: The body.
    /// - Throws: `CancellationError` if the caller is cancelled or its time is up while the disk is slow.
    package func measured(until limit: ExchangeLimit?) async throws -> RequestBody {
        guard case .source(let source) = storage.content, source.isOnDisk else { return self }
        let length = try await DiskQueue.run(until: limit) { source.length }
        return RequestBody(storage: Storage(storage, measured: length))
    }

    /// Returns the body itself if it has a length from the start of an exchange, and otherwise a measured one.
    package func measuredOnce() async throws -> RequestBody {
        storage.measured == nil ? try await measured(until: nil) : self
    }

    /// Whether the body can be sent more than once.
    ///
    /// Retry, redirects, authentication and hedging read this.
    public var isReplayable: Bool {
        switch storage.content {
        case .data: true
        case .source(let source): source.isReplayable
        case .unencodable: false
        }
    }

    /// The bytes, if they are in memory; read any other body from ``chunks``.
    public var data: Data? {
        switch storage.content {
        case .data(let data): data
        case .source, .unencodable: nil
        }
    }

    /// The file that contains exactly the bytes of the body; `nil` if there is none.
    ///
    /// A transport may pass the file to the system to send it.
    public var fileURL: URL? {
        guard case .source(let source as FileBody) = storage.content else { return nil }
        return URL(filePath: source.path)
    }

    /// The reason why the body cannot be sent; `nil` if it can.
    var encodingError: (any Error)? {
        switch storage.content {
        case .data, .source: nil
        case .unencodable(let error): error
        }
    }

    /// Opens the body for reading from its beginning.
    func open() async throws -> any BodyReader {
        switch storage.content {
        case .data(let data): DataReader(data)
        case .source(let source): try await source.open()
        case .unencodable(let error): throw error
        }
    }

    /// Opens the body for reading without suspension; returns `nil` if its bytes may arrive later.
    package func openNow() throws -> (any BodyReaderNow)? {
        switch storage.content {
        case .data(let data): DataReader(data)
        case .source(let source): try source.openNow()
        case .unencodable(let error): throw error
        }
    }

    /// The readers that exchanges have cancelled; `nil` for bytes in memory.
    package var abandonedReaders: AbandonedReaders? {
        storage.abandonedReaders
    }

    /// The boundary between the parts; `nil` for a body without parts.
    var boundary: String? {
        guard case .source(let source as MultipartBody) = storage.content else { return nil }
        return source.boundary
    }

    /// The parts of a body that has parts and is not in memory.
    package var parts: [MultipartPart]? {
        guard case .source(let source as MultipartBody) = storage.content else { return nil }
        return source.parts
    }

    private var identity: String? {
        guard case .source(let source) = storage.content else { return nil }
        return source.identity
    }

    fileprivate enum Content: Sendable {
        case data(Data)
        case source(any BodySource)
        case unencodable(any Error)

        init(encoding encode: () throws -> Data) {
            do {
                self = .data(try encode())
            } catch {
                self = .unencodable(error)
            }
        }
    }

    /// A single reference, because a request is copied far more often than its body is read.
    private final class Storage: Sendable {
        private let fixed: Content?
        let value: EncodableValue?
        let contentType: String?
        /// `nil` for bytes in memory, whose reader ends at once.
        let abandonedReaders: AbandonedReaders?
        /// The length that was read from the disk; `nil` if it is read on each access.
        let measured: (length: Int64?, of: Storage)?

        init(_ content: Content, contentType: String?) {
            measured = nil
            fixed = content
            abandonedReaders = if case .source = content { AbandonedReaders() } else { nil }
            value = nil
            self.contentType = contentType
        }

        init(_ value: EncodableValue) {
            measured = nil
            fixed = nil
            abandonedReaders = nil
            self.value = value
            contentType = "application/json"
        }

        /// Creates the same body with a length that was read from the disk.
        init(_ body: Storage, measured length: Int64?) {
            let body = body.origin
            measured = (length, body)
            (fixed, value, contentType) = (body.fixed, body.value, body.contentType)
            abandonedReaders = body.abandonedReaders
        }

        /// The body that was measured, or this one.
        var origin: Storage {
            measured?.of ?? self
        }

        var content: Content {
            fixed ?? value?.standard ?? .data(Data())
        }
    }

    private init(_ value: EncodableValue) {
        storage = Storage(value)
    }

    private init(storage: Storage) {
        self.storage = storage
    }

    /// Whether the stack's encoder encodes the body when the stack rewrites the request.
    package var isEncodedByStack: Bool {
        storage.value != nil
    }

    /// Returns the body as a stack's encoder encodes it.
    ///
    /// `nil` if the body does not leave its encoding to the stack, or requires JSON and the encoder has another format.
    func encoded(byStack encoder: any BodyEncoder, contentType: String) -> RequestBody? {
        guard let value = storage.value else { return nil }
        guard !value.isJSON || BodyType(contentType).shape == .json else { return nil }
        return RequestBody(Content { try value.encode(encoder) }, contentType: contentType)
    }
}

/// A value that the stack's encoder encodes, or the standard encoder if the stack has none.
private final class EncodableValue: Sendable {
    /// Whether only encoders of JSON may encode the value.
    let isJSON: Bool
    let encode: @Sendable (any BodyEncoder) throws -> Data
    private let encoded = Mutex<RequestBody.Content?>(nil)

    init(isJSON: Bool, encode: @escaping @Sendable (any BodyEncoder) throws -> Data) {
        self.isJSON = isJSON
        self.encode = encode
    }

    /// The value as the standard encoder encodes it, on the first use.
    var standard: RequestBody.Content {
        if let content = encoded.withLock({ $0 }) { return content }
        // The value's own code must not run under the lock, so two threads may encode it at the same time.
        let content = RequestBody.Content { try encode(JSONEncoder.standard) }
        return encoded.withLock { first in
            let result = first ?? content
            first = result
            return result
        }
    }
}

extension RequestBody: Hashable {
    /// Compares the bytes and the media type.
    ///
    /// Two bodies with the same file are equal. A stream, a body of parts, and a body that cannot be encoded are equal
    /// only to themselves.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        if lhs.storage.origin === rhs.storage.origin { return true }
        guard lhs.contentType == rhs.contentType else { return false }
        if let left = lhs.data, let right = rhs.data { return left == right }
        if let left = lhs.identity, let right = rhs.identity { return left == right }
        return false
    }

    /// Hashes the values that equality compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(data)
        hasher.combine(identity)
        hasher.combine(contentType)
    }
}

extension RequestBody: CustomStringConvertible, CustomReflectable {
    /// The type and the length, never the bytes.
    public var description: String {
        let type = contentType ?? "unknown type"
        return encodingError == nil
            ? "\(type), \(length.map { "\($0) bytes" } ?? "unknown length")" : "\(type), unencodable"
    }

    /// The contents of a dump, without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["contentType": contentType ?? "nil", "length": length.map { "\($0)" } ?? "nil"])
    }
}

/// An encoder of a value into the bytes of a body: `JSONEncoder`, `PropertyListEncoder`, or your own.
public protocol BodyEncoder: Sendable {
    /// Encodes a value.
    ///
    /// - Parameter value: The value.
    /// - Returns: The bytes.
    /// - Throws: An error if the value cannot be encoded.
    func encode<Value: Encodable>(_ value: Value) throws -> Data
}

extension JSONEncoder: BodyEncoder {
    /// A new encoder with the output format of `RequestBody.json(_:)`.
    static var standard: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

extension PropertyListEncoder: BodyEncoder {
    /// The default encoder of ``RequestBody/propertyList(_:encoder:)``.
    fileprivate static var standard: PropertyListEncoder {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        return encoder
    }
}
