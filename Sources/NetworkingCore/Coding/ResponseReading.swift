import FoundationForNetworking

extension HTTPResponseData {
    /// The body as text, in the charset of its Content-Type, UTF-8 by default; `nil` if it is not text in that charset.
    ///
    /// UTF-8, ISO-8859-1, windows-1252 and UTF-16 are supported. It is empty if a sink received the body.
    public var text: String? {
        BodyType(headerFields[singleton: .contentType]).text(of: data)
    }

    /// Decodes the body.
    ///
    /// ```swift
    /// let users = try response.json(as: [User].self)
    /// ```
    ///
    /// `Data`, `String` and optionals are read as in ``Request``. The status is not checked.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    /// - Returns: The value.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/decoding``.
    public func json<Value: Decodable>(
        as type: Value.Type = Value.self,
        decoder: (any BodyDecoder)? = nil
    ) throws(NetworkingError) -> Value {
        do {
            return try decodeBody(by: decoder)
        } catch {
            throw NetworkingError.undecodable(self, as: Value.self, error)
        }
    }

    /// Returns the response if its status is accepted.
    ///
    /// ```swift
    /// let response = try await network.data(.get("users")).checkedStatus()
    /// ```
    ///
    /// - Parameter statuses: The accepted statuses; `nil` uses those of the request, which are 200 to 299 by default.
    /// - Returns: The response.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/unauthorized`` for 401 and of kind
    ///   ``NetworkingError/Kind/status`` for any other status that is not accepted.
    @discardableResult
    public func checkedStatus(_ statuses: StatusSet? = nil) throws(NetworkingError) -> HTTPResponseData {
        guard (statuses ?? request.acceptedStatuses).contains(status) else {
            throw NetworkingError.refusedStatus(of: self)
        }
        return self
    }

    /// Decodes the body with a decoder, or with that of the request or the stack.
    ///
    /// - Throws: A `DecodingError`, which wraps any other error of the decoder.
    package func decodeBody<Value: Decodable>(
        as type: Value.Type = Value.self,
        by decoder: (any BodyDecoder)? = nil
    ) throws(DecodingError) -> Value {
        do {
            return try (decoder ?? self.decoder ?? JSONDecoder()).decodeBody(of: self)
        } catch let error as DecodingError {
            throw error
        } catch {
            let context = DecodingError.Context(codingPath: [], debugDescription: "", underlyingError: error)
            throw DecodingError.dataCorrupted(context)
        }
    }
}
