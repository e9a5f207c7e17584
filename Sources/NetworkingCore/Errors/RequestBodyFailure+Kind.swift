public import FoundationForNetworking

extension RequestBody.Failure: LocalizedError {
    /// The kind of the resulting ``NetworkingError``.
    public var kind: NetworkingError.Kind {
        switch cause {
        case .bodyNotReplayable: .bodyNotReplayable
        case .storage: .storage
        case .tooLarge: .tooLarge
        case .unencodableBody: .unencodableBody
        }
    }

    /// What happened, for the user of the app; `localizedDescription` returns it too.
    public var errorDescription: String? {
        kind.text.localized(.description)
    }

    /// Why it happened, for the user of the app.
    public var failureReason: String? {
        kind.text.localized(.reason)
    }

    /// The way out for the user of the app.
    public var recoverySuggestion: String? {
        kind.text.localized(.suggestion)
    }

    /// Returns the error for the request with this body.
    package func error(of request: HTTPRequestData, response: HTTPResponseData? = nil) -> NetworkingError {
        NetworkingError(kind, request: request, response: response, underlying: underlying, reason: reason)
    }
}
