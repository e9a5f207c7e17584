import FoundationForNetworking

extension NetworkingComponent {
    /// Sets the decoder of requests that name none.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .decoder(.json(keys: .convertFromSnakeCase, dates: .iso8601WithFractions))
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// `value`, `request`, streams of values, ``HTTPResponseData/json(as:decoder:)`` and
    /// ``NetworkingError/decodeBody(as:decoder:)`` use it. A decoder that a request or a call names takes precedence.
    /// Of two such modifiers the outer one applies. The place in the stack does not matter otherwise.
    ///
    /// - Parameter decoder: The decoder, which is shared by all requests.
    /// - Returns: A component that sends requests with that decoder.
    public func decoder(_ decoder: some BodyDecoder) -> some NetworkingComponent {
        modified(StackDecoder(decoder))
    }

    /// Sets the encoder of bodies that name none: those of `RequestBody.json(_:)` and ``RequestBody/encoded(_:)``.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .encoder(.json(keys: .convertToSnakeCase, dates: .iso8601))
    ///     .server(authority: "api.example.com")
    ///
    /// try await network.perform(.post("users", body: .json(user)))
    /// ```
    ///
    /// A body is encoded once for each send, while the stack rewrites the request, so that retries send the same bytes.
    /// Of two such modifiers the outer one applies. Bodies in the parts of a multipart body use the standard encoder.
    ///
    /// - Parameters:
    ///   - encoder: The encoder, which is shared by all requests.
    ///   - contentType: The media type of the encoder's output; `nil` is `application/x-plist` for a
    ///     `PropertyListEncoder` and `application/json` for any other. If it is not JSON, `RequestBody.json(_:)` does
    ///     not use the encoder.
    /// - Returns: A component that sends requests with bodies of that encoder.
    public func encoder(
        _ encoder: some BodyEncoder,
        contentType: String? = nil
    ) -> some NetworkingComponent {
        let standard = encoder is PropertyListEncoder ? "application/x-plist" : "application/json"
        return modified(StackEncoder(encoder: encoder, contentType: contentType ?? standard))
    }
}

struct StackDecoder: UpstreamLimited, CustomStringConvertible {
    let decoder: any BodyDecoder
    /// The options of requests without others, which share them, so that a request allocates nothing for its decoder.
    private let settings: CopyOnWrite<RequestSettings>

    init(_ decoder: any BodyDecoder) {
        self.decoder = decoder
        var settings = RequestSettings()
        settings.decoder = decoder
        self.settings = CopyOnWrite(settings)
    }

    func resolve(_ request: inout HTTPRequestData) {
        if request.box == nil {
            request.share(settings)
        } else if request.decoder == nil {
            request.decoder = decoder
        }
    }

    var description: String {
        "decoder(\(type(of: decoder)))"
    }
}

struct StackEncoder: UpstreamLimited, CustomStringConvertible {
    let encoder: any BodyEncoder
    let contentType: String

    func resolve(_ request: inout HTTPRequestData) {
        if let body = request.body?.encoded(byStack: encoder, contentType: contentType) {
            request.body = body
        }
    }

    var description: String {
        "encoder(\(type(of: encoder)))"
    }
}
