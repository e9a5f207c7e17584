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
/// ```
///
/// A body brings its Content-Type; one that the request's header fields name wins.
public struct RequestBody: Sendable {
    private let storage: Storage

    private init(_ content: Content, contentType: String?) {
        storage = Storage(content: content, contentType: contentType)
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
        let encoder = encoder ?? .standard
        do {
            return RequestBody(.data(try encoder.encode(value)), contentType: "application/json")
        } catch {
            return RequestBody(.unencodable(error), contentType: "application/json")
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
    public var length: Int64? {
        switch storage.content {
        case .data(let data): Int64(data.count)
        case .unencodable: nil
        }
    }

    /// Whether it can be sent more than once.
    ///
    /// Retry, redirects, authentication and hedging ask this.
    public var isReplayable: Bool {
        switch storage.content {
        case .data: true
        case .unencodable: false
        }
    }

    /// The bytes, when they are in memory.
    public var data: Data? {
        switch storage.content {
        case .data(let data): data
        case .unencodable: nil
        }
    }

    /// Why it cannot be sent, if so.
    var encodingError: (any Error)? {
        switch storage.content {
        case .data: nil
        case .unencodable(let error): error
        }
    }

    private enum Content: Sendable {
        case data(Data)
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
    /// Bodies are equal when they send the same bytes as the same type; one that cannot be encoded equals only itself.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        if lhs.storage === rhs.storage { return true }
        guard let left = lhs.data, let right = rhs.data else { return false }
        return left == right && lhs.contentType == rhs.contentType
    }

    /// Hashes what equality compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(data)
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

extension JSONEncoder {
    /// Makes the encoder of ``RequestBody/json(_:encoder:)``.
    fileprivate static var standard: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
