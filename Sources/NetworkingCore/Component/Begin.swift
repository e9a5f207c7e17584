extension NetworkingComponent {
    /// Sends a request of a caller, as the outermost part of a stack.
    ///
    /// The whole chain rewrites the request, which is then checked, marked and sent. A collected body is delivered to
    /// the sink unless the transport has offered it. The parts upstream find the mark and only pass the request on.
    @usableFromInline
    func begin(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await carry(try prepared(request), for: request)
    }

    /// Sends a request that ``routed(_:keepingUsers:)`` of this stack has returned, on behalf of the caller's request.
    package func begin(
        routed request: HTTPRequestData,
        for original: HTTPRequestData
    ) async throws -> HTTPResponseData {
        try await carry(try prepared(routed: request), for: original)
    }

    // Inlined, because a call of an async function costs as much as a layer of a stack.
    /// Sends a prepared request through the stack, and completes its response for the caller.
    @inline(__always)
    func carry(_ underway: HTTPRequestData, for original: HTTPRequestData) async throws -> HTTPResponseData {
        let response = try await send(underway)
        guard underway.sink == nil else {
            return try await response.delivered(for: underway).completed(with: original, underway)
        }
        return response.completed(with: original, underway)
    }

    /// Returns a request as it is sent: rewritten by the whole chain, checked and marked.
    package func prepared(_ request: HTTPRequestData) throws -> HTTPRequestData {
        try Task.checkCancellation()
        var underway = request
        route(&underway)
        try prepare(&underway)
        return underway
    }

    /// Returns a request as this stack sends it now: rewritten by the whole chain, for the users who are signed in.
    ///
    /// A call rewrites its request once, here. Work that needs the rewritten request before it is sent, or that sends
    /// it several times, passes it to ``begin(routed:for:)`` of the same component.
    ///
    /// - Parameters:
    ///   - request: The request of the caller. If a stack has already rewritten it, only its server is recognized.
    ///   - keepsUsers: Whether all requests of the work belong to the users who are signed in now, and go to the
    ///     servers that are in use now.
    /// - Returns: The request, not checked yet.
    package func routed(_ request: HTTPRequestData, keepingUsers keepsUsers: Bool = false) -> HTTPRequestData {
        var routed = request
        guard keepsUsers, !routed.content.value.users.areKept else {
            route(&routed)
            return routed
        }
        routed.content.value.users = NotedUsers()
        routed.content.value.users.notesServers = true
        route(&routed)
        routed.content.value.users.notesServers = false
        routed.content.value.users.areKept = true
        return routed
    }

    @inline(__always)
    private func route(_ request: inout HTTPRequestData) {
        request.removeAttemptFields()
        // A listener or a strategy may send the request of another call.
        if request.place != .outside {
            request.removeCredentialsOfWay()
            request.leaveStack()
        }
        request.forgetUsers()
        if request.isResolved {
            request.recognizeServer(of: self)
        } else {
            request.resolve(by: self)
        }
    }

    /// Returns a request of ``routed(_:keepingUsers:)`` as it is sent: checked and marked.
    func prepared(routed request: HTTPRequestData) throws -> HTTPRequestData {
        try Task.checkCancellation()
        var underway = request
        try prepare(&underway)
        return underway
    }

    @inline(__always)
    private func prepare(_ request: inout HTTPRequestData) throws {
        request.sink?.prepare(&request)
        try request.check()
        request.place = .underway
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

extension HTTPResponseData {
    // Neither of the two is inlined, because their values would take memory in every call that waits.

    /// Returns the response after its delivery to the sink of the request.
    @inline(never)
    fileprivate func delivered(for request: HTTPRequestData) async throws -> HTTPResponseData {
        var response = self
        if let sink = request.sink {
            try await response.deliver(to: sink, for: request)
        }
        return response
    }

    /// Returns the response as the caller gets it.
    @inline(never)
    fileprivate consuming func completed(
        with original: HTTPRequestData,
        _ underway: HTTPRequestData
    ) -> HTTPResponseData {
        complete(with: original, decoder: underway.decoder)
        return self
    }
}
