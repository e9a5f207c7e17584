extension NetworkingComponent {
    /// Sends a request of a caller, as the outermost part of a stack.
    ///
    /// The whole chain rewrites the request, which is then checked, marked and sent. A collected body is delivered to
    /// the sink unless the transport has offered it. The parts upstream find the mark and only pass the request on.
    @usableFromInline
    package func begin(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await begin(request, by: request)
    }

    /// Sends a request that the whole chain may have rewritten, on behalf of the request that the caller created.
    @usableFromInline
    package func begin(_ request: HTTPRequestData, by original: HTTPRequestData) async throws -> HTTPResponseData {
        let underway = try prepared(request)
        var response = try await send(underway)
        if let sink = underway.sink {
            try await response.deliver(to: sink, for: underway)
        }
        response.complete(with: original, decoder: underway.decoder)
        return response
    }

    /// Returns a request as it is sent: rewritten by the whole chain, checked and marked.
    package func prepared(_ request: HTTPRequestData) throws -> HTTPRequestData {
        try Task.checkCancellation()
        var underway = request
        underway.removeAttemptFields()
        // A listener or a strategy may send the request of another call.
        if underway.state.contains(.hasEntered) {
            underway.removeWay()
        }
        underway.forgetUsers()
        if underway.isResolved {
            underway.recognizeServer(of: self)
        } else {
            underway.resolve(by: self)
        }
        underway.sink?.prepare(&underway)
        try underway.check()
        underway.state.insert([.isUnderway, .hasEntered])
        return underway
    }
}

extension NetworkingComponent {
    /// Returns the response or the error of a request, for callers that decide about it; throws if it is cancelled.
    package func outcome(of request: HTTPRequestData) async throws -> Result<HTTPResponseData, any Error> {
        do {
            return .success(try await send(request))
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            return .failure(error)
        }
    }
}

extension HTTPRequestData {
    /// Removes everything that the parts of a stack have added on the way of the request, before it takes another one.
    fileprivate mutating func removeWay() {
        removeCredentialsOfWay()
        removeStateOfWay()
    }
}
