public import FoundationForNetworking

extension RequestBody.Failure: LocalizedError, ErrorWithUserText {
    /// The kind of the resulting ``NetworkingError``.
    public var kind: NetworkingError.Kind {
        switch cause {
        case .bodyNotReplayable: .bodyNotReplayable
        case .storage: .storage
        case .tooLarge: .tooLarge
        case .unencodableBody: .unencodableBody
        }
    }

    package var userText: UserText {
        kind.text
    }

    /// Returns the error for the request with this body.
    package func error(of request: HTTPRequestData, response: HTTPResponseData? = nil) -> NetworkingError {
        NetworkingError(kind, request: request, response: response, underlying: underlying, reason: reason)
    }
}

extension HTTPRequestData {
    /// Throws an error for a body that could not be encoded.
    package func checkBody() throws {
        guard let error = body?.encodingError else { return }
        guard let failure = error as? RequestBody.Failure else {
            throw NetworkingError(.unencodableBody, request: self, underlying: error)
        }
        throw failure.error(of: self)
    }
}
