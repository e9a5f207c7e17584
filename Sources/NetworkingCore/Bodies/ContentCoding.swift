public import FoundationForNetworking
import HTTPTypes

/// A content coding: the name in `Content-Encoding` and `Accept-Encoding`, with its decoder and its encoder (RFC 9110
/// section 8.4.1).
///
/// `AsyncHTTPClientTransport` decodes gzip and deflate, and on Linux `.systemLibraries` adds br and zstd. An app adds
/// another coding with a decoder of its own:
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
/// request.contentDecoders = [ContentCoding("x-inverted", decoder: { InvertingDecoder() })]
/// ```
public struct ContentCoding: Sendable {
    /// The name in lower case, which is a token.
    public let name: String

    /// Returns a new decoder; `nil` if the coding is only for request bodies.
    package let makeDecoder: (@Sendable () -> any ContentDecoder)?

    /// Returns a new encoder; `nil` if the coding is only for responses.
    package let makeEncoder: (@Sendable () -> any ContentEncoder)?

    /// Creates a coding.
    ///
    /// - Parameters:
    ///   - name: The name, in any case, such as one of IANA's registry of content codings.
    ///   - decoder: Returns a new decoder for one response; `nil` if the coding is only for request bodies.
    ///   - encoder: Returns a new encoder for one reading of a request body; `nil` if the coding is only for responses.
    /// - Precondition: `name` is a token and not `identity`.
    public init(
        _ name: String,
        decoder: (@Sendable () -> any ContentDecoder)? = nil,
        encoder: (@Sendable () -> any ContentEncoder)? = nil
    ) {
        let name = name.lowercased()
        precondition(
            name != "identity" && HTTPField.Name(name) != nil,
            "the name of a content coding must be a token and not identity (is \(name))"
        )
        self.name = name
        makeDecoder = decoder
        makeEncoder = encoder
    }
}

extension ContentCoding: CustomStringConvertible {
    /// The name.
    public var description: String {
        name
    }
}

/// A decoder of the body of one response.
///
/// A transport passes chunks of at most 4 KiB. The decoder calls the closure with each piece of its output, in order.
/// Keep a piece at 64 KiB or less: ``HTTPRequestData/decompressionLimit`` is checked for each piece, and the closure
/// throws when the body exceeds it. The decoder passes that error on.
///
/// The bytes are those of a server: any sequence of them is possible. A decoder throws ``ContentCodingError``, or an
/// error of its own, instead of trapping or allocating what the bytes ask for.
public protocol ContentDecoder {
    /// Decodes the next bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes; never empty.
    ///   - output: Receives decoded bytes.
    /// - Throws: An error if the bytes are not valid, or the error of `output`.
    mutating func decode(_ bytes: Data, _ output: (Data) throws -> Void) throws

    /// Decodes what is left at the end of the body.
    ///
    /// It is not called for a body without any bytes.
    ///
    /// - Parameter output: Receives decoded bytes.
    /// - Throws: ``ContentCodingError/truncated`` if the coded bytes are not complete, or the error of `output`.
    mutating func finish(_ output: (Data) throws -> Void) throws
}

/// An encoder of the body of one request.
public protocol ContentEncoder {
    /// Encodes the next bytes.
    ///
    /// - Parameter bytes: The bytes; never empty.
    /// - Returns: The encoded bytes that are available; may be empty.
    /// - Throws: An error, with which the request fails.
    mutating func encode(_ bytes: Data) throws -> Data

    /// Ends the encoded bytes.
    ///
    /// - Returns: The last encoded bytes.
    /// - Throws: An error, with which the request fails.
    mutating func finish() throws -> Data
}

/// The reason why a coded body cannot be decoded.
public enum ContentCodingError: Error, Sendable, Hashable {
    /// The body ends before its coding does.
    case truncated
    /// The bytes are not valid in the coding, or bytes follow its end.
    case malformed
}
