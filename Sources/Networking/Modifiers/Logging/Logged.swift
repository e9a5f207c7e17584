import HTTPTypes
public import Logging

extension NetworkingComponent {
    /// Logs each request when it starts and when it ends, to swift-log.
    ///
    /// ```swift
    /// let network = URLSession.shared.logged(detail: .headers).server(authority: "api.example.com")
    /// // info: → GET https://api.example.com/users/42
    /// // info: ← 200 OK GET https://api.example.com/users/42, 187 bytes in 34.5 ms
    /// ```
    ///
    /// It logs what passes its place in the stack: outside `retry` one pair of lines a call, inside it one an
    /// attempt. The request's id, and its number if the stack has `numbered`, are metadata of every line. When the
    /// logger shows debug lines, it also tells what happens on the way: waits, redirects, expired timeouts.
    ///
    /// Credentials, cookies and tokens never show: header fields, query items and the fields of JSON and form bodies
    /// are redacted by name, and line breaks in them cannot forge a line. Text of other kinds shows as it is when
    /// `detail` asks for bodies.
    ///
    /// - Parameters:
    ///   - logger: Where to log to; nil for the environment's logger.
    ///   - level: The level of the lines of a request that works. A failure is a warning, a cancellation is not.
    ///   - detail: How much to say. ``HTTPRequestData/logDetail`` replaces it for one request.
    ///   - redaction: What to hide.
    ///   - onStart: Called instead of logging a start.
    ///   - onSuccess: Called instead of logging a response, with the time it took.
    ///   - onFailure: Called instead of logging a failure, with the time it took.
    /// - Returns: A component that logs its requests.
    public func logged(
        using logger: Logger? = nil,
        level: Logger.Level = .info,
        detail: LogDetail = .basic,
        redaction: Redaction = .standard,
        onStart: (@Sendable (Logger, HTTPRequestData) -> Void)? = nil,
        onSuccess: (@Sendable (Logger, HTTPRequestData, HTTPResponseData, Duration) -> Void)? = nil,
        onFailure: (@Sendable (Logger, HTTPRequestData, any Error, Duration) -> Void)? = nil
    ) -> some NetworkingComponent {
        modified(
            Logged(
                logger: logger,
                level: level,
                detail: detail,
                redaction: redaction,
                onStart: onStart,
                onSuccess: onSuccess,
                onFailure: onFailure
            )
        )
    }
}

struct Logged: NetworkingModifier, CustomStringConvertible {
    let logger: Logger?
    let level: Logger.Level
    let detail: LogDetail
    let redaction: Redaction
    let onStart: (@Sendable (Logger, HTTPRequestData) -> Void)?
    let onSuccess: (@Sendable (Logger, HTTPRequestData, HTTPResponseData, Duration) -> Void)?
    let onFailure: (@Sendable (Logger, HTTPRequestData, any Error, Duration) -> Void)?

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let detail = request.logDetail ?? detail
        guard detail != .off else { return try await upstream.send(request) }
        let environment = NetworkEnvironment.current
        let logger = logger ?? environment.logger
        let clock = environment.clock
        let start = clock.now
        logStart(of: request, to: logger, detail)
        do {
            let response = try await upstream.send(observed(request, by: logger))
            logSuccess(of: request, response, to: logger, detail, elapsed: clock.now - start)
            return response
        } catch {
            logFailure(of: request, error, to: logger, detail, elapsed: clock.now - start)
            throw error
        }
    }

    private func observed(_ request: HTTPRequestData, by logger: Logger) -> HTTPRequestData {
        guard logger.logLevel <= .debug else { return request }
        var request = request
        request.addObserver(EventLog(logger: logger, redaction: redaction))
        return request
    }

    private func logStart(of request: HTTPRequestData, to logger: Logger, _ detail: LogDetail) {
        if let onStart {
            onStart(logger, request)
        } else if logger.logLevel <= level {
            LogLines(logger: logger, level: level, detail: detail, redaction: redaction).start(request)
        }
    }

    private func logSuccess(
        of request: HTTPRequestData,
        _ response: HTTPResponseData,
        to logger: Logger,
        _ detail: LogDetail,
        elapsed: @autoclosure () -> Duration
    ) {
        if let onSuccess {
            onSuccess(logger, request, response, elapsed())
        } else if logger.logLevel <= level {
            LogLines(logger: logger, level: level, detail: detail, redaction: redaction)
                .success(request, response, elapsed: elapsed())
        }
    }

    private func logFailure(
        of request: HTTPRequestData,
        _ error: any Error,
        to logger: Logger,
        _ detail: LogDetail,
        elapsed: @autoclosure () -> Duration
    ) {
        if let onFailure {
            onFailure(logger, request, error, elapsed())
        } else {
            LogLines(logger: logger, level: level, detail: detail, redaction: redaction)
                .failure(request, error, elapsed: elapsed())
        }
    }

    var description: String {
        "logged(level: \(level), detail: \(detail))"
    }
}

/// Logs what happens to a request on its way.
private struct EventLog: NetworkEventObserver {
    let logger: Logger
    let redaction: Redaction

    func observe(_ event: NetworkEvent, of request: HTTPRequestData) {
        let text: String? =
            switch event {
            case .waiting(let wait, let duration): "waiting\(duration.map { " \($0)" } ?? "") (\(wait))"
            // How long these take is said when they begin.
            case .waited(.delay, _), .waited(.backoff, _), .waited(.reconnection, _): nil
            case .waited(let wait, let duration): "waited \(duration) (\(wait))"
            case .retrying(let attempt): "tries again (attempt \(attempt))"
            case .retryRefused(let refusal): "does not try again (\(refusal))"
            case .refreshingCredentials: "refreshes credentials"
            case .cacheHit(let hit): "answered from the cache (\(hit))"
            case .cacheBypassed(let reason): "not cached (\(reason))"
            case .cacheFailed(let error): "the cache failed (\(type(of: error)))"
            case .cacheMissed, .cacheStored, .cacheEvicted, .cacheRevalidated: nil
            case .shared: "shares the exchange of an identical request"
            case .redirected(let next): "redirected to \(redaction.line(for: next))"
            case .redirectRefused(let reason): "redirect not followed (\(reason))"
            case .timedOut(let limit): "gave up after \(limit)"
            case .deadlineExceeded(let limit): "deadline of \(limit) passed"
            case .credentialsWithheld(let names):
                "withheld \(names.map(\.rawName).joined(separator: ", ")) from an authority that the stack does not name"
            case .readingBody: "reads the body before it connects"
            case .note(let text): Redaction.singleLine(text)
            case .callStarted, .callEnded, .callFailed: nil
            case .attemptStarted, .attemptEnded, .attemptFailed, .bodyRead, .connecting, .connected, .headReceived: nil
            case .connectionMeasured: nil
            }
        guard let text else { return }
        logger.debug("\(text): \(redaction.line(for: request))", metadata: request.logMetadata)
    }
}
