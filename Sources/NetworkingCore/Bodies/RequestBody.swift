import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
        storage = Storage(content: content, contentType: contentType)
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
    /// The value is encoded once, in this call, so that retries send the same bytes. If it cannot be encoded, the send
    /// fails with ``NetworkingError/Kind/unencodableBody``, which contains the encoder's error.
    ///
    /// - Parameters:
    ///   - value: The value to encode.
    ///   - encoder: The encoder. The default sorts keys, so that equal values make equal requests, and does not escape
    ///     slashes.
    /// - Returns: A body of type `application/json`.
    public static func json(_ value: some Encodable, encoder: JSONEncoder? = nil) -> RequestBody {
        encoded(value, by: encoder ?? .standard, contentType: "application/json")
    }

    /// Creates a body with a value as a property list.
    ///
    /// - Parameters:
    ///   - value: The value to encode.
    ///   - encoder: The encoder; by default, one that writes XML.
    /// - Returns: A body of type `application/x-plist`.
    public static func propertyList(_ value: some Encodable, encoder: PropertyListEncoder? = nil) -> RequestBody {
        encoded(value, by: encoder ?? .standard, contentType: "application/x-plist")
    }

    /// Creates a body with a value from a custom encoder, encoded once as by ``json(_:encoder:)``.
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
        do {
            return RequestBody(.data(try encoder.encode(value)), contentType: contentType)
        } catch {
            return RequestBody(.unencodable(error), contentType: contentType)
        }
    }

    /// Creates a body of names and values as an HTML form sends them, encoded by the rules of WHATWG's URL standard.
    ///
    /// - Parameter fields: The fields in order; a name may occur more than once.
    /// - Returns: A body of type `application/x-www-form-urlencoded`.
    public static func form(_ fields: KeyValuePairs<String, String>) -> RequestBody {
        form(fields.map { URLQueryItem(name: $0.key, value: $0.value) })
    }

    /// Creates a body of names and values as an HTML form sends them, encoded by the rules of WHATWG's URL standard.
    ///
    /// - Parameter items: The fields in order; a field without a value is sent with an empty one.
    /// - Returns: A body of type `application/x-www-form-urlencoded`.
    public static func form(_ items: [URLQueryItem]) -> RequestBody {
        let encoding = QueryEncoding.form
        let encoded = items.map { "\(encoding.encode($0.name))=\(encoding.encode($0.value ?? ""))" }
        return RequestBody(
            .data(Data(encoded.joined(separator: "&").utf8)),
            contentType: "application/x-www-form-urlencoded"
        )
    }

    /// The media type, for the Content-Type field.
    public var contentType: String? {
        storage.contentType
    }

    /// The number of bytes, if it is known before sending.
    ///
    /// The length of a file is read from the disk on each access.
    public var length: Int64? {
        switch storage.content {
        case .data(let data): Int64(data.count)
        case .source(let source): source.length
        case .unencodable: nil
        }
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

    /// Starts to read the body from its start.
    func open() async throws -> any BodyReader {
        switch storage.content {
        case .data(let data): DataReader(data)
        case .source(let source): try await source.open()
        case .unencodable(let error): throw error
        }
    }

    /// Starts to read the body from its start without any wait; returns `nil` if that is not possible.
    package func openNow() throws -> (any BodyReaderNow)? {
        switch storage.content {
        case .data(let data): DataReader(data)
        case .source(let source): try source.openNow()
        case .unencodable(let error): throw error
        }
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

    private enum Content: Sendable {
        case data(Data)
        case source(any BodySource)
        case unencodable(any Error)
    }

    /// A single reference, because a request is copied far more often than its body is read.
    private final class Storage: Sendable {
        let content: Content
        let contentType: String?

        init(content: Content, contentType: String?) {
            self.content = content
            self.contentType = contentType
        }
    }
}

extension RequestBody: Hashable {
    /// Compares the bytes and the media type.
    ///
    /// Two bodies with the same file are equal. A stream, a body of parts, and a body that cannot be encoded are equal
    /// only to themselves.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        if lhs.storage === rhs.storage { return true }
        guard lhs.contentType == rhs.contentType else { return false }
        if let left = lhs.data, let right = rhs.data { return left == right }
        if let left = lhs.identity, let right = rhs.identity { return left == right }
        return false
    }

    /// Hashes the parts that equality compares.
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
    /// The default encoder of ``RequestBody/json(_:encoder:)``.
    fileprivate static var standard: JSONEncoder {
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
