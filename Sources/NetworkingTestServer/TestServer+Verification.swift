#if TestServer
extension TestServer {
    /// Checks that all went by the script: each request taken, each response used, and nothing answered that was not
    /// scripted.
    ///
    /// It imports no test framework: a failure is thrown, and any framework shows it. At the end of a test, when the
    /// client is done:
    ///
    /// ```swift
    /// try server.verify()
    /// ```
    ///
    /// - Throws: One ``TestServerError`` that says all that ``verifyAllScripted()``, ``verifyAllClaimed()`` and
    ///   ``verifyAllUsed()`` found.
    public func verify() throws(TestServerError) {
        try Self.fail(with: [unscriptedReport, unclaimedReport, unusedReport])
    }

    /// Checks that each request was taken with ``takeRequest(_:_:within:)``.
    ///
    /// - Throws: A ``TestServerError`` that lists those that nobody took.
    public func verifyAllClaimed() throws(TestServerError) {
        try Self.fail(with: [unclaimedReport])
    }

    /// Checks that all that was scripted for a number of times was used so often.
    ///
    /// That are queued responses and connections, routes with a number of uses, and each response of
    /// ``route(_:_:times:responses:)``, be it a single one. A route with a handler and no number may stay unused.
    ///
    /// - Throws: A ``TestServerError`` that lists what is left.
    public func verifyAllUsed() throws(TestServerError) {
        try Self.fail(with: [unusedReport])
    }

    /// Checks that the script had an answer to everything that arrived.
    ///
    /// - Throws: A ``TestServerError`` that lists the requests that nobody scripted, those whose handler threw, and the
    ///   bytes that were no request.
    public func verifyAllScripted() throws(TestServerError) {
        try Self.fail(with: [unscriptedReport])
    }
}

extension TestServer {
    private var unscriptedReport: String? {
        let misses = switchboard.withRecord { $0.misses }
        guard !misses.isEmpty else { return nil }
        return """
            These requests had no scripted response:
            \(misses.numberedLines)
            Add a route or enqueue a response for each expected request.
            """
    }

    private var unclaimedReport: String? {
        let requests = switchboard.withRecord { $0.unclaimed }
        guard !requests.isEmpty else { return nil }
        return """
            These requests were not taken:
            \(requests.numberedLines)
            Take each request with takeRequest(), or call forgetRequests() if they do not matter.
            """
    }

    private var unusedReport: String? {
        let unused = switchboard.withScript { $0.unused }
        guard !unused.isEmpty else { return nil }
        return """
            These scripted responses were not used:
            \(unused.numberedLines)
            Script only responses that the client requests, or call clearQueue() if they do not matter.
            """
    }

    private static func fail(with reports: [String?]) throws(TestServerError) {
        let reports = reports.compactMap(\.self)
        guard !reports.isEmpty else { return }
        throw TestServerError(kind: .verificationFailed, description: reports.joined(separator: "\n"))
    }
}
#endif
