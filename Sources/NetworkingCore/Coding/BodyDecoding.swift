import FoundationForNetworking

extension BodyDecoder {
    /// Decodes the body of a response, for typed requests and for `as:`.
    ///
    /// `Data`, `String` and optionals are read from the response, and all other types with the decoder.
    ///
    /// - Throws: The error of the decoder.
    func decodeBody<Value: Decodable>(as type: Value.Type = Value.self, of response: HTTPResponseData) throws -> Value {
        if case .delivered(let count) = response.body, count > 0 {
            throw UnreadableBody("its \(count) bytes went to the sink of the request").asDecodingError
        }
        if let type = Value.self as? any BodyReadable.Type,
            let value = try type.init(readFrom: response, by: self) as? Value
        {
            return value
        }
        return try decode(Value.self, from: response.data)
    }
}

/// A type with values that are read from a response without a decoder, or before the decoder is used.
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
        let type = BodyType(response.headerFields[singleton: .contentType])
        guard let text = type.text(of: response.data) else {
            throw UnreadableBody(
                "it is not text in \(type.charset.map { PrintableText.singleLine($0) } ?? "UTF-8"), or this charset is "
                    + "not supported. Read it as Data"
            )
            .asDecodingError
        }
        self = text
    }
}

extension ProblemDetails: BodyReadable {
    fileprivate init(readFrom response: HTTPResponseData, by decoder: some BodyDecoder) throws {
        try self.init(of: response, decoder: decoder)
    }
}

extension Optional: BodyReadable where Wrapped: Decodable {
    fileprivate init(readFrom response: HTTPResponseData, by decoder: some BodyDecoder) throws {
        if [204, 205].contains(response.status.code) || response.data.isEmpty {
            self = nil
        } else if Wrapped.self is any BodyReadable.Type {
            self = try decoder.decodeBody(as: Wrapped.self, of: response)
        } else if response.data.allSatisfy(JSONTokenizer.isSpace) {
            // Some servers send a space or a line break as an empty body.
            self = nil
        } else {
            // The decoder recognises other empty values, such as `null`.
            self = try decoder.decode(Self.self, from: response.data)
        }
    }
}
