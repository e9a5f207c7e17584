#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension BodyDecoder {
    /// Decodes the body of a response, for typed requests and for `as:`.
    ///
    /// `Data`, `String` and optionals are read from the response, and all other types with the decoder.
    ///
    /// - Throws: A `DecodingError`, which wraps any other error of the decoder.
    func decodeBody<Value: Decodable>(as type: Value.Type = Value.self, of response: HTTPResponseData) throws -> Value {
        if case .delivered(let count) = response.body, count > 0 {
            throw UnreadableBody("its \(count) bytes went to the sink of the request").asDecodingError
        }
        if let type = Value.self as? any BodyReadable.Type,
            let value = try type.init(readFrom: response, by: self) as? Value
        {
            return value
        }
        do {
            return try decode(Value.self, from: response.data)
        } catch let error as DecodingError {
            throw error
        } catch {
            let context = DecodingError.Context(codingPath: [], debugDescription: "", underlyingError: error)
            throw DecodingError.dataCorrupted(context)
        }
    }
}

/// A type whose values are read from a response without a decoder, or before the decoder is used.
private protocol BodyReadable {
    init(readFrom response: HTTPResponseData, by decoder: some BodyDecoder) throws
}

extension Data: BodyReadable {
    fileprivate init(readFrom response: HTTPResponseData, by decoder: some BodyDecoder) {
        self = response.data
    }
}

extension String: BodyReadable {
    fileprivate init(readFrom response: HTTPResponseData, by decoder: some BodyDecoder) throws {
        let type = BodyType(response.headerFields[.contentType])
        guard let text = type.text(of: response.data) else {
            throw UnreadableBody(
                "it is no text in \(type.charset.map { PrintableText.singleLine($0) } ?? "UTF-8"), or in a charset that is not "
                    + "known. Read it as Data"
            )
            .asDecodingError
        }
        self = text
    }
}

extension Optional: BodyReadable where Wrapped: Decodable {
    fileprivate init(readFrom response: HTTPResponseData, by decoder: some BodyDecoder) throws {
        if [204, 205].contains(response.status.code) || response.data.isEmpty {
            self = nil
        } else if Wrapped.self is any BodyReadable.Type {
            self = try decoder.decodeBody(as: Wrapped.self, of: response)
        } else {
            // The decoder recognises other empty values, such as `null`.
            self = try decoder.decode(Self.self, from: response.data)
        }
    }
}

/// The reason why a body cannot be read as a value without a decoder.
private struct UnreadableBody: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }

    var asDecodingError: DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: reason, underlyingError: self))
    }
}

extension NetworkingError {
    /// The error for a body that cannot be decoded, with the reason, the place and a way to solve it.
    static func undecodable(_ response: HTTPResponseData, as type: Any.Type, _ error: DecodingError) -> NetworkingError
    {
        NetworkingError(
            .decoding,
            request: response.sentRequest,
            response: response,
            underlying: error,
            reason: "The body does not decode to \(type)\(error.fault(in: response))"
        )
    }
}

extension DecodingError {
    /// The description of a decoding failure, from the end of the type's name to the end of the reason.
    ///
    /// It contains names only and no values, and is on one line, because a server may choose the names.
    fileprivate func fault(in response: HTTPResponseData) -> String {
        let compare = "Compare the type with what the server sends."
        switch self {
        case .keyNotFound(let key, let context):
            return ": a key is missing at \(Self.place(context.codingPath + [key])). \(compare)"
        case .valueNotFound(_, let context) where !context.codingPath.isEmpty:
            return ": there is no value at \(Self.place(context.codingPath)). \(compare)"
        case .typeMismatch(let type, let context) where !context.codingPath.isEmpty:
            return ": there is no \(type) at \(Self.place(context.codingPath)). \(compare)"
        case .dataCorrupted(let context) where !context.codingPath.isEmpty:
            return ": the value cannot be read at \(Self.place(context.codingPath)). \(compare)"
        case .dataCorrupted(let context):
            if let body = context.underlyingError as? UnreadableBody { return ": \(body.reason)." }
        default:
            break
        }
        guard !response.data.isEmpty else {
            return
                ": it is empty (status \(response.status.code)). Use an optional type where the server may send nothing."
        }
        let type = BodyType(response.headerFields[.contentType]).essence
        guard type.isEmpty || type.contains("json") else {
            return
                ": it is \(PrintableText.singleLine(type)). Check the URL, and whether a proxy or a sign-in page answered."
        }
        return ". \(compare)"
    }

    private static func place(_ path: [any CodingKey]) -> String {
        PrintableText.singleLine(path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: "."))
    }
}
