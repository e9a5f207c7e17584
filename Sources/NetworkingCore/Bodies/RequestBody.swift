import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The body of a request, with what its modifiers ask of it: how long it is and whether it can be sent again.
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
/// A body brings its Content-Type; one that the request's header fields name wins. Files and streams are read while
/// they are sent, in chunks, and never held in memory as a whole.
public struct RequestBody: Sendable {
    private let storage: Storage

    private init(_ content: Content, contentType: String?) {
        storage = Storage(content: content, contentType: contentType)
    }

    /// A body that is read from somewhere.
    package init(_ source: some BodySource, contentType: String) {
        guard HTTPField.isValidValue(contentType) else {
            self.init(.unencodable(Failure.invalidContentType), contentType: nil)
            return
        }
        self.init(.source(source), contentType: contentType)
    }

    /// A body that cannot be sent.
    init(_ failure: Failure) {
        self.init(.unencodable(failure), contentType: nil)
    }

    /// A body of bytes that are in memory.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - contentType: Their media type.
    /// - Returns: A body that can be sent any number of times.
    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> RequestBody {
        RequestBody(.data(data), contentType: contentType)
    }

    /// A value as JSON.
    ///
    /// It is encoded here and once, so that retries send the same bytes. A value that cannot be encoded makes the
    /// send fail with ``NetworkingError/Kind/unencodableBody``, which holds the encoder's error.
    ///
    /// - Parameters:
    ///   - value: The value to encode.
    ///   - encoder: The encoder. The default one sorts keys, so that equal values make equal requests, and leaves
    ///     slashes alone.
    /// - Returns: A body of type `application/json`.
    public static func json(_ value: some Encodable, encoder: JSONEncoder? = nil) -> RequestBody {
        encoded(value, by: encoder ?? .standard, contentType: "application/json")
    }

    /// A value as a property list.
    ///
    /// - Parameters:
    ///   - value: The value to encode.
    ///   - encoder: The encoder; one that writes XML by default.
    /// - Returns: A body of type `application/x-plist`.
    public static func propertyList(_ value: some Encodable, encoder: PropertyListEncoder? = nil) -> RequestBody {
        encoded(value, by: encoder ?? .standard, contentType: "application/x-plist")
    }

    /// A value as an encoder of your choice writes it, once and here, as ``json(_:encoder:)`` does.
    ///
    /// - Parameters:
    ///   - value: The value to encode.
    ///   - encoder: The encoder.
    ///   - contentType: The media type of what it writes.
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

    /// Names and values as an HTML form sends them, encoded by the rules of WHATWG's URL standard.
    ///
    /// - Parameter fields: The fields in order; a name may occur more than once.
    /// - Returns: A body of type `application/x-www-form-urlencoded`.
    public static func form(_ fields: KeyValuePairs<String, String>) -> RequestBody {
        form(fields.map { URLQueryItem(name: $0.key, value: $0.value) })
    }

    /// Names and values as an HTML form sends them, encoded by the rules of WHATWG's URL standard.
    ///
    /// - Parameter items: The fields in order; one without a value is sent with an empty one.
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

    /// How many bytes it has, if that is known before sending.
    ///
    /// That of a file is looked up each time.
    public var length: Int64? {
        switch storage.content {
        case .data(let data): Int64(data.count)
        case .source(let source): source.length
        case .unencodable: nil
        }
    }

    /// Whether it can be sent more than once.
    ///
    /// Retry, redirects, authentication and hedging ask this.
    public var isReplayable: Bool {
        switch storage.content {
        case .data: true
        case .source(let source): source.isReplayable
        case .unencodable: false
        }
    }

    /// The bytes, when they are in memory; of any other body, ``chunks`` brings them.
    public var data: Data? {
        switch storage.content {
        case .data(let data): data
        case .source, .unencodable: nil
        }
    }

    /// The file that holds the bytes and nothing else, when there is one.
    ///
    /// A transport may have the system send it.
    public var fileURL: URL? {
        guard case .source(let source as FileBody) = storage.content else { return nil }
        return URL(filePath: source.path)
    }

    /// Why it cannot be sent, if so.
    var encodingError: (any Error)? {
        switch storage.content {
        case .data, .source: nil
        case .unencodable(let error): error
        }
    }

    /// Begins to read it from its start.
    func open() async throws -> any BodyReader {
        switch storage.content {
        case .data(let data): DataReader(data)
        case .source(let source): try await source.open()
        case .unencodable(let error): throw error
        }
    }

    /// Begins to read it from its start without ever having to wait; nil when that cannot be.
    package func openNow() throws -> (any BodyReaderNow)? {
        switch storage.content {
        case .data(let data): DataReader(data)
        case .source(let source): try source.openNow()
        case .unencodable(let error): throw error
        }
    }

    /// The boundary between its parts, for one that has them.
    var boundary: String? {
        guard case .source(let source as MultipartBody) = storage.content else { return nil }
        return source.boundary
    }

    /// Its parts, for one that has them and is not in memory.
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

    /// One reference, since a request is copied far more often than its body is read.
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
    /// Bodies are equal when they send the same bytes as the same type.
    ///
    /// Two that name one file are. A stream, parts, and what cannot be encoded equal only themselves.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        if lhs.storage === rhs.storage { return true }
        guard lhs.contentType == rhs.contentType else { return false }
        if let left = lhs.data, let right = rhs.data { return left == right }
        if let left = lhs.identity, let right = rhs.identity { return left == right }
        return false
    }

    /// Hashes what equality compares.
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

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["contentType": contentType ?? "nil", "length": length.map { "\($0)" } ?? "nil"])
    }
}

/// What turns a value into the bytes of a body: `JSONEncoder`, `PropertyListEncoder`, or one of your own.
public protocol BodyEncoder: Sendable {
    /// Encodes a value.
    ///
    /// - Parameter value: The value.
    /// - Returns: The bytes.
    /// - Throws: What makes the value unfit.
    func encode<Value: Encodable>(_ value: Value) throws -> Data
}

extension JSONEncoder: BodyEncoder {
    /// Makes the encoder of ``RequestBody/json(_:encoder:)``.
    fileprivate static var standard: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

extension PropertyListEncoder: BodyEncoder {
    /// Makes the encoder of ``RequestBody/propertyList(_:encoder:)``.
    fileprivate static var standard: PropertyListEncoder {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        return encoder
    }
}
