#if TestServer
extension TestServer {
    /// Checks that the test went as scripted: each request was taken, each response was used, and each request had a
    /// response.
    ///
    /// The method needs no test framework, because it throws on failure. Call it at the end of a test, when the client
    /// is done:
    ///
    /// ```swift
    /// try server.verify()
    /// ```
    ///
    /// - Throws: One ``TestServerError`` with the findings of ``verifyAllScripted()``, ``verifyAllClaimed()`` and
    ///   ``verifyAllUsed()``.
    public func verify() throws(TestServerError) {
        try Self.fail(with: [unscriptedReport, unclaimedReport, unusedReport])
    }

    /// Checks that each request was taken with ``takeRequest(_:_:within:)``.
    ///
    /// - Throws: A ``TestServerError`` that lists the requests that were not taken.
    public func verifyAllClaimed() throws(TestServerError) {
        try Self.fail(with: [unclaimedReport])
    }

    /// Checks that every response scripted for a number of times was used that often.
    ///
    /// This includes queued responses and connections, routes with a number of uses, and each response of
    /// ``route(_:_:times:responses:)``. A route with a handler and without a number can stay unused.
    ///
    /// - Throws: A ``TestServerError`` that lists the unused responses.
    public func verifyAllUsed() throws(TestServerError) {
        try Self.fail(with: [unusedReport])
    }

    /// Checks that each request had a scripted response.
    ///
    /// - Throws: A ``TestServerError`` that lists requests without a response, requests with a handler that threw, and
    ///   bytes that are no request.
    public func verifyAllScripted() throws(TestServerError) {
        try Self.fail(with: [unscriptedReport])
    }
}

extension TestServer {
    private var unscriptedReport: String? {
        Self.report(
            "These requests had no scripted response:",
            switchboard.withRecord { $0.misses }.numberedLines,
            "Add a route or enqueue a response for each expected request."
        )
    }

    private var unclaimedReport: String? {
        Self.report(
            "These requests were not taken:",
            switchboard.withRecord { $0.unclaimed }.numberedLines,
            "Take each request with takeRequest(), or call forgetRequests() if they do not matter."
        )
    }

    private var unusedReport: String? {
        Self.report(
            "These scripted responses were not used:",
            switchboard.withScript { $0.unused }.numberedLines,
            "Script only responses that the client requests, or call clearQueue() if they do not matter."
        )
    }

    private static func report(_ fault: String, _ lines: String, _ wayOut: String) -> String? {
        lines.isEmpty ? nil : "\(fault)\n\(lines)\n\(wayOut)"
    }

    private static func fail(with reports: [String?]) throws(TestServerError) {
        let reports = reports.compactMap(\.self)
        guard !reports.isEmpty else { return }
        throw TestServerError(kind: .verificationFailed, description: reports.joined(separator: "\n"))
    }
}
#endif
