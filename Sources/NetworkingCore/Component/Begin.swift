extension NetworkingComponent {
    /// Sends a request of a caller, as the outermost part of a stack.
    ///
    /// The whole chain rewrites the request, which is then checked, marked and sent. A collected body is delivered to
    /// the sink unless the transport has offered it. The parts upstream find the mark and only pass the request on.
    @usableFromInline
    package func begin(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await carry(try prepared(request), for: request)
    }

    /// Sends a request that ``routed(_:keepingUsers:)`` of this stack has returned, on behalf of the caller's request.
    package func begin(
        routed request: HTTPRequestData,
        for original: HTTPRequestData
    ) async throws -> HTTPResponseData {
        try await carry(try prepared(routed: request), for: original)
    }

    /// Sends a prepared request through the stack, and completes its response for the caller.
    func carry(_ underway: HTTPRequestData, for original: HTTPRequestData) async throws -> HTTPResponseData {
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
        return try prepared(routed: routed(request))
    }

    /// Returns a request as this stack sends it now: rewritten by the whole chain, for the users who are signed in.
    ///
    /// A call rewrites its request once, here. Work that needs the rewritten request before it is sent, or that sends
    /// it several times, passes it to ``begin(routed:for:)`` of the same component.
    ///
    /// - Parameters:
    ///   - request: The request of the caller. If a stack has already rewritten it, only its server is recognized.
    ///   - keepsUsers: Whether all requests of the work belong to the users who are signed in now.
    /// - Returns: The request, not checked yet.
    package func routed(_ request: HTTPRequestData, keepingUsers keepsUsers: Bool = false) -> HTTPRequestData {
        var routed = request
        routed.removeAttemptFields()
        // A listener or a strategy may send the request of another call.
        if routed.state.contains(.hasEntered) {
            routed.removeWay()
        }
        routed.forgetUsers()
        if routed.isResolved {
            routed.recognizeServer(of: self)
        } else {
            routed.resolve(by: self)
        }
        if keepsUsers {
            routed.content.value.users.areKept = true
        }
        return routed
    }

    /// Returns a request of ``routed(_:keepingUsers:)`` as it is sent: checked and marked.
    func prepared(routed request: HTTPRequestData) throws -> HTTPRequestData {
        try Task.checkCancellation()
        var underway = request
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
